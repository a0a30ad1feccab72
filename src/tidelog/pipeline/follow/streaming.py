"""Following a stream with Structured Streaming.

What      : `follow` hands every micro-batch to a function, until the source is empty (`once`) or a stop is asked for.
Idea      : Spark keeps the account of what was read (its checkpoint), the state keeps the account of what was applied;
            a batch that Spark brings again has the same number and the same rows, and the state knows the number.
Invariant : a stop waits for the batch in hand. An error of ours inside a batch comes out as itself, not wrapped.
Never     : no fact is looked at here.

Codes: E730 a checkpoint that does not fit the state, E732 a stream that broke.
"""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from tidelog.backends.spark.cluster.failures import cause
from tidelog.backends.spark.cluster.table_files import exists
from tidelog.errors import PipelineError
from tidelog.pipeline.out.shelf import local_folder
from tidelog.pipeline.sources.records import SPARK_ERRORS
from tidelog.state.file_systems import for_spark
from tidelog.state.versions import PARTS

Process = Callable[[DataFrame, int], None]

_PATIENCE = 0.2
_BEGUN = "metadata"
"""The file that Spark writes into a checkpoint first."""
_FILE = re.compile(r"error while reading file (\S+?)\.? ")
_CAUSE = re.compile(r"^Caused by: [\w.$]+: (.*)$", re.MULTILINE)


def follow(
    stream: DataFrame, process: Process, checkpoint: str, *, once: bool, every: float, stop: threading.Event
) -> None:
    """Hand over micro-batches one after the other."""
    batches = _Batches(process, stop)
    writer = stream.writeStream.foreachBatch(batches).option("checkpointLocation", for_spark(checkpoint))
    writer = writer.trigger(availableNow=True) if once else writer.trigger(processingTime=f"{every} seconds")
    try:
        query = writer.start()
        while query.isActive and not stop.wait(_PATIENCE):
            batches.raise_if_failed()
        batches.finish(query)
    except SPARK_ERRORS as error:
        batches.raise_if_failed()
        if stop.is_set():
            return
        raise _broken(error) from error


def _broken(error: BaseException) -> PipelineError:
    """What Spark could not do, in one line: the file that it could not read if there is one, else its first words."""
    text = str(error)
    file, causes = _FILE.search(text), _CAUSE.findall(text)
    if file:
        sentence = f"{file[1]} cannot be read: {causes[-1] if causes else 'see the log of Spark'}"
        return PipelineError.of("E732", sentence, remedy="correct, rename or remove the file, and start again")
    first = cause(text) or type(error).__name__
    return PipelineError.of(
        "E732", f"the update stream broke: {first}", remedy="start again: it continues at the last stored version"
    )


def check_checkpoint(spark: SparkSession, checkpoint: str, last_batch: int | None, *, is_new: bool) -> None:
    """Refuse a state and a checkpoint that do not belong together.

    Where a state knows batches and the checkpoint is gone, numbers would begin anew and be taken for known. Where the
    state is new and the checkpoint is not, Spark would leave out what it has handed over before.
    """
    if last_batch is None and not is_new:
        return
    folder = local_folder(checkpoint)
    is_there = (folder / _BEGUN).is_file() if folder is not None else _is_at(spark, f"{checkpoint}/{_BEGUN}")
    if is_new and is_there:
        raise PipelineError.of(
            "E730",
            f"the state is new, but the stream's checkpoint {checkpoint} is not: what it was handed would be left out",
            remedy="give the new state a checkpoint of its own",
        )
    if last_batch is not None and not is_there:
        raise PipelineError.of(
            "E730",
            f"the state holds micro-batch {last_batch // PARTS}, but the stream's checkpoint {checkpoint} is gone",
            remedy="restore the folder, or begin a new state",
        )


def _is_at(spark: SparkSession, address: str) -> bool:
    try:
        return exists(spark, address)
    except SPARK_ERRORS as error:
        raise PipelineError.of(
            "E730", f"{address} cannot be looked for: {cause(str(error))}", remedy="check updates.checkpoint"
        ) from error


@contextmanager
def stopping() -> Iterator[threading.Event]:
    """An event that SIGINT and SIGTERM set, while this lasts; outside the main thread nothing is changed."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    signals = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, lambda _number, _frame: stop.set()) for number in signals}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Batches:
    """The function that Spark calls for every batch; it remembers a failure, and makes a stop wait for the batch."""

    def __init__(self, process: Process, stop: threading.Event) -> None:
        self._process, self._stop = process, stop
        self._busy = threading.Lock()
        self._failure: BaseException | None = None

    def __call__(self, batch: DataFrame, number: int) -> None:
        with self._busy:
            try:
                self._process(batch, number)
            except InterruptedError:  # a stop was asked for; Spark brings the batch again
                raise
            except BaseException as error:
                self._failure = error
                raise

    def finish(self, query: StreamingQuery) -> None:
        """Stop between two batches."""
        if self._stop.is_set():
            with self._busy:
                query.stop()
            return
        self.raise_if_failed()
        query.awaitTermination()

    def raise_if_failed(self) -> None:
        """Raise what went wrong inside a batch: errors of ours as they were."""
        if isinstance(self._failure, SPARK_ERRORS):
            raise _broken(self._failure) from self._failure
        if self._failure is not None:
            raise self._failure

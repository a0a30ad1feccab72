"""Where changes and relations go.

What      : change sinks take the feed of every version; relation sinks take whole relations now and then.
Idea      : a version is published under its number, so that publishing it again writes the same thing in the same
            place: a folder `version=N` is written anew, a database table that knows the version already is left alone.
Invariant : what a sink holds of version N is all of it or nothing: folders appear whole, and a database gets one
            transaction. Only stored versions are published. The console may repeat a version after a crash. On this
            machine nothing is removed that we did not write (shelf.py); elsewhere the folder of the version that is
            published is written anew, and nothing else is touched.
Never     : names of relations never become paths as they are (folders.py), nor text of a query, nor what a terminal
            obeys (visible.py).

Codes: E729 a sink that cannot be written.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Protocol, TextIO, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from tidelog.backends.spark.cluster.failures import cause
from tidelog.changes.term_arrays import is_term_type
from tidelog.errors import PipelineError
from tidelog.language.printer import print_fact
from tidelog.pipeline.engine_or_graph import Kept
from tidelog.pipeline.out.feed import spelled
from tidelog.pipeline.out.folders import folder_in_bytes, folder_name
from tidelog.pipeline.out.missing_table import lacks_table
from tidelog.pipeline.out.shelf import Shelf, local_folder
from tidelog.pipeline.out.triple_frames import frame_of
from tidelog.pipeline.settings.config import Sink
from tidelog.pipeline.sources.records import SPARK_ERRORS
from tidelog.visible import visible

Rows: TypeAlias = "pa.Table | DataFrame"
"""Rows of the change feed: an Arrow table, or a frame where there are too many for the driver."""

_SHOWN = 20
_CSV = {"escape": '"', "ignoreLeadingWhiteSpace": "false", "ignoreTrailingWhiteSpace": "false"}


class ChangeSink(Protocol):
    """Takes the change feed, version by version."""

    def publish(self, version: int, rows: Rows) -> None:
        """Take the rows of a version; taking them twice has the effect of taking them once."""


def change_sinks(spark: SparkSession, sinks: Sequence[Sink], out: TextIO) -> list[ChangeSink]:
    """The sinks that want changes."""
    return [_change_sink(spark, sink, out) for sink in sinks if sink.what == "changes"]


def relation_sinks(spark: SparkSession, sinks: Sequence[Sink], out: TextIO) -> list[RelationSink]:
    """The sinks that want whole relations."""
    return [RelationSink(spark, sink, out) for sink in sinks if sink.what == "relations"]


def _change_sink(spark: SparkSession, sink: Sink, out: TextIO) -> ChangeSink:
    if sink.format == "console":
        return ConsoleChanges(sink, out)
    if sink.format == "jdbc":
        return DatabaseChanges(spark, sink)
    return FolderOfChanges(spark, sink)


class FolderOfChanges:
    """A folder with one folder per version: to Spark, a table partitioned by version."""

    def __init__(self, spark: SparkSession, sink: Sink) -> None:
        self._spark, self._sink = spark, sink
        folder = local_folder(sink.path or "")
        self._shelf = None if folder is None else Shelf(folder)

    def publish(self, version: int, rows: Rows) -> None:
        """Write the folder of the version anew."""
        with _writing(self._sink):
            wanted = _wanted(self._spark, rows, self._sink)
            if wanted is None:
                return
            feed, part = wanted.drop("version"), f"version={version}"
            if self._shelf is None:
                _write(feed, self._sink, f"{self._sink.path}/{part}")
            else:
                self._shelf.put("the change feed", part, lambda path: _write(feed, self._sink, str(path)))


class DatabaseChanges:
    """A table that grows by one transaction per version."""

    def __init__(self, spark: SparkSession, sink: Sink) -> None:
        self._spark, self._sink = spark, sink
        self._last: int | None = None

    def publish(self, version: int, rows: Rows) -> None:
        """Add the rows, unless the table has them already."""
        last = self._stored() if self._last is None else self._last
        if version <= last:
            return
        with _writing(self._sink):
            wanted = _wanted(self._spark, rows, self._sink)
            if wanted is not None:  # one partition is one transaction
                wanted.coalesce(1).write.format("jdbc").options(**self._sink.options).mode("append").save()
        self._last = version

    def _stored(self) -> int:
        """The last version in the table; -1 if there is none, or no table yet. If the database does not say, stop."""
        try:
            table = self._spark.read.format("jdbc").options(**self._sink.options).load()
            row = table.agg(F.max("version")).first()
        except SPARK_ERRORS as error:
            if lacks_table(error):
                return -1
            first = str(error).partition("\n")[0] or type(error).__name__
            raise PipelineError.of(
                "E729",
                f"sink {self._sink.number}: nobody can tell which versions its table has: {first}",
                remedy="let the pipeline read the table, or make an empty one, and start again",
            ) from error
        return -1 if row is None or row[0] is None else int(row[0])


class ConsoleChanges:
    """Lines for people."""

    def __init__(self, sink: Sink, out: TextIO) -> None:
        self._sink, self._out = sink, out

    def publish(self, version: int, rows: Rows) -> None:
        """Print the first rows of a version."""
        wanted = _of(rows if isinstance(rows, pa.Table) else rows.limit(10 * _SHOWN).toArrow(), self._sink)
        for row in wanted.slice(0, _SHOWN).to_pylist():
            sign = "+" if row["op"] == "insert" else "-"
            fact = visible(f"{row['relation']}({row['values'][1:-1]})")
            print(f"{version:>6} {sign} {fact}", file=self._out, flush=True)
        if wanted.num_rows > _SHOWN:
            print(f"{version:>6}   ... and {wanted.num_rows - _SHOWN:,} more", file=self._out, flush=True)


class RelationSink:
    """Whole relations, written when a run ends and, during a run, not more often than the sink's `every` seconds."""

    def __init__(self, spark: SparkSession, sink: Sink, out: TextIO) -> None:
        self._spark, self._sink, self._out = spark, sink, out
        self._published: int | None = None
        self._at = time.monotonic()
        if sink.format == "jdbc" and len(sink.relations or ()) != 1:
            raise PipelineError.of(
                "E725",
                f"sink {sink.number}: a database table takes one relation",
                remedy='name it: relations = ["..."]',
            )

    def publish(self, engine: Kept, now: float, final: bool = False) -> None:
        """Write the relations if it is time, or if it is the last time."""
        if engine.version == self._published or not (final or now - self._at >= self._sink.every):
            return
        for relation in self._sink.relations or engine.relations:
            if relation in engine:
                with _writing(self._sink):
                    self._publish(engine, relation)
        self._published, self._at = engine.version, now

    def _publish(self, engine: Kept, relation: str) -> None:
        if self._sink.format == "console":
            for fact in islice(engine[relation], _SHOWN):
                print(visible(print_fact(relation, fact)), file=self._out)
            return
        frame = _frame(engine, relation, self._spark)
        if self._sink.format == "jdbc":
            options = {"truncate": "true", **self._sink.options}
            frame.write.format("jdbc").options(**options).mode("overwrite").save()
            return
        folder, part = local_folder(self._sink.path or ""), f"version={engine.version}"
        if folder is None:
            _write(frame, self._sink, f"{self._sink.path}/{folder_name(relation)}/{part}")
            return
        shelf = shelf_of(folder, relation)
        shelf.put(relation, part, lambda path: _write(frame, self._sink, str(path)))
        shelf.remove(_outdated(shelf, engine.version, self._sink.keep))


def _of(rows: pa.Table, sink: Sink) -> pa.Table:
    """The rows of the relations that a sink wants."""
    if sink.relations is None:
        return rows
    return rows.filter(pc.is_in(rows["relation"], pa.array(sink.relations, pa.string())))


def _wanted(spark: SparkSession, rows: Rows, sink: Sink) -> DataFrame | None:
    """The same as a frame, None if there are no rows; what fits the driver becomes one file."""
    if isinstance(rows, pa.Table):
        wanted = _of(rows, sink)
        return spark.createDataFrame(wanted).coalesce(1) if wanted.num_rows else None
    return rows if sink.relations is None else rows.where(F.col("relation").isin(*sink.relations))


def _frame(engine: Kept, relation: str, spark: SparkSession) -> DataFrame:
    """A relation for Spark; a column of mixed types becomes JSON, which keeps them apart, one of terms their texts."""
    if engine.backend == "spark":
        return frame_of(engine, relation, spark)
    table = engine[relation].to_arrow()
    columns = [_plain(column) for column in table.columns]
    return spark.createDataFrame(pa.table(columns, names=table.column_names)).coalesce(1)


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of a type that Spark knows."""
    if pa.types.is_union(column.type):
        return spelled(pa.table([column], names=["c"]), len(column))
    if is_term_type(column.type):
        return pa.chunked_array([chunk.storage for chunk in column.chunks], pa.large_string())
    return pc.cast(column, pa.string()) if pa.types.is_null(column.type) else column


def _write(frame: DataFrame, sink: Sink, path: str) -> None:
    """Write a folder anew; in CSV a quote is doubled and no space lost, as everybody but Spark expects it."""
    options = {**_CSV, **sink.options} if sink.format == "csv" else sink.options
    frame.write.format(sink.format).options(**options).mode("overwrite").save(path)


def shelf_of(folder: Path, relation: str) -> Shelf:
    """The shelf of a relation: its own folder, or another one if a relation that differs in case has taken it."""
    for name in (folder_name(relation), folder_in_bytes(relation)):
        shelf = Shelf(folder / name)
        if shelf.owner in (None, relation):
            return shelf
    raise PipelineError.of(
        "E729", f"two relations would share the folder {folder / name}", remedy="give one of them a sink of its own"
    )


def _outdated(shelf: Shelf, version: int, keep: int) -> list[str]:
    """All but the last versions that we put on a shelf, and those of a time that never came to be."""
    numbers = {part: int(part.removeprefix("version=")) for part in shelf.parts}
    past = sorted((part for part in numbers if numbers[part] <= version), key=numbers.__getitem__)
    return [*past[:-keep], *(part for part in numbers if numbers[part] > version)]


@contextmanager
def _writing(sink: Sink) -> Iterator[None]:
    """What goes wrong with a sink is said in one line; the state is safe, and a restart publishes again."""
    try:
        yield
    except (*SPARK_ERRORS, OSError) as error:
        first = cause(str(error)) or type(error).__name__
        raise PipelineError.of(
            "E729",
            f"sink {sink.number} ({sink.format}) cannot be written: {first}",
            remedy="look after the sink and start again; nothing is lost",
        ) from error

"""Where Spark is asked to work, and how its failures look.

What      : `Jobs` runs actions under a name that people understand, knows how many jobs they took, and turns Spark's
            failures into ours.
Idea      : Spark's own bookkeeping is read: one action may take several jobs (a broadcast, an adaptive shuffle).
Invariant : nothing under backends/spark starts a job except through `run`; a failed action raises a PipelineError.
            Afterwards the caller's thread names its own jobs as it did before.
Never     : no facts and no rules.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tidelog.backends.spark.cluster.failures import failed
from tidelog.errors import PipelineError

T = TypeVar("T")
_LOST = "CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND"
"""Spark's word for kept blocks that no executor has any more."""
_PROPERTIES = ("spark.job.description", "spark.jobGroup.id", "spark.job.interruptOnCancel")
"""What a title and a group change on a thread."""


class Jobs:
    """The actions of one backend."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self.ask_budget: Callable[[], None] = lambda: None
        self._name = f"tidelog-{uuid.uuid4().hex[:8]}"
        self._number = 0
        self._group = self._name
        self.actions = 0
        self._title = "tidelog: work on facts"

    def aside(self) -> Jobs:
        """Actions of a reader in the same session: they ask no budget, and nobody counts them."""
        return Jobs(self._spark)

    @contextmanager
    def named(self, title: str) -> Iterator[None]:
        """Within this context, Spark's user interface calls jobs by what they are for."""
        before, self._title = self._title, f"tidelog: {title}"
        try:
            yield
        finally:
            self._title = before

    @property
    def spark(self) -> SparkSession:
        """The session; a stopped one is an error."""
        self.require_session()
        return self._spark

    def require_session(self) -> None:
        """Raise E706 if the session is stopped."""
        context = getattr(self._spark, "_sc", None)
        try:
            is_stopped = context is not None and (context._jsc is None or context._jsc.sc().isStopped())
        except (Py4JError, OSError):
            is_stopped = True
        if is_stopped:
            raise _stopped()

    def begin(self) -> None:
        """From here on jobs are counted anew."""
        self._number += 1
        self.actions = 0
        self._group = f"{self._name}-{self._number}"

    def end(self) -> None:
        """No budget is asked until an update sets one again."""
        self.ask_budget = lambda: None

    @property
    def count(self) -> int:
        """How many Spark jobs ran since `begin`; without a context to ask (Spark Connect) the number of actions."""
        if not self.actions:
            return 0
        try:
            context = self._spark.sparkContext
            context._jsc.sc().listenerBus().waitUntilEmpty()
            return len(context.statusTracker().getJobIdsForGroup(self._group))
        except (PySparkException, Py4JError, AttributeError):
            return self.actions

    def run(self, action: Callable[[], T]) -> T:
        """The result of an action."""
        self.ask_budget()
        self.actions += 1
        context = getattr(self.spark, "_sc", None)
        try:
            with called(context, self._title, self._group):
                return action()
        except (PySparkException, Py4JError, OSError, AttributeError) as error:
            raise self._failure(error) from error

    def _failure(self, error: Exception) -> Exception:
        """Our error for a failed action."""
        try:
            self.require_session()
        except PipelineError as stopped:
            return stopped
        if isinstance(error, AttributeError | OSError):
            return error
        text = str(error)
        if _LOST in text:
            return PipelineError.of(
                "E707",
                "executors were lost, and with them facts of the last version",
                remedy="open the last saved version; with spark.tidelog.directory set to a folder that every executor"
                " reaches, lost executors lose no facts",
            )
        return failed(error)


@contextmanager
def called(context: SparkContext | None, title: str, group: str | None = None) -> Iterator[None]:
    """While this lasts, jobs of this thread have a title, and a group if one is given; then what they had before."""
    if context is None:
        yield
        return
    names = _PROPERTIES if group is not None else _PROPERTIES[:1]
    before: dict[str, str | None] = {}
    with suppress(Py4JError, AttributeError, OSError):  # what runs inside says that the session is stopped
        before = {name: context.getLocalProperty(name) for name in names}
        if group is None:
            context.setJobDescription(title)
        else:
            context.setJobGroup(group, title)
    try:
        yield
    finally:
        with suppress(Py4JError, AttributeError, OSError):  # of a stopped session nothing is left to put back
            for name, value in before.items():
                context.setLocalProperty(name, value)  # type: ignore[arg-type]


def _stopped() -> PipelineError:
    return PipelineError.of(
        "E706",
        "the Spark session is stopped; of the last version only what the driver holds can still be read",
        remedy="start a session and open the last saved version",
    )

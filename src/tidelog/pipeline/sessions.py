"""The Spark session of a run.

What      : `session_for` gives the session of a pipeline; `titled` says what the jobs of a step are for.
Idea      : a reader of Spark's user interface sees "tidelog: read facts/edge.csv" and not a line of our code.
Invariant : a session that was there before the run is there after it, as it was; so are the names of its user's jobs.
Never     : no setting is changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from tidelog.backends.spark.cluster.jobs import called
from tidelog.backends.spark.cluster.session import close, running, session
from tidelog.pipeline.settings.config import Pipeline


@contextmanager
def session_for(pipeline: Pipeline, given: SparkSession | None) -> Iterator[SparkSession]:
    """The given session, else the one that is running already, else one of our own that ends with the run."""
    there = given or running()
    if there is not None:
        yield there
        return
    own = session(pipeline.master, app=pipeline.file.stem, options=pipeline.spark)
    try:
        yield own
    finally:
        close(own)


@contextmanager
def titled(spark: SparkSession, title: str) -> Iterator[None]:
    """While this lasts, Spark's user interface calls jobs of this thread by what they are for."""
    with called(getattr(spark, "_sc", None), f"tidelog: {title}"):
        yield

"""A database sink publishes a version once, or stops.

Taught by reading the code: every error of the database, a wrong password included, was taken for "there is no table
yet", and a version that had been published was published again. Derby, which comes with Spark, is the database here.
"""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tidelog.errors import PipelineError
from tidelog.pipeline.out.sinks import DatabaseChanges
from tidelog.pipeline.settings.config import Sink


def sink(address: str) -> Sink:
    """A sink for changes in a table of a Derby database in memory."""
    options = {
        "url": f"jdbc:derby:memory:{address}",
        "dbtable": "changes",
        "driver": "org.apache.derby.jdbc.EmbeddedDriver",
    }
    return Sink(number=1, what="changes", format="jdbc", path=None, options=options)


def feed(version: int) -> pa.Table:
    """The rows of one version."""
    row = {"version": version, "batch": None, "op": "insert", "relation": "edge", "values": "[1]"}
    kinds = [("version", pa.int64()), ("batch", pa.int64()), ("op", pa.string())]
    return pa.Table.from_pylist([row], pa.schema([*kinds, ("relation", pa.string()), ("values", pa.string())]))


def test_a_version_is_published_once_by_whoever_comes_after_a_crash(spark: SparkSession) -> None:
    """The first sink meets no table; another one, as after a restart, meets the version."""
    wanted = sink("once;create=true")
    for _ in range(2):
        publisher = DatabaseChanges(spark, wanted)
        publisher.publish(1, feed(1))
        publisher.publish(1, feed(1))
    DatabaseChanges(spark, wanted).publish(2, feed(2))
    rows = spark.read.format("jdbc").options(**wanted.options).load().select("version").collect()
    assert sorted(row[0] for row in rows) == [1, 2]


def test_a_database_that_does_not_answer_stops_the_sink(spark: SparkSession) -> None:
    """There is no such database: whether it has the version cannot be told, so nothing is written."""
    with pytest.raises(PipelineError) as caught:
        DatabaseChanges(spark, sink("nowhere")).publish(1, feed(1))
    assert caught.value.code == "E729"
    assert "nobody can tell" in str(caught.value)

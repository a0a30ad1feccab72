"""Streams whose columns are fixed: the pipeline says which column holds the updates, and what orders them.

Kafka's source has the columns below and no others; it is no part of PySpark, so its rows are made by hand here.
"""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from pyspark.sql import SparkSession

from tidelog.errors import PipelineError
from tidelog.pipeline.follow.arrival import columns_of
from tidelog.pipeline.follow.updates import Line, parts_of
from tidelog.pipeline.settings.config import UpdateSource

SCHEMA = "key binary, value binary, topic string, partition int, offset long, timestamp timestamp, timestampType int"
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def message(value: bytes | None, partition: int, offset: int) -> tuple[object, ...]:
    """A row as Kafka's source gives it."""
    return None, value, "updates", partition, offset, NOW, 0


def test_messages_are_lines_in_the_order_of_theircolumns_of(spark: SparkSession) -> None:
    """A message is one update or several; a tombstone (no value) is none, and what is no update is a reject."""
    rows = [
        message(b'{"insert": [["edge", 2, 3]]}', 0, 11),
        message(b'{"delete": [["edge", 9, 9]]}', 1, 5),
        message(b'{"insert": [["edge", 1, 2]]}\n{"delete": [["edge", 1, 2]]}\n', 0, 10),
        message(None, 0, 12),
        message(b"\xff", 1, 6),
    ]
    source = UpdateSource("kafka", order=("partition", "offset"), line="value")
    (part,) = parts_of(columns_of(spark.createDataFrame(rows, SCHEMA), source), source)
    assert [line.text for line in part.lines if isinstance(line, Line)] == [
        '{"insert": [["edge", 1, 2]]}',
        '{"delete": [["edge", 1, 2]]}',
        '{"insert": [["edge", 2, 3]]}',
        '{"delete": [["edge", 9, 9]]}',
    ]
    assert len(part.lines) == 5


def test_a_column_that_is_not_there_is_named(spark: SparkSession) -> None:
    """With those that are there."""
    with pytest.raises(PipelineError) as caught:
        columns_of(spark.createDataFrame([message(b"", 0, 0)], SCHEMA), UpdateSource("kafka", line="body"))
    assert caught.value.code == "E727"
    assert "value" in str(caught.value)

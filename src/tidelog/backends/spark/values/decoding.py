"""Ids back to values, on Spark.

What      : a DataFrame of ids becomes one of values; no row passes through the driver.
Idea      : integers and bools are in the id; texts come by a join with the constants.
Invariant : a column of one kind has that kind's Spark type (long, string, double, boolean); a column of several kinds
            becomes strings.
Never     : no job is started here.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import BooleanType, DataType, DoubleType, LongType, StringType, StructField, StructType

from tidelog.backends.spark.values import ids

_ONLY: dict[int, DataType] = {
    1 << ids.INTEGER: LongType(),
    1 << ids.STRING: StringType(),
    1 << ids.BOOL: BooleanType(),
    1 << ids.OTHER: DoubleType(),
}


def decoded(frame: DataFrame, texts: DataFrame, tags: Sequence[int], columns: Sequence[str]) -> DataFrame:
    """The facts as values, under the given column names; `tags` says by column which tags occur."""
    hashed = 1 << ids.STRING | 1 << ids.OTHER
    for at, found in enumerate(tags):
        if found & hashed:
            known = texts.select(F.col("id").alias(f"c{at}"), F.col("text").alias(f"t{at}"))
            frame = frame.join(known, f"c{at}", "left")
    values = [_value(at, found).alias(f"v{at}") for at, found in enumerate(tags)]
    frame = frame.select(*values)
    if any(found == 1 << ids.OTHER or found not in _ONLY for found in tags):
        frame = frame.mapInArrow(_Finish(tuple(tags)), schema(tags))
    return frame.toDF(*columns)


def schema(tags: Sequence[int]) -> StructType:
    """The Spark types of columns with these tags."""
    return StructType([StructField(f"v{at}", _ONLY.get(found, StringType())) for at, found in enumerate(tags)])


def _value(at: int, tags: int) -> Column:
    """A column as far as Spark's own functions go: a value, or the typed text of one."""
    number = F.col(f"c{at}")
    if tags == 1 << ids.INTEGER:
        return F.shiftright(number, 2)
    if tags == 1 << ids.BOOL:
        return number == F.lit(1 << 2 | ids.BOOL)
    if tags == 1 << ids.STRING:
        return F.substring(F.col(f"t{at}"), 2, 2**31 - 1)
    if not tags & (1 << ids.STRING | 1 << ids.OTHER):
        return F.when(number.bitwiseAND(F.lit(ids.TAG)) == ids.BOOL, _bool_text(number)).otherwise(_whole_text(number))
    text = F.col(f"t{at}")
    is_bool = number.bitwiseAND(F.lit(ids.TAG)) == ids.BOOL
    return F.when(text.isNotNull(), text).when(is_bool, _bool_text(number)).otherwise(_whole_text(number))


def _bool_text(number: Column) -> Column:
    return F.when(number == F.lit(1 << 2 | ids.BOOL), F.lit("btrue")).otherwise(F.lit("bfalse"))


def _whole_text(number: Column) -> Column:
    return F.concat(F.lit("i"), F.shiftright(number, 2).cast("string"))


class _Finish:
    """Turns typed texts into doubles or plain texts, in Arrow tasks."""

    def __init__(self, tags: tuple[int, ...]) -> None:
        self._tags = tags

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            columns = [self._column(tag, column) for tag, column in zip(self._tags, batch.columns)]
            yield pa.RecordBatch.from_arrays(columns, names=batch.schema.names)

    def _column(self, tags: int, column: pa.Array) -> pa.Array:
        if tags in _ONLY and tags != 1 << ids.OTHER:
            return column
        texts = column.to_pylist()
        if tags == 1 << ids.OTHER:
            return pa.array([_number(text) for text in texts], pa.float64())
        return pa.array([str(_number(text)) if text[0] == "f" else text[1:] for text in texts], pa.string())


def _number(text: str) -> float:
    if text[0] == "f":
        return float(struct.unpack(">d", bytes.fromhex(text[1:]))[0])
    return float(text[1:])

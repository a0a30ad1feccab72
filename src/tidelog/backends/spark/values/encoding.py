"""Values to ids, on Spark.

What      : a DataFrame of values becomes one of ids, its texts join the constants; no row passes through the driver.
Idea      : ids are column expressions (ids.py); only floats need an Arrow task, because Spark has no function for bits.
Invariant : what cannot be a constant is refused before anything changes, naming relation and column: wrong number of
            columns E301, missing values E302, other types E303, floats that are no numbers and bytes that are no text
            E304, declared types E306. Whole numbers become floats where floats are declared.
Never     : columns count by position; the user's column names are not used.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import reduce

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import (
    BooleanType,
    ByteType,
    DataType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructField,
)

from tidelog.backends.spark.cluster import frames
from tidelog.backends.spark.cluster.jobs import Jobs
from tidelog.backends.spark.values import ids
from tidelog.backends.spark.values.constants import Constants
from tidelog.changes.columns import unsupported
from tidelog.changes.fact_sources import column_name, wrong_arity
from tidelog.changes.typed_texts import TYPED
from tidelog.errors import Problem, UpdateError

_WHOLE = (ByteType, ShortType, IntegerType, LongType)
_DECLARED: dict[str, tuple[type[DataType], ...]] = {
    "number": _WHOLE,
    "unsigned": _WHOLE,
    "float": (FloatType, DoubleType, *_WHOLE),
    "symbol": (StringType,),
    "bool": (BooleanType,),
}
_NO_NUMBER, _NO_TEXT, _NEGATIVE = -1, -5, -9
"""Stand for a float, a string and an unsigned number that are none; no constant has such an id."""
_REFUSALS = {
    _NO_NUMBER: ("E304", "has NaN or infinite values, or whole numbers that no float holds", "leave these facts out"),
    _NO_TEXT: ("E304", "has strings that are not valid Unicode", "repair them with make_valid_utf8"),
    _NEGATIVE: ("E306", "has negative values, which are no unsigned", "declare a number, or leave these facts out"),
}


class TypedText(StringType):
    """A column of constants of any type, each with its type (changes/typed_texts.py)."""


def is_typed(field: StructField) -> bool:
    """Whether a column holds typed texts."""
    return isinstance(field.dataType, StringType) and bool((field.metadata or {}).get(TYPED))


def as_declared(frame: DataFrame, types: tuple[str, ...] | None, *, is_asked: bool = False) -> DataFrame:
    """The frame with floats for whole numbers where floats are declared.

    A number that no float holds becomes NaN, which is refused later, or leaves if the facts are only asked for.
    """
    for at, (field, kind) in enumerate(zip(frame.schema.fields, types or ())):
        if kind == "float" and isinstance(field.dataType, _WHOLE):
            frame = frame.toDF(*(f"v{number}" for number in range(len(frame.columns))))
            whole = F.col(f"v{at}").cast("long")
            is_exact = F.coalesce(whole.cast("double").try_cast("long") == whole, whole.isNull())
            frame = frame.where(is_exact) if is_asked else frame
            frame = frame.withColumn(f"v{at}", F.when(is_exact, whole.cast("double")).otherwise(F.lit(float("nan"))))
    return frame


def check_shape(frame: DataFrame, relation: str, arity: int | None, types: tuple[str, ...] | None) -> None:
    """Refuse a DataFrame with the wrong number or types of columns, without a job."""
    fields = frame.schema.fields
    if arity is not None and len(fields) != arity:
        raise wrong_arity(relation, arity, len(fields))
    for at, field in enumerate(fields):
        name = column_name(relation, at + 1)
        if not isinstance(field.dataType, (*_WHOLE, StringType, BooleanType, FloatType, DoubleType)):
            raise unsupported(name, field.dataType.simpleString())
        wanted = _DECLARED.get(types[at]) if types is not None and not is_typed(field) else None
        if wanted is not None and types is not None and not isinstance(field.dataType, wanted):
            raise UpdateError.of(
                "E306",
                f"{name} is of type {field.dataType.simpleString()}, which is no {types[at]}",
                remedy=f"convert the column to {types[at]}, or change the declaration of {relation}",
            )


def encoded(
    jobs: Jobs, constants: Constants, frame: DataFrame, relation: str, types: tuple[str, ...] | None = None
) -> tuple[DataFrame, int]:
    """The distinct facts as ids, and about how many there are (repeated ones counted); release them after use."""
    kinds = [TypedText() if is_typed(field) else field.dataType for field in frame.schema.fields]
    plain = frame.toDF(*(f"v{at}" for at in range(len(kinds))))
    if any(isinstance(kind, FloatType | DoubleType) for kind in kinds):
        plain = with_float_texts(plain, kinds)
    if not kinds:
        kept = frames.keep(jobs, plain.limit(1).select(F.lit(0).cast("long").alias("c0")))
        return kept, jobs.run(kept.count)
    columns = [_id(at, kind, types[at] if types else "any").alias(f"c{at}") for at, kind in enumerate(kinds)]
    texts = [_text(at, kind).alias(f"t{at}") for at, kind in enumerate(kinds)]
    with jobs.named(f"read {relation}"):
        kept = frames.keep(jobs, plain.select(*columns, *texts))  # distinct later, when texts need not move
        size = _checked(jobs, kept, kinds, relation)
    constants.add(_texts(kept, kinds))
    return frames.part(kept, frames.names(len(kinds)), is_distinct=False), size


def _checked(jobs: Jobs, kept: DataFrame, kinds: list[DataType], relation: str) -> int:
    counts = [F.count(F.lit(1)).alias("size")]
    counts += [F.count_if(F.col(f"c{at}").isNull()).alias(f"n{at}") for at in range(len(kinds))]
    counts += [
        F.min(F.when(F.col(f"c{at}").isin(*_REFUSALS), F.col(f"c{at}"))).alias(f"x{at}") for at in range(len(kinds))
    ]
    row = jobs.run(lambda: kept.agg(*counts).toArrow()).to_pylist()[0]
    for at in range(len(kinds)):
        name = column_name(relation, at + 1)
        if row[f"n{at}"]:
            frames.release(kept)
            raise UpdateError.of(
                "E302", f"{name} has missing values", remedy="leave these facts out, or use a constant for unknown"
            )
        if row[f"x{at}"] is not None:
            frames.release(kept)
            code, sentence, remedy = _REFUSALS[row[f"x{at}"]]
            raise UpdateError(Problem(code, f"{name} {sentence}", remedy=remedy))
    return int(row["size"])


def _id(at: int, kind: DataType, declared: str = "any") -> Column:
    value = F.col(f"v{at}")
    match kind:
        case TypedText():
            return ids.of_typed_column(value)
        case StringType():
            return F.when(~F.is_valid_utf8(value), F.lit(_NO_TEXT)).otherwise(ids.of_string_column(value))
        case BooleanType():
            return F.when(value.isNotNull(), ids.of_bool_column(value))
        case FloatType() | DoubleType():
            return F.when(value == "n", F.lit(_NO_NUMBER)).when(value.isNotNull(), ids.of_text_column(value))
        case _ if declared == "unsigned":
            return F.when(value < 0, F.lit(_NEGATIVE)).otherwise(ids.of_integer_column(value))
        case _:
            return ids.of_integer_column(value)


def _text(at: int, kind: DataType) -> Column:
    """The typed text of a constant that needs one."""
    value = F.col(f"v{at}")
    match kind:
        case TypedText():
            is_hashed = _id(at, kind).bitwiseAND(F.lit(ids.TAG)).isin(ids.STRING, ids.OTHER)
            return F.when(is_hashed, value)
        case StringType():
            return F.concat(F.lit("s"), value)
        case FloatType() | DoubleType():
            return value
        case LongType():
            is_large = _id(at, kind).bitwiseAND(F.lit(ids.TAG)) == ids.OTHER
            return F.when(is_large, F.concat(F.lit("i"), value.cast("string")))
        case _:
            return F.lit(None).cast("string")


def _texts(kept: DataFrame, kinds: list[DataType]) -> DataFrame:
    parts = [
        kept.select(F.col(f"c{at}").alias("id"), F.col(f"t{at}").alias("text")).where(F.col("text").isNotNull())
        for at in range(len(kinds))
    ]
    return reduce(DataFrame.unionAll, parts)


def with_float_texts(frame: DataFrame, kinds: list[DataType]) -> DataFrame:
    """The frame with typed texts in place of floats."""
    floats = tuple(f"v{at}" for at, kind in enumerate(kinds) if isinstance(kind, FloatType | DoubleType))
    shape = ", ".join(
        f"v{at} {'string' if f'v{at}' in floats else kind.simpleString()}" for at, kind in enumerate(kinds)
    )
    return frame.mapInArrow(_FloatTexts(floats), shape)


class _FloatTexts:
    """Replaces floats by their typed texts, in Arrow tasks."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            names = batch.schema.names
            columns = [
                _float_texts(column) if name in self._names else column for name, column in zip(names, batch.columns)
            ]
            yield pa.RecordBatch.from_arrays(columns, names=names)


def _float_texts(column: pa.Array) -> pa.Array:
    texts = [
        None if value is None else ids.typed_text(value + 0.0) if math.isfinite(value) else "n"
        for value in column.to_pylist()
    ]
    return pa.array(texts, pa.string())

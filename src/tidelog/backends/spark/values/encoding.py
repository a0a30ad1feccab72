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
from tidelog.backends.spark.values import ids, numbered
from tidelog.backends.spark.values.constants import Constants
from tidelog.backends.spark.values.ids import Naming
from tidelog.backends.spark.values.refusals import MISSING, NEGATIVE, NO_NUMBER, NO_TEXT, REFUSALS, refuse
from tidelog.changes.columns import unsupported
from tidelog.changes.fact_sources import column_name, wrong_arity
from tidelog.changes.typed_texts import TYPED
from tidelog.errors import UpdateError

_WHOLE = (ByteType, ShortType, IntegerType, LongType)
_DECLARED: dict[str, tuple[type[DataType], ...]] = {
    "number": _WHOLE,
    "unsigned": _WHOLE,
    "float": (FloatType, DoubleType, *_WHOLE),
    "symbol": (StringType,),
    "bool": (BooleanType,),
}


_KINDS: dict[type[DataType] | tuple[type[DataType], ...], str] = {
    StringType: numbered.STRING,
    BooleanType: numbered.BOOL,
    (FloatType, DoubleType): numbered.FLOAT,
    _WHOLE: numbered.WHOLE,
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


def kinds_of(frame: DataFrame, types: tuple[str, ...] | None) -> tuple[str, ...]:
    """The kinds of the columns of a checked frame, as tasks know them (numbered.py)."""
    return tuple(
        numbered.UNSIGNED
        if types is not None and types[at] == "unsigned" and isinstance(field.dataType, _WHOLE)
        else numbered.TYPED
        if is_typed(field)
        else next(kind for known, kind in _KINDS.items() if isinstance(field.dataType, known))
        for at, field in enumerate(frame.schema.fields)
    ) or (numbered.NOTHING,)


def encoded(
    jobs: Jobs, constants: Constants, frame: DataFrame, relation: str, types: tuple[str, ...] | None = None
) -> tuple[DataFrame, int]:
    """The distinct facts as ids, and about how many there are (repeated ones counted); release them after use.

    This is for sessions without a folder that every executor reaches; else see files/receiving.py.
    """
    width = len(frame.columns)
    with jobs.named(f"read {relation}"):
        kept = frames.keep(jobs, identified(frame, types, constants.naming))  # distinct later: texts need not move
        size = _checked(jobs, kept, width, relation)
    constants.add(_texts(kept, width))
    return frames.part(kept, frames.names(max(width, 1)), is_distinct=False), size


def identified(frame: DataFrame, types: tuple[str, ...] | None, naming: Naming) -> DataFrame:
    """Facts with ids c0, c1, ... and the texts t0, t1, ... of those that need one; a fact without columns has one.

    What is no constant has an id that `refuse` knows, and no text.
    """
    kinds = [TypedText() if is_typed(field) else field.dataType for field in frame.schema.fields]
    plain = frame.toDF(*(f"v{at}" for at in range(len(kinds))))
    if not kinds:
        return plain.limit(1).select(F.lit(0).cast("long").alias("c0"))
    if any(isinstance(kind, FloatType | DoubleType) for kind in kinds):
        plain = with_float_texts(plain, kinds)
    columns = [
        F.coalesce(_id(at, kind, naming, types[at] if types else "any"), F.lit(MISSING).cast("long")).alias(f"c{at}")
        for at, kind in enumerate(kinds)
    ]
    texts = {f"t{at}": _text(at, kind, naming) for at, kind in enumerate(kinds)}
    return plain.select(*columns, *(text.alias(name) for name, text in texts.items() if text is not None))


def _checked(jobs: Jobs, kept: DataFrame, width: int, relation: str) -> int:
    counts = [F.count(F.lit(1)).alias("size")]
    for at in range(width):
        number = F.col(f"c{at}")
        counts.append(F.min(F.when(number.isin(*REFUSALS), number)).alias(f"x{at}"))
    row = jobs.run(lambda: kept.agg(*counts).toArrow()).to_pylist()[0]
    try:
        refuse(relation, [row[f"x{at}"] for at in range(width)])
    except UpdateError:
        frames.release(kept)
        raise
    return int(row["size"])


def _id(at: int, kind: DataType, naming: Naming, declared: str = "any") -> Column:
    value = F.col(f"v{at}")
    match kind:
        case TypedText():
            return ids.of_typed_column(value, naming)
        case StringType():
            return F.when(~F.is_valid_utf8(value), F.lit(NO_TEXT)).otherwise(ids.of_string_column(value, naming))
        case BooleanType():
            return F.when(value.isNotNull(), ids.of_bool_column(value))
        case FloatType() | DoubleType():
            return F.when(value == "n", F.lit(NO_NUMBER)).when(value.isNotNull(), ids.of_text_column(value, naming))
        case _ if declared == "unsigned":
            return F.when(value < 0, F.lit(NEGATIVE)).otherwise(ids.of_integer_column(value, naming))
        case _:
            return ids.of_integer_column(value, naming)


def _text(at: int, kind: DataType, naming: Naming) -> Column | None:
    """The typed text of a constant that needs one; None if none does."""
    value = F.col(f"v{at}")
    match kind:
        case TypedText():
            is_hashed = _id(at, kind, naming).bitwiseAND(F.lit(ids.TAG)).isin(ids.STRING, ids.OTHER)
            return F.when(is_hashed, value)
        case StringType():
            return F.when(F.is_valid_utf8(value), F.concat(F.lit("s"), value))
        case FloatType() | DoubleType():
            return F.when(value != "n", value)
        case LongType():
            is_large = _id(at, kind, naming).bitwiseAND(F.lit(ids.TAG)) == ids.OTHER
            return F.when(is_large, F.concat(F.lit("i"), value.cast("string")))
    return None


def _texts(kept: DataFrame, width: int) -> DataFrame:
    parts = [
        kept.select(F.col(f"c{at}").alias("id"), F.col(f"t{at}").alias("text")).where(F.col("text").isNotNull())
        for at in range(width)
        if f"t{at}" in kept.columns
    ]
    nothing = kept.limit(0).select(F.col("c0").alias("id"), F.lit("").alias("text"))
    return reduce(DataFrame.unionAll, parts, nothing)


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

"""Records become facts, or rejects with a reason.

What      : `clean` gives every record's fields the types of its relation's columns, and says of each that does not fit
            why.
Idea      : one Spark expression per column and type converts what is well formed and names the reason otherwise; the
            types come from the source, else from the relation's declaration, else from the data.
Invariant : a record is a fact (no problem, no nulls, constants only) or has a problem; none disappears. Without a
            given type a column of text holds numbers if all its values are, else floats if all are, else symbols;
            where a float would round a whole number beyond 64 bits, a type has to be given.
Never     : no value is changed to make it fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql import types as T  # noqa: N812

from tidelog.changes.typed_texts import TYPED, shared_facts
from tidelog.errors import PipelineError
from tidelog.pipeline.settings.config import FactSource
from tidelog.pipeline.sources.records import Records, is_text

NUMBER, UNSIGNED = r"^[+-]?[0-9]+$", r"^\+?[0-9]+$"
FLOAT = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
BOOL = r"(?i)^(true|false)$"

_OF_TEXT = {
    "number": (NUMBER, "bigint"),
    "unsigned": (UNSIGNED, "bigint"),
    "float": (FLOAT, "double"),
    "bool": (BOOL, "boolean"),
}
_OF_KIND = {"number": ("int",), "unsigned": ("int",), "float": ("int", "float"), "bool": ("bool",), "symbol": ("text",)}
_TYPED_TEXTS = {"number": "^i", "unsigned": "^i[^-]", "float": "^f", "bool": "^b", "symbol": "^s"}
_WHOLE = T.ByteType | T.ShortType | T.IntegerType | T.LongType
_REAL = T.FloatType | T.DoubleType | T.DecimalType


@dataclass(frozen=True, slots=True)
class Cleaned:
    """The records of a relation with typed columns c1, c2, ..., and text, file, problem."""

    relation: str
    frame: DataFrame
    types: tuple[str, ...]
    headers: int = 0
    is_typed: bool = False
    """Whether columns hold typed texts (changes/typed_texts.py)."""

    def to_local(self) -> object:
        """The facts on the driver, as an engine takes them."""
        found = self.facts.toArrow()
        return shared_facts(found.columns) if self.is_typed else found

    @property
    def facts(self) -> DataFrame:
        """The facts alone."""
        return self.frame.where(F.col("problem").isNull()).select(*(f"c{n}" for n in range(1, len(self.types) + 1)))


def together(parts: Sequence[Cleaned]) -> Cleaned:
    """The records of several sources of one relation."""
    return replace(parts[0], frame=reduce(DataFrame.unionAll, (part.frame for part in parts)))


def clean(records: Records, source: FactSource, declared: Sequence[str] | None) -> Cleaned:
    """Records of a source as facts of its relation; `declared` are the types of the relation, `any` where open."""
    wanted = list(source.types or declared or ["any"] * len(records.names))
    if len(wanted) != len(records.names) and records.names:
        raise PipelineError.of(
            "E727",
            f"{source.relation} has {len(wanted)} columns, its source has {len(records.names)}",
            place=source.place,
            remedy="choose with columns = [...]",
        )
    if records.typed:
        return _terms(records, wanted, source)
    types = _types(records, wanted, source)
    columns, problems = [], [F.col("problem")]
    for number, (name, kind) in enumerate(zip(records.names, types), 1):
        value, problem = _typed(records, number, name, kind, source)
        columns.append(value.alias(f"c{number}"))
        problems.append(problem)
    frame = records.frame.select(*columns, "text", "file", F.coalesce(*problems).alias("problem"))
    return Cleaned(source.relation, frame, tuple(types), records.files)


def _terms(records: Records, wanted: Sequence[str], source: FactSource) -> Cleaned:
    """Fields that know their types: they stay as they are, or are not what is declared."""
    columns, problems = [], [F.col("problem")]
    for number, (name, kind) in enumerate(zip(records.names, wanted), 1):
        field = F.col(f"f{number}")
        columns.append(field.alias(f"c{number}", metadata={TYPED: True}))
        if kind != "any":
            fits = field.rlike(_TYPED_TEXTS[kind])
            problems.append(F.when(~fits, f"{name} is no {kind}"))
    frame = records.frame.select(*columns, "text", "file", F.coalesce(*problems).alias("problem"))
    return Cleaned(source.relation, frame, tuple(wanted), is_typed=True)


def _types(records: Records, wanted: list[str], source: FactSource) -> list[str]:
    """The types to use: those that are given, and for `any` what the data say."""
    open_ = [number for number, kind in enumerate(wanted, 1) if kind == "any" and number <= len(records.names)]
    types = dict(enumerate(wanted, 1))
    texts = [number for number in open_ if is_text(records.frame, f"f{number}")]
    if texts:
        types |= (_kinds_found if records.kinded else _shapes_found)(records, texts, source)
    types |= {number: _of_spark(records, number, source) for number in open_ if number not in texts}
    return [types[number] for number in range(1, len(records.names) + 1)]


def _shapes_found(records: Records, numbers: list[int], source: FactSource) -> dict[int, str]:
    """Columns of text: the first of number, float, symbol that fits every value.

    Floats would round whole numbers beyond 64 bits, which are more likely names than amounts: the user decides.
    """
    good = records.frame.where(F.col("problem").isNull())
    asked = []
    for number in numbers:
        value = F.col(f"f{number}")
        asked.append(F.bool_and(value.rlike(NUMBER) & value.try_cast("bigint").isNotNull()).alias(f"n{number}"))
        is_beyond = value.rlike(NUMBER) & value.try_cast("bigint").isNull()
        asked.append(F.min(F.when(is_beyond, value)).alias(f"b{number}"))
        asked.append(F.bool_and(value.rlike(FLOAT) & _is_finite(value.try_cast("double"))).alias(f"r{number}"))
    found = good.agg(*asked).first()
    answers = found.asDict() if found else {}
    types = {n: "number" if answers.get(f"n{n}") else "float" if answers.get(f"r{n}") else "symbol" for n in numbers}
    for number, kind in types.items():
        if kind == "float" and answers[f"b{number}"] is not None:
            raise PipelineError.of(
                "E727",
                f"column {records.names[number - 1]} of {source.relation}: the whole number {answers[f'b{number}']} "
                "is beyond 64 bits",
                place=source.place,
                remedy='say types = [..., "symbol", ...] to keep its digits, or "float" for the nearest floats',
            )
    return types


def _kinds_found(records: Records, numbers: list[int], source: FactSource) -> dict[int, str]:
    """Columns of JSON: the type of the kinds that occur; kinds that do not go together are the user's decision."""
    good = records.frame.where(F.col("problem").isNull())
    found = good.agg(*(F.collect_set(f"k{number}").alias(f"k{number}") for number in numbers)).first()
    types = {}
    for number in numbers:
        kinds = set(found[f"k{number}"] if found else ()) - {"null"}
        fitting = [kind for kind in ("number", "float", "bool", "symbol") if kinds <= set(_OF_KIND[kind])]
        if not fitting:
            raise PipelineError.of(
                "E727",
                f"column {records.names[number - 1]} of {source.relation} mixes {', '.join(sorted(kinds))}",
                place=source.place,
                remedy="say which it is with types = [...]; the others become rejects",
            )
        types[number] = fitting[0]
    return types


def _of_spark(records: Records, number: int, source: FactSource) -> str:
    """The type of a column that Spark knows the type of."""
    kind = records.frame.schema[f"f{number}"].dataType
    if isinstance(kind, _WHOLE) or (isinstance(kind, T.DecimalType) and kind.scale == 0 and kind.precision <= 18):
        return "number"
    if isinstance(kind, _REAL):
        return "float"
    if isinstance(kind, T.BooleanType):
        return "bool"
    raise _no_constants(records, number, source, kind)


def _no_constants(records: Records, number: int, source: FactSource, kind: T.DataType) -> PipelineError:
    return PipelineError.of(
        "E727",
        f"column {records.names[number - 1]} of {source.relation} has the type {kind.simpleString()}",
        place=source.place,
        remedy='say types = [..., "symbol", ...] to take its text, or leave it out with columns = [...]',
    )


def _typed(records: Records, number: int, name: str, kind: str, source: FactSource) -> tuple[Column, Column]:
    """One field as a column of constants, and the reason where a value is no constant."""
    field = F.col(f"f{number}")
    missing = F.when(field.isNull(), f"{name} has no value")
    wrong = F.lit(f"{name} is no {kind}")
    if is_text(records.frame, f"f{number}"):
        fits = F.col(f"k{number}").isin(*_OF_KIND[kind]) if records.kinded else F.lit(True)
        if kind == "symbol":
            return field, missing.when(~fits, wrong)
        pattern, target = _OF_TEXT[kind]
        value = field.try_cast(target)
        if not records.kinded or kind == "unsigned":
            fits = fits & field.rlike(pattern)
        fits = fits & (_is_finite(value) if kind == "float" else value.isNotNull())
        return value, missing.when(~fits, wrong)
    return _of_typed(records, number, kind, source, missing, wrong)


def _of_typed(
    records: Records, number: int, kind: str, source: FactSource, missing: Column, wrong: Column
) -> tuple[Column, Column]:
    """A field that is no text in the source."""
    field, found = F.col(f"f{number}"), records.frame.schema[f"f{number}"].dataType
    if kind == "symbol" and source.types:
        return field.cast("string"), missing
    is_whole = isinstance(found, _WHOLE) or (isinstance(found, T.DecimalType) and found.scale == 0)
    if kind in ("number", "unsigned") and is_whole:
        value = field.try_cast("bigint")
        return value, missing.when(value.isNull() | ((value < 0) if kind == "unsigned" else F.lit(False)), wrong)
    if kind == "float" and (is_whole or isinstance(found, _REAL)):
        value = field.cast("double")
        return value, missing.when(~_is_finite(value), wrong)
    if kind == "bool" and isinstance(found, T.BooleanType):
        return field, missing
    raise _no_constants(records, number, source, found)


def _is_finite(value: Column) -> Column:
    return F.coalesce(~F.isnan(value) & (F.abs(value) != float("inf")), F.lit(False))

"""Comparisons and arithmetic of rules over DataFrames of ids.

What      : adds the value of an expression to a DataFrame of slots, or keeps the rows for which a comparison holds.
Idea      : identity needs ids only and stays in the JVM. Everything else is computed in Arrow tasks by
            language/partial.py, the definition itself, once per distinct combination in a batch; texts come by a join
            with the constants.
Invariant : results are those of the definition; a row whose value is missing is dropped, so that Spark's own arithmetic
            and its ANSI mode never matter. A computed constant that needs a text carries it along in a column x<slot>.
Never     : no job is started here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import BooleanType, LongType, StringType, StructField, StructType

from tidelog.backends.spark.values import ids
from tidelog.backends.spark.values.ids import Naming
from tidelog.language import partial
from tidelog.language.terms import Value
from tidelog.planning.plan import Apply, Compute, Expression, Literally, Slot, Test


class Texts(NamedTuple):
    """The texts of constants (id, text), and how those that are computed get ids."""

    frame: DataFrame
    naming: Naming


def is_plain(expression: Expression) -> bool:
    """Whether an expression is an id already."""
    return not isinstance(expression, Apply)


def plain(expression: Expression, naming: Naming) -> Column:
    """The column of a slot or constant."""
    if isinstance(expression, Slot):
        return F.col(f"s{expression.number}")
    assert isinstance(expression, Literally)
    return F.lit(ids.of_value(expression.value, naming))


def tested(frame: DataFrame, test: Test, texts: Texts) -> DataFrame:
    """The rows for which a comparison has a value and holds."""
    if test.op in ("=", "!=") and is_plain(test.left) and is_plain(test.right):
        left, right = plain(test.left, texts.naming), plain(test.right, texts.naming)
        return frame.where(left == right if test.op == "=" else left != right)
    kept = list(frame.columns)
    return _evaluated(frame, {"holds": test}, texts).where("holds").select(*kept)


def computed(frame: DataFrame, computes: Mapping[int, Expression], texts: Texts) -> DataFrame:
    """The frame with further slots, by number, without the rows in which one of them has no value."""
    kept = [F.col(name) for name in frame.columns]
    direct = {number: expression for number, expression in computes.items() if is_plain(expression)}
    made = {number: plain(expression, texts.naming) for number, expression in direct.items()}
    frame = frame.select(*kept, *(column.alias(f"s{number}") for number, column in made.items()))
    carried = [
        F.col(f"x{expression.number}").alias(f"x{number}")
        for number, expression in direct.items()
        if isinstance(expression, Slot) and f"x{expression.number}" in frame.columns
    ]
    frame = frame.select("*", *carried)
    calls = {f"s{number}": Compute(Slot(number), each) for number, each in computes.items() if number not in direct}
    return _evaluated(frame, calls, texts).dropna(subset=list(calls)) if calls else frame


def _evaluated(frame: DataFrame, calls: Mapping[str, Test | Compute], texts: Texts) -> DataFrame:
    kept = list(frame.columns)
    slots = sorted({slot for call in calls.values() for slot in _slots(call)})
    for slot in slots:
        known = texts.frame.select(F.col("id").alias(f"s{slot}"), F.col("text").alias(f"t{slot}"))
        frame = frame.join(known, f"s{slot}", "left")
        if f"x{slot}" in kept:
            frame = frame.withColumn(f"t{slot}", F.coalesce(f"t{slot}", f"x{slot}"))
    fields = [frame.schema[name] for name in kept]
    for name, call in calls.items():
        if isinstance(call, Test):
            fields.append(StructField(name, BooleanType()))
        else:
            fields += [StructField(name, LongType()), StructField(f"x{name[1:]}", StringType())]
    ordered = frame.select(*kept, *(f"t{slot}" for slot in slots))
    return ordered.mapInArrow(
        _Evaluate(tuple(kept), tuple(slots), tuple(calls.items()), texts.naming), StructType(fields)
    )


def _slots(part: Test | Compute | Expression) -> set[int]:
    match part:
        case Test(_, left, right):
            return _slots(left) | _slots(right)
        case Compute(_, expression):
            return _slots(expression)
        case Slot(number):
            return {number}
        case Apply(_, arguments):
            return {slot for argument in arguments for slot in _slots(argument)}
        case _:
            return set()


@dataclass(frozen=True)
class _Evaluate:
    """An Arrow task: plain data, so that workers need nothing but this package."""

    kept: tuple[str, ...]
    slots: tuple[int, ...]
    calls: tuple[tuple[str, Test | Compute], ...]
    naming: Naming

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            arrays = [batch.column(name) for name in self.kept]
            names = list(self.kept)
            rows = list(zip(*(self._values(batch, slot) for slot in self.slots))) or [()] * batch.num_rows
            for name, call in self.calls:
                results = self._results(call, rows)
                names.append(name)
                if isinstance(call, Test):
                    arrays.append(pa.array(results, pa.bool_()))
                    continue
                numbers = [None if value is None else ids.of_value(value, self.naming) for value in results]
                arrays.append(pa.array(numbers, pa.int64()))
                names.append(f"x{name[1:]}")
                arrays.append(pa.array([text_of(*pair) for pair in zip(numbers, results)], pa.string()))
            yield pa.RecordBatch.from_arrays(arrays, names=names)

    def _values(self, batch: pa.RecordBatch, slot: int) -> list[tuple[int, Value]]:
        numbers, texts = batch.column(f"s{slot}").to_pylist(), batch.column(f"t{slot}").to_pylist()
        return [(number, value_of(number, text)) for number, text in zip(numbers, texts)]

    def _results(self, call: Test | Compute, rows: list[tuple[tuple[int, Value], ...]]) -> list[Value | None]:
        known: dict[tuple[int, ...], Value | None] = {}
        results = []
        for row in rows:
            key = tuple(number for number, _ in row)
            if key not in known:
                bound = {slot: value for slot, (_, value) in zip(self.slots, row)}
                known[key] = _called(call, bound)
            results.append(known[key])
        return results


def _called(call: Test | Compute, bound: Mapping[int, Value]) -> Value | None:
    """The truth of a test, or the value of an expression, None if it has none."""
    if isinstance(call, Test):
        return partial.holds(call.op, _value(call.left, bound), _value(call.right, bound))
    return _value(call.expression, bound)


def value_of(number: int, text: str | None) -> Value:
    """The constant of an id, given the text of a hashed one."""
    if text is not None:
        return ids.from_text(text)
    return bool(number >> 2) if number & ids.TAG == ids.BOOL else number >> 2


def text_of(number: int | None, value: Value | None) -> str | None:
    """The text that a constant with this id needs, if it needs one."""
    if number is None or value is None or number & ids.TAG in (ids.INTEGER, ids.BOOL):
        return None
    return ids.typed_text(value)


def _value(expression: Expression, bound: Mapping[int, Value]) -> Value | None:
    match expression:
        case Slot(number):
            return bound[number]
        case Literally(value):
            return value
        case Apply(function, arguments):
            return partial.apply(function, [_value(argument, bound) for argument in arguments])

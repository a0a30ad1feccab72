"""Filters as data: column, operator and value.

What      : `matches` turns one filter into a Spark condition.
Idea      : the condition is built from expressions, so a value is always a literal, whatever it contains.
Invariant : numbers compare as numbers also where the column holds text; a text that is no number compares to nothing.
Never     : no text is parsed.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import eq, ge, gt, le, lt, ne
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from tidelog.pipeline.config import Filter

_COMPARE: dict[str, Callable[[Any, Any], Any]] = {"=": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}


def matches(column: Column, part: Filter) -> Column:
    """The condition that a column compares with the filter's value as the filter says."""
    if part.op == "is null":
        return column.isNull()
    if part.op == "is not null":
        return column.isNotNull()
    values: list[Any] = part.value if isinstance(part.value, list) else [part.value]
    side = _as(column, values)
    if part.op in ("in", "not in"):
        found = side.isin(values)
        return found if part.op == "in" else ~found
    if part.op == "like":
        return column.cast("string").like(str(part.value))
    compared: Column = _COMPARE[part.op](side, F.lit(part.value))
    return compared


def _as(column: Column, values: list[Any]) -> Column:
    """The column in the type of the values it is compared with."""
    if all(isinstance(value, bool) for value in values):
        return column.try_cast("boolean")
    if all(isinstance(value, int | float) for value in values):
        return column.try_cast("double")
    return column.cast("string")

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

from tidelog.pipeline.settings.config import Filter

_COMPARE: dict[str, Callable[[Any, Any], Any]] = {"=": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}


def matches(column: Column, part: Filter, kind: Column | None = None) -> Column:
    """The condition that a column compares with the filter's value as the filter says.

    Where values know their kind, as in JSON, a text equals no number: `kind` is the column of kinds.
    """
    condition = _matches(column, part)
    if kind is None or part.op.startswith("is "):
        return condition
    values: list[Any] = part.value if isinstance(part.value, list) else [part.value]
    return condition & kind.isin(*{one for value in values for one in _KINDS[type(value)]})


def _matches(column: Column, part: Filter) -> Column:
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


_KINDS = {str: ("text",), bool: ("bool",), int: ("int", "float"), float: ("int", "float")}


def _as(column: Column, values: list[Any]) -> Column:
    """The column in the type of the values it is compared with."""
    if all(isinstance(value, bool) for value in values):
        return column.try_cast("boolean")
    if all(isinstance(value, int | float) for value in values):
        return column.try_cast("double")
    return column.cast("string")

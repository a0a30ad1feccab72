"""Columns as their declaration wants them.

What      : `as_declared` gives facts to insert the declared types; `as_asked` does what it can for facts to look up.
Idea      : the one conversion is that of a whole number where a float is declared (JSON, JavaScript and people write 9
            for 9.0), and only where the float is that number. Everything else is right or refused.
Invariant : a column that comes back from `as_declared` holds constants of the declared type only, negative ones never
            where `unsigned` is declared. A column of the right type is handed on as it is, without a pass over strings.
Never     : no relation is looked up and no file is read here.

Codes: E304 an integer that no float holds exactly, E306 a value that the declaration does not allow.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from tidelog.changes.columns import Column, Columns, out_of_range
from tidelog.errors import UpdateError
from tidelog.language.terms import Value

_PYTHON: dict[str, type] = {"number": int, "unsigned": int, "float": float, "bool": bool, "symbol": str}
_ARROW = {"number": pa.int64(), "unsigned": pa.int64(), "float": pa.float64(), "bool": pa.bool_()}


def as_declared(facts: Columns, types: Sequence[str] | None, relation: str, first_row: int = 1) -> Columns:
    """The facts with the declared types, if any are; refused with column and row where a value has another."""
    if types is None:
        return facts
    named = ((f"column {number} of {relation}", *pair) for number, pair in enumerate(zip(facts.columns, types), 1))
    columns = tuple(_declared(column, kind, where, relation, first_row) for where, column, kind in named)
    return Columns(columns, facts.rows)


def as_asked(facts: Columns, types: Sequence[str] | None) -> Columns:
    """The facts with floats for whole numbers where floats are declared; what does not fit is no fact, and stays."""
    if types is None or len(types) != facts.arity:
        return facts
    columns = tuple(
        _floats_where_exact(column) if kind == "float" else column for column, kind in zip(facts.columns, types)
    )
    return Columns(columns, facts.rows)


def asked_fact(values: Sequence[Value], types: Sequence[str] | None) -> tuple[Value, ...]:
    """`as_asked` for one fact."""
    if types is None or len(types) != len(values) or "float" not in types:
        return tuple(values)
    return tuple(_as_float(value) if kind == "float" else value for value, kind in zip(values, types))


def _as_float(value: Value) -> Value:
    """A whole number as the float that is equal to it, if there is one."""
    return float(value) if type(value) is int and int(float(value)) == value else value


def _declared(column: Column, kind: str, where: str, relation: str, first_row: int) -> Column:
    if kind not in _PYTHON or not len(column):
        return column
    if not isinstance(column, list):
        fitting = _fitting_arrow(column, kind)
        if fitting is not None:
            return fitting
        column = column.to_pylist()
    for row, value in enumerate(column, first_row):
        if not _fits(value, kind):
            raise _refused(where, row, value, kind, relation)
    return [float(value) for value in column] if kind == "float" else column  # type: ignore[arg-type]


def _fits(value: Value, kind: str) -> bool:
    if kind == "float" and type(value) is int:
        return type(_as_float(value)) is float
    return type(value) is _PYTHON[kind] and not (kind == "unsigned" and value < 0)  # type: ignore[operator]


def _fitting_arrow(column: pa.Array | pa.ChunkedArray, kind: str) -> pa.Array | pa.ChunkedArray | None:
    """An Arrow column as the declared type, if every value fits."""
    held = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if kind == "symbol":
        return column if pa.types.is_large_string(held) or pa.types.is_string(held) else None
    if kind == "float" and pa.types.is_int64(held):
        floats = _exact_floats(_decoded(column))
        return None if floats is None else floats
    if held != _ARROW[kind]:
        return None
    if kind == "unsigned":
        from pyarrow.compute import min as least  # not at the top: pyarrow.compute takes a tenth of a second

        return None if least(_decoded(column)).as_py() < 0 else column
    return column


def _decoded(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _exact_floats(column: pa.Array | pa.ChunkedArray) -> pa.Array | None:
    """Integers as the floats equal to them; None if one of them has none."""
    whole = np.asarray(column.to_numpy(), np.int64)
    floats = whole.astype(np.float64)
    is_exact = (floats < 2.0**63) & (np.where(floats < 2.0**63, floats, 0.0).astype(np.int64) == whole)
    return pa.array(floats) if is_exact.all() else None


def _floats_where_exact(column: Column) -> Column:
    if isinstance(column, list):
        return [_as_float(value) for value in column]
    held = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_floating(held):
        return column
    return _fitting_arrow(column, "float") or [_as_float(value) for value in column.to_pylist()]


def _refused(where: str, row: int, value: Value, kind: str, relation: str) -> UpdateError:
    if kind == "float" and type(value) is int:
        return out_of_range(where, row, f"{value} is a float only after rounding", "round it, or declare a number")
    shown = repr(value) if len(repr(value)) <= _SHOWN else f"{repr(value)[:_SHOWN]}..."
    return UpdateError.of(
        "E306",
        f"{where}, row {row}: {shown} is no {kind}",
        remedy=f"convert the column to {kind}, or change the declaration of {relation}",
    )


_SHOWN = 200

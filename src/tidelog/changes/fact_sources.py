"""Anything that holds facts, as columns.

What      : `to_table` takes facts of one relation from Python rows, NumPy, pandas, polars, pyarrow, DuckDB, or anything
            else that speaks Arrow's C stream interface.
Idea      : a source that speaks Arrow hands over its buffers; only Python rows and columns of Python objects are turned
            into columns here, value by value. Columns count by position, names are ignored.
Invariant : the result holds constants only (columns.py); a wrong number of columns, a missing value or a type that is
            no constant is refused, naming relation, column and row. The source is never changed.
Never     : no files (files.py), and no other library is imported to recognise its objects.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from tidelog.changes.columns import Column, Columns, few_values, from_values, normalise_column, unsupported
from tidelog.errors import UpdateError

_FEW = 16


def to_table(source: object, relation: str, arity: int | None = None) -> Columns:
    """The facts in `source` as columns of constants; `arity`, if known, is checked."""
    columns, rows = _columns(source, relation, arity)
    if arity is not None and len(columns) != arity:
        raise wrong_arity(relation, arity, len(columns))
    return Columns(columns, rows if columns else min(rows, 1))


def wrong_arity(relation: str, wanted: int, given: int, row: int | None = None) -> UpdateError:
    """The error for facts with too many or too few values."""
    where = "" if row is None else f" in row {row}"
    return UpdateError.of(
        "E301",
        f"{relation} has {wanted} columns, not {given}{where}",
        remedy=f"give every fact of {relation} {wanted} values",
    )


def column_name(relation: str, number: int) -> str:
    """How messages call a column, counted from 1."""
    return f"column {number} of {relation}"


def _columns(source: Any, relation: str, arity: int | None) -> tuple[tuple[Column, ...], int]:  # noqa: ANN401
    if isinstance(source, Columns):
        return source.columns, source.rows
    if type(source).__module__.partition(".")[0] == "pandas" and getattr(source, "ndim", 0) == 2:
        return _from_pandas(source, relation)
    if isinstance(source, np.ndarray) and source.ndim == 2:
        return _from_arrays(source.T, relation), len(source)
    if isinstance(source, pa.RecordBatchReader):
        source = source.read_all()
    elif not isinstance(source, pa.Table | pa.RecordBatch) and hasattr(source, "__arrow_c_stream__"):
        source = _stream(source, relation)
    if isinstance(source, pa.Table | pa.RecordBatch):
        return _from_arrow(source.columns, source.num_rows, relation)
    return _from_rows(source, relation, arity)


def _stream(source: object, relation: str) -> pa.Table:
    """Everything that a source of Arrow batches gives."""
    try:
        return pa.RecordBatchReader.from_stream(source).read_all()
    except pa.ArrowInvalid as error:  # one column, for example, is no table
        raise UpdateError.of(
            "E303", f"{type(source).__name__} gives no table of {relation}: {error}", remedy="give it as a table"
        ) from error


def _from_arrow(
    arrays: Iterable[pa.Array | pa.ChunkedArray], rows: int, relation: str
) -> tuple[tuple[Column, ...], int]:
    named = ((column_name(relation, number), array) for number, array in enumerate(arrays, 1))
    return tuple(normalise_column(array, name) for name, array in named), rows


def _from_pandas(frame: Any, relation: str) -> tuple[tuple[Column, ...], int]:  # noqa: ANN401
    """A pandas frame; NaN means missing, as in pandas."""
    return _from_arrays((frame.iloc[:, number] for number in range(frame.shape[1])), relation), len(frame)


def _from_arrays(arrays: Iterable[Any], relation: str) -> tuple[Column, ...]:
    """Columns of NumPy or pandas. Objects may mix types and go one by one; Arrow would make floats of 1 and 2.5."""
    columns: list[Column] = []
    for number, array in enumerate(arrays, 1):
        name = column_name(relation, number)
        columns.append(_one_by_one(array, name) if array.dtype == object else _from_array(array, name))
    return tuple(columns)


def _from_array(array: Any, name: str) -> Column:  # noqa: ANN401
    """A column whose values have one type, as far as its library knows."""
    from_pandas = not isinstance(array, np.ndarray)
    try:
        return normalise_column(pa.array(array, from_pandas=from_pandas), name)
    except (pa.ArrowException, TypeError):  # of a layout or type that Arrow does not take: other byte orders, complex
        return _one_by_one(array, name)


def _one_by_one(array: Any, name: str) -> Column:  # noqa: ANN401
    """Single values, which are constants or are refused with their row; iteration keeps dates what they are."""
    return from_values([None if _is_missing(value) else value for value in array], name)


def _is_missing(value: object) -> bool:
    """Whether a value is what pandas writes for nothing: NaN, NaT and NA are not equal to themselves."""
    try:
        return bool(value != value)
    except (TypeError, ValueError):  # NA does not say, and arrays say it for each of their values
        return type(value).__name__ == "NAType"


def _from_rows(source: object, relation: str, arity: int | None) -> tuple[tuple[Column, ...], int]:
    is_single = isinstance(source, str | bytes | Mapping) or (isinstance(source, np.ndarray) and not source.ndim)
    if is_single or not isinstance(source, Iterable):
        raise UpdateError.of(
            "E303",
            f"the facts of {relation} come as {type(source).__name__}",
            remedy="give a list of tuples, or a table: pandas, polars, pyarrow, DuckDB",
        )
    rows = source if isinstance(source, list | tuple) else list(source)
    _check_shapes(rows, relation, arity)
    if not rows:
        return tuple(pa.array([], pa.int64()) for _ in range(arity or 0)), 0
    checked = few_values if len(rows) <= _FEW else from_values
    columns = (checked(column, column_name(relation, number)) for number, column in enumerate(zip(*rows), 1))
    return tuple(columns), len(rows)


def _check_shapes(rows: Collection[Any], relation: str, arity: int | None) -> None:
    """Every row is a tuple or list, and all have the same length."""
    for kind in set(map(type, rows)):
        if not issubclass(kind, tuple | list):
            row = next(row for row, fact in enumerate(rows, 1) if type(fact) is kind)
            raise unsupported(f"a fact of {relation}", f"{kind.__name__}, and must be a tuple of values", row)
    lengths = set(map(len, rows))
    if lengths and lengths != {arity}:
        wanted = len(next(iter(rows))) if arity is None else arity
        for row, fact in enumerate(rows, 1):
            if len(fact) != wanted:
                raise wrong_arity(relation, wanted, len(fact), row)

"""Anything that holds facts, as columns.

What      : `to_table` takes facts of one relation from Python rows, NumPy, pandas, polars, pyarrow, DuckDB, or anything
            else that speaks Arrow's C stream interface.
Idea      : a source that speaks Arrow hands over its buffers; only Python rows are turned into columns here. Columns
            count by position, names are ignored.
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
    if type(source).__module__.partition(".")[0] == "pandas" and hasattr(source, "iloc"):
        return _from_pandas(source, relation)
    if isinstance(source, np.ndarray) and source.ndim == 2:
        return _from_arrow([pa.array(column) for column in source.T], len(source), relation)
    if isinstance(source, pa.RecordBatchReader):
        source = source.read_all()
    elif not isinstance(source, pa.Table | pa.RecordBatch) and hasattr(source, "__arrow_c_stream__"):
        source = pa.RecordBatchReader.from_stream(source).read_all()
    if isinstance(source, pa.Table | pa.RecordBatch):
        return _from_arrow(source.columns, source.num_rows, relation)
    return _from_rows(source, relation, arity)


def _from_arrow(
    arrays: Iterable[pa.Array | pa.ChunkedArray], rows: int, relation: str
) -> tuple[tuple[Column, ...], int]:
    named = ((column_name(relation, number), array) for number, array in enumerate(arrays, 1))
    return tuple(normalise_column(array, name) for name, array in named), rows


def _from_pandas(frame: Any, relation: str) -> tuple[tuple[Column, ...], int]:  # noqa: ANN401
    """A pandas frame: object columns may mix types and go value by value; NaN means missing, as in pandas."""
    columns: list[Column] = []
    for number in range(frame.shape[1]):
        name, series = column_name(relation, number + 1), frame.iloc[:, number]
        try:
            columns.append(normalise_column(pa.array(series, from_pandas=True), name))
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            columns.append(from_values(series.tolist(), name))
    return tuple(columns), len(frame)


def _from_rows(source: object, relation: str, arity: int | None) -> tuple[tuple[Column, ...], int]:
    if isinstance(source, str | bytes | Mapping) or not isinstance(source, Iterable):
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

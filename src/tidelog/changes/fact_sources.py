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

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from operator import itemgetter
from time import monotonic
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from tidelog.changes.columns import Column, Columns, few_values, from_values, joined, normalise_column, unsupported
from tidelog.changes.room import room
from tidelog.changes.shared import SharedFacts
from tidelog.errors import UpdateError

_Part: TypeAlias = tuple[tuple[Column, ...], int]
_FEW = 16
_PLAIN = frozenset(
    kind.id
    for kind in (
        *(pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()),
        *(pa.float16(), pa.float32(), pa.float64(), pa.bool_(), pa.string(), pa.large_string()),
    )
)
"""The Arrow types whose values are constants as they are."""
_PART = 1 << 16
"""How many rows are taken from a source between two questions whether to go on."""
_WHILE = 0.02
"""In seconds: a source that takes longer is asked for fewer rows at a time."""


Ask: TypeAlias = Callable[[Callable[[], int]], None]
"""Asked before each step: raises if there is no time, or no room for the bytes that its argument counts."""


def to_table(source: object, relation: str, arity: int | None = None) -> Columns:
    """The facts in `source` as columns of constants; `arity`, if known, is checked."""
    return together(list(to_parts(source, relation, arity)))


def together(parts: Sequence[Columns]) -> Columns:
    """The facts of all parts."""
    if len(parts) == 1:
        return parts[0]
    columns = tuple(map(joined, zip(*(part.columns for part in parts))))
    rows = sum(map(len, parts))
    return Columns(columns, rows if columns else min(rows, 1))


def to_parts(source: object, relation: str, arity: int | None = None, ask: Ask = lambda _: None) -> Iterable[Columns]:
    """As `to_table`, in one or more parts: of rows and batches a part at a time, so that a source need not end.

    `ask` is called before a part takes memory.
    """
    if type(source) is list and 0 < len(source) <= _FEW:  # a usual small update, without the walk through generators
        columns, rows = _from_tuples(source, relation, arity, 1, ask)
        return (Columns(columns, rows if columns else 1),)
    return _each_part(source, relation, arity, ask)


def plain_rows(source: object, arity: int | None, ask: Ask) -> tuple[list[Any], list[Any]] | None:
    """A handful of facts as tuples, and their values one after the other, if nothing has to be converted; else None.

    This is the usual small update, for which columns would cost more than the values. The values are checked when they
    are encoded; `to_parts` then says which one is wrong.
    """
    if not arity:
        return None
    rows = source if type(source) is list else _few_of(source, ask)
    if rows is None or not 0 < len(rows) <= _FEW:
        return None
    values = list[Any]()
    for row in rows:
        if type(row) is not tuple or len(row) != arity:
            return None
        values += row
    ask(lambda: _weight(values))
    return rows, values


def _few_of(source: object, ask: Ask) -> list[Any] | None:
    """The few facts of an Arrow table as tuples, if it is sound and has numbers, bools and texts only; else None.

    Values of other types may take more memory than the table, and what is damaged must not be looked at.
    """
    if not isinstance(source, pa.Table | pa.RecordBatch) or source.num_rows > _FEW:
        return None
    if not _PLAIN.issuperset([kind.id for kind in source.schema.types]):
        return None
    ask(lambda: source.nbytes)
    try:
        source.validate(full=True)
        return list(zip(*[column.to_pylist() for column in source.columns]))
    except ValueError:  # ArrowInvalid is one, as is a text that is not UTF-8
        return None


def _each_part(source: object, relation: str, arity: int | None, ask: Ask) -> Iterator[Columns]:
    for columns, rows in _parts(source, relation, arity, ask):
        if arity is not None and len(columns) != arity:
            raise wrong_arity(relation, arity, len(columns))
        yield Columns(columns, rows if columns else min(rows, 1))


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


def _parts(source: Any, relation: str, arity: int | None, ask: Ask) -> Iterator[_Part]:  # noqa: ANN401
    if isinstance(source, Columns):
        ask(lambda: sum(map(_weight, source.columns)))
        yield source.columns, source.rows
    elif isinstance(source, SharedFacts):
        yield source.columns(), len(source)
    elif type(source).__module__.partition(".")[0] == "pandas" and getattr(source, "ndim", 0) == 2:
        yield _from_arrays((source.iloc[:, at] for at in range(source.shape[1])), relation, ask), len(source)
    elif isinstance(source, np.ndarray) and source.ndim == 2:
        yield _from_arrays(source.T, relation, ask), len(source)
    elif isinstance(source, pa.Table | pa.RecordBatch):
        ask(lambda: sum(map(room, source.columns)))
        yield _from_arrow(source.columns, relation), source.num_rows
    elif hasattr(source, "__arrow_c_stream__"):
        yield from _from_stream(source, relation, ask)
    else:
        yield from _from_rows(source, relation, arity, ask)


def _weight(column: Any) -> int:  # noqa: ANN401
    """About how many bytes the values of a column take; texts count with their length."""
    if not isinstance(column, list | tuple):
        return int(column.nbytes)
    if any(issubclass(kind, str) for kind in set(map(type, column))):
        return sum(len(value) if isinstance(value, str) else 8 for value in column)
    return 8 * len(column)


def _from_stream(source: object, relation: str, ask: Ask) -> Iterator[_Part]:
    """A source of Arrow batches, batch by batch; without any it is a table without facts."""
    try:
        reader = pa.RecordBatchReader.from_stream(source)
        row = 1
        for batch in reader:
            if batch.num_rows or not batch.num_columns:
                ask(lambda batch=batch: sum(map(room, batch.columns)))  # type: ignore[misc]
                yield _from_arrow(batch.columns, relation, row), batch.num_rows
            row += batch.num_rows
        if row == 1:
            yield _from_arrow(reader.schema.empty_table().columns, relation), 0
    except pa.ArrowInvalid as error:  # one column, for example, is no table
        raise UpdateError.of(
            "E303", f"{type(source).__name__} gives no table of {relation}: {error}", remedy="give it as a table"
        ) from error


def _from_arrow(arrays: Iterable[pa.Array | pa.ChunkedArray], relation: str, first_row: int = 1) -> tuple[Column, ...]:
    named = ((column_name(relation, number), array) for number, array in enumerate(arrays, 1))
    return tuple(normalise_column(array, name, first_row) for name, array in named)


def _from_arrays(arrays: Iterable[Any], relation: str, ask: Ask) -> tuple[Column, ...]:
    """Columns of NumPy or pandas. Objects may mix types and go one by one; Arrow would make floats of 1 and 2.5.

    NaN means missing in pandas, and in NumPy it is no constant.
    """
    columns: list[Column] = []
    for number, array in enumerate(arrays, 1):
        name = column_name(relation, number)
        ask(lambda array=array: int(array.nbytes))  # type: ignore[misc]
        columns.append(_one_by_one(array, name, ask) if array.dtype == object else _from_array(array, name, ask))
    return tuple(columns)


def _from_array(array: Any, name: str, ask: Ask) -> Column:  # noqa: ANN401
    """A column whose values have one type, as far as its library knows."""
    from_pandas = not isinstance(array, np.ndarray)
    if not from_pandas and array.dtype.kind == "U":  # Arrow ends each text at its first NUL
        return from_values(array.tolist(), name)
    try:
        return normalise_column(pa.array(array, from_pandas=from_pandas), name)
    except (
        pa.ArrowException,
        TypeError,
        UnicodeError,
    ):  # of a layout or type that Arrow does not take: other byte orders, complex
        return _one_by_one(array, name, ask)


def _one_by_one(array: Any, name: str, ask: Ask) -> Column:  # noqa: ANN401
    """Single values, which are constants or are refused with their row; iteration keeps dates what they are."""
    parts, values = list[Column](), (None if _is_missing(value) else value for value in array)
    while part := list(islice(values, _PART)):
        ask(lambda part=part: _weight(part))  # type: ignore[misc]
        parts.append(from_values(part, name, len(parts) * _PART + 1))
    return joined(parts) if parts else pa.nulls(0, pa.int64())


def _is_missing(value: object) -> bool:
    """Whether a value is what pandas writes for nothing: NaN, NaT and NA are not equal to themselves."""
    try:
        return bool(value != value)
    except (TypeError, ValueError):  # NA does not say, and arrays say it for each of their values
        return type(value).__name__ == "NAType"


def _from_rows(source: object, relation: str, arity: int | None, ask: Ask) -> Iterator[_Part]:
    is_single = isinstance(source, str | bytes | Mapping) or (isinstance(source, np.ndarray) and not source.ndim)
    if is_single or not isinstance(source, Iterable):
        raise UpdateError.of(
            "E303",
            f"the facts of {relation} come as {type(source).__name__}",
            remedy="give a list of tuples, or a table: pandas, polars, pyarrow, DuckDB",
        )
    row = 1
    for part in _pulled(iter(source), ask):
        columns, rows = _from_tuples(part, relation, arity, row, ask)
        yield columns, rows
        arity, row = len(columns), row + rows
    if row == 1:
        yield tuple(pa.nulls(0, pa.int64()) for _ in range(arity or 0)), 0


def _pulled(facts: Iterator[Any], ask: Ask) -> Iterator[list[Any]]:
    """The rows of a source in parts; while it gives them slowly, time is asked every few rows."""
    step = 1
    while True:
        part = list[Any]()
        while len(part) < _PART:
            began = monotonic()
            more = list(islice(facts, min(step, _PART - len(part))))
            if not more:
                break
            part = part + more if part else more
            if monotonic() - began < _WHILE:
                step = min(2 * step, _PART)
            else:
                step = max(step // 2, 1)
                ask(lambda: 0)
        if not part:
            return
        yield part


def _from_tuples(part: list[Any], relation: str, arity: int | None, row: int, ask: Ask) -> _Part:
    """Python rows that are all there, the first of which has the given number."""
    arity = _checked_arity(part, relation, arity, row)
    columns = [tuple(map(itemgetter(at), part)) for at in range(arity)]  # zip makes an iterator of every row
    ask(lambda: sum(map(_weight, columns)))
    checked = few_values if len(part) <= _FEW else from_values
    names = (column_name(relation, number) for number in range(1, arity + 1))
    return tuple([checked(column, name, row) for name, column in zip(names, columns)]), len(part)


def _checked_arity(rows: list[Any], relation: str, arity: int | None, first_row: int) -> int:
    """How many values every row has; each is a tuple or list, and all have the same length."""
    for kind in set(map(type, rows)):
        if not issubclass(kind, tuple | list):
            row = next(row for row, fact in enumerate(rows, first_row) if type(fact) is kind)
            raise unsupported(f"a fact of {relation}", f"{kind.__name__}, and must be a tuple of values", row)
    wanted = len(rows[0]) if arity is None else arity
    if set(map(len, rows)) != {wanted}:
        row, fact = next((row, fact) for row, fact in enumerate(rows, first_row) if len(fact) != wanted)
        raise wrong_arity(relation, wanted, len(fact), row)
    return wanted

"""Facts as rows of one table, whatever their relation.

What      : the schema of the stored table, and the way of facts into its rows and back into columns.
Idea      : a value is a cell with five fields (int, float, bool, text, term) of which exactly one is filled, a fact is
            a list of cells; so one schema holds relations of every arity and columns of mixed types, and any reader of
            the open format understands it. A row says what became of a fact in a version; no row is ever changed.
Invariant : `1`, `1.0`, `True` and `"1"` come back as what they were. Relation names are data: they never become paths.
Never     : no files (table.py), and no decision which row counts (fold.py).

    relation  version  sign  explicit  values
    edge      3        +1    true      [{text: a}, {text: b}]     the fact is there, explicitly
    path      3        +1    false     [{text: a}, {text: b}]     the fact is there, derived
    edge      4         0    false     [{text: a}, {text: b}]     it is no longer explicit; whether it stays is not said
    path      5        -1    false     [{text: a}, {text: b}]     it is gone
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa

from tidelog.changes.buffers import memory, numbers
from tidelog.changes.columns import normalise
from tidelog.changes.term_arrays import as_terms, is_term_type, texts_of

if TYPE_CHECKING:
    from tidelog.changes.change import FactTable
    from tidelog.state.journal import Entry

FORMAT = 2
"""The version of this format. Since 2 a commit may name files beside the table (far.py); rows are as before."""

KNOWN_FORMATS = (1, 2)
"""The formats that are read; a state of another one is refused."""

AT_ONCE = 1 << 15
"""Facts of a change that are made rows, and written, at once: as rows they take ten times the memory."""
PROGRAM = "@program"
"""The relation of programs: a role and a text; the last text of a role counts."""

RULES, GIVEN = "rules", "given"
"""The roles of programs: the present one, and the one that the user last handed over, whatever updates made of it."""

PRESENT, WITHDRAWN, ABSENT = 1, 0, -1
"""The signs of a row."""

_KINDS = (
    ("int", pa.int64()),
    ("float", pa.float64()),
    ("bool", pa.bool_()),
    ("text", pa.large_string()),
    ("term", pa.large_string()),
)
_CELL = pa.struct([pa.field(name, kind) for name, kind in _KINDS])

SCHEMA = pa.schema(
    [
        pa.field("relation", pa.large_string()),
        pa.field("version", pa.int64()),
        pa.field("sign", pa.int8()),
        pa.field("explicit", pa.bool_()),
        pa.field("values", pa.list_(pa.field("element", _CELL))),
    ]
)

Flags = np.ndarray[Any, np.dtype[np.bool_]]
Numbers = np.ndarray[Any, np.dtype[np.int64]]
Cells: TypeAlias = dict[str, pa.Array]
"""Cells by their fields: the values of every field that some cell has, null where another one is filled."""

FIELDS = tuple(name for name, _ in _KINDS)
"""The fields of a cell."""


def to_rows(relation: str, facts: pa.Table, version: int, sign: int, explicit: Flags | bool, count: int) -> pa.Table:
    """Facts of one relation as rows; `count` is their number, which a table without columns may not know."""
    flags = np.full(count, explicit) if isinstance(explicit, bool) else explicit
    columns = [pa.concat_arrays([_cells(chunk) for chunk in column.chunks]) for column in facts.columns if count]
    return rows_of(relation, columns, version, sign, flags)


def rows_of(relation: str, columns: list[pa.Array], version: int, sign: int, explicit: Flags) -> pa.Table:
    """As `to_rows`, for columns of cells."""
    arity, count = len(columns), len(explicit)
    if not arity or not count:
        return rows_by_fact(relation, pa.array([], _CELL), arity, version, sign, explicit)
    cells = columns[0] if arity == 1 else pa.concat_arrays(columns)
    if arity > 1:
        cells = cells.take(pa.array(np.arange(arity * count).reshape(arity, count).T.ravel()))
    return rows_by_fact(relation, cells, arity, version, sign, explicit)


def rows_by_fact(relation: str, cells: pa.Array, arity: int, version: int, sign: int, explicit: Flags) -> pa.Table:
    """As `to_rows`, for the cells of all facts, one fact after the other."""
    count = len(explicit)
    offsets = pa.array(np.arange(count + 1, dtype=np.int64) * arity, pa.int32())
    parts = [
        pa.array([relation], pa.large_string()).take(pa.array(np.zeros(count, np.int64))),
        pa.array(np.full(count, version, np.int64)),
        pa.array(np.full(count, sign, np.int8)),
        pa.array(explicit, pa.bool_()),
        pa.ListArray.from_arrays(offsets, cells, type=SCHEMA.field("values").type),
    ]
    return pa.table(parts, schema=SCHEMA)


def cells_of(parts: Mapping[str, pa.Array], count: int) -> pa.Array:
    """Cells from the values of their fields (int, float, bool, text, term), null where another field is filled."""
    children = [parts.get(name, pa.nulls(count, kind)) for name, kind in _KINDS]
    return pa.StructArray.from_arrays(children, fields=list(_CELL))


def program_row(role: str, text: str, version: int) -> pa.Table:
    """The row that gives a role to the text of a program, from a version on."""
    return to_rows(PROGRAM, pa.table({"role": [role], "text": [text]}), version, PRESENT, False, 1)


def to_cells(values: pa.Array, arity: int) -> Cells:
    """The cells of facts that all have the same arity, fact by fact.

    A ValueError if a cell is not filled exactly once.
    """
    cells = values.flatten()
    found = {field.name: part for field, part in zip(cells.type, cells.flatten()) if part.null_count < len(part)}
    if len(cells) != len(values) * arity or sum(len(part) - part.null_count for part in found.values()) != len(cells):
        raise ValueError("a fact has a value too many or too few")
    return found


def column_of(cells: Cells, at: int, arity: int) -> Cells:
    """The cells of one column, given those of facts of an arity."""
    return cells if arity == 1 else _filled({name: _every(part, at, arity) for name, part in cells.items()})


def joined(parts: Sequence[tuple[Cells, int]]) -> Cells:
    """Cells under each other, each part given with its length."""
    if len(parts) == 1:
        return parts[0][0]
    names = {name: part.type for cells, _ in parts for name, part in cells.items()}
    return {
        name: pa.concat_arrays([cells[name] if name in cells else pa.nulls(count, kind) for cells, count in parts])
        for name, kind in names.items()
    }


def taken(cells: Cells, places: Numbers) -> Cells:
    """The cells at some places."""
    return _filled({name: part.take(pa.array(places)) for name, part in cells.items()})


def _filled(cells: Cells) -> Cells:
    return {name: part for name, part in cells.items() if part.null_count < len(part)}


def to_array(cells: Cells) -> pa.Array:
    """Cells as an array of their one type, or as a dense union."""
    parts = [as_terms(cells[name]) if name == "term" else cells[name] for name, _ in _KINDS if name in cells]
    if len(parts) <= 1:
        return parts[0] if parts else pa.nulls(0)
    codes, offsets = np.zeros(len(parts[0]), np.int8), np.zeros(len(parts[0]), np.int32)
    for code, part in enumerate(parts):
        filled = part.is_valid().to_numpy(zero_copy_only=False)
        codes[filled] = code
        offsets[filled] = np.arange(np.count_nonzero(filled))
    return pa.UnionArray.from_dense(pa.array(codes), pa.array(offsets), [part.drop_null() for part in parts])


def schema_of(fields: Collection[str]) -> pa.Schema:
    """The schema of rows whose cells have some of the five fields only."""
    cell = pa.struct([field for field in _CELL if field.name in fields])
    return SCHEMA.set(SCHEMA.get_field_index("values"), pa.field("values", pa.list_(pa.field("element", cell))))


def _every(part: pa.Array, start: int, step: int) -> pa.Array:
    """Values at regular distances: without looking up where each value is, if all are numbers."""
    if part.null_count or not (pa.types.is_integer(part.type) or pa.types.is_floating(part.type)):
        return part.take(pa.array(np.arange(start, len(part), step)))
    return numbers(memory(part)[start::step], part.type)


def _cells(column: pa.Array) -> pa.Array:
    """An Arrow array of constants as cells."""
    column = normalise(column)
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return cells_of(_parts(column), len(column))


def _parts(column: pa.Array) -> dict[str, pa.Array]:
    """The values of each field, null where a value belongs to another."""
    if not pa.types.is_union(column.type):
        return {_field(column.type): texts_of(column)}
    codes, offsets = column.type_codes.to_numpy(), column.offsets.to_numpy()
    parts = {}
    for number, code in enumerate(column.type.type_codes):
        part = column.field(number)
        chosen = codes == code
        if chosen.any():
            parts[_field(part.type)] = texts_of(part).take(pa.array(np.where(chosen, offsets, 0), mask=~chosen))
    return parts


def _field(kind: pa.DataType) -> str:
    """The field that holds values of a type."""
    return "term" if is_term_type(kind) else next(name for name, its in _KINDS if its == kind)


def transaction_rows(entry: Entry) -> Iterator[pa.Table]:
    """The rows of one transaction, in pieces.

    Their order matters: a fact can be inserted as derived and asserted as well.
    """
    parts: tuple[tuple[Mapping[str, FactTable], int, bool], ...] = (
        (entry.inserted, PRESENT, False),
        (entry.withdrawn, WITHDRAWN, False),
        (entry.asserted, PRESENT, True),
        (entry.deleted, ABSENT, False),
    )
    for tables, sign, explicit in parts:
        for relation, table in tables.items():
            for facts in table.pieces(AT_ONCE) if len(table) else ():
                count = facts.num_rows if facts.num_columns else len(table)
                yield to_rows(relation, facts, entry.version, sign, explicit, count)

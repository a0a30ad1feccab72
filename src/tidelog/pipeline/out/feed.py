"""The change feed: one row for every fact that came or went.

What      : `feed_of` turns a change into a table (version, batch, relation, op, values); `values` is a JSON array.
Idea      : one schema for relations of every arity and type, so that one table, file or topic takes all of them; JSON
            keeps `1`, `1.0`, `true` and `"1"` apart, and RDF terms are objects of JSON-LD. Rows are built from whole
            Arrow columns.
Invariant : the rows of a version, applied to the version before, give the version; their order is that of relations
            and says nothing else.
Never     : no file (sinks.py, outbox.py).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from tidelog.changes.change import Change
from tidelog.changes.json_terms import to_json
from tidelog.language.terms import Value

SCHEMA = pa.schema(
    [
        ("version", pa.int64()),
        ("batch", pa.int64()),
        ("relation", pa.string()),
        ("op", pa.string()),
        ("values", pa.string()),
    ]
)
_TEXT = pa.large_string()
_SPECIAL = r"[\x00-\x1f\\\x22]"


def feed_of(change: Change, version: int, batch: int | None) -> pa.Table:
    """The rows of a change."""
    parts = (
        ("delete", change.deleted.to_arrow(), change.deleted),
        ("insert", change.inserted.to_arrow(), change.inserted),
    )
    rows = [
        _rows(version, batch, relation, op, spelled(table, len(counted[relation])))
        for op, tables, counted in parts
        for relation, table in sorted(tables.items())
    ]
    return pa.concat_tables([SCHEMA.empty_table(), *rows])


def feed_of_relations(relations: Mapping[str, tuple[pa.Table, int]], version: int) -> pa.Table:
    """The rows that make whole relations out of nothing; each comes with its number of facts."""
    rows = [
        _rows(version, None, relation, "insert", spelled(table, count))
        for relation, (table, count) in sorted(relations.items())
        if count
    ]
    return pa.concat_tables([SCHEMA.empty_table(), *rows])


def spelled(table: pa.Table, count: int) -> pa.ChunkedArray:
    """Every fact of a table as a JSON array; `count` is their number, which a table without columns may not know."""
    if not table.num_columns:
        return pa.chunked_array([pa.array(["[]"] * count, _TEXT)])
    columns = [_spelled(column) for column in table.columns]
    joined = pc.binary_join_element_wise(*columns, pa.scalar(", ", _TEXT)) if len(columns) > 1 else columns[0]
    return pc.binary_join_element_wise(pa.scalar("[", _TEXT), joined, pa.scalar("]", _TEXT), pa.scalar("", _TEXT))


def _rows(version: int, batch: int | None, relation: str, op: str, values: pa.ChunkedArray) -> pa.Table:
    count = len(values)
    return pa.table(
        [
            pa.array([version], pa.int64()).take(_zeros(count)),
            pa.array([batch], pa.int64()).take(_zeros(count)),
            pa.array([relation], pa.string()).take(_zeros(count)),
            pa.array([op], pa.string()).take(_zeros(count)),
            pc.cast(values, pa.string()),
        ],
        schema=SCHEMA,
    )


def _zeros(count: int) -> pa.Array:
    return pa.repeat(pa.scalar(0, pa.int64()), count)


def _spelled(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of constants as JSON values."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = pc.cast(column, kind.value_type)
        kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return pc.cast(column, _TEXT)
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return pa.chunked_array([_one_by_one(column.to_pylist())])
    column = pc.cast(column, _TEXT)
    if pc.any(pc.match_substring_regex(column, _SPECIAL)).as_py():
        return pa.chunked_array([_one_by_one(column.to_pylist())])
    mark = pa.scalar('"', _TEXT)
    return pc.binary_join_element_wise(mark, column, mark, pa.scalar("", _TEXT))


def _one_by_one(values: Iterable[Value]) -> pa.Array:
    return pa.array([json.dumps(to_json(value), ensure_ascii=False, allow_nan=False) for value in values], _TEXT)

"""The rows of a base file, without what is empty in them.

What      : `filled_rows` reads a file of rows piece by piece, each with the fields of cells that are filled in it.
Idea      : a cell has five fields of which one is filled, so four fifths of what a file says about cells is that
            nothing is there. The file says of every field and row group how many cells lack it; a field that all of
            them lack is not read. Relation names come as numbers of the few that there are.
Invariant : every row comes out once, in the order of the file. A file that says wrongly that a field is empty is found
            out: a cell without any field is refused (rows.py).
Never     : no decision which facts are there (fold.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

import pyarrow as pa
import pyarrow.parquet as pq

from tidelog.state.remote import Location, readable
from tidelog.state.rows import FIELDS, schema_of

_TOGETHER = 1 << 20
"""About how many rows are read at a time."""


def filled_rows(path: Location) -> Iterator[pa.Table]:
    """The relation, the flag and the values of every row."""
    with pq.ParquetFile(readable(path), page_checksum_verification=True, read_dictionary=["relation"]) as file:
        for paths, groups in groupby(range(file.num_row_groups), lambda group: _filled(file.metadata, group)):
            kind = schema_of([_field(path) for path in paths]).field("values").type
            for some in _lots(file.metadata, groups):
                found = file.read_row_groups(some, columns=["relation", "explicit", *paths])
                yield found.select(["relation", "explicit"]).append_column("values", found["values"].cast(kind))


def _filled(metadata: pq.FileMetaData, group: int) -> tuple[str, ...]:
    """The paths of the fields that some cell of a row group has; of all if the file does not say, and never of none."""
    rows = metadata.row_group(group)
    columns = [column for at in range(rows.num_columns) if _field((column := rows.column(at)).path_in_schema) in FIELDS]
    filled = tuple(column.path_in_schema for column in columns if not _is_empty(column))
    return filled or (columns[0].path_in_schema,)


def _is_empty(column: pq.ColumnChunkMetaData) -> bool:
    said = column.statistics
    return said is not None and said.has_null_count and bool(said.null_count == column.num_values)


def _field(path: str) -> str:
    """The field of a cell, by its path in the file; empty for other columns."""
    return path.rpartition(".")[2] if path.startswith("values.") else ""


def _lots(metadata: pq.FileMetaData, groups: Iterator[int]) -> Iterator[list[int]]:
    """Row groups, as many at a time as have enough rows."""
    waiting, rows = list[int](), 0
    for group in groups:
        waiting.append(group)
        rows += metadata.row_group(group).num_rows
        if rows >= _TOGETHER:
            yield waiting
            waiting, rows = [], 0
    if waiting:
        yield waiting

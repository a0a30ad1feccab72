"""Rows of one file: sorted, each once, and cut into row groups.

What      : `sorted_facts` and `sorted_texts` put together what has come for a file and sort it, `grouped` cuts tables
            into row groups; `writer` makes a Parquet file.
Idea      : the task that writes a file has all its rows, as arrays, and sorts them at once with a compiled kernel
            (backends/local/relations/row_sorting.py); facts that repeat are adjacent then. A file of two million facts
            takes about a hundred megabytes for that.
Invariant : of facts that repeat one stays, explicit if one of them is. A file appears when it is whole, down to the
            disk.
Never     : no session, no relation.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.fs
import pyarrow.parquet as pq

from tidelog.backends.local.kernels.compiled import Array
from tidelog.backends.local.relations.row_sorting import sorted_rows
from tidelog.backends.spark.values.ids import Ids
from tidelog.state.far import sync
from tidelog.state.file_systems import place

ROW_GROUP = 1 << 13
"""Rows of a row group: a look-up of one key decodes a whole group, and most of an update is decoding."""


def sorted_facts(tables: Sequence[pa.Table], width: int) -> tuple[list[Ids], Array]:
    """The columns k0, k1, ... of tables of facts together, sorted, each fact once; and which facts are explicit."""
    flags = np.concatenate([table.column("explicit").to_numpy() for table in tables])
    is_mixed = not flags.all() and flags.any()
    rows = np.empty((width + is_mixed, len(flags)), np.int64)
    for at in range(width):
        np.concatenate([table.column(f"k{at}").to_numpy() for table in tables], out=rows[at])
    if is_mixed:
        rows[width] = flags
    columns = sorted_rows(rows, width)
    explicit = columns.pop().astype(np.bool_) if is_mixed else flags
    is_new = np.ones(len(explicit), np.bool_)
    if len(is_new):
        is_new[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    if is_new.all():
        return columns, explicit
    return [column[is_new] for column in columns], np.logical_or.reduceat(explicit, np.flatnonzero(is_new))


def sorted_texts(tables: Sequence[pa.Table]) -> pa.Table:
    """Texts (k0, text) together, sorted by id and then by text, each pair once."""
    table = pa.concat_tables(tables)
    places = np.arange(table.num_rows)
    ids, order = sorted_rows(np.stack([table.column("k0").to_numpy(), places]), 1)
    table = pa.table([ids, table.column("text").take(pa.array(order))], schema=table.schema).combine_chunks()
    texts = table.column("text")
    is_new = np.ones(len(ids), np.bool_)
    is_new[1:] = ids[1:] != ids[:-1]
    differs = pc.not_equal(texts.slice(1), texts.slice(0, len(ids) - 1)).to_numpy() & ~is_new[1:]
    if differs.any():  # two texts with one id: the order among them has to be known
        return table.group_by(["k0", "text"]).aggregate([]).sort_by([("k0", "ascending"), ("text", "ascending")])
    return table.filter(pa.array(is_new))


def grouped(tables: Iterator[pa.Table], most: int = ROW_GROUP) -> Iterator[pa.Table]:
    """Tables put together and cut, so that all but the last have exactly `most` rows."""
    waiting: list[pa.Table] = []
    count = 0
    for table in tables:
        waiting.append(table)
        count += table.num_rows
        while count >= most:
            joined = pa.concat_tables(waiting)
            yield joined.slice(0, most).combine_chunks()
            waiting, count = [joined.slice(most)], count - most
    if count:
        yield pa.concat_tables(waiting).combine_chunks()


@contextmanager
def writer(
    address: str,
    schema: pa.Schema,
    compression: str = "lz4",
    *,
    level: int | None = None,
    use_dictionary: bool | list[str] = False,
) -> Iterator[pq.ParquetWriter]:
    """A Parquet file that appears when it is whole, down to the disk."""
    system, path = place(address)
    system.create_dir(path.rsplit("/", 1)[0], recursive=True)
    draft = f"{path}.{uuid.uuid4().hex}.draft"
    try:
        with (
            system.open_output_stream(draft) as stream,
            pq.ParquetWriter(
                stream,
                schema,
                compression=compression,
                compression_level=level,
                use_dictionary=use_dictionary,
                write_page_checksum=True,
            ) as out,
        ):
            yield out
    except BaseException:
        system.delete_file(draft)
        raise
    if isinstance(system, pyarrow.fs.LocalFileSystem):
        sync(Path(draft))
    system.move(draft, path)


def size_of(address: str) -> int:
    """The bytes of a file."""
    system, path = place(address)
    return int(system.get_file_info(path).size)

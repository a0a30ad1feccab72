"""Sorted rows on their way through a task.

What      : `runs` splits the rows of a task where their file changes, `distinct` drops rows that repeat, `grouped` cuts
            what is left into row groups; `writer` makes a Parquet file of them.
Idea      : Spark sorts, so what belongs together is adjacent: one look at the row before is enough, and nothing but the
            present row group is in memory.
Invariant : the order of rows stays. A file appears when it is whole, down to the disk.
Never     : no session, no relation.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet as pq

from tidelog.backends.spark.files.segments import place
from tidelog.state.far import sync

ROW_GROUP = 1 << 13
"""Rows of a row group: a look-up of one key decodes so many, and most of an update is decoding."""


def runs(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[tuple[int, int], Iterator[pa.Table]]]:
    """Sorted rows, split where the part or the shard changes; each run has to be read before the next."""

    def pieces() -> Iterator[tuple[tuple[int, int], pa.RecordBatch]]:
        for batch in batches:
            if batch.num_rows:
                part, shard = batch.column("part").to_numpy(), batch.column("shard").to_numpy()
                cuts = np.flatnonzero((part[1:] != part[:-1]) | (shard[1:] != shard[:-1])) + 1
                for start, end in zip([0, *cuts], [*cuts, batch.num_rows]):
                    yield (int(part[start]), int(shard[start])), batch.slice(start, end - start)

    stream = pieces()
    following = next(stream, None)

    def run(key: tuple[int, int]) -> Iterator[pa.Table]:
        nonlocal following
        while following is not None and following[0] == key:
            yield pa.Table.from_batches([following[1]])
            following = next(stream, None)

    while following is not None:
        key = following[0]
        rest = run(key)
        yield key, rest
        for _ in rest:
            pass


def distinct(tables: Iterator[pa.Table], keys: Sequence[str]) -> Iterator[pa.Table]:
    """Rows that are sorted by the keys, of those with equal keys the first."""
    last: list[int] | None = None
    for table in tables:
        columns = [table.column(key).to_numpy() for key in keys]
        is_new = np.ones(table.num_rows, np.bool_)
        is_new[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
        if last is not None:
            is_new[0] = any(column[0] != number for column, number in zip(columns, last))
        last = [column[-1] for column in columns]
        yield table if is_new.all() else table.filter(pa.array(is_new))


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
    address: str, schema: pa.Schema, compression: str = "lz4", *, use_dictionary: bool = False
) -> Iterator[pq.ParquetWriter]:
    """A Parquet file that appears when it is whole, down to the disk."""
    system, path = place(address)
    system.create_dir(path.rsplit("/", 1)[0], recursive=True)
    draft = f"{path}.{uuid.uuid4().hex}.draft"
    try:
        with (
            system.open_output_stream(draft) as stream,
            pq.ParquetWriter(
                stream, schema, compression=compression, use_dictionary=use_dictionary, write_page_checksum=True
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

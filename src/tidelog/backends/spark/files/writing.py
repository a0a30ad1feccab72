"""Executors write sorted files.

What      : `write` puts relations into segments (segments.py), any number of relations and orders in one job.
Idea      : every row goes to the shard of its leading column and is sorted there by Spark, which spills what does not
            fit; an Arrow task then only cuts the sorted rows into files and row groups. What is worth knowing about
            columns (how many distinct values, which tags) is counted on the way, so no pass is made to count.
Invariant : the name of a file depends on the write, the part and the shard, and it appears whole: a task that runs
            twice writes the same file twice. The driver learns of files from what tasks return.
Never     : no fact passes through the driver.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from tidelog.backends.local.kernels.compiled import Array
from tidelog.backends.spark.bulk.placement import home_column
from tidelog.backends.spark.cluster import frames
from tidelog.backends.spark.cluster.jobs import Jobs
from tidelog.backends.spark.files.segments import Order, Segment, Segments, place
from tidelog.backends.spark.files.sketch import Sketch
from tidelog.backends.spark.values.ids import TAG, Ids

ROW_GROUP = 1 << 13
"""Rows of a row group: a look-up of one key decodes so many, and most of an update is decoding."""
_FILE = "part int, shard int, address string, rows long, size long, tags array<int>, sketches array<binary>"


@dataclass(frozen=True)
class Part:
    """A relation to write (columns of ids and `explicit`), and which column leads."""

    facts: DataFrame
    width: int
    lead: int = 0


def write(jobs: Jobs, folder: str, parts: Sequence[Part], shards: int) -> list[Segments]:
    """Write parts into files, each in one order: one job for all."""
    width = max(part.width for part in parts)
    rows = reduce(DataFrame.unionAll, (_rotated(part, at, width, shards) for at, part in enumerate(parts)))
    keys = [f"k{at}" for at in range(width)]
    home = F.col("part") * shards + F.col("shard")  # a partition for each file: then keys are all that is sorted by
    placed = rows.repartitionById(len(parts) * shards, home).sortWithinPartitions(*keys)
    task = _Write(folder, uuid.uuid4().hex, tuple((part.width, part.lead) for part in parts))
    table = jobs.run(placed.mapInArrow(task, _FILE).toArrow)
    written: list[list[dict[str, object]]] = [[] for _ in parts]
    for row in table.to_pylist():
        written[row["part"]].append(row)
    return [_segments((part.width, part.lead), shards, found) for part, found in zip(parts, written)]


def write_here(folder: str, facts: Ids, explicit: Array, leads: Sequence[int]) -> list[Segments]:
    """Write few facts, in several orders, without a job."""
    width = facts.shape[1]
    task = _Write(folder, uuid.uuid4().hex, tuple((width, lead) for lead in leads))
    found = []
    for number, lead in enumerate(leads):
        turned = np.roll(facts, -lead, axis=1)
        order = np.lexsort(turned.T[::-1])
        keys = {f"k{at}": turned[order, at] for at in range(width)}
        rows = pa.table({**keys, "explicit": explicit[order]})
        written = task.written(number, 0, iter([rows])).to_pylist() if len(facts) else []
        found.append(_segments((width, lead), 1, written))
    return found


def _rotated(part: Part, number: int, width: int, shards: int) -> DataFrame:
    """The rows of a part: its number, its shard, and its columns from the leading one on."""
    columns = [F.col(f"c{(part.lead + at) % part.width}").alias(f"k{at}") for at in range(part.width)]
    padding = [F.lit(0).cast("long").alias(f"k{at}") for at in range(part.width, width)]
    shard = home_column(F.col(f"c{part.lead}"), shards).alias("shard")
    return part.facts.select(F.lit(number).alias("part"), shard, *columns, *padding, "explicit")


def _segments(shape: tuple[int, int], shards: int, files: Sequence[Mapping[str, object]]) -> Segments:
    """What was written of one part, given its width and its leading column."""
    width, lead = shape
    named = {row["shard"]: Segment(row["address"], row["rows"], row["size"]) for row in files}  # type: ignore[arg-type]
    sketches, tags = [Sketch() for _ in range(width)], [0] * width
    for row in files:
        for at in range(width):
            column = (lead + at) % width
            sketches[column].merge(Sketch.of(row["sketches"][at]))  # type: ignore[index]
            tags[column] |= row["tags"][at]  # type: ignore[index]
    order = Order(lead, shards, named)  # type: ignore[arg-type]
    rows = sum(file.rows for file in named.values())
    return Segments(width, rows, {lead: order}, tuple(one.count for one in sketches), tuple(tags))


@dataclass(frozen=True)
class _Write:
    """An Arrow task: sorted rows into files; `shapes` are the width and the leading column of every part."""

    folder: str
    identity: str
    shapes: tuple[tuple[int, int], ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for (part, shard), rows in runs(batches):
            yield self.written(part, shard, rows)

    def written(self, part: int, shard: int, rows: Iterator[pa.Table]) -> pa.RecordBatch:
        """One file, described in a row."""
        width, lead = self.shapes[part]
        names = [f"c{(lead + at) % width}" for at in range(width)]
        sketches, tags, count = [Sketch() for _ in names], [0] * width, 0
        address = f"{self.folder}/{self.identity}-{part}-{shard}.parquet"
        schema = pa.schema([*((name, pa.int64()) for name in names), ("explicit", pa.bool_())])
        with writer(address, schema) as out:
            for group in grouped(rows):
                columns = [group.column(f"k{at}") for at in range(width)]
                for at, column in enumerate(columns):
                    numbers = column.to_numpy()
                    sketches[at].add(numbers)
                    tags[at] |= int(np.bitwise_or.reduce(1 << (numbers & TAG)))
                out.write_table(pa.table([*columns, group.column("explicit")], schema=schema), ROW_GROUP)
                count += group.num_rows
        return pa.RecordBatch.from_pydict(
            {
                "part": pa.array([part], pa.int32()),
                "shard": pa.array([shard], pa.int32()),
                "address": [address],
                "rows": [count],
                "size": [size_of(address)],
                "tags": pa.array([tags], pa.list_(pa.int32())),
                "sketches": pa.array([[one.to_bytes() for one in sketches]], pa.list_(pa.binary())),
            }
        )


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
        handle = os.open(draft, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    system.move(draft, path)


def size_of(address: str) -> int:
    """The bytes of a file."""
    system, path = place(address)
    return int(system.get_file_info(path).size)


def read(jobs: Jobs, order: Order, width: int) -> DataFrame:
    """The facts of an order as a DataFrame (columns of ids, `explicit`)."""
    shape = ", ".join([*(f"{name} long" for name in frames.names(width)), "explicit boolean"])
    addresses = [file.address for file in order.files.values()]
    if not addresses:
        return jobs.spark.createDataFrame([], shape)
    return jobs.spark.read.schema(shape).parquet(*addresses)

"""Executors write sorted files.

What      : `write` puts relations into segments (segments.py), any number of relations and orders in one job; `into`
            does it for rows that know their file already.
Idea      : every fact becomes one row for each order. A row goes to the shard of its leading column and is sorted there
            by Spark, which spills what does not fit; an Arrow task then only cuts the sorted rows into files and row
            groups (sorted_rows.py). Facts that come twice are adjacent there, so nobody has to make them distinct
            before. What is worth knowing about columns (how many distinct values, which tags) is counted on the way, so
            no pass is made to count.
Invariant : the name of a file depends on the write, the part and the shard, and it appears whole: a task that runs
            twice writes the same file twice. The driver learns of files from what tasks return. Of facts that come
            twice, one stays; it is explicit if one of them is.
Never     : no fact passes through the driver.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from tidelog.backends.local.kernels.compiled import Array
from tidelog.backends.spark.bulk.placement import home_column
from tidelog.backends.spark.cluster import frames
from tidelog.backends.spark.cluster.jobs import Jobs
from tidelog.backends.spark.files.segments import Order, Segment, Segments
from tidelog.backends.spark.files.sketch import Sketch
from tidelog.backends.spark.files.sorted_rows import ROW_GROUP, distinct, grouped, runs, size_of, writer
from tidelog.backends.spark.values.ids import BOOL, TAG, Ids

Record = Mapping[str, Any]
"""What a task says about one file."""
_RECORD = pa.schema(
    [
        ("part", pa.int32()),
        ("shard", pa.int32()),
        ("address", pa.string()),
        ("rows", pa.int64()),
        ("size", pa.int64()),
        ("explicit", pa.int64()),
        ("tags", pa.list_(pa.int32())),
        ("sketches", pa.list_(pa.binary())),
        ("refused", pa.list_(pa.int64())),
        ("clashes", pa.list_(pa.string())),
    ]
)
RECORD = (
    "part int, shard int, address string, rows long, size long, explicit long, tags array<int>, "
    "sketches array<binary>, refused array<long>, clashes array<string>"
)
"""The shape of records, as Spark writes it."""

Shape = tuple[int, int]
"""An order of a relation: its width and its leading column."""


@dataclass(frozen=True)
class Part:
    """A relation to write (columns of ids and `explicit`), and which columns lead: an order for each."""

    facts: DataFrame
    width: int
    leads: tuple[int, ...] = (0,)


def write(jobs: Jobs, folder: str, parts: Sequence[Part], shards: int) -> list[Segments]:
    """Write relations into files: one job for all, which reads each of them once."""
    width, number = max(part.width for part in parts), 0
    rows = []
    for part in parts:
        columns = [F.col(name) for name in frames.names(part.width)]
        made = orders(columns, [F.col("explicit")], part.leads, number, width, shards)
        rows.append(expanded(part.facts, made))
        number += len(part.leads)
    shapes = [(part.width, lead) for part in parts for lead in part.leads]
    task = Write(folder, uuid.uuid4().hex, tuple(shapes))
    records = into(jobs, reduce(DataFrame.unionAll, rows), task, len(shapes) * shards, shards)
    return gathered([(part.width, part.leads) for part in parts], shards, records)


def orders(
    columns: Sequence[Column], more: Sequence[Column], leads: Sequence[int], first: int, width: int, shards: int
) -> list[Column]:
    """A fact as one row for every order: its part, its shard, its columns from the leading one on, and more."""
    found = []
    for number, lead in enumerate(leads, first):
        turned = [columns[(lead + at) % len(columns)] for at in range(len(columns))]
        turned += [F.lit(0).cast("long")] * (width - len(columns))
        keys = [column.alias(f"k{at}") for at, column in enumerate(turned)]
        shard = home_column(columns[lead], shards).alias("shard")
        found.append(F.struct(F.lit(number).alias("part"), shard, *keys, *more))
    return found


def expanded(facts: DataFrame, rows: Sequence[Column]) -> DataFrame:
    """Every fact as several rows."""
    if len(rows) == 1:
        return facts.select(rows[0].alias("row")).select("row.*")
    return facts.select(F.inline(F.array(*rows)))


def into(jobs: Jobs, rows: DataFrame, task: Write, partitions: int, shards: int) -> list[dict[str, Any]]:
    """Have rows (part, shard, k0, ..., explicit) sorted and given to a task; what it says about its files.

    Rows of a negative part are for the task alone, and go to a partition behind all others.
    """
    others = [name for name in rows.columns if name not in ("part", "shard", "explicit")]
    home = F.col("part") * shards + F.col("shard")  # a partition for each file: then keys are all that is sorted by
    home = F.when(F.col("part") < 0, F.lit(partitions - 1)).otherwise(home)
    placed = rows.repartitionById(partitions, home).sortWithinPartitions(*others, F.desc("explicit"))
    found: list[dict[str, Any]] = jobs.run(placed.mapInArrow(task, RECORD).toArrow).to_pylist()
    return found


def gathered(shapes: Sequence[tuple[int, Sequence[int]]], shards: int, records: Sequence[Record]) -> list[Segments]:
    """What was written of relations, given the width and the leading columns of each."""
    found, number = [], 0
    for width, leads in shapes:
        written = [[row for row in records if row["part"] == at] for at in range(number, number + len(leads))]
        kept = {lead: Order(lead, shards, _files(rows)) for lead, rows in zip(leads, written)}
        count, explicit = (sum(row[name] for row in written[0]) for name in ("rows", "explicit"))
        found.append(Segments(width, count, kept, *_counts(width, leads[0], written[0]), explicit))
        number += len(leads)
    return found


def write_here(folder: str, facts: Ids, explicit: Array, leads: Sequence[int]) -> Segments:
    """Write few distinct facts, in several orders, without a job."""
    width = facts.shape[1]
    task = Write(folder, uuid.uuid4().hex, tuple((width, lead) for lead in leads))
    records: list[dict[str, Any]] = []
    for number, lead in enumerate(leads):
        turned = np.roll(facts, -lead, axis=1)
        order = np.lexsort(turned.T[::-1])
        keys = {f"k{at}": turned[order, at] for at in range(width)}
        rows = pa.table({**keys, "explicit": explicit[order]})
        records += task.written(number, 0, iter([rows])).to_pylist() if len(facts) else []
    return gathered([(width, leads)], 1, records)[0]


def _files(records: Sequence[Record]) -> dict[int, Segment]:
    return {row["shard"]: Segment(row["address"], row["rows"], row["size"]) for row in records}


def _counts(width: int, lead: int, records: Sequence[Record]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """About how many distinct values every column has, and which tags."""
    sketches, tags = [Sketch() for _ in range(width)], [0] * width
    for row in records:
        for at in range(width):
            column = (lead + at) % width
            sketches[column].merge(Sketch.of(row["sketches"][at]))
            tags[column] |= row["tags"][at]
    return tuple(one.count for one in sketches), tuple(tags)


def record(**known: object) -> pa.RecordBatch:
    """What a task says about a file."""
    return pa.RecordBatch.from_pylist([known], schema=_RECORD)


@dataclass(frozen=True)
class Write:
    """An Arrow task: sorted rows into files; `shapes` are the width and the leading column of every part."""

    folder: str
    identity: str
    shapes: tuple[Shape, ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Write the rows of one partition."""
        for (part, shard), rows in runs(batches):
            if part < len(self.shapes):
                yield from self.reported(part, rows) if part < 0 else [self.written(part, shard, rows)]
            else:
                yield self.other(part, shard, rows)

    def reported(self, part: int, rows: Iterator[pa.Table]) -> Iterator[pa.RecordBatch]:
        """Rows that are no facts, handed on to the driver."""
        for table in rows:
            for number in table.column("k0").to_pylist():
                yield record(part=part, rows=number)

    def other(self, part: int, shard: int, rows: Iterator[pa.Table]) -> pa.RecordBatch:
        """Rows of a part behind the relations: none here, texts in files/texts.py."""
        return self.written(part, shard, rows)

    def written(self, part: int, shard: int, rows: Iterator[pa.Table]) -> pa.RecordBatch:
        """One file, described in a row."""
        width, lead = self.shapes[part]
        names, keys = [f"c{(lead + at) % width}" for at in range(width)], [f"k{at}" for at in range(width)]
        sketches, tags, count, explicit = [Sketch() for _ in names], [0] * width, 0, 0
        refused: list[int] = [0] * width
        address = f"{self.folder}/{self.identity}-{part}-{shard}.parquet"
        schema = pa.schema([*((name, pa.int64()) for name in names), ("explicit", pa.bool_())])
        with writer(address, schema) as out:
            for group in grouped(distinct(rows, keys)):
                columns = [group.column(key) for key in keys]
                for at, column in enumerate(columns):
                    numbers = column.to_numpy()
                    sketches[at].add(numbers)
                    tags[at] |= int(np.bitwise_or.reduce(1 << (numbers & TAG)))
                    refused[at] = min(refused[at], _refused(numbers, tags[at]))
                out.write_table(pa.table([*columns, group.column("explicit")], schema=schema), ROW_GROUP)
                count += group.num_rows
                explicit += group.column("explicit").combine_chunks().true_count
        told = {"rows": count, "size": size_of(address), "explicit": explicit, "tags": tags, "refused": refused}
        kept = [one.to_bytes() for one in sketches]
        return record(part=part, shard=shard, address=address, sketches=kept, **told)


def _refused(numbers: Ids, tags: int) -> int:
    """The least number that stands for what is no constant (values/encoding.py): they are negative bools."""
    if not tags & 1 << BOOL:
        return 0
    return int(np.where(numbers & TAG == BOOL, numbers, 0).min())


def read(jobs: Jobs, order: Order, width: int) -> DataFrame:
    """The facts of an order as a DataFrame (columns of ids, `explicit`)."""
    shape = ", ".join([*(f"{name} long" for name in frames.names(width)), "explicit boolean"])
    addresses = [file.address for file in order.files.values()]
    if not addresses:
        return jobs.spark.createDataFrame([], shape)
    return jobs.spark.read.schema(shape).parquet(*addresses)

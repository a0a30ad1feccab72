"""Executors write sorted files.

What      : `write` puts a relation into segments (segments.py), in any number of orders; `into` does it for parcels
            (parcels.py) of any number of relations. One job each.
Idea      : every fact goes, in a parcel, to the shard of its leading column, once for each order; the task that has
            all parcels of a file sorts them and writes it (sorted_rows.py). Facts that come twice are adjacent there,
            so nobody has to make them distinct before. What is worth knowing about columns (how many distinct values,
            which tags) is counted on the way, so no pass is made to count.
Invariant : the name of a file depends on the write, the part and the shard, and it appears whole: a task that runs
            twice writes the same file twice. The driver learns of files from what tasks return. Of facts that come
            twice, one stays; it is explicit if one of them is.
Never     : no fact passes through the driver.
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.fs
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from tidelog.backends.local.kernels.compiled import Array
from tidelog.backends.spark.cluster import frames, table_files
from tidelog.backends.spark.cluster.jobs import Jobs
from tidelog.backends.spark.files.parcels import PARCEL, PackFacts, Packing, Shape, shapes_of, unpacked
from tidelog.backends.spark.files.segments import Order, Segment, Segments
from tidelog.backends.spark.files.sketch import Sketch
from tidelog.backends.spark.files.sorted_rows import ROW_GROUP, size_of, sorted_facts, writer
from tidelog.backends.spark.freed_memory import give_back
from tidelog.backends.spark.values.ids import BOOL, TAG, Ids
from tidelog.state.file_systems import for_spark, place

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

_FILES_AT_ONCE = 8
"""How many tasks a shard write files at most: of a hundred small relations each file took a task of its own."""
_WRITTEN = 1 << 20
"""Rows that are handed to the writer of a file at once."""
_MUCH = 64 << 20
"""A file with more bytes leaves a worker with memory to give back."""


def write(jobs: Jobs, folder: str, facts: DataFrame, width: int, leads: tuple[int, ...], shards: int) -> Segments:
    """Write a relation (columns of ids, `explicit`) into files, an order for each leading column: one job."""
    packing = packing_for(jobs, folder, shapes_of([(width, leads)]), shards)
    task = Write(folder, uuid.uuid4().hex, packing)
    records = into(jobs, facts.mapInArrow(PackFacts(packing, tuple(range(len(leads)))), PARCEL), task)
    return gathered([(width, leads)], shards, records)[0]


def packing_for(jobs: Jobs, folder: str, shapes: tuple[Shape, ...], shards: int) -> Packing:
    """A packing for one job; tasks that end with the driver leave parcels in a folder beside the files."""
    system, path = place(folder)
    is_near = isinstance(system, pyarrow.fs.LocalFileSystem) and not table_files.loses_executors(jobs.spark)
    return Packing(shapes, shards, f"{path}/{uuid.uuid4().hex}-parcels" if is_near else None)


def into(jobs: Jobs, parcels: DataFrame, task: Write) -> list[dict[str, Any]]:
    """Have parcels exchanged and written; what the task says about its files."""
    packing = task.packing
    tasks = min(packing.files, _FILES_AT_ONCE * packing.shards)
    placed = parcels.repartitionById(tasks, F.col("home") % tasks)
    try:
        if packing.folder is not None:  # made here, so that a task which outlives the job leaves nothing behind
            Path(packing.folder).mkdir(parents=True, exist_ok=True)
        found: list[dict[str, Any]] = jobs.run(placed.mapInArrow(task, RECORD).toArrow).to_pylist()
    except BaseException:
        _remove_written(task)
        raise
    finally:
        if packing.folder is not None:
            shutil.rmtree(packing.folder, ignore_errors=True)
    return found


def _remove_written(task: Write) -> None:
    """Remove what a job that came to nothing has written; what its last tasks write later goes with the folder."""
    with suppress(OSError):
        system, path = place(task.folder)
        for file in system.get_file_info(pyarrow.fs.FileSelector(path, allow_not_found=True)):
            if file.base_name.startswith(task.identity):
                system.delete_file(file.path)


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
    packing = Packing(shapes_of([(width, leads)]), 1)
    columns = [np.ascontiguousarray(facts[:, at]) for at in range(width)]
    task = Write(folder, uuid.uuid4().hex, packing)
    records = [row for batch in task(packing.facts(range(len(leads)), columns, explicit)) for row in batch.to_pylist()]
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
    """An Arrow task: parcels into files."""

    folder: str
    identity: str
    packing: Packing

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Write what has come for the files of one partition."""
        found, most = unpacked(batches), 0
        while found:
            home, tables = found.popitem()
            most = max(most, sum(table.nbytes for table in tables))
            part, shard = divmod(home, self.packing.shards)
            if part < len(self.packing.shapes):
                yield self.written(part, shard, tables)
            else:
                yield from self.other(part, shard, tables)
        if most > _MUCH:
            del tables
            give_back()

    def other(self, part: int, shard: int, tables: Sequence[pa.Table]) -> Iterator[pa.RecordBatch]:
        """What is behind the relations: reports, handed on to the driver; texts in files/texts.py."""
        del part, shard
        for table in tables:
            for tag, number in zip(table.column("tag").to_pylist(), table.column("number").to_pylist()):
                yield record(part=tag, rows=number)

    def written(self, part: int, shard: int, tables: Sequence[pa.Table]) -> pa.RecordBatch:
        """One file, described in a row."""
        width, lead, is_counted = self.packing.shapes[part]
        columns, explicit = sorted_facts(tables, width)
        names = [f"c{(lead + at) % width}" for at in range(width)]
        address = f"{self.folder}/{self.identity}-{part}-{shard}.parquet"
        schema = pa.schema([*((name, pa.int64()) for name in names), ("explicit", pa.bool_())])
        with writer(address, schema) as out:
            for start in range(0, len(explicit), _WRITTEN):
                rows = [pa.array(column[start : start + _WRITTEN]) for column in (*columns, explicit)]
                out.write_table(pa.table(rows, schema=schema), ROW_GROUP)
        counted = _counted(columns) if is_counted else {}
        told = {"rows": len(explicit), "explicit": int(np.count_nonzero(explicit)), **counted}
        return record(part=part, shard=shard, address=address, size=size_of(address), **told)


def _counted(columns: Sequence[Ids]) -> dict[str, Any]:
    """What is worth knowing about columns; one order of a relation tells it for all."""
    sketches, tags = [Sketch() for _ in columns], [_tags(column) for column in columns]
    for sketch, column in zip(sketches, columns):
        sketch.add(column)
    refused = [_refused(column, found) for column, found in zip(columns, tags)]
    return {"sketches": [one.to_bytes() for one in sketches], "tags": tags, "refused": refused}


def _tags(numbers: Ids) -> int:
    """A number with one bit set for each tag that occurs."""
    if len(numbers) and not (int(np.bitwise_or.reduce(numbers)) ^ int(np.bitwise_and.reduce(numbers))) & TAG:
        return 1 << (int(numbers[0]) & TAG)
    return int(sum(1 << tag for tag in np.flatnonzero(np.bincount((numbers & TAG).astype(np.int8), minlength=4))))


def _refused(numbers: Ids, tags: int) -> int:
    """The least number that stands for what is no constant (values/encoding.py): they are negative bools."""
    if not tags & 1 << BOOL:
        return 0
    return int(np.where(numbers & TAG == BOOL, numbers, 0).min())


def read(jobs: Jobs, order: Order, width: int) -> DataFrame:
    """The facts of an order as a DataFrame (columns of ids, `explicit`)."""
    shape = ", ".join([*(f"{name} long" for name in frames.names(width)), "explicit boolean"])
    addresses = [for_spark(file.address) for file in order.files.values()]
    if not addresses:
        return jobs.spark.createDataFrame([], shape)
    return jobs.spark.read.schema(shape).parquet(*addresses)

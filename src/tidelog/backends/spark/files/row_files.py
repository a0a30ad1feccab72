"""Facts as rows of a state, written by executors.

What      : `write_rows` writes a DataFrame of ids as rows of values (state/rows.py), into Parquet files of a directory.
Idea      : texts come by a join with the constants; an Arrow task makes the cells of a batch at once and writes them.
Invariant : the rows are those that the driver would write. The name of a file depends on the partition alone, and it
            appears whole, so a task that runs twice writes one file.
Never     : no fact passes through the driver, and nothing is committed here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from tidelog.backends.spark.cluster.jobs import Jobs
from tidelog.backends.spark.files.sorted_rows import grouped, writer
from tidelog.backends.spark.values import ids
from tidelog.state.rows import PRESENT, SCHEMA, cells_of, rows_of

_GROUP = 1 << 17
"""Rows of a row group: readers of the table go through all of it."""
_HASHED = 1 << ids.STRING | 1 << ids.OTHER


def write_rows(
    jobs: Jobs, facts: DataFrame, texts: DataFrame, tags: Sequence[int], relation: str, version: int, target: str
) -> list[tuple[str, int]]:
    """Write facts (columns of ids, `explicit`), whose columns have these tags; names and rows of the files.

    A file is called as `target` says, with a number behind.
    """
    for at, found in enumerate(tags):
        if found & _HASHED:
            known = texts.select(F.col("id").alias(f"c{at}"), F.col("text").alias(f"t{at}"))
            facts = facts.join(known, f"c{at}", "left")
    columns = [
        name for at, found in enumerate(tags) for name in (f"c{at}", f"t{at}") if found & _HASHED or name[0] == "c"
    ]
    task = _Rows(relation, version, target, len(tags))
    done = jobs.run(facts.select(*columns, "explicit").mapInArrow(task, "name string, rows long").toArrow)
    return [(row["name"], row["rows"]) for row in done.to_pylist()]


@dataclass(frozen=True)
class _Rows:
    """An Arrow task: ids and texts into a file of rows."""

    relation: str
    version: int
    target: str
    arity: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        first = next((batch for batch in batches if batch.num_rows), None)
        if first is None:
            return
        context = TaskContext.get()
        assert context is not None
        address, count = f"{self.target}-{context.partitionId()}.parquet", 0
        rows = (self._rows(batch) for batch in _chained(first, batches) if batch.num_rows)
        with writer(address, SCHEMA, compression="zstd", use_dictionary=True) as out:
            for group in grouped(rows, _GROUP):
                out.write_table(group, _GROUP)
                count += group.num_rows
        yield pa.RecordBatch.from_pydict({"name": [address.rsplit("/", 1)[-1]], "rows": [count]})

    def _rows(self, batch: pa.RecordBatch) -> pa.Table:
        names = set(batch.schema.names)
        columns = [
            cells(batch.column(f"c{at}"), batch.column(f"t{at}") if f"t{at}" in names else None)
            for at in range(self.arity)
        ]
        explicit = batch.column("explicit").to_numpy(zero_copy_only=False)
        return rows_of(self.relation, columns, self.version, PRESENT, explicit)


def cells(numbers: pa.Array, texts: pa.Array | None) -> pa.Array:
    """Ids, and the typed texts of those that are hashed, as cells."""
    longs = numbers.to_numpy()
    tags = longs & ids.TAG
    nothing = pa.scalar(None, pa.int64())
    parts = {
        "int": pc.if_else(pa.array(tags == ids.INTEGER), pa.array(longs >> 2), nothing),
        "bool": pa.array(longs >> 2 == 1, mask=tags != ids.BOOL),
    }
    if texts is not None:
        kinds = pc.utf8_slice_codeunits(texts, 0, 1)
        rest = pc.utf8_slice_codeunits(texts, 1).cast(pa.large_string())
        for field, kind in (("text", "s"), ("term", "t")):
            parts[field] = pc.if_else(pc.equal(kinds, kind), rest, pa.scalar(None, pa.large_string()))
        others = np.flatnonzero(tags == ids.OTHER)
        if len(others):
            values = [(place, ids.from_text(texts[place].as_py())) for place in others.tolist()]
            parts["float"] = _sparse([pair for pair in values if isinstance(pair[1], float)], len(longs), pa.float64())
            large = _sparse([pair for pair in values if isinstance(pair[1], int)], len(longs), pa.int64())
            parts["int"] = pc.coalesce(parts["int"], large)
    if (pc.is_null(parts["int"]).to_numpy(zero_copy_only=False) & np.isin(tags, (ids.STRING, ids.OTHER))).any():
        _check(parts, tags)
    return cells_of(parts, len(longs))


def _check(parts: dict[str, pa.Array], tags: ids.Ids) -> None:
    """Every constant has a value; one without a text would be lost."""
    filled = np.isin(tags, (ids.INTEGER, ids.BOOL))
    for part in parts.values():
        filled |= part.is_valid().to_numpy(zero_copy_only=False)
    if not filled.all():
        raise ValueError("a stored fact has a constant without a text")


def _sparse(values: list[tuple[int, object]], count: int, kind: pa.DataType) -> pa.Array:
    found: list[object] = [None] * count
    for place, value in values:
        found[place] = value
    return pa.array(found, kind)


def _chained(first: pa.RecordBatch, rest: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield first
    yield from rest

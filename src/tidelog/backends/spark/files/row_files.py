"""Facts as rows of a state, written by executors.

What      : `write_rows` has the files of a relation (segments.py) written as rows of values (state/rows.py), into
            Parquet files of a directory.
Idea      : one task for each file of ids, without an exchange. It takes a portion of its facts, finds their distinct
            ids, looks for the texts of these, and makes the cells of distinct values; the cells of facts are places
            among these. Texts that take little room stay in the worker from portion to portion; many are gone through
            for every portion, which is larger then. Joining texts with facts by Spark took an exchange of all facts for
            each column.
Invariant : the rows are those that the driver would write. The name of a file depends on the number of the file of ids
            alone, and it appears whole, so a task that runs twice writes one file.
Never     : no fact passes through the driver, and nothing is committed here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tidelog.backends.local.kernels.compiled import Array
from tidelog.backends.spark.cluster.jobs import Jobs
from tidelog.backends.spark.files.reading import readable
from tidelog.backends.spark.files.segments import Order
from tidelog.backends.spark.files.sorted_rows import writer
from tidelog.backends.spark.values import ids
from tidelog.backends.spark.values.ids import Ids
from tidelog.state.file_systems import place
from tidelog.state.rows import PRESENT, SCHEMA, cells_of, rows_by_fact

_GROUP = 1 << 17
"""Rows of a row group: readers of the table go through all of it."""
_PORTION, _LARGE_PORTION = 1 << 20, 1 << 22
"""Facts whose texts are looked for together, in texts that are held and in those that are not: going through 20 million
texts takes half a second. A large portion has up to a gigabyte in memory, where all of its texts differ."""
_SCANNED = 1 << 18
"""Texts that are read at once."""
_HELD = 128 << 20
"""Bytes of files of texts that a worker holds: about three times as many in memory, for some ten million texts."""


def write_rows(
    jobs: Jobs, order: Order, texts: Sequence[Order], relation: str, arity: int, version: int, target: str
) -> list[tuple[str, int]]:
    """Write the facts of an order; names and rows of the files, which are called as `target` says, with a number."""
    addresses = tuple(file.address for file in order.files.values())
    if not addresses:
        return []
    files = [file for generation in texts for file in generation.files.values()]
    is_held = sum(file.size for file in files) <= _HELD
    task = _Rows(relation, version, target, arity, addresses, tuple(file.address for file in files), is_held)
    numbers = jobs.spark.range(0, len(addresses), 1, len(addresses))
    done = jobs.run(numbers.mapInArrow(task, "name string, rows long").toArrow)
    return [(row["name"], row["rows"]) for row in done.to_pylist()]


@dataclass(frozen=True)
class _Rows:
    """An Arrow task: files of ids, given by number, into files of rows."""

    relation: str
    version: int
    target: str
    arity: int
    addresses: tuple[str, ...]
    texts: tuple[str, ...]
    is_held: bool

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                address, count = f"{self.target}-{number}.parquet", 0
                with writer(address, SCHEMA, "zstd", level=1, use_dictionary=["relation"]) as out:
                    for rows in self._rows(self.addresses[number]):
                        out.write_table(rows, _GROUP)
                        count += rows.num_rows
                yield pa.RecordBatch.from_pydict({"name": [address.rsplit("/", 1)[-1]], "rows": [count]})

    def _rows(self, address: str) -> Iterator[pa.Table]:
        """The facts of a file as rows."""
        for table in _scanned(address, _PORTION if self.is_held else _LARGE_PORTION):
            columns = [table.column(f"c{at}") for at in range(self.arity)]
            places, numbers = _distinct(columns)
            values = cells(numbers, self._texts_of(numbers))
            explicit = table.column("explicit").to_numpy(zero_copy_only=False)
            for start in range(0, table.num_rows, _GROUP):
                chosen = pa.array(places[start : start + _GROUP].reshape(-1))
                flags = explicit[start : start + _GROUP]
                yield rows_by_fact(self.relation, values.take(chosen), self.arity, self.version, PRESENT, flags)

    def _stored(self) -> Iterator[pa.Table]:
        """All texts, in tables that are sorted by id."""
        for address in [one for one in _held if one not in self.texts]:
            del _held[address]
        for address in self.texts:
            if not self.is_held:
                yield from _scanned(address, _SCANNED)
                continue
            if address not in _held:
                _held[address] = pa.concat_tables(_scanned(address, _SCANNED)).combine_chunks()
            yield _held[address]

    def _texts_of(self, numbers: Ids) -> pa.Array:
        """The typed texts of distinct ids, null for those that have none."""
        tags = numbers & ids.TAG
        hashed = np.flatnonzero((tags == ids.STRING) | (tags == ids.OTHER))
        hashed = hashed[np.argsort(numbers[hashed])]
        wanted = numbers[hashed]
        found: list[Ids] = [np.empty(0, np.int64)]
        texts = [pa.chunked_array([], pa.string())]
        for table in self._stored() if len(wanted) else ():
            known = table.column("id").to_numpy()
            first, end = np.searchsorted(wanted, (known[0], known[-1]))
            near = np.searchsorted(known, wanted[first : end + 1])  # both are sorted
            near[near == len(known)] = 0
            is_here = known[near] == wanted[first : end + 1]
            if is_here.any():
                found.append(first + np.flatnonzero(is_here))
                texts.append(table.column("text").take(pa.array(near[is_here])))
        places = np.concatenate(found)
        if len(places) != len(wanted):
            raise ValueError("a stored fact has a constant without a text")
        where = np.full(len(numbers), -1)
        where[hashed[places]] = np.arange(len(places))
        joined = pa.chunked_array([chunk for each in texts for chunk in each.chunks], pa.string()).combine_chunks()
        return joined.take(pa.array(where, mask=where < 0))


_held: dict[str, pa.Table] = {}
"""Files of texts that this worker has read for the last relation, by address."""


def _distinct(columns: Sequence[pa.ChunkedArray]) -> tuple[Array, Ids]:
    """Which of the distinct ids each cell is, a row for each fact; and these ids."""
    if not columns:
        return np.empty((0, 0), np.int32), np.empty(0, np.int64)
    encoded = pa.chunked_array([chunk for column in columns for chunk in column.chunks], pa.int64()).dictionary_encode()
    places = np.concatenate([chunk.indices.to_numpy() for chunk in encoded.chunks])
    return np.ascontiguousarray(places.reshape(len(columns), -1).T), encoded.chunk(0).dictionary.to_numpy()


def _scanned(address: str, rows: int) -> Iterator[pa.Table]:
    """A file from its beginning to its end."""
    with readable(address):
        system, path = place(address)
        with system.open_input_file(path) as source:
            file = pq.ParquetFile(source, page_checksum_verification=True)
            waiting: list[pa.RecordBatch] = []
            for batch in file.iter_batches(min(rows, 1 << 16), use_threads=False):
                waiting.append(batch)
                if sum(each.num_rows for each in waiting) >= rows:
                    yield pa.Table.from_batches(waiting)
                    waiting = []
            if waiting:
                yield pa.Table.from_batches(waiting)


def cells(longs: Ids, texts: pa.Array) -> pa.Array:
    """Ids, and the typed texts of those that are hashed, as cells."""
    tags = longs & ids.TAG
    kinds = pc.utf8_slice_codeunits(texts, 0, 1)
    rest = pc.utf8_slice_codeunits(texts, 1).cast(pa.large_string())
    nothing = pa.scalar(None, pa.large_string())
    parts = {
        "int": pa.array(longs >> 2, mask=tags != ids.INTEGER),
        "bool": pa.array(longs >> 2 == 1, mask=tags != ids.BOOL),
        "text": pc.if_else(pc.equal(kinds, "s"), rest, nothing),
        "term": pc.if_else(pc.equal(kinds, "t"), rest, nothing),
    }
    others = np.flatnonzero(tags == ids.OTHER)
    if len(others):
        values = [(at, ids.from_text(texts[at].as_py())) for at in others.tolist()]
        parts["float"] = _sparse([pair for pair in values if isinstance(pair[1], float)], len(longs), pa.float64())
        large = _sparse([pair for pair in values if isinstance(pair[1], int)], len(longs), pa.int64())
        parts["int"] = pc.coalesce(parts["int"], large)
    return cells_of(parts, len(longs))


def _sparse(values: list[tuple[int, object]], count: int, kind: pa.DataType) -> pa.Array:
    found: list[object] = [None] * count
    for at, value in values:
        found[at] = value
    return pa.array(found, kind)

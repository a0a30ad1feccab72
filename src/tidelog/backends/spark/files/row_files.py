"""Facts as rows of a state, written by executors.

What      : `write_rows` has the files of a relation (segments.py) written as rows of values (state/rows.py), into
            Parquet files of a directory.
Idea      : one task for each file of ids, without an exchange. It takes a portion of its facts, finds their distinct
            ids, looks for the texts of these, and makes the cells of distinct values; the cells of facts are places
            among these. Texts that take little room stay in the worker from portion to portion; many are gone through
            for every portion, which is larger then. Joining texts with facts by Spark took an exchange of all facts for
            each column.
Cost      : a pass over the facts, and, where texts are not held, one over all texts for each portion: facts times texts
            in the end. At 95 million facts that made 0.95 us a fact of 0.7. Each portion has ids of all texts, so a
            single pass would need an exchange of ids and one of texts.
Memory    : facts, texts of a portion and rows of a row group are bounded by number and by bytes; only a single fact may
            take more.
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
from tidelog.backends.spark.files.segments import Order, place
from tidelog.backends.spark.files.sorted_rows import writer
from tidelog.backends.spark.values import ids
from tidelog.backends.spark.values.ids import Ids
from tidelog.state.rows import PRESENT, SCHEMA, cells_of, rows_by_fact

_GROUP = 1 << 17
"""Rows of a row group: readers of the table go through all of it."""
_GROUP_TEXTS = 64 << 20
"""Bytes of texts of a row group, repeated for every fact that has them."""
_PORTION, _LARGE_PORTION = 1 << 20, 1 << 22
"""Facts whose texts are looked for together, in texts that are held and in those that are not: going through 20 million
texts takes half a second. Ids and places of a large portion of three columns take 300 MB."""
_PORTION_TEXTS = 128 << 20
"""Bytes of the distinct texts of a portion; while cells are made of them they take up to a gigabyte."""
_SCANNED, _SCANNED_BYTES = 1 << 18, 32 << 20
"""Texts that are read at once, and about how many bytes of them."""
_HELD, _HELD_TEXTS = 128 << 20, 384 << 20
"""Bytes of files of texts that a worker holds, and what they have in memory: some ten million texts."""


def write_rows(
    jobs: Jobs, order: Order, texts: Sequence[Order], relation: str, arity: int, version: int, target: str
) -> list[tuple[str, int]]:
    """Write the facts of an order; names and rows of the files, which are called as `target` says, with a number."""
    addresses = tuple(file.address for file in order.files.values())
    if not addresses:
        return []
    files = [file for generation in texts for file in generation.files.values()]
    is_held = (
        sum(file.size for file in files) <= _HELD and sum(_unpacked(file.address) for file in files) <= _HELD_TEXTS
    )
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
        for explicit, places, numbers, texts in self._portions(address):
            values, sizes = cells(numbers, texts), pc.fill_null(pc.binary_length(texts), 0).to_numpy()
            del texts
            ends = np.cumsum(sizes[places].sum(axis=1, dtype=np.int64))
            start = 0
            while start < len(places):
                limit = (ends[start - 1] if start else 0) + _GROUP_TEXTS
                stop = min(start + _GROUP, max(int(np.searchsorted(ends, limit, "right")), start + 1))
                chosen, flags = pa.array(places[start:stop].reshape(-1)), explicit[start:stop]
                yield rows_by_fact(self.relation, values.take(chosen), self.arity, self.version, PRESENT, flags)
                start = stop
            del values

    def _portions(self, address: str) -> Iterator[tuple[Array, Array, Ids, pa.Array]]:
        """Some facts of a file: which are explicit, of which distinct ids their cells are, these, and their texts."""
        most = _PORTION if self.is_held else _LARGE_PORTION
        for table in _scanned(address, most):
            start = 0
            while start < table.num_rows:
                some = table.slice(start, most)
                places, numbers = _distinct([some.column(f"c{at}") for at in range(self.arity)])
                texts, share = self._texts_of(numbers, is_all=some.num_rows == 1)
                if texts is None:
                    most = max(int(some.num_rows * share * 0.9), 1)
                    continue
                explicit = some.column("explicit").to_numpy(zero_copy_only=False)
                yield explicit, places if self.arity else np.empty((some.num_rows, 0), np.int32), numbers, texts
                start += some.num_rows
                del texts  # else two portions are in memory

    def _stored(self) -> Iterator[pa.Table]:
        """All texts, in tables that are sorted by id."""
        for address in [one for one in _held if one not in self.texts]:
            del _held[address]
        for address in self.texts:
            if not self.is_held:
                yield from _scanned(address, _SCANNED, _SCANNED_BYTES)
                continue
            if address not in _held:
                _held[address] = pa.concat_tables(_scanned(address, _SCANNED)).combine_chunks()
            yield _held[address]

    def _texts_of(self, numbers: Ids, *, is_all: bool = False) -> tuple[pa.Array | None, float]:
        """The typed texts of distinct ids, null for those that have none; or, unless `is_all` is said, none because
        they take too much memory, and the share of them that does not. Ids are hashes, so any part tells.
        """
        tags = numbers & ids.TAG
        hashed = np.flatnonzero((tags == ids.STRING) | (tags == ids.OTHER))
        hashed = hashed[np.argsort(numbers[hashed])]
        wanted = numbers[hashed]
        found: list[Ids] = [np.empty(0, np.int64)]
        texts: list[pa.Array] = []
        count = size = 0
        for table in self._stored() if len(wanted) else ():
            known = table.column("id").to_numpy()
            first, end = np.searchsorted(wanted, (known[0], known[-1]))
            near = np.searchsorted(known, wanted[first : end + 1])  # both are sorted
            near[near == len(known)] = 0
            is_here = known[near] == wanted[first : end + 1]
            if is_here.any():
                found.append(first + np.flatnonzero(is_here))
                taken = table.column("text").cast(pa.large_string()).take(pa.array(near[is_here]))
                texts += taken.chunks
                count, size = count + len(taken), size + taken.nbytes
            if size > _PORTION_TEXTS and not is_all:
                return None, count / len(wanted) * _PORTION_TEXTS / size
        places = np.concatenate(found)
        if len(places) != len(wanted):
            raise ValueError("a stored fact has a constant without a text")
        where = np.full(len(numbers), -1)
        where[hashed[places]] = np.arange(len(places))
        joined = pa.chunked_array(texts, pa.large_string()).combine_chunks()
        del texts
        return joined.take(pa.array(where, mask=where < 0)), 1.0


_held: dict[str, pa.Table] = {}
"""Files of texts that this worker has read for the last relation, by address."""


def _distinct(columns: Sequence[pa.ChunkedArray]) -> tuple[Array, Ids]:
    """Which of the distinct ids each cell is, a row for each fact; and these ids."""
    if not columns:
        return np.empty((0, 0), np.int32), np.empty(0, np.int64)
    encoded = pa.chunked_array([chunk for column in columns for chunk in column.chunks], pa.int64()).dictionary_encode()
    places = np.concatenate([chunk.indices.to_numpy() for chunk in encoded.chunks])
    return np.ascontiguousarray(places.reshape(len(columns), -1).T), encoded.chunk(0).dictionary.to_numpy()


def _scanned(address: str, rows: int, size: int | None = None) -> Iterator[pa.Table]:
    """A file from its beginning to its end, a number of rows or about a number of bytes at once."""
    with readable(address):
        system, path = place(address)
        with system.open_input_file(path) as source:
            is_ahead = source.size() <= _HELD  # what is read ahead stays until the end
            file = pq.ParquetFile(source, page_checksum_verification=True, pre_buffer=is_ahead, buffer_size=1 << 20)
            waiting: list[pa.RecordBatch] = []
            if size is not None:
                rows = min(rows, max(size * file.metadata.num_rows // max(_bytes(file.metadata), 1), 1))
            for batch in file.iter_batches(min(rows, 1 << 16), use_threads=False):
                waiting.append(batch)
                if sum(each.num_rows for each in waiting) >= rows:
                    yield pa.Table.from_batches(waiting)
                    waiting = []
            if waiting:
                yield pa.Table.from_batches(waiting)


def _unpacked(address: str) -> int:
    """The bytes that a file has in memory."""
    with readable(address):
        system, path = place(address)
        return _bytes(pq.read_metadata(path, filesystem=system))


def _bytes(said: pq.FileMetaData) -> int:
    return sum(int(said.row_group(group).total_byte_size) for group in range(said.num_row_groups))


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

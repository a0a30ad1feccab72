"""Facts and texts on their way to their files: few, fat rows through Spark's exchange.

What      : `Packing` puts columns of ids, texts and reports into *parcels*: a number, which says the file that they are
            for, and the bytes of an Arrow table. `unpacked` is the other end.
Idea      : Spark's exchange takes time for a row, not for a byte. A task packs thousands of facts for one file into one
            row; Spark carries it, keeps it and repeats what a lost executor takes along. Who gets the parcels of a file
            sorts them with NumPy (sorted_rows.py). Five microseconds a fact became half of one. Where the tasks of
            Spark share a machine with the driver, and end with it, a large parcel waits in a file and Spark carries its
            address: Java copies no facts.
Invariant : `home` is part times shards plus shard; a fact is packed once for every order of its relation. The part
            behind all orders is for texts or for reports. Every parcel in a file has a name of its own, so a task that
            runs again disturbs nobody; the driver deletes the folder after the job.
Never     : no session.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tidelog.backends.local.kernels.compiled import Array
from tidelog.backends.local.relations.row_dealing import dealt
from tidelog.backends.spark.bulk.placement import homes
from tidelog.backends.spark.values.ids import Ids, Naming
from tidelog.backends.spark.values.numbered import numbered

PARCEL = "home int, body binary, file string"
"""The shape of parcels, as Spark writes it."""
_PACKED, _BYTES = 1 << 18, 64 << 20
"""How many rows, or about how many bytes, are packed at once."""
_SCHEMA = pa.schema([("home", pa.int32()), ("body", pa.binary()), ("file", pa.string())])
_CARRIED = 1 << 16
"""Up to how many bytes are carried by Spark in any case."""

Batches = Iterator[pa.RecordBatch]


class Shape(NamedTuple):
    """An order of a relation: its width, its leading column, and whether it is the one that is counted."""

    width: int
    lead: int
    is_counted: bool


def shapes_of(relations: Iterable[tuple[int, Sequence[int]]]) -> tuple[Shape, ...]:
    """The orders of relations, given the width and the leading columns of each; the first of each is counted."""
    return tuple(Shape(width, lead, lead == leads[0]) for width, leads in relations for lead in leads)


@dataclass(frozen=True)
class Packing:
    """The orders of all relations that are written together, and over how many files each is spread.

    Large parcels wait in the folder, if there is one: a path on this machine.
    """

    shapes: tuple[Shape, ...]
    shards: int
    folder: str | None = None

    @property
    def files(self) -> int:
        """How many homes there are, with those of the part behind all orders."""
        return (len(self.shapes) + 1) * self.shards

    def facts(self, parts: Sequence[int], columns: Sequence[Ids], explicit: Array) -> Batches:
        """Facts of one relation as parcels, for all its orders."""
        for part in parts:
            width, lead, _ = self.shapes[part]
            turned = [columns[(lead + at) % width] for at in range(width)]
            names = [*(f"k{at}" for at in range(width)), "explicit"]
            for shard, rows in self._spread(turned[0], [*turned, explicit]):
                yield self._parcel(part * self.shards + shard, pa.table(rows, names=names))

    def texts(self, texts: pa.Table) -> Batches:
        """Texts (k0, text) as parcels."""
        if texts.num_rows:
            places = np.arange(texts.num_rows)
            for shard, (chosen,) in self._spread(texts.column("k0").to_numpy(), [places]):
                yield self._parcel(len(self.shapes) * self.shards + shard, texts.take(pa.array(chosen)))

    def reports(self, tags: Array, numbers: Ids) -> Batches:
        """What is no fact, as a parcel for the driver."""
        if len(tags):
            yield self._parcel(len(self.shapes) * self.shards, pa.table({"tag": tags, "number": numbers}))

    def _spread(self, keys: Ids, columns: Sequence[Array]) -> Iterator[tuple[int, list[Array]]]:
        """The rows of each shard that has some; facts that a shard has derived are often all at home in one."""
        if not len(keys):
            return
        shards = homes(keys, self.shards)
        if (shards == shards[0]).all():
            yield int(shards[0]), list(columns)
            return
        moved, ends = dealt(columns, shards, self.shards)
        for shard, (start, end) in enumerate(pairwise([0, *ends])):
            if end > start:
                yield shard, [column[start:end] for column in moved]

    def _parcel(self, home: int, rows: pa.Table) -> pa.RecordBatch:
        rows = rows.combine_chunks()
        if self.folder is None or rows.nbytes <= _CARRIED:
            sink = pa.BufferOutputStream()
            _put(sink, rows)
            body, file = sink.getvalue().to_pybytes(), None
        else:
            body, file = None, f"{self.folder}/{uuid.uuid4().hex}"
            with pa.OSFile(file, "wb") as out:
                _put(out, rows)
        columns = [pa.array([home], pa.int32()), pa.array([body], pa.binary()), pa.array([file], pa.string())]
        return pa.RecordBatch.from_arrays(columns, schema=_SCHEMA)


def unpacked(batches: Batches) -> dict[int, list[pa.Table]]:
    """The tables of parcels, by home."""
    found: dict[int, list[pa.Table]] = {}
    for batch in batches:
        for home, body, file in zip(batch.column("home"), batch.column("body"), batch.column("file")):
            source = pa.memory_map(file.as_py()) if file.is_valid else body.as_buffer()
            found.setdefault(home.as_py(), []).append(pa.ipc.open_stream(source).read_all())
    return found


def _put(sink: pa.NativeFile, rows: pa.Table) -> None:
    with pa.ipc.new_stream(sink, rows.schema) as out:
        out.write_table(rows)


def _portions(batches: Batches) -> Iterator[pa.Table]:
    """Batches put together to what is packed at once."""
    waiting: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        waiting.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= _PACKED or size >= _BYTES:
            yield pa.Table.from_batches(waiting)
            waiting, rows, size = [], 0, 0
    if rows:
        yield pa.Table.from_batches(waiting)


# -- Arrow tasks -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PackFacts:
    """Facts (columns of ids, and `explicit` unless all are) into parcels, for the parts of their relation."""

    packing: Packing
    parts: tuple[int, ...]

    def __call__(self, batches: Batches) -> Batches:
        """Pack what comes."""
        width = self.packing.shapes[self.parts[0]].width
        for rows in _portions(batches):
            columns = [rows.column(f"c{at}").to_numpy() for at in range(width)]
            has_flags = "explicit" in rows.column_names
            explicit = rows.column("explicit").to_numpy() if has_flags else np.ones(rows.num_rows, np.bool_)
            yield from self.packing.facts(self.parts, columns, explicit)


@dataclass(frozen=True)
class PackValues:
    """Values into parcels of facts and of their texts; `kinds` are those of the columns (values/numbered.py)."""

    packing: Packing
    parts: tuple[int, ...]
    kinds: tuple[str, ...]
    naming: Naming

    def __call__(self, batches: Batches) -> Batches:
        """Give ids, and pack."""
        for rows in _portions(batches):
            columns, texts = numbered(rows, self.kinds, self.naming)
            yield from self.packing.facts(self.parts, columns, np.ones(rows.num_rows, np.bool_))
            yield from self.packing.texts(texts)


@dataclass(frozen=True)
class PackTexts:
    """Texts (id, text) into parcels."""

    packing: Packing

    def __call__(self, batches: Batches) -> Batches:
        """Pack what comes, each text once."""
        for rows in _portions(batches):
            distinct = rows.group_by(["id", "text"]).aggregate([])
            yield from self.packing.texts(distinct.rename_columns(["k0", "text"]))


@dataclass(frozen=True)
class PackDerived:
    """What a task of bulk work gives (tag, c0, c1, ...) into parcels; `parts` says by tag where facts go.

    Rows with a negative tag are reports.
    """

    packing: Packing
    parts: Mapping[int, tuple[int, ...]]
    work: Callable[[Batches], Batches]

    def __call__(self, batches: Batches) -> Batches:
        """Run the task, and pack what it gives."""
        for rows in _portions(self.work(batches)):
            tags = rows.column("tag").to_numpy()
            is_report = tags < 0
            yield from self.packing.reports(tags[is_report], rows.column("c0").to_numpy()[is_report])
            for tag, parts in self.parts.items():
                chosen = tags == tag
                count = int(np.count_nonzero(chosen))
                width = self.packing.shapes[parts[0]].width
                if count:
                    columns = [rows.column(f"c{at}").to_numpy() for at in range(width)]
                    if count < len(tags):
                        columns = [column[chosen] for column in columns]
                    yield from self.packing.facts(parts, columns, np.zeros(count, np.bool_))

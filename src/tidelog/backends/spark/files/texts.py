"""The texts behind ids, in sorted files.

What      : `TextFiles` holds the texts (id, text) of an engine: added by executors or by the driver, looked up by the
            driver without a job, read by bulk work as a DataFrame.
Idea      : texts only come. Every addition is a *generation* of files, sorted by id; the many small ones that the
            driver adds are put together when eight have gathered.
Invariant : an id is in one generation only, so that a join with all of them repeats no row. Two texts with one id are
            found when the second is added; nothing is added then, and the second has to get another id.
Never     : no relation, and no text is ever removed.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from tidelog.backends.spark.bulk.placement import homes
from tidelog.backends.spark.files.file_store import FileStore
from tidelog.backends.spark.files.parcels import PARCEL, Packing, PackTexts
from tidelog.backends.spark.files.reading import Reader
from tidelog.backends.spark.files.segments import Order, Segment, Segments, remove
from tidelog.backends.spark.files.sorted_rows import grouped, size_of, sorted_texts, writer
from tidelog.backends.spark.files.writing import Record, Write, into, record
from tidelog.backends.spark.values.ids import Ids

if TYPE_CHECKING:
    from tidelog.backends.spark.cluster.jobs import Jobs

SCHEMA = pa.schema([("id", pa.int64()), ("text", pa.string())])
TEXT_GROUP = 1 << 11
"""Rows of a row group: ids are hashes, so every text that is looked up is in another group, which is decoded whole."""
SMALL, GATHERED = 100_000, 8
"""Generations of at most SMALL texts are put together by the driver, up to GATHERED of them."""
_KEY = ["id"]
_TOLD = 1000
"""How many texts that clash a task names; those that are left are found when it runs again."""


class TextFiles:
    """Texts in files, of one engine."""

    def __init__(self, jobs: Jobs, store: FileStore, generations: list[Order] | None = None) -> None:
        self._jobs, self._store = jobs, store
        self.generations = generations or []
        self._owners: dict[int, Segments] = {}
        self.put_last: object = None
        """What the texts came from that were put last: they wait no more."""

    def __bool__(self) -> bool:
        return bool(self.generations)

    def seen(self, jobs: Jobs) -> TextFiles:
        """The same texts for a reader: the files stay for as long as he holds them."""
        generations, owners = self.generations, dict(self._owners)
        while generations is not self.generations:  # texts came in between: files and their owners go together
            generations, owners = self.generations, dict(self._owners)
        copy = TextFiles(jobs, self._store, generations)
        copy._owners = owners
        return copy

    def frame(self) -> DataFrame:
        """All texts as a DataFrame (id, text)."""
        addresses = [file.address for order in self.generations for file in order.files.values()]
        if not addresses:
            return self._jobs.spark.createDataFrame([], "id long, text string")
        return self._jobs.spark.read.schema("id long, text string").parquet(*addresses)

    def find(self, ids: Ids) -> pa.Table:
        """The texts of these ids, without ids that have no text in the files."""
        return found_in(self._store.reader, self.generations, ids)

    def add(self, texts: DataFrame) -> list[str]:
        """Have executors add texts, which may be known and may repeat: one job.

        The texts that cannot have their ids, because others have them; nothing is added then.
        """
        packing = self._store.packing((), self._store.shards())
        with self._jobs.named("store texts"):
            records = into(self._jobs, texts.mapInArrow(PackTexts(packing), PARCEL), self.task(packing))
        return self.take(records, packing.shards)

    def task(self, packing: Packing) -> Receive:
        """What writes relations, and in the part behind them texts that are new."""
        return Receive(self._store.folder, uuid.uuid4().hex, packing, tuple(self.generations))

    def take(self, records: Sequence[Record], shards: int) -> list[str]:
        """Take over what a task has written, unless texts clash: then these."""
        clashes = sorted({text for row in records for text in row["clashes"] or ()})
        files = {row["shard"]: Segment(row["address"], row["rows"], row["size"]) for row in records}
        for shard in [shard for shard, file in files.items() if not file.rows]:
            remove([files.pop(shard).address])
        self._take(Order(0, shards, files), is_kept=not clashes)
        return clashes

    def put(self, texts: pa.Table, source: object = None) -> None:
        """Add texts from the driver whose ids are not here; the small generations become one when there are many."""
        small = [order for order in self.generations if sum(file.rows for file in order.files.values()) <= SMALL]
        merged = small if len(small) >= GATHERED - 1 else []
        tables = [self._store.reader.whole(file.address) for order in merged for file in order.files.values()]
        table = pa.concat_tables([texts, *(group for groups in tables for group in groups)]).sort_by("id")
        address = f"{self._store.folder}/{uuid.uuid4().hex}-texts.parquet"
        made = Order(0, 1, {0: _written(address, iter([table]))})
        kept = [order for order in self.generations if order not in merged]
        self._own(made, kept, source)

    def close(self) -> None:
        """Forget the texts; files of this engine are deleted."""
        self.generations, self._owners = [], {}

    def _take(self, order: Order, *, is_kept: bool) -> None:
        if is_kept and order.files:
            self._own(order, self.generations, self.put_last)
        else:
            remove([file.address for file in order.files.values()])

    def _own(self, made: Order, kept: list[Order], source: object) -> None:
        """The generations are those that are kept and one that was made: in one step, for readers and interrupts."""
        owner = Segments(1, 0, {}, (0,), (0,))
        owner.owned(made)
        owners = {id(order): self._owners[id(order)] for order in kept if id(order) in self._owners}
        self.__dict__.update(generations=[*kept, made], _owners={**owners, id(made): owner}, put_last=source)


def found_in(reader: Reader, generations: list[Order] | tuple[Order, ...], ids: Ids) -> pa.Table:
    """The texts of distinct ids in generations of files."""
    found = [SCHEMA.empty_table()]
    for order in generations:
        shards = homes(ids, order.shards)
        for shard, file in order.files.items():
            wanted = ids[shards == shard]
            if len(wanted):
                found.append(reader.find(file.address, _KEY, _KEY, wanted.reshape(-1, 1)).cast(SCHEMA))
    return pa.concat_tables(found)


def _written(address: str, tables: Iterator[pa.Table]) -> Segment:
    """A file of sorted texts."""
    rows = 0
    with writer(address, SCHEMA) as out:
        for group in grouped(tables):
            out.write_table(group.select(["id", "text"]).cast(SCHEMA), TEXT_GROUP)
            rows += group.num_rows
    return Segment(address, rows, size_of(address))


@dataclass(frozen=True)
class Receive(Write):
    """An Arrow task: the part behind the relations are texts; those that are new go into a file, sorted by id."""

    generations: tuple[Order, ...] = ()

    def other(self, part: int, shard: int, tables: Sequence[pa.Table]) -> Iterator[pa.RecordBatch]:
        """A file of texts, without those that are in earlier generations, and the texts that clash."""
        clashes: list[str] = []
        fresh = self._fresh(Reader(), sorted_texts(tables), clashes)
        file = _written(f"{self.folder}/{self.identity}-{shard}-texts.parquet", iter([fresh]))
        yield record(
            part=part, shard=shard, address=file.address, rows=file.rows, size=file.size, clashes=clashes[:_TOLD]
        )

    def _fresh(self, reader: Reader, table: pa.Table, clashes: list[str]) -> pa.Table:
        """The texts whose ids are new, each id once; a text whose id another text has is noted."""
        ids = table.column("k0").to_numpy()
        is_first = np.ones(len(ids), np.bool_)
        is_first[1:] = ids[1:] != ids[:-1]
        table = table.rename_columns(["id", "text"])
        each = table if is_first.all() else table.filter(pa.array(is_first))
        if not is_first.all():
            clashes += self._seconds(reader, table.filter(pa.array(~is_first)))
        if not self.generations:
            return each
        known = found_in(reader, self.generations, each.column("id").to_numpy())
        clashes += _differing(each, known)
        return each.filter(pc.invert(pc.is_in(each.column("id"), known.column("id"))))

    def _seconds(self, reader: Reader, others: pa.Table) -> Iterator[str]:
        """Texts that are not the first of their id, without one that an earlier generation has."""
        ids = np.array(sorted(set(others.column("id").to_pylist())), np.int64)
        known = {(row["id"], row["text"]) for row in found_in(reader, self.generations, ids).to_pylist()}
        for row in others.to_pylist():
            if (row["id"], row["text"]) not in known:
                yield row["text"]


def _differing(table: pa.Table, known: pa.Table) -> Iterator[str]:
    """The texts of a table whose ids have other texts in another."""
    if known.num_rows:
        both = table.join(known, "id", right_suffix=" known", join_type="inner")
        bad = both.filter(pc.not_equal(both.column("text"), both.column("text known")))
        yield from bad.column("text").to_pylist()

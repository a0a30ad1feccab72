"""Where an engine keeps its large relations: a folder of segments.

What      : `FileStore` has relations written by executors, looks up facts in them on the driver, and adds an order when
            a look-up needs one that is not there.
Idea      : files serve both sides. Bulk work reads them with Spark; a small update reads the row groups that it touches
            with Arrow, without a job. Spark holds no blocks for relations, so nothing is lost with an executor.
Invariant : an answer is exact for the files; large/cold.py knows what has changed since they were written.
Never     : no marks, no rules.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from tidelog.backends.local.kernels.compiled import Array
from tidelog.backends.spark.bulk.placement import homes
from tidelog.backends.spark.cluster import frames, table_files
from tidelog.backends.spark.files.parcels import Packing, Shape
from tidelog.backends.spark.files.reading import Reader
from tidelog.backends.spark.files.segments import Order, Segments
from tidelog.backends.spark.files.writing import packing_for, read, write, write_here
from tidelog.backends.spark.values.ids import Ids
from tidelog.planning.short_names import in_words

if TYPE_CHECKING:
    from tidelog.backends.spark.cluster.jobs import Jobs

SHARD = 2_000_000
"""About how many facts one file holds."""


class FileStore:
    """The files of one engine."""

    def __init__(self, jobs: Jobs, folder: str, most_here: int = 0) -> None:
        self._jobs = jobs
        self.folder = folder
        self.most_here = most_here
        """Up to how many facts a relation is written by the driver."""
        self.reader = Reader()
        self._leads: dict[str, set[int]] = {}

    @staticmethod
    def of(jobs: Jobs, most_here: int) -> FileStore | None:
        """A store in the folder that every executor reaches; None if no such folder is known."""
        where = table_files.folder(jobs.spark)
        return None if where is None else FileStore(jobs, f"{where.rstrip('/')}/store", most_here)

    def want(self, relation: str, columns: Iterable[int]) -> None:
        """From now on this relation is written in orders that look up these columns."""
        wanted, leads = list(columns), self._leads.setdefault(relation, set())
        if wanted and not leads.intersection(wanted):
            leads.add(wanted[0])

    def shards(self, size: int = 0) -> int:
        """Over how many files a relation is spread."""
        least = int(self._jobs.spark.conf.get("spark.sql.shuffle.partitions") or 2)
        return max(least, -(-size // SHARD))

    def relation(self, name: str, facts: DataFrame, width: int, size: int = 0) -> Segments:
        """Have executors write facts (columns of ids, `explicit`), in all orders that are wanted: one job."""
        with self._jobs.named(f"write {in_words(name)}"):
            made = write(self._jobs, self.folder, facts, width, self.leads(name, width), self.shards(size))
        return self.owned(made)

    def relation_here(self, name: str, facts: Ids, explicit: Array) -> Segments:
        """As `relation`, of few facts that are on the driver: no job."""
        return self.owned(write_here(self.folder, facts, explicit, self.leads(name, facts.shape[1])))

    def packing(self, shapes: tuple[Shape, ...], shards: int) -> Packing:
        """How one job brings facts to files of this store."""
        return packing_for(self._jobs, self.folder, shapes, shards)

    def leads(self, name: str, width: int) -> tuple[int, ...]:
        """The leading columns of the orders in which a relation is written."""
        return tuple(lead for lead in sorted(self._leads.get(name, ())) if lead < width) or (0,)

    def owned(self, made: Segments) -> Segments:
        """The segments, whose files are this engine's from now on."""
        for order in made.orders.values():
            made.owned(order)
        return made

    def frame(self, segments: Segments) -> DataFrame:
        """All facts as a DataFrame."""
        return read(self._jobs, segments.first, segments.width)

    def rows(self, name: str, segments: Segments, columns: tuple[int, ...], keys: Ids) -> tuple[Ids, Array]:
        """The facts with these keys in the columns, and which are explicit; all facts if there are no columns.

        Keys are distinct.
        """
        if not columns:
            files, read = segments.first.files.values(), _read(segments)
            return _facts([group for file in files for group in self.reader.whole(file.address, read)], segments)
        order = segments.order_for(columns) or self._added(name, segments, columns)
        names = [f"c{column}" for column in columns]
        sorted_by = [f"c{column}" for column in order.columns(segments.width)]
        shards = homes(keys[:, columns.index(order.lead)], order.shards)
        found = []
        for shard in sorted(set(shards.tolist()) & order.files.keys()):
            address = order.files[shard].address
            found.append(self.reader.find(address, sorted_by, names, keys[shards == shard], _read(segments)))
        return _facts(found, segments)

    def _added(self, name: str, segments: Segments, columns: tuple[int, ...]) -> Order:
        """Have executors write one more order of a relation."""
        self.want(name, columns)
        facts, shards = self.frame(segments), self.shards(segments.rows)
        with self._jobs.named(f"write {in_words(name)} in another order"):
            made = write(self._jobs, self.folder, facts, segments.width, columns[:1], shards)
        segments.add(made.first)
        return made.first


def _facts(tables: list[pa.Table], segments: Segments) -> tuple[Ids, Array]:
    """Rows of files as ids and flags."""
    if not tables:
        return np.empty((0, segments.width), np.int64), np.zeros(0, np.bool_)
    joined = pa.concat_tables([table.select(_read(segments)) for table in tables])
    rows = frames.to_ids(joined, segments.columns)
    return rows, joined.column("explicit").to_numpy() if segments.is_mixed else np.full(
        len(rows), segments.explicit != 0
    )


def _read(segments: Segments) -> tuple[str, ...]:
    """The columns that are read: which facts are explicit need not be read where all are alike."""
    return (*segments.columns, "explicit") if segments.is_mixed else tuple(segments.columns)

"""A relation on Spark: a base and a small overlay.

What      : `ColdRelation` holds the committed facts of one relation: a base, which is files (files/segments.py) or a
            kept DataFrame (columns of ids, and whether the fact is explicit), and the facts that changed since it was
            made, on the driver.
Idea      : a usual update changes a handful of facts; they wait in the overlay until they are worth a pass over the
            base.
Invariant : a fact is in the relation iff the overlay says so, or the overlay is silent and the base has it. Immutable:
            every commit makes a new one, so that a version stays readable while the next is made.
Never     : no marks, no rules, no values.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from tidelog.backends.local.kernels.compiled import Array
from tidelog.backends.spark.cluster import frames
from tidelog.backends.spark.cluster.jobs import Jobs
from tidelog.backends.spark.files.file_store import FileStore
from tidelog.backends.spark.files.segments import Segments
from tidelog.backends.spark.files.writing import read
from tidelog.backends.spark.large.overlay import DERIVED, EXPLICIT, GONE, NOTHING, SILENT, Overlay
from tidelog.backends.spark.values import ids
from tidelog.backends.spark.values.ids import Ids

_MOST_HELD = 200 << 20
"""Bytes that the changed facts of a relation take on the driver at most, in orders by all columns: four million of
three columns. With a quarter of it, one per cent of 20 million explicit facts had files rewritten by every change.
While all of them are gone through, as for a save, there is another copy without orders."""
_BROADCAST = 32 << 20
"""Bytes of ids of which Spark makes a hash table for every task: in Java some four times as many, twice while it is
made. Above, both sides are exchanged and sorted, which takes no more memory however many they are. A driver with a
gigabyte could not build the table of four million facts of five columns."""


@dataclass(frozen=True)
class ColdRelation:
    """The committed facts of one relation. A relation without columns has one column that is always 0."""

    name: str
    arity: int
    base: Segments | DataFrame | None = None
    based: int = 0
    size: int = 0
    overlay: Overlay = NOTHING
    distinct: tuple[int, ...] = ()
    measured: int = 0
    """How many facts there were when the distinct values of columns were counted."""
    filed: Segments | None = None
    """The file in which a state has the overlay, as it was at a save (files/changed_file.py)."""

    @property
    def width(self) -> int:
        """The number of stored columns."""
        return max(self.arity, 1)

    @property
    def columns(self) -> list[str]:
        """The names of the stored columns."""
        return frames.names(self.width)

    @property
    def is_derived(self) -> bool:
        """Whether there are facts, and it is known that none of them is explicit."""
        has_counted = isinstance(self.base, Segments) and self.base.explicit == 0
        return has_counted and bool(self.size) and not self.overlay.has_explicit

    def frame(self, jobs: Jobs) -> DataFrame:
        """All facts: columns of ids, and `explicit`."""
        rows, explicit = self._overlaid
        parts = []
        if self.base is not None:
            parts.append(self._untouched(jobs, self.based_on(jobs)))
        if len(rows) or not parts:
            parts.append(frames.of_ids(jobs.spark, rows, {"explicit": pa.array(explicit, pa.bool_())}))
        return parts[0] if len(parts) == 1 else parts[0].unionAll(parts[1])

    def based_on(self, jobs: Jobs) -> DataFrame:
        """The facts of the base."""
        assert self.base is not None
        return read(jobs, self.base.first, self.width) if isinstance(self.base, Segments) else self.base

    def _untouched(self, jobs: Jobs, base: DataFrame) -> DataFrame:
        if not self.overlay:
            return base
        rows = self.overlay.all.rows
        touched = frames.of_ids(jobs.spark, rows)
        small = F.broadcast(touched) if rows.nbytes <= _BROADCAST else touched.hint("merge")
        return base.join(small, self.columns, "left_anti")

    @property
    def _overlaid(self) -> tuple[Ids, Array]:
        """The present facts of the overlay, and which are explicit."""
        return self.overlay.present() if self.overlay else (np.empty((0, self.width), np.int64), np.empty(0, np.bool_))

    def is_overlaid(self, rows: Ids) -> Array:
        """Which rows of the base the overlay speaks about."""
        return self.overlay.say(rows) != SILENT if self.overlay else np.zeros(len(rows), np.bool_)

    def states(self, store: FileStore, rows: Ids) -> Array:
        """What became of each of these rows, which are distinct; the base is files."""
        states = self.overlay.say(rows) if self.overlay else np.full(len(rows), SILENT, np.int8)
        silent = np.flatnonzero(states == SILENT)
        states[silent] = GONE
        if isinstance(self.base, Segments) and silent.size:
            found, explicit = store.rows(self.name, self.base, tuple(range(self.width)), rows[silent])
            place = {tuple(row): at for at, row in zip(silent.tolist(), rows[silent].tolist())}
            states[[place[tuple(row)] for row in found.tolist()]] = np.where(explicit, EXPLICIT, DERIVED)
        return states

    def changed(self, rows: Ids, states: Array, growth: int) -> ColdRelation:
        """The relation after a change, given the new state of every changed fact."""
        before = self.overlay if self.overlay else Overlay(self.width)
        return replace(self, overlay=before.changed(rows, states), size=self.size + growth)

    def is_ripe(self, least: int, most_here: int) -> bool:
        """Whether the overlay has more facts than `least` and is worth a pass over the base.

        The driver rewrites up to `most_here` facts in a moment; a job takes seconds, and waits for more changes.
        """
        share = 20 if self.based <= most_here else 8
        most = _MOST_HELD // (16 * self.width + 1)  # a long and a place by column, and a state
        return len(self.overlay) > max(least, min(self.based // share, most))

    def compacted(self, jobs: Jobs, store: FileStore | None) -> ColdRelation:
        """The same facts without an overlay; columns are counted anew only when there are twice as many facts."""
        if store is not None and max(self.size, self.based) <= store.most_here and not isinstance(self.base, DataFrame):
            return self._compacted_here(store)
        if store is not None or (self.based and self.size > 2 * self.measured):
            return rebased(jobs, store, self.name, self.arity, self.frame(jobs), self.size)
        fresh = [len(set(column)) for column in self._overlaid[0].T.tolist()]
        known = self.distinct or (0,) * self.width
        partitions = int(jobs.spark.conf.get("spark.sql.shuffle.partitions") or 2)
        return replace(
            self,
            base=frames.keep(jobs, self.frame(jobs).coalesce(partitions)),  # else every overlay would add partitions
            based=self.size,
            overlay=Overlay(self.width),
            measured=self.measured if self.based else self.size,
            distinct=tuple(map(max, known, fresh)),
            filed=None,
        )

    def _compacted_here(self, store: FileStore) -> ColdRelation:
        """The same facts without an overlay, written by the driver."""
        facts, explicit = self._overlaid
        if isinstance(self.base, Segments):
            rows, flags = store.rows(self.name, self.base, (), facts[:0])
            stays = ~self.is_overlaid(rows)
            facts, explicit = np.concatenate([rows[stays], facts]), np.concatenate([flags[stays], explicit])
        return of_files(self.name, self.arity, store.relation_here(self.name, facts, explicit))


def rebased(
    jobs: Jobs, store: FileStore | None, name: str, arity: int, facts: DataFrame, size: int = 0
) -> ColdRelation:
    """A relation of these facts (columns of ids, `explicit`), in files if there is a folder for them: one job.

    Without a folder one pass keeps them, and one counts.
    """
    width = max(arity, 1)
    if store is not None:
        return of_files(name, arity, store.relation(name, facts, width, size))
    columns = frames.names(width)
    kept = frames.keep(jobs, facts.select(*columns, "explicit"))
    counts = [F.count(F.lit(1)).alias("size")]
    counts += [F.approx_count_distinct(column, 0.1).alias(f"d{column}") for column in columns]
    row = jobs.run(lambda: kept.agg(*counts).toArrow()).to_pylist()[0]
    distinct = tuple(row[f"d{column}"] for column in columns)
    return ColdRelation(name, arity, kept, row["size"], row["size"], distinct=distinct, measured=row["size"])


def of_files(name: str, arity: int, made: Segments) -> ColdRelation:
    """A relation whose facts are those of files."""
    return ColdRelation(name, arity, made, made.rows, made.rows, distinct=made.distinct, measured=made.rows)


def tags_of(jobs: Jobs, facts: DataFrame, columns: list[str]) -> list[int]:
    """For every column a number with one bit set for each tag that occurs in it."""
    if not columns:
        return []
    row = jobs.run(lambda: facts.agg(*(F.bit_or(_tag_bit(column)) for column in columns)).collect())[0]
    return [bits or 0 for bits in row]


def _tag_bit(column: str) -> Column:
    return F.call_function("shiftleft", F.lit(1), F.col(column).bitwiseAND(F.lit(ids.TAG)).cast("int"))

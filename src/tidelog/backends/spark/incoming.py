"""Facts that come as DataFrames.

What      : `Incoming` turns DataFrames of values into facts of ids: few of them become rows for the driver, many stay
            where they are.
Idea      : all DataFrames of an update are read by one job, which writes files (files/receiving.py). The driver reads
            the files of a small one, without another job. Without a folder for files, each is kept by Spark.
Invariant : what does not fit is refused before anything is stored.
Never     : no marks; no large set of facts on the driver.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from pyspark.sql import DataFrame

from tidelog.backends.local.kernels.compiled import Array
from tidelog.backends.spark.cluster import frames
from tidelog.backends.spark.cluster.jobs import Jobs
from tidelog.backends.spark.files.receiving import Values, receive
from tidelog.backends.spark.files.segments import Segments
from tidelog.backends.spark.files.shared_frames import FarFacts
from tidelog.backends.spark.store import SparkStore
from tidelog.backends.spark.values.encoding import as_declared, check_shape, encoded
from tidelog.backends.spark.values.ids import Ids
from tidelog.changes.fact_sources import wrong_arity


class Source(NamedTuple):
    """A DataFrame of values, the types that are declared for its relation, and the number of columns it has to have."""

    frame: Any
    types: tuple[str, ...] | None
    arity: int | None

    def in_a_frame(self) -> Source:
        """The same with a DataFrame of its own, if it is a part of a shared one."""
        return self._replace(frame=self.frame.to_frame()) if isinstance(self.frame, FarFacts) else self


@dataclass(frozen=True)
class Arrived:
    """Facts of one relation as ids; if they are few, also as rows for the driver."""

    facts: DataFrame | Segments
    arity: int
    rows: Array | None

    def release(self) -> None:
        """They were taken over; what Spark keeps of them is freed. Files go when nobody holds them."""
        if isinstance(self.facts, DataFrame):
            frames.release(self.facts)


class Incoming:
    """The way in for DataFrames, of one store."""

    def __init__(self, jobs: Jobs, store: SparkStore) -> None:
        self._jobs, self._store = jobs, store

    def arrived(self, sources: Mapping[str, Source], *, are_looked_for: bool = False) -> dict[str, Arrived]:
        """The facts of all DataFrames: to be stored or, with `are_looked_for`, to be looked up."""
        if not sources:
            return {}
        shared = {name: one.frame for name, one in sources.items() if self._stays_shared(name, one)}
        frames_of = {name: one.in_a_frame() for name, one in sources.items() if name not in shared}
        for name, source in frames_of.items():
            check_shape(source.frame, name, source.arity, source.types)
        values = {name: Values(as_declared(one.frame, one.types), one.types) for name, one in frames_of.items()}
        if self._store.files is None:
            return {name: self._kept(name, one) for name, one in values.items()}
        written = receive(self._jobs, self._store.files, self._store.constants, values, shared)
        arities = {name: len(one.frame.columns) for name, one in values.items()}
        arities |= {name: one.arity for name, one in shared.items()}
        rows = sum(facts.rows for facts in written.values())
        most = {name: self._most_followed(name, rows, are_looked_for=are_looked_for) for name in written}
        return {name: self._written(name, arities[name], facts, most[name]) for name, facts in written.items()}

    def _stays_shared(self, name: str, source: Source) -> bool:
        """Whether facts are packed with those of other relations; where types are declared they are checked alone."""
        if not isinstance(source.frame, FarFacts) or self._store.files is None:
            return False
        if source.arity is not None and source.arity != source.frame.arity:
            raise wrong_arity(name, source.arity, source.frame.arity)
        return source.types is None or set(source.types) <= {"any"}

    def _most_followed(self, name: str, rows: int, *, are_looked_for: bool) -> int:
        """Up to how many facts of a relation the driver takes in an update of `rows` facts.

        An update that has more facts than there were before is a load: its facts are in files already, where bulk work
        reads them, and the driver would have to learn all their texts. Facts that are looked for are mostly to be
        deleted, and others go with each of them: more than two portions go in portions (large_deletions.py).
        """
        capacity = self._store.capacity
        if rows > self._store.committed.facts:
            return min(capacity.change, capacity.relation)
        return 2 * capacity.portion if are_looked_for else capacity.followed(self._store.committed.size(name))

    def _written(self, name: str, arity: int, facts: Segments, most: int) -> Arrived:
        if facts.rows > most:
            return Arrived(facts, arity, None)
        assert self._store.files is not None
        return Arrived(
            facts, arity, self._rows(self._store.files.rows(name, facts, (), np.empty((0, 0), np.int64))[0], arity)
        )

    def _kept(self, name: str, values: Values) -> Arrived:
        """Facts that Spark keeps: a job each to read, to check, and to store texts."""
        constants, arity = self._store.constants, len(values.frame.columns)
        facts, size = constants.settled(lambda: encoded(self._jobs, constants, values.frame, name, values.types))
        if size > self._store.capacity.change:
            return Arrived(facts, arity, None)
        table = self._jobs.run(facts.toArrow)
        frames.release(facts)
        return Arrived(facts, arity, self._rows(frames.to_ids(table, frames.names(max(arity, 1))), arity))

    def _rows(self, facts: Ids, arity: int) -> Array:
        if not arity:
            return np.zeros((min(len(facts), 1), 0), np.int32)
        return self._store.constants.local_of(facts)

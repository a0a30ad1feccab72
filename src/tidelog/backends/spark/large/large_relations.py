"""The relations through which a large change goes in this transaction.

What      : for each of them a working frame (working.py) with all its facts and marks; how a relation becomes large,
            and how one whose change turned out small goes back to the driver.
Idea      : within a transaction a relation is either small, and then its facts are rows of the driver's store, or
            large, and then they are a DataFrame. What the driver has marked before is taken along.
Invariant : a large relation is not looked up on the driver until it is settled or the transaction ends.
Never     : no rules, and no large set passes through the driver.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from tidelog.backends.local.kernels.compiled import Array
from tidelog.backends.local.store import LocalStore
from tidelog.backends.spark.cluster import frames
from tidelog.backends.spark.cluster.jobs import Jobs
from tidelog.backends.spark.files.segments import Segments
from tidelog.backends.spark.large.cold import ColdRelation
from tidelog.backends.spark.large.committed import Committed
from tidelog.backends.spark.large.working import Selection, Working
from tidelog.planning.views import ANY, DELETED, INSERTED, NO_MARKS, NOW, Mark

_REPLACED = Mark(0xFFFF) & ~(Mark.TOUCHED | Mark.FORESEEN)
"""The marks of a fact on the driver that those of its working frame replace."""


class LargeRelations:
    """Working frames by relation."""

    def __init__(self, jobs: Jobs, committed: Committed, near: LocalStore) -> None:
        self._jobs, self._committed, self._near = jobs, committed, near
        self.working: dict[str, Working] = {}

    def __contains__(self, relation: object) -> bool:
        return relation in self.working

    def __bool__(self) -> bool:
        return bool(self.working)

    def __getitem__(self, relation: str) -> Working:
        return self.working[relation]

    def enlarged(self, name: str, arity: int) -> Working:
        """The working frame of a relation, which is large from now on."""
        found = self.working.get(name)
        if found is None:
            found = self.working[name] = Working(self._jobs, self._committed.of(name, arity), self._marked(name))
        return found

    @property
    def grown(self) -> int:
        """By how many facts the large relations have grown in this transaction."""
        tallies = (working.tally() for working in self.working.values())
        return sum(tally[INSERTED] - tally[DELETED] for tally in tallies)

    def selected(self, name: str, rows: Array) -> Selection:
        """Rows of the driver's store, of a relation that is large by now, as a selection."""
        relation = self._near.relations[name]
        ids = self._committed.ids_of(relation.rows[rows], relation.arity)
        return self.working[name].include(frames.of_ids(self._jobs.spark, ids))

    def now(self, name: str, arity: int) -> DataFrame:
        """The facts of a relation that are NOW (columns of ids), whether it is large or small."""
        if name in self.working:
            return self.working[name].facts(NOW)
        if self._committed.arity(name) is None and name not in self._near.relations:
            return ColdRelation(name, arity).frame(self._jobs).drop("explicit")
        marked = self._marked(name)
        if marked is None:
            return self._committed.of(name, arity).frame(self._jobs).drop("explicit")
        return Working(self._jobs, self._committed.of(name, arity), marked).facts(NOW)

    def files_now(self, name: str) -> Segments | None:
        """The files that hold exactly the facts of a relation that are NOW; None if there are no such files."""
        if name in self.working:
            return self.working[name].files
        cold, near = self._committed.relations.get(name), self._near.relations.get(name)
        if cold is None or cold.overlay or (near is not None and len(near.journal)):
            return None
        return cold.base if isinstance(cold.base, Segments) else None

    def size_now(self, name: str) -> int:
        """About how many facts a relation has NOW."""
        return self.working[name].tally()[NOW] if name in self.working else self._committed.size(name)

    def settle(self, name: str, most: int) -> None:
        """Bring the change of a large relation to the driver if it has at most `most` facts."""
        working = self.working[name]
        if working.tally()[ANY] > most:
            return
        table = working.brought()
        rows = self._committed.local_of(frames.to_ids(table, working.columns), working.arity)
        marks = table.column("marks").to_numpy() & ~int(Mark.TOUCHED)
        relation = self._near.relation(name, working.arity)
        relation.rollback()
        places = relation.store(np.ascontiguousarray(rows), ANY, NO_MARKS)
        was = relation.marks[places] & int(Mark.OLD)
        relation.count_alive(int(np.count_nonzero(marks & int(Mark.OLD)) - np.count_nonzero(was)))
        for value in sorted(set(marks.tolist())):
            relation.mark(places[marks == value], Mark(value), _REPLACED & ~Mark(value))
        del self.working[name]
        working.retire()

    def release(self) -> None:
        """The transaction is over: no relation is large."""
        for working in self.working.values():
            working.release()
        self.working = {}

    def _marked(self, name: str) -> DataFrame | None:
        """The facts on the driver whose marks this transaction has changed."""
        relation = self._near.relations.get(name)
        if relation is None or not len(relation.journal):
            return None
        rows = relation.journal
        marks = relation.marks[rows].astype(np.int32)
        ids = self._committed.ids_of(relation.rows[rows], relation.arity)
        return frames.of_ids(self._jobs.spark, ids, {"marks": pa.array(marks)})

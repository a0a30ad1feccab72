"""The Spark backend: facts on Spark, small updates on the driver, large ones in bulk.

What      : takes facts from Python, Arrow or Spark, keeps committed relations on Spark (cold.py), and answers with tables.
Idea      : the driver holds the few facts that a usual update touches (hot.py); a commit writes what changed into small
            overlays, which move to Spark when they have grown.
Invariant : a version that was committed stays readable until the next is committed, whatever fails in between.
Never     : no strategy and no program.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from pyspark.sql import DataFrame, SparkSession

from tidelog.backends.local.backend import LocalBackend
from tidelog.backends.local.compiled import Array
from tidelog.backends.local.facts import LocalFacts
from tidelog.backends.spark import frames
from tidelog.backends.spark.cold import ColdRelation
from tidelog.backends.spark.hot import Capacity, HotStore
from tidelog.backends.spark.jobs import Jobs
from tidelog.backends.spark.session import session
from tidelog.backends.spark.tables import FewFacts, ManyFacts
from tidelog.changes.change import FactTable
from tidelog.language.terms import Atom, Constant
from tidelog.limits import Budget
from tidelog.maintenance.schedule import Schedule
from tidelog.planning.views import OLD, Mark, View


class SparkBackend(LocalBackend):
    """Facts of one engine on Spark."""

    name = "spark"
    store: HotStore

    def __init__(self, spark: SparkSession | None = None, capacity: Capacity | None = None) -> None:
        self._jobs = Jobs(spark or session())
        super().__init__(HotStore(self._jobs, capacity or Capacity()))

    @property
    def jobs(self) -> int:
        """How many Spark jobs ran since the last commit or rollback before this update."""
        return self._jobs.count

    def arity(self, relation: str) -> int | None:
        """The number of columns of a stored relation."""
        found = self.store.cold.get(relation) or self.store.relations.get(relation)
        return found.arity if found is not None else None

    def relations(self) -> Iterable[str]:
        """The stored relations."""
        return tuple(dict.fromkeys((*self.store.cold, *self.store.relations)))

    def intern(self, relation: str, source: object, types: tuple[str, ...] | None, arity: int | None) -> LocalFacts:
        if isinstance(source, DataFrame):
            source = source.toArrow()
        return super().intern(relation, source, types, arity)

    def find(self, relation: str, source: object, arity: int | None) -> LocalFacts:
        if isinstance(source, DataFrame):
            source = source.toArrow()
        return super().find(relation, source, arity)

    def watch(self, budget: Budget) -> None:
        """Charge further work to this budget."""
        self._jobs.begin()
        super().watch(budget)
        self._jobs.on_progress = self.store.on_progress

    def commit(self) -> None:
        """Write what changed, then make it the version that readers see."""
        before = self.store.cold
        after = dict(before)
        for name, (states, growth) in self.store.changes().items():
            cold = before.get(name) or ColdRelation(name, self.store.relations[name].arity)
            changed = cold.changed(states, growth)
            after[name] = changed.compacted(self._jobs) if changed.is_ripe else changed
        self.store.constants.flush_if_many()
        self.store.cold = after
        super().commit()
        for name, cold in before.items():
            if after[name].base is not cold.base:
                frames.release(cold.base)

    def rollback(self) -> None:
        """Undo everything since the last commit."""
        self.store.rollback()

    # -- what goes out -----------------------------------------------------------------------------------------------

    def table(self, relation: str) -> FactTable:
        """A relation as of the last commit."""
        return self._table(relation, is_explicit=False)

    def explicit(self, relation: str) -> FactTable:
        """The explicit facts of a relation."""
        return self._table(relation, is_explicit=True)

    def _table(self, relation: str, *, is_explicit: bool) -> FactTable:
        cold = self.store.cold.get(relation)
        if cold is None:
            return FewFacts(np.empty((0, 1), np.int32), 0, self._jobs, self.store.constants)
        if cold.size <= self.store.capacity.relation or cold.base is None:
            rows = self._here(cold, View(Mark.WAS_EXPLICIT) if is_explicit else OLD)
            return FewFacts(rows, cold.arity, self._jobs, self.store.constants)
        if not is_explicit:
            return ManyFacts(lambda: cold.frame(self._jobs), cold.size, cold, self._jobs, self.store.constants)
        explicit = cold.frame(self._jobs).where("explicit")
        return ManyFacts(lambda: explicit, self._jobs.run(explicit.count), cold, self._jobs, self.store.constants)

    def _here(self, cold: ColdRelation, view: View) -> Array:
        self.store.ensure_whole([cold.name])
        found = self.store.relation(cold.name, cold.arity)
        return found.rows[found.select(view)]

    def freeze(self, relation: str, facts: LocalFacts) -> FactTable:
        """Facts of one relation, for good."""
        found = self.store.relations[relation]
        rows = facts.parts.get(relation, np.empty(0, np.int32))
        return FewFacts(found.rows[rows], found.arity, self._jobs, self.store.constants)

    def query(self, pattern: Atom) -> FactTable:
        """The facts that match a pattern."""
        columns = tuple(at for at, term in enumerate(pattern.terms) if isinstance(term, Constant))
        values = [term.value for term in pattern.terms if isinstance(term, Constant)]
        keys = self.store.dictionary.encode(values).reshape(1, -1)
        self.store.ensure({(pattern.relation, columns): keys})
        self.store.relation(pattern.relation, len(pattern.terms))
        return super().query(pattern)

    def differences(self, schedule: Schedule) -> dict[str, tuple[FactTable, FactTable]]:
        """Recompute everything from the explicit facts as Spark has them, and compare."""
        self.store.forget()
        self.store.ensure_whole(self.store.cold)
        return super().differences(schedule)

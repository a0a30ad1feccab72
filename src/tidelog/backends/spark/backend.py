"""The Spark backend: facts on Spark, small updates on the driver, large ones in bulk.

What      : takes facts from Python, Arrow or Spark, keeps committed relations on Spark (cold.py), answers with tables.
Idea      : the driver holds the few facts that a usual update touches (hot.py); a commit writes what changed into small
            overlays, which move to Spark when they have grown.
Invariant : a version that was committed stays readable until the next is committed, whatever fails in between.
Never     : no strategy and no program.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from tidelog.backends.backend import Flags
from tidelog.backends.local.backend import LocalBackend
from tidelog.backends.local.joins.row_lookups import distinct_rows
from tidelog.backends.local.kernels.compiled import Array
from tidelog.backends.local.relations.facts import LocalFacts
from tidelog.backends.spark.cluster import frames
from tidelog.backends.spark.cluster.jobs import Jobs
from tidelog.backends.spark.cluster.session import session
from tidelog.backends.spark.driver.hot import Capacity
from tidelog.backends.spark.large.cold import ColdRelation, rebased
from tidelog.backends.spark.large.fact_frames import FewFacts, ManyFacts
from tidelog.backends.spark.large.working import Lease, Working
from tidelog.backends.spark.store import SparkFacts, SparkStore
from tidelog.backends.spark.values import ids
from tidelog.backends.spark.values.encoding import check_shape, encoded
from tidelog.changes.change import FactTable
from tidelog.changes.fact_sources import to_table
from tidelog.language.terms import Atom, Constant, Variable
from tidelog.limits import Budget
from tidelog.maintenance.bulk import TooLargeError
from tidelog.maintenance.recompute import Recompute
from tidelog.maintenance.schedule import Schedule
from tidelog.maintenance.transaction import maintain
from tidelog.planning.views import DELETED, INSERTED, OLD, Mark, View


class SparkBackend(LocalBackend):
    """Facts of one engine on Spark."""

    name = "spark"
    store: SparkStore

    def __init__(self, spark: SparkSession | None = None, capacity: Capacity | None = None) -> None:
        self._jobs = Jobs(spark or session())
        super().__init__(SparkStore(self._jobs, capacity or Capacity.of(self._jobs.spark)))

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
        """Facts from any source, checked, encoded and stored; a large DataFrame stays on Spark."""
        if not isinstance(source, DataFrame):
            return super().intern(relation, source, types, arity)
        arity = len(source.columns) if arity is None else arity
        facts, rows = self._received(relation, source, types, arity)
        if rows is not None:
            return self.store.intern(relation, rows)
        found = self.store.include(relation, arity, facts)
        frames.release(facts)
        return found

    def find(self, relation: str, source: object, arity: int | None) -> LocalFacts:
        """Those of the facts that are in the materialisation.

        A constant that the driver's dictionary lacks may well be in facts on Spark, so it is encoded, not looked up.
        """
        if not isinstance(source, DataFrame):
            return self._found(relation, self._encoded(to_table(source, relation, arity)))
        arity = len(source.columns) if arity is None else arity
        facts, rows = self._received(relation, source, None, arity)
        if rows is not None:
            return self._found(relation, rows)
        given = self.store.include(relation, arity, facts)
        found = self.store.restrict(given, OLD)
        frames.release(facts)
        self.missed += len(given) - len(found)
        return found

    def _found(self, relation: str, rows: Array) -> LocalFacts:
        """Those of the rows that are facts; the others are counted."""
        distinct = distinct_rows(np.ascontiguousarray(rows)) if rows.shape[1] else rows[:1]
        found = self.store.find(relation, distinct)
        self.missed += len(distinct) - len(found)
        return found

    def _received(
        self, relation: str, source: DataFrame, types: tuple[str, ...] | None, arity: int
    ) -> tuple[DataFrame, Array | None]:
        """The facts of a DataFrame as ids; if they are few, also as rows for the driver."""
        check_shape(source, relation, arity, types)
        facts, size = encoded(self._jobs, self.store.constants, source, relation)
        if size > self.store.capacity.change:
            return facts, None
        table = self._jobs.run(facts.toArrow)
        frames.release(facts)
        if not arity:
            return facts, np.zeros((min(size, 1), 0), np.int32)
        return facts, self.store.constants.local_of(frames.to_ids(table, frames.names(arity)))

    def watch(self, budget: Budget) -> None:
        """Charge further work to this budget, and stop what would fill the driver."""
        self._jobs.begin()
        self.missed = 0
        self._jobs.require_session()
        store = self.store
        store.freshen()
        store.bulk_stats = []

        def charge() -> None:
            budget.check_time()
            if budget.limits.facts is not None or budget.watcher is not None:
                budget.check_facts(sum(cold.size for cold in store.cold.values()) + store.grown)
            if budget.limits.bytes is not None:
                budget.check_bytes(store.nbytes)
            if store.held > 2 * store.capacity.facts:
                raise TooLargeError.about("all relations", store.capacity.facts)

        store.on_progress, store.limits = charge, budget.limits
        self._jobs.on_progress = budget.check_time

    def commit(self) -> None:
        """Write what changed, then make it the version that readers see."""
        store, before = self.store, self.store.cold
        after = dict(before)
        try:
            self._write(after)
        except BaseException:
            _release(after, keeping=before)
            raise
        store.cold = after
        is_crowded = bool(store.working) or (store.held > store.capacity.kept and not store.has_marks)
        super().commit()
        if is_crowded:
            store.forget()
        _release(before, keeping=after)

    def _write(self, after: dict[str, ColdRelation]) -> None:
        """Replace the relations that this transaction has changed, and keep the texts that they need."""
        store, before = self.store, self.store.cold
        for name, (states, growth) in store.changes().items():
            changed = store.committed(name, store.relations[name].arity).changed(states, growth)
            after[name] = changed.compacted(self._jobs) if changed.is_ripe(store.capacity.overlay) else changed
        for name, working in store.working.items():
            after[name] = rebased(self._jobs, name, working.arity, working.committed)
        if any(cold is not before.get(name) for name, cold in after.items()):
            store.constants.flush_if_many()

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
        self._jobs.require_session()
        if not is_explicit:
            return self._table_of(cold.frame(self._jobs), cold.size, cold.arity, cold)
        explicit = cold.frame(self._jobs).where("explicit")
        return self._table_of(explicit, self._jobs.run(explicit.count), cold.arity, cold)

    def _here(self, cold: ColdRelation, view: View) -> Array:
        self.store.freshen()
        self.store.ensure_whole([cold.name])
        found = self.store.relation(cold.name, cold.arity)
        return found.rows[found.select(view)]

    def snapshot(self, relation: str) -> tuple[pa.Table, Flags]:
        """All facts of a relation, and which of them are explicit; they are brought to the driver for that."""
        cold = self.store.cold.get(relation)
        if cold is not None:
            self._here(cold, OLD)
        return super().snapshot(relation)

    def freeze(self, relation: str, facts: LocalFacts) -> FactTable:
        """Facts of one relation, for good."""
        large = facts.large.get(relation) if isinstance(facts, SparkFacts) else None
        if large is not None:
            working = large.working
            return self._table_of(working.of(large), len(large), working.arity, working.lease)
        found = self.store.relations[relation]
        rows = facts.parts.get(relation, np.empty(0, np.int32))
        return FewFacts(found.rows[rows], found.arity, self._jobs, self.store.constants)

    def _many(self, arity: int, facts: DataFrame) -> FactTable:
        """Facts that stay on Spark for as long as the table lives."""
        kept = frames.keep(self._jobs, facts.select(*frames.names(max(arity, 1))))
        return self._table_of(kept, self._jobs.run(kept.count), arity, Lease([kept]))

    def _table_of(self, facts: DataFrame, size: int, arity: int, owner: object) -> FactTable:
        return ManyFacts(facts, size, arity, self._jobs, self.store.constants, owner)

    def query(self, pattern: Atom) -> FactTable:
        """The facts that match a pattern; many of them stay on Spark."""
        columns = tuple(at for at, term in enumerate(pattern.terms) if isinstance(term, Constant))
        values = [term.value for term in pattern.terms if isinstance(term, Constant)]
        self.store.freshen()
        keys = self.store.dictionary.encode(values).reshape(1, -1)
        try:
            self.store.ensure({(pattern.relation, columns): keys})
        except TooLargeError:
            return self._many(len(pattern.terms), self._matching(pattern))
        self.store.relation(pattern.relation, len(pattern.terms))
        return super().query(pattern)

    def _matching(self, pattern: Atom) -> DataFrame:
        frame = self.store.cold[pattern.relation].frame(self._jobs)
        first: dict[Variable, int] = {}
        for at, term in enumerate(pattern.terms):
            if isinstance(term, Constant):
                frame = frame.where(F.col(f"c{at}") == F.lit(ids.of_value(term.value)))
            elif isinstance(term, Variable) and first.setdefault(term, at) != at:
                frame = frame.where(F.col(f"c{at}") == F.col(f"c{first[term]}"))
        return frame

    def differences(self, schedule: Schedule) -> dict[str, tuple[FactTable, FactTable]]:
        """Recompute everything from the explicit facts as Spark has them, and compare."""
        self._jobs.require_session()
        self.store.forget()
        if sum(cold.size for cold in self.store.cold.values()) <= self.store.capacity.change:
            self.store.ensure_whole(self.store.cold)
            return super().differences(schedule)
        fresh = SparkStore(self._jobs, self.store.capacity, self.store.constants)
        insert = {
            name: fresh.include(name, cold.arity, cold.frame(self._jobs).where("explicit"))
            for name, cold in self.store.cold.items()
            if cold.size
        }
        maintain(fresh, schedule, Recompute(), delete={}, insert=insert, previous=Schedule(()))
        found = {}
        for name in fresh.cold.keys() | fresh.relations.keys() | self.store.cold.keys():
            missing, extra = self._compared(name, fresh)
            if len(missing) or len(extra):
                found[name] = missing, extra
        fresh.forget()
        return found

    def _compared(self, name: str, fresh: SparkStore) -> tuple[FactTable, FactTable]:
        arity = next(
            relation.arity
            for relation in (self.store.cold.get(name), fresh.cold.get(name), fresh.relations.get(name))
            if relation is not None
        )
        both = Working(self._jobs, self.store.cold.get(name) or ColdRelation(name, arity), None)
        both.renew(fresh.now(name, arity))
        missing, extra = (self._many(arity, both.facts(view)) for view in (INSERTED, DELETED))
        both.release()
        return missing, extra


def _release(relations: Mapping[str, ColdRelation], *, keeping: Mapping[str, ColdRelation]) -> None:
    """Free the bases that the relations of another version do not use."""
    used = {id(cold.base) for cold in keeping.values()}
    for cold in relations.values():
        if id(cold.base) not in used:
            frames.release(cold.base)

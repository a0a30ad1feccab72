"""The Spark backend: facts on Spark, small updates on the driver, large ones in bulk.

What      : takes facts from Python, Arrow or Spark, keeps committed relations on Spark (large/committed.py), answers
            with tables.
Idea      : the driver has a local backend of its own (`_near`) over the local store of the Spark store, for facts from
            Python and for questions about few facts. A commit writes what changed into small overlays, which move to
            Spark when they have grown.
Invariant : a version that was committed stays readable until the next is committed, whatever fails in between.
Never     : no strategy and no program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from contextlib import AbstractContextManager, contextmanager

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from tidelog.backends.backend import Flags, Given
from tidelog.backends.local.backend import LocalBackend
from tidelog.backends.local.joins.row_lookups import distinct_rows
from tidelog.backends.local.kernels.compiled import Array
from tidelog.backends.local.relations.facts import LocalFacts
from tidelog.backends.spark.cluster import frames
from tidelog.backends.spark.cluster.jobs import Jobs
from tidelog.backends.spark.cluster.session import session
from tidelog.backends.spark.comparing import compared
from tidelog.backends.spark.driver.asking import answer_to
from tidelog.backends.spark.driver.capacity import Capacity
from tidelog.backends.spark.driver.looked_up_columns import looked_up
from tidelog.backends.spark.files.saving import SavedFiles
from tidelog.backends.spark.files.segments import Segments
from tidelog.backends.spark.files.shared_frames import FarFacts
from tidelog.backends.spark.incoming import Arrived, Incoming, Source
from tidelog.backends.spark.large.cold import ColdRelation, rebased
from tidelog.backends.spark.large.committed import release
from tidelog.backends.spark.large.fact_frames import CommittedFacts, FewFacts, ManyFacts, matching
from tidelog.backends.spark.large.working import Lease
from tidelog.backends.spark.large_deletions import Portions, many_facts
from tidelog.backends.spark.onlooker import Onlooker
from tidelog.backends.spark.store import Facts, SparkFacts, SparkStore
from tidelog.backends.spark.values.constants import Constants
from tidelog.backends.spark.values.encoding import as_declared
from tidelog.changes.change import FactTable
from tidelog.changes.declared import as_asked
from tidelog.language.terms import Atom, Constant, Value
from tidelog.limits import Budget
from tidelog.maintenance.bulk import TooLargeError
from tidelog.maintenance.schedule import Schedule
from tidelog.planning.views import OLD, Mark, View
from tidelog.state.stored_facts import Encodable


class SparkBackend:
    """Facts of one engine on Spark."""

    name = "spark"
    reads_beside = False
    """A question may bring facts to the driver, where a writer works; beside him the onlooker is asked."""

    def __init__(
        self, spark: SparkSession | None = None, capacity: Capacity | None = None, seen: Constants | None = None
    ) -> None:
        """With constants that are `seen` it is for readers of a version."""
        self._jobs = Jobs(spark or session())
        self.store = SparkStore(self._jobs, capacity or Capacity.of(self._jobs.spark), seen)
        self._near, self._incoming = LocalBackend(self.store.near), Incoming(self._jobs, self.store)
        self.missed, self._budget = 0, Budget()
        self._after: dict[str, ColdRelation] | None = None
        self.looked_for: dict[str, Arrived] = {}
        """What DataFrames that `portions` has read want to be found."""
        self.is_aside, self.onlooker = seen is not None, None
        if seen is None and self.store.files is not None:
            self.onlooker = Onlooker(lambda: self.store.committed.version, self._seen)
        self.nbytes, self.rebase, self.straighten = self._near.nbytes, self._near.rebase, self._near.straighten

    def _seen(self, relations: Mapping[str, ColdRelation]) -> SparkBackend:
        """Relations of a version in a backend for readers."""
        store = self.store
        aside = SparkBackend(self._jobs.spark, store.capacity, store.constants.seen())
        aside.store.committed.relations = relations
        aside.store.forget()
        return aside

    @property
    def far(self) -> SavedFiles | None:
        """The relations in files; None if no folder is known that every executor reaches."""
        store = self.store
        if store.files is None:
            return None
        return SavedFiles(self._jobs, store.files, store.constants, store.committed, store.spoil)

    @property
    def jobs(self) -> int:
        """How many Spark jobs ran since the last commit or rollback before this update."""
        return self._jobs.count

    def arity(self, relation: str) -> int | None:
        """The number of columns of a stored relation."""
        return self.store.arity(relation)

    def relations(self) -> Iterable[str]:
        """The stored relations; what only the driver knows has no facts, and may be forgotten at any time."""
        return tuple(self.store.committed.relations)

    def use(self, schedule: Schedule) -> None:
        """From now on these rules are maintained; relations are written in the orders that they look up."""
        self._near.use(schedule)
        files, estimates = self.store.files, self.store.supply.estimates
        if files is not None and estimates is not None:
            for relation, columns in looked_up(schedule, estimates):
                files.want(relation, columns)

    def successor(self) -> SparkBackend | None:
        """Never: the driver forgets constants by itself (values/known_ids.py)."""
        return None

    def intern(self, relation: str, source: object, types: tuple[str, ...] | None, arity: int | None) -> Facts:
        """Facts from any source, checked, encoded and stored; a large DataFrame stays on Spark."""
        return self.intern_all({relation: (source, types, arity)})[relation]

    def intern_all(self, sources: Mapping[str, Given]) -> dict[str, Facts]:
        """As `intern`, for several relations: DataFrames are read together."""
        given = {name: one for name, one in sources.items() if isinstance(one[0], DataFrame | FarFacts)}
        arrived = self._incoming.arrived({name: Source(one[0], *one[1:]) for name, one in given.items()})
        return {
            name: self._included(name, arrived[name]) if name in arrived else self._near.intern(name, *one)
            for name, one in sources.items()
        }

    def _included(self, relation: str, arrived: Arrived) -> Facts:
        if arrived.rows is not None:
            return self.store.near.intern(relation, arrived.rows)
        found = self.store.include(relation, arrived.arity, arrived.facts)
        arrived.release()
        return found

    def tally(self, relation: str, source: object, types: tuple[str, ...] | None, view: View) -> int:
        """How many of the facts are on the driver and in the view; a large relation is on Spark and counts as none."""
        return self._near.tally(relation, source, types, view)

    def is_apart(self, relations: Set[str]) -> bool:
        """Never: what a transaction has fetched from Spark, and what its jobs write, is one for all relations."""
        return not relations

    is_in_a_step = False
    """Waiting is of no use."""

    def can_make_way(self, relations: Set[str], kept: Set[str]) -> bool:
        """Never, for the same reason."""
        return not relations and not kept

    def beside(self, changed: Set[str], read: Set[str], kept: Set[str]) -> AbstractContextManager[None]:
        """Not asked for: no transaction is apart from another."""
        return self._near.beside(changed, read, kept)

    def find(self, relation: str, source: object, types: tuple[str, ...] | None, arity: int | None) -> Facts:
        """Those of the facts that are in the materialisation.

        A constant that the driver's dictionary lacks may well be in facts on Spark, so it is encoded, not looked up.
        """
        if not isinstance(source, DataFrame):
            columns = as_asked(self._near.given(source, relation, arity), types)
            return self.found(relation, self._near.encoded(columns))
        arrived = self.looked_for.pop(relation, None) or self._look_for({relation: (source, types, arity)})[relation]
        if arrived.rows is not None:
            return self.found(relation, arrived.rows)
        given = self.store.include(relation, arrived.arity, arrived.facts)
        found = self.store.restrict(given, OLD)
        arrived.release()
        self.missed += len(given) - len(found)
        return found

    def _look_for(self, given: Mapping[str, Given]) -> dict[str, Arrived]:
        sources = {
            name: Source(as_declared(frame, types, is_asked=True), None, arity)
            for name, (frame, types, arity) in given.items()
            if isinstance(frame, DataFrame)
        }
        return self._incoming.arrived(sources, are_looked_for=True)

    def portions(self, delete: dict[str, Given], budget: Budget) -> Portions | None:
        """See the protocol: a large deletion, where relations are files."""
        self.looked_for = self._look_for(delete)
        many = many_facts(self.looked_for, delete, self.store, self._near)
        return Portions(self, self._jobs, delete, many, budget) if many else None

    def go_on(self, budget: Budget) -> None:
        """Go on from what the transaction has done so far, as if it were a version; readers see the last one."""
        self.ask_to_commit()
        self.prepare()
        assert self._after is not None
        self.store.committed.go_on(self._after)
        self._after = None
        self.store.commit(forgets=True)
        self._budget = answer_to(budget, self.store, self._near, self._jobs)

    def found(self, relation: str, rows: Array) -> LocalFacts:
        """Those of the rows that are facts; the others are counted."""
        distinct = distinct_rows(np.ascontiguousarray(rows)) if rows.shape[1] else rows[:1]
        found = self.store.near.find(relation, distinct)
        self.missed += len(distinct) - len(found)
        return found

    def restore(self, relation: str, arity: int, parts: Iterable[Encodable]) -> None:
        """Store facts of a saved version; a relation that has none is known all the same."""
        self._near.restore(relation, arity, parts)
        if not self.store.near.relations[relation].count:
            committed = self.store.committed
            committed.relations = {**committed.relations, relation: ColdRelation(relation, arity)}

    def begin(self, budget: Budget) -> None:
        """An update begins: from now on this budget is asked, and what would fill the driver is stopped."""
        store, self.missed = self.store, 0
        self._jobs.begin()
        self._jobs.require_session()
        store.freshen()
        store.bulk.stats, store.bulk.limits, store.bulk.is_declined, self.looked_for = [], budget.limits, False, {}
        self._budget = answer_to(budget, store, self._near, self._jobs)

    def ask_to_commit(self) -> None:
        """Ask the budget whether to commit; large relations are counted here only, because that takes a job."""
        store = self.store
        self._near.ask_arriving()
        if store.large and self._budget.limits.facts is not None:
            self._budget.ask_facts(store.committed.facts + store.grown + store.large.grown)

    def prepare(self) -> None:
        """Write what changed, beside what readers see."""
        committed = self.store.committed
        after = dict(committed.relations)
        try:
            self._write(after)
        except BaseException:
            release(after, keeping=committed.relations)
            raise
        self._after = after

    is_untidy = False
    """What the driver holds is small, and tidied with every commit."""

    def tidy(self, pause: Callable[[], None]) -> None:
        """Nothing is left to do."""

    def commit(self) -> None:
        """Make what `prepare` has written the version that readers see."""
        committed, after = self.store.committed, self._after
        if after is None:
            self.prepare()
            after = self._after
        assert after is not None
        before = committed.version
        committed.relations = after
        self.store.commit()
        committed.settle()
        self._after, self.looked_for = None, {}
        release(before, keeping=after)
        self._jobs.end()
        if self.onlooker is not None:
            self.onlooker.forget()

    def _write(self, after: dict[str, ColdRelation]) -> None:
        """Replace the relations that this transaction has changed, and keep the texts that they need."""
        store, before = self.store, self.store.committed.relations
        store.thin()
        for name, rows, states, growth in store.changes():
            changed = store.committed.of(name, store.near.relations[name].arity).changed(rows, states, growth)
            ripe = changed.is_ripe(store.capacity.overlay, store.capacity.written)
            after[name] = changed.compacted(self._jobs, store.files) if ripe else changed
        for name, working in store.large.working.items():
            settled = working.settled if store.files is not None else None
            after[name] = settled or rebased(
                self._jobs, store.files, name, working.arity, working.committed, working.known
            )
        if any(cold is not before.get(name) for name, cold in after.items()):
            store.constants.flush_if_many()

    def rollback(self) -> None:
        """Undo everything since the last commit."""
        after, self._after = self._after, None
        if after is not None:
            release(after, keeping=self.store.committed.relations)
        self.store.rollback()
        if self.store.committed.go_back():
            self.store.spoil()
        self.looked_for = {}
        self._jobs.end()

    def distrust(self) -> None:
        """After an interrupt: what the driver holds beside the committed relations is brought anew."""
        self.store.spoil()
        self._near.distrust()

    def close(self) -> None:
        """Free every frame that is kept on Spark; the session is left alone."""
        release(self.store.committed.relations, keeping={})
        self.store.committed.relations = {}
        if self.onlooker is not None:
            self.onlooker.forget()
        self.store.forget()
        self.store.constants.close()

    # -- what goes out -----------------------------------------------------------------------------------------------

    def table(self, relation: str) -> FactTable:
        """A relation as of the last commit."""
        return self._table(relation, is_explicit=False)

    def explicit(self, relation: str) -> FactTable:
        """The explicit facts of a relation."""
        return self._table(relation, is_explicit=True)

    def is_explicit(self, relation: str, values: tuple[Value, ...]) -> bool:
        """Whether a fact is explicit."""
        return values in self.explicit(relation)

    def ready(self, schedule: Schedule) -> None:
        """Files are sorted when they are written: nothing is left to build."""

    def _table(self, relation: str, *, is_explicit: bool) -> FactTable:
        cold = self.store.committed.relations.get(relation)
        if cold is None:
            return FewFacts(np.empty((0, 1), np.int32), 0, self._jobs, self.store.constants)
        if cold.size <= self.store.capacity.relation or cold.base is None:
            rows = self._here(cold, View(Mark.WAS_EXPLICIT) if is_explicit else OLD)
            return FewFacts(rows, cold.arity, self._jobs, self.store.constants)
        self._jobs.require_session()
        files = self.store.files
        if files is not None and isinstance(cold.base, Segments):
            return CommittedFacts(cold, files, self._jobs, self.store.constants, is_explicit=is_explicit)
        frame = cold.frame(self._jobs).where("explicit") if is_explicit else cold.frame(self._jobs)
        return self._table_of(frame, self._jobs.run(frame.count) if is_explicit else cold.size, cold.arity, cold)

    def _here(self, cold: ColdRelation, view: View) -> Array:
        self.store.freshen()
        self.store.supply.whole([cold.name])
        found = self.store.near.relation(cold.name, cold.arity)
        return found.rows[found.select(view)]

    def snapshot(self, relation: str) -> tuple[pa.Table, Flags]:
        """All facts of a relation, and which of them are explicit; they are brought to the driver for that."""
        cold = self.store.committed.relations.get(relation)
        if cold is not None:
            self._here(cold, OLD)
        return self._near.snapshot(relation)

    def freeze(self, relation: str, facts: Facts) -> FactTable:
        """Facts of one relation, in a table that later versions do not change."""
        if isinstance(facts, SparkFacts) and relation in facts.large:
            large = facts.large[relation]
            working = large.working
            return self._table_of(working.of(large), len(large), working.arity, working.lease)
        small = facts.small if isinstance(facts, SparkFacts) else facts
        found = self.store.near.relations[relation]
        rows = small.parts.get(relation, np.empty(0, np.int32))
        return FewFacts(found.rows[rows], found.arity, self._jobs, self.store.constants)

    def _many(self, arity: int, facts: DataFrame) -> FactTable:
        """Facts that stay on Spark for as long as the table lives."""
        kept = frames.keep(self._jobs, facts.select(*frames.names(max(arity, 1))))
        return self._table_of(kept, self._jobs.run(kept.count), arity, Lease([kept]))

    def _table_of(self, facts: DataFrame, size: int, arity: int, owner: object) -> FactTable:
        return ManyFacts(lambda: facts, size, arity, self._jobs, self.store.constants, owner)

    def query(self, pattern: Atom) -> FactTable:
        """The facts that match a pattern; many of them stay on Spark."""
        columns = tuple(at for at, term in enumerate(pattern.terms) if isinstance(term, Constant))
        values = [term.value for term in pattern.terms if isinstance(term, Constant)]
        self.store.freshen()
        keys = self.store.constants.dictionary.encode(values).reshape(1, -1)
        try:
            self.store.supply.bring({(pattern.relation, columns): keys})
        except TooLargeError:
            frame = self.store.committed.relations[pattern.relation].frame(self._jobs)
            return self._many(len(pattern.terms), matching(frame, pattern, self.store.constants.id_of))
        self.store.near.relation(pattern.relation, len(pattern.terms))
        return self._near.query(pattern)

    @contextmanager
    def visit(self, budget: Budget) -> Iterator[SparkBackend]:
        """This backend itself: what a question derives is a transaction that is taken back."""
        self.begin(budget)
        try:
            yield self
        finally:
            self.rollback()
            self.commit()

    def differences(self, schedule: Schedule) -> dict[str, tuple[FactTable, FactTable]]:
        """Recompute everything from the explicit facts as Spark has them, and compare."""
        self._jobs.require_session()
        store = self.store
        store.forget()
        if store.committed.facts <= store.capacity.change:
            store.supply.whole(store.committed.relations)
            return self._near.differences(schedule)
        return compared(self._jobs, store, schedule, self._many)

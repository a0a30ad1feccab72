"""The Spark store: small sets of facts on the driver, large ones in DataFrames.

What      : the protocol of maintenance/store.py, made of three parts: a local store on the driver (`near`), the supply
            that brings it the committed facts that a call needs (driver/supply.py), and the relations through which a
            large change goes (`large`). What derives whole stages is offered as `bulk`.
Idea      : one fork. A set of facts has a small part, rows of the driver's store, and a large part, selections of
            working frames; every call hands the small part to `near` and the large part to `large`. Calls over rules
            concern small facts alone, so they are the driver's own.
Invariant : within a transaction a relation is either small or large. A change that turned out small goes back to the
            driver before the stages above see it.
Never     : no large set passes through the driver.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from tidelog.backends.local.constants.dictionary import Dictionary
from tidelog.backends.local.kernels.compiled import Array
from tidelog.backends.local.relations.facts import NOTHING, LocalFacts
from tidelog.backends.local.relations.facts import union as local_union
from tidelog.backends.local.store import LocalStore
from tidelog.backends.spark.bulk.whole_stages import WholeStages
from tidelog.backends.spark.cluster import frames
from tidelog.backends.spark.cluster.jobs import Jobs
from tidelog.backends.spark.driver.capacity import Capacity
from tidelog.backends.spark.driver.supply import DriverSupply
from tidelog.backends.spark.files.file_store import FileStore
from tidelog.backends.spark.files.segments import Segments
from tidelog.backends.spark.freed_memory import give_back
from tidelog.backends.spark.large.committed import Committed
from tidelog.backends.spark.large.groups import grouped
from tidelog.backends.spark.large.large_relations import LargeRelations
from tidelog.backends.spark.large.overlay import DERIVED, EXPLICIT, GONE
from tidelog.backends.spark.large.working import Selection
from tidelog.backends.spark.prices import SPARK_PRICES
from tidelog.backends.spark.values.constants import Constants, MovedError
from tidelog.backends.spark.values.ids import Ids
from tidelog.maintenance.bulk import TooLargeError
from tidelog.maintenance.store import Passing
from tidelog.maintenance.versions import TRANSIENT
from tidelog.planning.lowered import GroupRule, Stage
from tidelog.planning.views import ANY, DELETED, INSERTED, NO_MARKS, OLD, Mark, Matching, View


class SparkFacts:
    """Rows of small relations and selections of large ones."""

    __slots__ = ("large", "small")

    def __init__(self, small: LocalFacts, large: Mapping[str, Selection]) -> None:
        self.small, self.large = small, dict(large)

    def __len__(self) -> int:
        return len(self.small) + sum(map(len, self.large.values()))

    def __bool__(self) -> bool:
        return bool(self.small) or any(map(len, self.large.values()))


Facts = LocalFacts | SparkFacts
"""Sets without a large part are the driver's own."""


class SparkStore:
    """Facts on Spark."""

    prices, at_once, best_values = SPARK_PRICES, None, None
    keeps_rewrites = False
    """What the driver holds is written with every commit, and rewrites are no part of a version."""

    def __init__(self, jobs: Jobs, capacity: Capacity, constants: Constants | None = None) -> None:
        self._jobs = jobs
        self.capacity = capacity
        self.files = FileStore.of(jobs, capacity.written)
        self.constants = constants or Constants(jobs, Dictionary(), self.files)
        self._most_constants = capacity.constants if constants is None else None
        self.beside = 0
        """Bytes of facts that this update has on the driver beside those of `near` (large_deletions.py)."""
        self.committed = Committed(jobs, self.constants, self.files)
        self.supply = DriverSupply(self.committed, capacity)
        self.near = near = LocalStore(self.constants.dictionary, self.supply)
        self.supply.fill(near)
        self.large = LargeRelations(jobs, self.committed, near)
        self.derivations = near.derivations
        self.bulk = WholeStages(jobs, self.constants, self.large, self.supply, self.files, self.arity, self.derivations)
        self.nothing, self.size, self.evaluate, self.count_all = near.nothing, near.size, near.evaluate, near.count_all
        self.is_counted, self.start_counting = near.is_counted, near.start_counting
        self.stop_counting, self.carry_counts = near.stop_counting, near.carry_counts

    @property
    def journeys(self) -> int:
        """The actions that Spark was asked for since the update began."""
        return self._jobs.actions

    @property
    def nbytes(self) -> int:
        """About how much memory facts take on the driver."""
        return self.near.nbytes + self.beside

    def arity(self, relation: str) -> int | None:
        """The number of columns of a relation, on Spark or only on the driver so far."""
        found = self.near.relations.get(relation)
        known = self.committed.arity(relation)
        return found.arity if known is None and found is not None else known

    def include(self, name: str, arity: int, facts: DataFrame | Segments) -> SparkFacts:
        """A large set of facts (ids) of one relation, stored without marks where they are new."""
        return SparkFacts(NOTHING, {name: self.large.enlarged(name, arity).include(facts)})

    # -- sets of facts: the small part to the driver, the large part to the working frames -----------------------------

    def union(self, parts: Iterable[Facts], *, disjoint: bool = False) -> Facts:
        """The union of sets."""
        pairs = [self._split(facts) for facts in parts]
        large: dict[str, Selection] = {}
        for _, selections in pairs:
            for name, selection in selections.items():
                large[name] = self.large[name].union(large[name], selection) if name in large else selection
        return _joined(local_union([small for small, _ in pairs], disjoint=disjoint and not large), large)

    def of(self, facts: Facts, relations: Iterable[str]) -> Facts:
        """The facts of the given relations."""
        small, large = self._split(facts)
        names = list(relations)
        return _joined(self.near.of(small, names), {name: large[name] for name in names if name in large})

    def restrict(self, facts: Facts, view: View) -> Facts:
        """The given facts that are in the view."""
        small, large = self._split(facts)
        chosen = {name: self.large[name].restrict(selection, view) for name, selection in large.items()}
        return _joined(self.near.restrict(small, view), chosen)

    def mark(self, facts: Facts, add: Mark = NO_MARKS, remove: Mark = NO_MARKS) -> None:
        """Give and take marks."""
        small, large = self._split(facts)
        self.near.mark(small, add, remove)
        for name, selection in large.items():
            self.large[name].mark(selection, add, remove)

    def bring_back(self, relations: frozenset[str]) -> None:
        """Let the facts of the relations be those of OLD again."""
        self.near.bring_back(frozenset(name for name in relations if name not in self.large))
        for one in (self.large[name] for name in relations if name in self.large):
            one.mark(one.select(DELETED), Mark.NOW, NO_MARKS)
            one.mark(one.select(INSERTED), NO_MARKS, Mark.NOW)
            one.mark(one.select(ANY), NO_MARKS, TRANSIENT)

    def select(self, relations: Iterable[str], view: View) -> Facts:
        """Every stored fact of the relations in the view; a relation too large for the driver becomes large."""
        small, large = [], {}
        for name in relations:
            if name not in self.large and self.supply.fits(name):
                small.append(name)
            else:
                large[name] = self.large.enlarged(name, self.committed.arity(name) or 0).select(view)
        return _joined(self.near.select(small, view), large)

    def touched(self, relations: Iterable[str], view: View) -> Facts:
        """The facts touched in this transaction that are in the view; a large change that is small is settled first."""
        names = list(relations)
        for name in names:
            if name in self.large:
                self.large.settle(name, self.capacity.change)
        small = [name for name in names if name not in self.large]
        large = {name: self.large[name].select(view) for name in names if name in self.large}
        return _joined(self.near.touched(small, view), large)

    def met(self, relations: frozenset[str]) -> list[str]:
        """Those of the relations that the driver has journals of, and large ones, of which nobody knows."""
        return sorted({*self.near.met(relations), *(name for name in relations if name in self.large)})

    def _split(self, facts: Facts) -> tuple[LocalFacts, Mapping[str, Selection]]:
        """The small part and the large one; rows of a relation that is large by now become a selection."""
        small, large = (facts.small, dict(facts.large)) if isinstance(facts, SparkFacts) else (facts, {})
        if not self.large or not any(name in self.large for name in small.parts):
            return small, large
        rows = dict(small.parts)
        for name in [name for name in rows if name in self.large]:
            large[name] = self.large.selected(name, rows.pop(name))
        return LocalFacts(rows), large

    # -- rules: large sets drive nothing on the driver -----------------------------------------------------------------

    def derive(
        self,
        stage: Stage,
        driving: Facts,
        blocking: Facts,
        matching: Matching,
        heads: View,
        add: Mark,
        phase: str,
    ) -> LocalFacts:
        """See the protocol."""
        return self.near.derive(stage, self._small(driving), self._small(blocking), matching, heads, add, phase)

    def several_rounds(
        self, stage: Stage, driving: Facts, matching: Matching, heads: View, passing: Passing, phase: str
    ) -> tuple[LocalFacts, LocalFacts, int] | None:
        """See the protocol; the supply decides whether rounds may be fused."""
        return self.near.several_rounds(stage, self._small(driving), matching, heads, passing, phase)

    def supported(self, stage: Stage, facts: Facts, matching: Matching, phase: str) -> LocalFacts:
        """See the protocol, of small facts."""
        return self.near.supported(stage, self._small(facts), matching, phase)

    def expand(
        self, stage: Stage, facts: Facts, matching: Matching, bodies: View, add: Mark, limit: int, phase: str
    ) -> tuple[LocalFacts, LocalFacts]:
        """See the protocol, with heads that are small."""
        return self.near.expand(stage, self._small(facts), matching, bodies, add, limit, phase)

    def count(
        self, stage: Stage, driving: Facts, blocking: Facts, matching: Matching, sign: int, phase: str
    ) -> LocalFacts:
        """See the protocol; counts stay on the driver."""
        return self.near.count(stage, self._small(driving), self._small(blocking), matching, sign, phase)

    def due(self, facts: Facts) -> tuple[int, LocalFacts, LocalFacts, LocalFacts]:
        """See the protocol; only the driver has ranks."""
        return self.near.due(self._small(facts))

    def rank(self, facts: Facts, round_number: int | None) -> None:
        """Give the facts a rank, or none."""
        self.near.rank(self._small(facts), round_number)

    def regroup(self, rule: GroupRule, changed: Facts, phase: str, against: View = OLD) -> tuple[Facts, Facts]:
        """See the protocol; the groups of a large relation are all computed anew."""
        if not self.bulk.is_large([rule.body_relation, rule.relation, rule.lacking]):
            try:
                return self.near.regroup(rule, self._small(changed), phase, against)
            except TooLargeError:
                if against is not OLD:
                    raise
        kept = self.constants.settled(lambda: self._grouped(rule))
        result = F.col(f"c{rule.group}")
        parts = {rule.relation: kept.where(result.isNotNull())}
        if rule.function != "count":
            zero = [F.lit(0).cast("long").alias("c0")] if not rule.group else []
            parts[rule.lacking] = kept.where(result.isNull()).select(*frames.names(rule.group), *zero)
        insert, delete = {}, {}
        for name, facts in parts.items():
            working = self.large.enlarged(name, rule.group + (name == rule.relation))
            found = working.include(facts)
            insert[name], delete[name] = (
                working.restrict(found, View(outside=Mark.OLD)),
                working.besides(found, View(Mark.OLD)),
            )
        frames.release(kept)
        return _joined(NOTHING, insert), _joined(NOTHING, delete)

    def _grouped(self, rule: GroupRule) -> DataFrame:
        """The aggregates of all groups, kept; their texts are stored."""
        body = self.large.now(rule.body_relation, rule.body_arity)
        kept = frames.keep(self._jobs, grouped(rule, body, self.constants.frame, self.constants.naming))
        result = F.col(f"c{rule.group}").alias("id")
        try:
            self.constants.add(kept.select(result, F.col("x").alias("text")).where("text is not null"))
        except MovedError:
            frames.release(kept)
            raise
        return kept

    def _small(self, facts: Facts) -> LocalFacts:
        """The facts, if none of them is large."""
        small, large = self._split(facts)
        if large:
            raise TooLargeError.about(next(iter(large)), self.capacity.change, "raise spark.tidelog.driver.change")
        return small

    # -- versions ------------------------------------------------------------------------------------------------------

    def changes(self) -> Iterator[tuple[str, Ids, Array, int]]:
        """What this transaction changes on the driver: by relation facts, their new states, and its growth."""
        for name, relation in self.near.relations.items():
            rows = relation.journal
            marks = relation.marks[rows]
            before = _states(marks, Mark.OLD, Mark.WAS_EXPLICIT)
            after = _states(marks, Mark.NOW, Mark.EXPLICIT)
            chosen = np.flatnonzero(before != after)
            if chosen.size:
                ids = self.committed.ids_of(relation.rows[rows[chosen]], relation.arity)
                growth = np.count_nonzero(after[chosen]) - np.count_nonzero(before[chosen])
                yield name, ids, after[chosen], int(growth)

    @property
    def grown(self) -> int:
        """About how many facts this transaction has added on the driver so far."""
        return len(self.near.touched(self.near.relations, INSERTED))

    @property
    def has_foreseen(self) -> bool:
        """Whether look-ahead has left marks, which are known by row numbers, on the driver."""
        relations = self.near.relations.values()
        return any(len(found.restrict(found.journal, View(Mark.FORESEEN))) for found in relations)

    def commit(self, *, forgets: bool = False) -> None:
        """End the transaction on the driver; what it changed has been written before (backend.py)."""
        is_crowded = forgets or bool(self.large) or self._is_full
        self.near.commit()
        if is_crowded:
            self.forget()
            give_back()

    @property
    def _is_full(self) -> bool:
        """Whether the driver holds more than it keeps between transactions, and may forget it."""
        is_full = self.supply.held > self.capacity.kept or self._has_too_many_constants
        return is_full and not self.has_foreseen

    def thin(self) -> None:
        """Before the transaction is written: give up what only rules need, if the driver is full.

        All of it is made or brought again should somebody ask for it.
        """
        if self._is_full:
            self.supply.forget_pages()
            for relation in self.near.relations.values():
                relation.thin()
            give_back()

    def rollback(self) -> None:
        """Undo the transaction; relations that came to the driver during it are gone from there."""
        self.large.release()
        self.supply.is_spoiled |= self.near.catalogue.has_new
        self.near.rollback()

    def close(self) -> None:
        """Give back texts and open files."""
        self.forget()
        self.constants.close()
        if self.files is not None:
            self.files.reader.close()

    def forget(self) -> None:
        """Between transactions: nothing is large, and the driver keeps only what Spark does not have."""
        self.supply.is_spoiled = True  # until everything is there again: an interrupt may fall anywhere
        self.large.release()
        if self._has_too_many_constants:
            self._forget_constants()
        self.near.clear()
        self.supply.reset()
        self.near.commit()

    @property
    def _has_too_many_constants(self) -> bool:
        return self._most_constants is not None and len(self.constants.dictionary) > self._most_constants

    def _forget_constants(self) -> None:
        """Begin with an empty dictionary; tables that were given out keep the one that they were made with.

        What relations without files need is learnt at once; there has to be room for as much again, or every commit
        would forget.
        """
        fresh = Dictionary()
        fresh.latch = self.constants.dictionary.latch
        self.near.renumber(fresh)
        self.constants.renew(fresh)
        small = (cold for cold in self.committed.relations.values() if cold.base is None)
        self._most_constants = max(self.capacity.constants, 2 * sum(len(cold.overlay) * cold.width for cold in small))

    def spoil(self) -> None:
        """Nothing on the driver is relied on until `freshen`."""
        self.supply.is_spoiled = True

    def freshen(self) -> None:
        """Between transactions: after a fetch that failed nothing on the driver is relied on."""
        if self.supply.is_spoiled:
            self.forget()


def _joined(small: LocalFacts, large: Mapping[str, Selection]) -> Facts:
    """Both parts as one set."""
    return SparkFacts(small, large) if large else small


def _states(marks: Array, present: Mark, explicit: Mark) -> Array:
    """What an overlay would say about facts with these marks."""
    states = np.where(marks & np.uint16(explicit), np.int8(EXPLICIT), np.int8(DERIVED))
    return np.where(marks & np.uint16(present), states, np.int8(GONE))

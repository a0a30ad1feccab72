"""The Spark store: small sets of facts on the driver, large ones in DataFrames.

What      : the protocol of maintenance/store.py, and of maintenance/bulk.py for stages that are derived as a whole.
Idea      : strategies run on the driver as long as what they touch is small (hot.py). A relation through which a large
            change goes is worked on as one DataFrame with marks (working.py) until the change is known; a change that
            turned out small comes back to the driver, so that stages above go on as usual.
Invariant : within a transaction a relation is either small or large; sets of a large relation are selections, others
            are row numbers.
Never     : no large set passes through the driver.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from tidelog.backends.local.kernels.compiled import Array
from tidelog.backends.local.relations.facts import LocalFacts
from tidelog.backends.local.relations.facts import union as local_union
from tidelog.backends.spark.bulk import fixpoint as bulk
from tidelog.backends.spark.cluster import frames
from tidelog.backends.spark.cluster.jobs import Jobs
from tidelog.backends.spark.driver.hot import Capacity, Estimated, HotStore
from tidelog.backends.spark.large.cold import ColdRelation
from tidelog.backends.spark.large.groups import grouped
from tidelog.backends.spark.large.rounds import Fixpoint
from tidelog.backends.spark.large.working import Selection, Working
from tidelog.backends.spark.prices import SPARK_PRICES
from tidelog.backends.spark.values.constants import Constants
from tidelog.language.terms import Atom, Call, Comparison, Constant, Negation, Term, Value
from tidelog.limits import Limits
from tidelog.maintenance.bulk import TooLargeError
from tidelog.maintenance.store import BulkStore
from tidelog.planning.blame import blamed
from tidelog.planning.lowered import GroupRule, LoweredRule, Stage
from tidelog.planning.views import ANY, NO_MARKS, NOW, Mark, Matching, View

_REPLACED = Mark(0xFFFF) & ~(Mark.TOUCHED | Mark.MARKED | Mark.POSITIVE)


class SparkFacts(LocalFacts):
    """Row numbers of small relations and selections of large ones."""

    __slots__ = ("large",)

    def __init__(self, parts: Mapping[str, Array], large: Mapping[str, Selection]) -> None:
        super().__init__(parts)
        self.large = dict(large)

    def __len__(self) -> int:
        return self._size + sum(map(len, self.large.values()))

    def __bool__(self) -> bool:
        return self._size > 0 or any(map(len, self.large.values()))


class SparkStore(HotStore):
    """Facts on Spark."""

    prices = SPARK_PRICES

    def __init__(self, jobs: Jobs, capacity: Capacity, constants: Constants | None = None) -> None:
        super().__init__(jobs, capacity, constants)
        self.working: dict[str, Working] = {}
        self.limits = Limits()
        self.bulk_stats: list[bulk.BulkStats] = []
        """What was derived in bulk since the update began, stage by stage."""

    # -- large relations ---------------------------------------------------------------------------------------------

    def include(self, name: str, arity: int, facts: DataFrame) -> LocalFacts:
        """A large set of facts (columns of ids) of one relation, stored without marks where they are new."""
        return SparkFacts({}, {name: self._enlarged(name, arity).include(facts)})

    def _enlarged(self, name: str, arity: int) -> Working:
        """The working frame of a relation, which is large from now on."""
        found = self.working.get(name)
        if found is None:
            found = self.working[name] = Working(self._jobs, self.committed(name, arity), self._marked(name))
        return found

    def committed(self, name: str, arity: int) -> ColdRelation:
        """The relation on Spark; an empty one if there is none. A relation without facts may get other columns."""
        found = self.cold.get(name)
        return found if found is not None and (found.size or found.arity == arity) else ColdRelation(name, arity)

    def _marked(self, name: str) -> DataFrame | None:
        """The facts on the driver whose marks this transaction changed."""
        relation = self.relations.get(name)
        if relation is None or not len(relation.journal):
            return None
        rows = relation.journal
        marks = relation.marks[rows].astype(np.int32)
        ids = self._ids(relation.rows[rows], relation.arity)
        return frames.of_ids(self._jobs.spark, ids, {"marks": pa.array(marks)})

    def _ids(self, rows: Array, arity: int) -> Array:
        return self.constants.ids_of(rows) if arity else np.zeros((len(rows), 1), np.int64)

    def _split(self, facts: LocalFacts) -> tuple[LocalFacts, dict[str, Selection]]:
        """The small part, and the large one; row numbers of a relation that is large by now become a selection."""
        large = dict(facts.large) if isinstance(facts, SparkFacts) else {}
        small = dict(facts.parts)
        for name in [name for name in small if name in self.working]:
            relation, rows = self.relations[name], small.pop(name)
            ids = frames.of_ids(self._jobs.spark, self._ids(relation.rows[rows], relation.arity))
            large[name] = self.working[name].include(ids)
        return LocalFacts(small), large

    # -- sets of facts -------------------------------------------------------------------------------------------------

    def union(self, parts: Iterable[LocalFacts], *, disjoint: bool = False) -> LocalFacts:
        """The union of sets, small and large parts by themselves."""
        listed = list(parts)
        if not self.working:
            return local_union(listed, disjoint=disjoint)
        pairs = [self._split(facts) for facts in listed]
        large: dict[str, Selection] = {}
        for _, selections in pairs:
            for name, selection in selections.items():
                large[name] = self.working[name].union(large[name], selection) if name in large else selection
        return SparkFacts(local_union(small for small, _ in pairs).parts, large)

    def of(self, facts: LocalFacts, relations: Iterable[str]) -> LocalFacts:
        """The facts of the given relations, small and large."""
        names = list(relations)
        small = super().of(facts, names)
        large = facts.large if isinstance(facts, SparkFacts) else {}
        return SparkFacts(small.parts, {name: large[name] for name in names if name in large}) if large else small

    def restrict(self, facts: LocalFacts, view: View) -> LocalFacts:
        """The given facts that are in the view; of a large relation a further selection."""
        if not self.working:
            return super().restrict(facts, view)
        small, large = self._split(facts)
        chosen = {name: self.working[name].restrict(selection, view) for name, selection in large.items()}
        return SparkFacts(super().restrict(small, view).parts, chosen)

    def mark(self, facts: LocalFacts, add: Mark = NO_MARKS, remove: Mark = NO_MARKS) -> None:
        """Give and take marks, of a large relation as a projection."""
        if not self.working:
            super().mark(facts, add, remove)
            return
        small, large = self._split(facts)
        super().mark(small, add, remove)
        for name, selection in large.items():
            self.working[name].mark(selection, add, remove)

    def select(self, relations: Iterable[str], view: View) -> LocalFacts:
        """See the protocol; a relation that is too large for the driver is worked on where it is."""
        small, large = [], {}
        for name in relations:
            if name not in self.working and self.fits(name):
                small.append(name)
            elif name in self.working or name in self.cold:
                large[name] = self._enlarged(name, self.cold[name].arity).select(view)
        found = super().select(small, view)
        return SparkFacts(found.parts, large) if large else found

    def touched(self, relations: Iterable[str], view: View) -> LocalFacts:
        """See the protocol; a large change that turned out small comes back to the driver first."""
        names = list(relations)
        for name in names:
            if name in self.working:
                self._settle(name)
        found = super().touched([name for name in names if name not in self.working], view)
        large = {name: self.working[name].select(view) for name in names if name in self.working}
        return SparkFacts(found.parts, large) if large else found

    def _settle(self, name: str) -> None:
        """Bring the change of a large relation to the driver if it is small."""
        working = self.working[name]
        cold = self.committed(name, working.arity)
        if working.tally()[ANY] > self.capacity.change:
            return
        table = self._jobs.run(working.changed.toArrow)
        rows = self._local(cold, frames.to_ids(table, cold.columns))
        marks = table.column("marks").to_numpy() & ~int(Mark.TOUCHED)
        relation = self.relation(name, cold.arity)
        relation.rollback()
        places = relation.store(np.ascontiguousarray(rows), ANY, NO_MARKS)
        was = relation.marks[places] & int(Mark.OLD)
        relation.alive += int(np.count_nonzero(marks & int(Mark.OLD)) - np.count_nonzero(was))
        for value in sorted(set(marks.tolist())):
            relation.mark(places[marks == value], Mark(value), _REPLACED & ~Mark(value))
        del self.working[name]
        working.retire()

    def derive(
        self,
        stage: Stage,
        driving: LocalFacts,
        blocking: LocalFacts,
        matching: Matching,
        heads: View,
        add: Mark,
        phase: str,
    ) -> LocalFacts:
        """See the protocol; large sets drive nothing here."""
        for facts in (driving, blocking):
            if isinstance(facts, SparkFacts) and facts.large:
                raise TooLargeError.about(next(iter(facts.large)), self.capacity.change)
        return super().derive(stage, driving, blocking, matching, heads, add, phase)

    # -- whole stages --------------------------------------------------------------------------------------------------

    @property
    def journeys(self) -> int:
        """The actions that Spark was asked for since the update began."""
        return self._jobs.actions

    @property
    def bulk(self) -> BulkStore:
        """Stages that are too large for the driver are derived on Spark."""
        return self

    def is_large(self, relations: Iterable[str]) -> bool:
        """Whether one of the relations is worked on as a DataFrame."""
        return any(name in self.working for name in relations)

    def rebuild(self, stage: Stage, charge: Callable[[], None]) -> int:
        """Derive the stage's NOW in bulk from its explicit facts and what is NOW below."""
        self.dictionary.encode([value for rule in stage.rules for value in _constants(rule)])
        arities = {rule.head.relation: len(rule.head.terms) for rule in stage.rules}
        below = {
            atom.relation: self.now(atom.relation, len(atom.terms))
            for rule in stage.rules
            for atom in _atoms(rule)
            if atom.relation not in stage.relations
        }
        workings = {name: self._enlarged(name, self._arity(name, arities)) for name in sorted(stage.relations)}
        explicit = {name: working.facts(View(Mark.EXPLICIT)) for name, working in workings.items()}
        facts, kept = self._fixpoint(stage, below, explicit, charge)
        for name, working in workings.items():
            working.renew(facts[name])
        frames.release(kept)
        return sum(working.tally()[NOW] for working in workings.values())

    def _arity(self, name: str, arities: Mapping[str, int]) -> int:
        """The columns of a relation of a stage; one that has lost its last rule is known from its facts."""
        return arities[name] if name in arities else (self.cold.get(name) or self.relations[name]).arity

    def _fixpoint(
        self,
        stage: Stage,
        below: Mapping[str, DataFrame],
        explicit: Mapping[str, DataFrame],
        charge: Callable[[], None],
    ) -> tuple[Mapping[str, DataFrame], DataFrame]:
        """All facts of a stage: by the compiled kernels in Arrow tasks if they can, else by joins in rounds."""
        if stage.rules:
            sizes = {name: self._size_now(name) for name in below}
            found = bulk.fixpoint(
                self._jobs,
                stage,
                below,
                explicit,
                partitions=self._partitions,
                sizes=sizes,
                limits=self.limits,
                options=bulk.BulkOptions.of(self._jobs.spark),
                on_round=lambda *_: charge(),
            )
            if found is not None:
                self.bulk_stats.append(found.stats)
                for key, number in found.stats.derivations.items():
                    self.derivations[key, "evaluate"] += number
                return found.facts, found.kept
        return Fixpoint(self._jobs, self.constants, stage, below, Estimated(self)).run(explicit, charge)

    def _size_now(self, name: str) -> int:
        """How many facts a relation has NOW, about."""
        return self.working[name].tally()[NOW] if name in self.working else self.size(name)

    @property
    def _partitions(self) -> int:
        return int(self._jobs.spark.conf.get("spark.sql.shuffle.partitions") or 2)

    def now(self, name: str, arity: int) -> DataFrame:
        """The facts of a relation that are NOW (columns of ids)."""
        if name in self.working:
            return self.working[name].facts(NOW)
        if name not in self.cold and name not in self.relations:
            return ColdRelation(name, arity).frame(self._jobs).drop("explicit")
        marked = self._marked(name)
        if marked is None:
            return self.committed(name, arity).frame(self._jobs).drop("explicit")
        return Working(self._jobs, self.committed(name, arity), marked).facts(NOW)

    def regroup(self, rule: GroupRule, changed: LocalFacts, phase: str) -> tuple[LocalFacts, LocalFacts]:
        """See the protocol; the groups of a large relation are all computed anew."""
        if not self.is_large([rule.body_relation, rule.relation]):
            try:
                return super().regroup(rule, changed, phase)
            except TooLargeError:
                pass
        body = self.now(rule.body_relation, rule.body_arity)
        with blamed(rule):
            kept = frames.keep(self._jobs, grouped(rule, body, self.constants.frame))
        result = f"c{rule.group}"
        self.constants.add(kept.select(F.col(result).alias("id"), F.col("x").alias("text")).where("text is not null"))
        working = self._enlarged(rule.relation, rule.group + 1)
        found = working.include(kept)
        frames.release(kept)
        insert, delete = working.restrict(found, View(outside=Mark.OLD)), working.besides(found, View(Mark.OLD))
        return SparkFacts({}, {rule.relation: insert}), SparkFacts({}, {rule.relation: delete})

    def forget(self) -> None:
        """Between transactions: nothing is large, and the driver keeps only what Spark does not have."""
        for working in self.working.values():
            working.release()
        self.working = {}
        super().forget()

    def rollback(self) -> None:
        """Undo the transaction."""
        for working in self.working.values():
            working.release()
        self.working = {}
        super().rollback()


def _atoms(rule: LoweredRule) -> Iterator[Atom]:
    for literal in rule.body:
        if isinstance(literal, Atom):
            yield literal
        elif isinstance(literal, Negation):
            yield literal.atom


def _constants(rule: LoweredRule) -> Iterator[Value]:
    """The constants that a rule names; facts derived from it may hold them."""
    waiting: list[Term] = list(rule.head.terms)
    for literal in rule.body:
        match literal:
            case Atom(_, terms) | Negation(Atom(_, terms)):
                waiting += terms
            case Comparison(_, left, right):
                waiting += (left, right)
    while waiting:
        match waiting.pop():
            case Constant(value):
                yield value
            case Call(_, arguments):
                waiting += arguments

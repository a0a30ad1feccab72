"""The store of small updates: compiled kernels on the driver over facts that come from Spark when they are needed.

What      : the protocol of maintenance/store.py. Facts live on Spark (cold.py); those that an update touches are
            brought to a compiled local store, where joins, marks, counts and aggregates run as on the local backend.
Idea      : before a call runs, the look-ups that its plans will make are found by running the plans step by step
            (probes.py); what is not there yet is fetched, one job for all rules of the stage at each step. What is
            there stays, so that later rounds and updates that touch the same facts need no job at all. A small relation
            comes as a whole.
Invariant : a fact that a call can see or find is on the driver before the call runs, with the marks that it has.
Never     : no large set of facts passes through here: a look-up that would bring too many raises `TooLargeError`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np
from pyspark.sql import SparkSession

from tidelog.backends.local.joins.executable import Executable
from tidelog.backends.local.joins.preparation import NO_DRIVER, Crew, Preparation, Sizes
from tidelog.backends.local.joins.watched import watched
from tidelog.backends.local.kernels.compiled import Array
from tidelog.backends.local.relations.counted_stages import Counted
from tidelog.backends.local.relations.facts import NOTHING, LocalFacts
from tidelog.backends.local.store import LocalStore
from tidelog.backends.spark.cluster.jobs import Jobs
from tidelog.backends.spark.driver.fetch import Wanted, fetch
from tidelog.backends.spark.driver.pages import Pages
from tidelog.backends.spark.driver.probes import Probe, probes
from tidelog.backends.spark.large.cold import DERIVED, EXPLICIT, GONE, ColdRelation
from tidelog.backends.spark.values.constants import Constants
from tidelog.backends.spark.values.ids import Ids
from tidelog.maintenance.bulk import TooLargeError
from tidelog.planning.lowered import GroupRule, LoweredRule, Stage
from tidelog.planning.plan import Driver, Plan
from tidelog.planning.views import INSERTED, Mark, Matching, View

_PRESENT = Mark.OLD | Mark.NOW
_ASSERTED = _PRESENT | Mark.EXPLICIT | Mark.WAS_EXPLICIT
_ABSENT = View(outside=Mark.OLD)


Ladder = list[tuple[Probe, Executable]]
"""The look-ups of a plan in order, each with what finds its keys."""


@dataclass(frozen=True, slots=True)
class Capacity:
    """What the driver takes.

    Relations of up to `relation` facts come as a whole; `facts` in all may be there during an update, and `kept`
    between updates; a change of more than `change` facts of one relation is large; `overlay` changed facts of a
    relation wait before they move to Spark.
    """

    relation: int = 20_000
    facts: int = 2_000_000
    kept: int = 1_000_000
    change: int = 50_000
    overlay: int = 5_000

    @staticmethod
    def of(spark: SparkSession) -> Capacity:
        """What the session's settings `spark.tidelog.driver.<name>` say."""
        names = (each.name for each in fields(Capacity))
        settings = {name: spark.conf.get(f"spark.tidelog.driver.{name}", None) for name in names}
        return Capacity(**{name: int(value) for name, value in settings.items() if value is not None})


class HotStore(LocalStore):
    """The facts that the driver works with."""

    def __init__(self, jobs: Jobs, capacity: Capacity, constants: Constants | None = None) -> None:
        super().__init__(constants.dictionary if constants is not None else None)
        self.cold: dict[str, ColdRelation] = {}
        self.constants = constants or Constants(jobs, self.dictionary)
        self.capacity = capacity
        self._jobs = jobs
        self._pages = Pages()
        self._probed: dict[tuple[int, int], tuple[Plan, Matching, Ladder]] = {}
        self._is_spoiled = False

    # -- facts on the driver -----------------------------------------------------------------------------------------

    def size(self, relation: str) -> int:
        """How many facts the relation had at the last commit."""
        return self.cold[relation].size if relation in self.cold else 0

    def ensure(self, look_ups: Mapping[tuple[str, tuple[int, ...]], Array]) -> None:
        """Bring the facts with these keys (local numbers; no columns: the whole relation), in at most one job."""
        try:
            wanted = [
                found for (name, columns), keys in look_ups.items() if (found := self._wanted(name, columns, keys))
            ]
        except TooLargeError:
            for name, _ in look_ups:
                self._pages.forget(name)
            raise
        if wanted:
            self._bring(wanted)

    def _wanted(self, name: str, columns: tuple[int, ...], keys: Array) -> Wanted | None:
        """What has to be fetched for a look-up."""
        relation = self.cold.get(name)
        if relation is None or not relation.size or relation.base is None or self._pages.is_whole(name):
            return None
        if not columns or relation.size <= self.capacity.relation:
            self._check_room(name, relation.size)
            self._pages.note_whole(name)
            return Wanted(relation, (), np.empty((0, 0), np.int64))
        missing = self._pages.note(name, columns, keys)
        if not len(missing):
            return None
        if len(columns) < relation.arity:
            self._check_room(name, _expected(relation, columns, len(missing)))
        return Wanted(relation, columns, self.constants.ids_of(missing))

    def fits(self, name: str) -> bool:
        """Whether the whole relation is on the driver or has room there."""
        return self._is_here(name) or self.cold[name].size + self.held <= self.capacity.facts

    @property
    def held(self) -> int:
        """How many facts are on the driver."""
        return sum(found.count for found in self.relations.values())

    @property
    def grown(self) -> int:
        """About how many facts this transaction has added so far."""
        return len(self.touched(self.relations, INSERTED))

    def ensure_whole(self, relations: Iterable[str]) -> None:
        """Bring whole relations."""
        self.ensure({(relation, ()): np.empty((0, 0), np.int32) for relation in relations})

    def _check_room(self, name: str, more: int) -> None:
        if self.held + more > self.capacity.facts:
            raise TooLargeError.about(name, self.capacity.facts)

    def _bring(self, wanted: list[Wanted]) -> None:
        spoiled, self._is_spoiled = self._is_spoiled, True
        for relation, rows, explicit in fetch(self._jobs, wanted):
            fresh = ~relation.is_overlaid(rows)
            local = self._local(relation, rows[fresh])
            self._place(relation, local[explicit[fresh]], _ASSERTED)
            self._place(relation, local[~explicit[fresh]], _PRESENT)
        self._is_spoiled = spoiled

    def _local(self, cold: ColdRelation, rows: Ids) -> Array:
        return self.constants.local_of(rows) if cold.arity else np.zeros((len(rows), 1), np.int32)

    def _place(self, cold: ColdRelation, local: Array, marks: Mark) -> None:
        """Put committed facts where they are not yet."""
        relation = self.relation(cold.name, cold.arity)
        relation.alive += len(relation.store(np.ascontiguousarray(local), _ABSENT, marks))

    def forget(self) -> None:
        """Between transactions: keep on the driver only what Spark does not have."""
        self.relations.clear()
        self._prepared, self._probed, self.counted = {}, {}, Counted()
        self._pages, self._is_spoiled = Pages(), False
        for cold in self.cold.values():
            for state, marks in ((EXPLICIT, _ASSERTED), (DERIVED, _PRESENT)):
                rows = [fact for fact, its in cold.overlay.items() if its == state]
                if rows:
                    self._place(cold, self._local(cold, np.array(rows, np.int64)), marks)
        super().commit()

    def rollback(self) -> None:
        """Undo the transaction; relations that came to the driver during it are gone from there."""
        self._is_spoiled |= self._are_new
        super().rollback()

    def freshen(self) -> None:
        """Between transactions: after a fetch that failed nothing on the driver is relied on."""
        if self._is_spoiled:
            self.forget()

    @property
    def has_marks(self) -> bool:
        """Whether look-ahead has left marks, which are known by row numbers, on the driver."""
        return any(len(found.restrict(found.journal, View(Mark.MARKED))) for found in self.relations.values())

    def changes(self) -> dict[str, tuple[dict[tuple[int, ...], int], int]]:
        """What this transaction changes: per relation the new states of facts, and by how many facts it grows."""
        found = {}
        for name, relation in self.relations.items():
            rows = relation.journal
            marks = relation.marks[rows].astype(np.int64)
            before = _states(marks, Mark.OLD, Mark.WAS_EXPLICIT)
            after = _states(marks, Mark.NOW, Mark.EXPLICIT)
            chosen = np.flatnonzero(before != after)
            if chosen.size:
                ids = (
                    self.constants.ids_of(relation.rows[rows[chosen]]) if relation.arity else np.zeros((1, 1), np.int64)
                )
                states = dict(zip(map(tuple, ids.tolist()), after[chosen].tolist()))
                growth = np.count_nonzero(after[chosen]) - np.count_nonzero(before[chosen])
                found[name] = states, int(growth)
        return found

    def intern(self, name: str, table: Array) -> LocalFacts:
        """Facts given as encoded rows, stored without marks if they are new."""
        self._ensure_rows(name, table)
        return super().intern(name, table)

    def find(self, name: str, table: Array) -> LocalFacts:
        """Those of the facts, given as encoded rows, that are stored."""
        if name not in self.cold or self.cold[name].arity != table.shape[1]:
            return NOTHING
        self._ensure_rows(name, table)
        return super().find(name, table)

    def _ensure_rows(self, name: str, table: Array) -> None:
        if len(table):
            self.ensure({(name, tuple(range(table.shape[1]))): table})

    # -- rules: bring what the call needs, then make it ----------------------------------------------------------------

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
        """As the protocol says, after bringing what the driven plans look up."""
        self._warm_driven(stage, driving, blocking, matching)
        return super().derive(stage, driving, blocking, matching, heads, add, phase)

    def several_rounds(self, *_: object) -> None:
        """One round at a time: what a round needs is brought before it."""

    def evaluate(
        self, stage: Stage, rules: Sequence[LoweredRule], matching: Matching, heads: View, add: Mark, phase: str
    ) -> LocalFacts:
        """As the protocol says, after bringing what the rules look up from nothing."""
        self._warm_all(stage, rules, matching)
        return super().evaluate(stage, rules, matching, heads, add, phase)

    def supported(self, stage: Stage, facts: LocalFacts, matching: Matching, phase: str) -> LocalFacts:
        """As the protocol says, after bringing what could support the facts."""
        self._warm_heads(stage, facts, matching)
        return super().supported(stage, facts, matching, phase)

    def expand(
        self, stage: Stage, facts: LocalFacts, matching: Matching, bodies: View, add: Mark, limit: int, phase: str
    ) -> tuple[LocalFacts, LocalFacts]:
        """As the protocol says, after bringing the supports of the facts, however many are asked for."""
        self._warm_heads(stage, facts, matching)
        return super().expand(stage, facts, matching, bodies, add, limit, phase)

    def count(
        self, stage: Stage, driving: LocalFacts, blocking: LocalFacts, matching: Matching, sign: int, phase: str
    ) -> LocalFacts:
        """As the protocol says, after bringing what the driven plans look up; counts stay on the driver."""
        self._warm_driven(stage, driving, blocking, matching)
        return super().count(stage, driving, blocking, matching, sign, phase)

    def count_all(
        self, stage: Stage, rules: Sequence[LoweredRule], matching: Matching, sign: int, phase: str
    ) -> LocalFacts:
        """As the protocol says, after bringing what the rules look up; counts stay on the driver."""
        self._warm_all(stage, rules, matching)
        return super().count_all(stage, rules, matching, sign, phase)

    def regroup(self, rule: GroupRule, changed: LocalFacts, phase: str) -> tuple[LocalFacts, LocalFacts]:
        """As the protocol says, after bringing the groups of the changed facts."""
        rows = changed.parts.get(rule.body_relation)
        if rows is not None:
            columns = tuple(range(rule.group))
            groups = self.relations[rule.body_relation].rows[rows][:, : rule.group]
            self.ensure({(rule.body_relation, columns): groups, (rule.relation, columns): groups})
        return super().regroup(rule, changed, phase)

    def select(self, relations: Iterable[str], view: View) -> LocalFacts:
        """As the protocol says, after bringing the relations as a whole."""
        names = list(relations)
        self.ensure_whole(names)
        return super().select(names, view)

    # -- which look-ups a call makes -----------------------------------------------------------------------------------

    def _preparation(self, stage: Stage) -> Preparation:
        found = self._prepared.get(id(stage))
        if found is None or found.stage is not stage:
            found = Preparation(stage, self.relations, self.relation, self.dictionary, Estimated(self))
            self._prepared[id(stage)] = found
            self._probed.clear()
        return found

    def _provers(self, prepared: Preparation, name: str, rows: Array, matching: Matching) -> Crew:
        """No race: only what the usual plans look up has been brought."""
        del rows
        return prepared.crew(name, Driver.HEAD, matching)

    def _warm_driven(self, stage: Stage, driving: LocalFacts, blocking: LocalFacts, matching: Matching) -> None:
        calls = []
        for _, executable, rows in self._driven(stage, driving, blocking, matching):
            relation = self.relations[executable.plan.relation or ""]
            calls.append((executable.plan, relation.rows[rows]))
        self._warm(stage, calls, matching)

    def _warm_all(self, stage: Stage, rules: Sequence[LoweredRule], matching: Matching) -> None:
        prepared = self._preparation(stage)
        plans = (prepared.executable(rule, Driver.NOTHING, None, matching).plan for rule in rules)
        self._warm(stage, [(plan, NO_DRIVER) for plan in plans], matching)

    def _warm_heads(self, stage: Stage, facts: LocalFacts, matching: Matching) -> None:
        prepared = self._preparation(stage)
        calls = []
        for name, rows in facts.parts.items():
            for rule in prepared.heads.get(name, ()):
                plan = prepared.executable(rule, Driver.HEAD, None, matching).plan
                calls.append((plan, self.relations[name].rows[rows]))
        self._warm(stage, calls, matching)

    def _warm(self, stage: Stage, calls: list[tuple[Plan, Array]], matching: Matching) -> None:
        """Bring what the plans will look up: first what their first steps need, and so on, a job for each step."""
        ladders = [(self._ladder(stage, plan, matching), driving) for plan, driving in calls]
        for step in range(max((len(ladder) for ladder, _ in ladders), default=0)):
            look_ups: dict[tuple[str, tuple[int, ...]], list[Array]] = {}
            for ladder, driving in ladders:
                if step < len(ladder) and not self._is_here(ladder[step][0].relation):
                    probe, executable = ladder[step]
                    tables = watched(probe.plan.rule, self.on_progress, executable.heads(driving))
                    keys = [table for table in tables if len(table)]
                    if keys:
                        look_ups.setdefault((probe.relation, probe.columns), []).extend(keys)
            if look_ups:
                self.ensure({key: np.concatenate(parts) for key, parts in look_ups.items()})

    def _is_here(self, name: str) -> bool:
        cold = self.cold.get(name)
        return cold is None or not cold.size or cold.base is None or self._pages.is_whole(name)

    def _ladder(self, stage: Stage, plan: Plan, matching: Matching) -> Ladder:
        """The look-ups of a plan; plan and matching are kept with them, because they are known by identity."""
        key = (id(plan), id(matching))
        if key not in self._probed:
            ladder = [
                (probe, Executable(probe.plan, matching, stage.relations, self.relation, self.dictionary))
                for probe in probes(plan)
            ]
            self._probed[key] = plan, matching, ladder
        return self._probed[key][2]


class Estimated:
    """Estimates for the planner: relations on Spark by what was counted there, others by what is on the driver."""

    def __init__(self, store: HotStore) -> None:
        self._store, self._local = store, Sizes(store.relations)

    def size(self, relation: str) -> int:
        """The number of facts; a relation without facts may be about to fill, so it counts as an average one."""
        return self._store.size(relation) or self._local.size(relation)

    def distinct(self, relation: str, column: int) -> int:
        """What was counted on Spark, else an estimate from the driver's facts."""
        cold = self._store.cold.get(relation)
        if cold is not None and column < len(cold.distinct):
            return cold.distinct[column]
        return self._local.distinct(relation, column)


def _states(marks: Array, present: Mark, explicit: Mark) -> Array:
    """What an overlay would say about facts with these marks."""
    states = np.where(marks & int(explicit), EXPLICIT, DERIVED)
    return np.where(marks & int(present), states, GONE)


def _expected(relation: ColdRelation, columns: tuple[int, ...], keys: int) -> int:
    """About how many facts have one of so many keys."""
    distinct = max((relation.distinct[column] for column in columns if column < len(relation.distinct)), default=1)
    return relation.size * keys // max(distinct, 1)

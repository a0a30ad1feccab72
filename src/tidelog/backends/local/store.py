"""The local store: the protocol of maintenance/store.py on compiled kernels.

What      : relations, dictionary and prepared plans; every call is a few kernel runs per rule, in bounded chunks.
Idea      : a call for heads runs the join machine and stores what comes out; marks make each head count once.
Invariant : a call costs what it enumerates and the facts it is given, whatever the sizes of the relations.
Never     : no strategy and no user-facing values (see tables.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from tidelog.backends.local import counting, grouping
from tidelog.backends.local.compiled import Array
from tidelog.backends.local.counting import Counts
from tidelog.backends.local.dictionary import Dictionary
from tidelog.backends.local.executable import Executable
from tidelog.backends.local.facts import NOTHING, LocalFacts, distinct, gather, union
from tidelog.backends.local.preparation import NO_DRIVER, Preparation
from tidelog.backends.local.relation import Relation
from tidelog.backends.local.watching import watched
from tidelog.errors import UpdateError
from tidelog.planning.blame import blamed
from tidelog.planning.lowered import GroupRule, LoweredRule, Stage
from tidelog.planning.plan import Driver
from tidelog.planning.views import ANY, NO_MARKS, Mark, Matching, View

Sink = Callable[[LoweredRule, Array], None]
"""Takes the heads that a rule derives, a chunk at a time."""


class LocalStore:
    """Facts of all relations on this machine."""

    def __init__(self, dictionary: Dictionary | None = None) -> None:
        self.dictionary = Dictionary() if dictionary is None else dictionary
        self.relations: dict[str, Relation] = {}
        self._relations_before: dict[str, Relation] = {}
        self._are_new = False
        self.derivations: Counter[tuple[str, str]] = Counter()
        self.on_progress: Callable[[], None] = lambda: None
        self._prepared: dict[int, Preparation] = {}
        self._counted: dict[frozenset[str], dict[str, Counts]] = {}
        self._counted_before = self._counted
        self._undo: list[Callable[[], None]] = []

    # -- for the engine --------------------------------------------------------------------------------------------

    def relation(self, name: str, arity: int) -> Relation:
        """The relation of that name, made when it is first asked for, or anew with other columns if it is empty."""
        found = self.relations.get(name)
        if found is None or (found.arity != arity and not found.alive and not len(found.journal)):
            found = self.relations[name] = Relation(name, arity)
            self._are_new = True
        if found.arity != arity:
            raise UpdateError.of(
                "E301", f"{name} has {found.arity} columns, not {arity}", remedy="use one number of them"
            )
        return found

    def intern(self, name: str, table: Array) -> LocalFacts:
        """Facts given as encoded rows, stored without marks if they are new, as a set."""
        relation = self.relation(name, table.shape[1])
        rows = relation.store(_with_columns(table), View(outside=Mark.CANDIDATE), Mark.CANDIDATE)
        relation.mark(rows, Mark(0), Mark.CANDIDATE)
        return LocalFacts({name: rows})

    def find(self, name: str, table: Array) -> LocalFacts:
        """Those of the facts, given as encoded rows, that are stored."""
        relation = self.relations.get(name)
        if relation is None or relation.arity != table.shape[1]:
            return NOTHING
        rows = relation.store(_with_columns(table), View(Mark.OLD, Mark.CANDIDATE), Mark.CANDIDATE)
        relation.mark(rows, Mark(0), Mark.CANDIDATE)
        return LocalFacts({name: rows})

    def commit(self) -> None:
        """End the transaction: what is NOW becomes OLD."""
        if self._are_new:
            self._relations_before, self._are_new = dict(self.relations), False
        for relation in self.relations.values():
            relation.commit()
        for counts in (counts for counted in self._counted.values() for counts in counted.values()):
            counts.tidy()
        self._counted_before, self._undo = {stage: dict(counted) for stage, counted in self._counted.items()}, []
        for prepared in self._prepared.values():
            prepared.forget_if_outgrown()

    def rollback(self) -> None:
        """Undo the transaction."""
        while self._undo:
            self._undo.pop()()
        self._counted = self._counted_before
        if self._are_new:
            self.relations.clear()
            self.relations.update(self._relations_before)
            self._prepared.clear()
            self._are_new = False
        for relation in self.relations.values():
            relation.on_move = None
            relation.rollback()
        for counts in (counts for counted in self._counted.values() for counts in counted.values()):
            counts.follow()

    def keep(self, stages: Iterable[Stage]) -> None:
        """Forget what is prepared for other stages than these."""
        wanted = {id(stage) for stage in stages}
        self._prepared = {key: prepared for key, prepared in self._prepared.items() if key in wanted}

    @property
    def nbytes(self) -> int:
        """The memory that facts, indexes and constants take."""
        return sum(relation.nbytes for relation in self.relations.values()) + self.dictionary.nbytes

    # -- sets of facts ---------------------------------------------------------------------------------------------

    def nothing(self) -> LocalFacts:
        """The empty set."""
        return NOTHING

    def union(self, parts: Iterable[LocalFacts]) -> LocalFacts:
        """The union of sets."""
        return union(parts)

    def of(self, facts: LocalFacts, relations: Iterable[str]) -> LocalFacts:
        """The facts of the given relations."""
        return LocalFacts({name: facts.parts[name] for name in relations if name in facts.parts})

    def restrict(self, facts: LocalFacts, view: View) -> LocalFacts:
        """The given facts that are in the view."""
        return LocalFacts({name: self.relations[name].restrict(rows, view) for name, rows in facts.parts.items()})

    def select(self, relations: Iterable[str], view: View) -> LocalFacts:
        """Every stored fact of the relations that is in the view."""
        return LocalFacts({name: self.relations[name].select(view) for name in relations if name in self.relations})

    def touched(self, relations: Iterable[str], view: View) -> LocalFacts:
        """The facts journalled in this transaction that are in the view."""
        found = {}
        for name in relations:
            relation = self.relations.get(name)
            if relation is not None and len(relation.journal):
                found[name] = relation.restrict(relation.journal, view)
        return LocalFacts(found)

    def mark(self, facts: LocalFacts, add: Mark = NO_MARKS, remove: Mark = NO_MARKS) -> None:
        """Give and take marks."""
        for name, rows in facts.parts.items():
            self.relations[name].mark(rows, add, remove)

    def size(self, relation: str) -> int:
        """How many facts the relation has in the materialisation, as of the last commit."""
        found = self.relations.get(relation)
        return found.alive if found is not None else 0

    # -- rules -----------------------------------------------------------------------------------------------------

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
        """The heads of the instances that the given facts drive; see the protocol."""
        found: dict[str, list[Array]] = {}
        self._drive(stage, driving, blocking, matching, phase, self._collector(found, heads, add))
        return gather(found)

    def evaluate(
        self, stage: Stage, rules: Sequence[LoweredRule], matching: Matching, heads: View, add: Mark, phase: str
    ) -> LocalFacts:
        """The heads of all instances of the given rules."""
        found: dict[str, list[Array]] = {}
        self._enumerate(stage, rules, matching, phase, self._collector(found, heads, add))
        return gather(found)

    def supported(self, stage: Stage, facts: LocalFacts, matching: Matching, phase: str) -> LocalFacts:
        """Those of the given facts that are the head of at least one instance."""
        prepared = self._preparation(stage)
        found: dict[str, list[Array]] = {}
        for name, rows in facts.parts.items():
            relation, waiting = self.relations[name], rows
            for rule in prepared.heads.get(name, ()):
                if not len(waiting):
                    break
                executable = prepared.executable(rule, Driver.HEAD, None, matching)
                proved = np.zeros(len(waiting), np.bool_)
                for table in watched(rule, self.on_progress, executable.bodies(relation.rows[waiting], (), 1)):
                    proved[table[:, 0]] = True
                self.derivations[rule.key, phase] += int(np.count_nonzero(proved))
                found.setdefault(name, []).append(waiting[proved])
                waiting = waiting[~proved]
        return gather(found)

    def expand(
        self, stage: Stage, facts: LocalFacts, matching: Matching, bodies: View, add: Mark, limit: int, phase: str
    ) -> tuple[LocalFacts, LocalFacts]:
        """The stage's own body facts of at most `limit` instances per rule and given head, and the heads exhausted."""
        prepared = self._preparation(stage)
        found: dict[str, list[Array]] = {}
        exhausted: dict[str, Array] = {}
        for name, rows in facts.parts.items():
            is_open = np.zeros(len(rows), np.bool_)
            for rule in prepared.heads.get(name, ()):
                executable = prepared.executable(rule, Driver.HEAD, None, matching)
                counts = self._expand(rule, executable, self.relations[name].rows[rows], limit, bodies, add, found)
                self.derivations[rule.key, phase] += int(counts.sum())
                is_open |= counts >= limit
            exhausted[name] = rows[~is_open]
        return gather(found), LocalFacts(exhausted)

    def _expand(
        self,
        rule: LoweredRule,
        executable: Executable,
        driving: Array,
        limit: int,
        bodies: View,
        add: Mark,
        found: dict[str, list[Array]],
    ) -> Array:
        own = [at for at, join in enumerate(executable.joins) if join.relation in executable.own]
        counts = np.zeros(len(driving), np.int64)
        for table in watched(rule, self.on_progress, executable.bodies(driving, own, limit)):
            counts += np.bincount(table[:, 0], minlength=len(driving))
            for column, at in enumerate(own, start=1):
                name = executable.joins[at].relation
                rows = self.relations[name].restrict(np.ascontiguousarray(table[:, column]), bodies, add)
                found.setdefault(name, []).append(rows)
        return counts

    # -- counts and aggregates -------------------------------------------------------------------------------------

    def is_counted(self, relations: frozenset[str]) -> bool:
        """Whether the counts of these relations, as one stage, are kept and true."""
        return relations in self._counted

    def start_counting(self, relations: frozenset[str]) -> None:
        """Keep counts of these relations as one stage, from no counts and no ranks on."""
        self.stop_counting(relations)
        self._counted = {**self._counted, relations: {}}

    def stop_counting(self, relations: Iterable[str]) -> None:
        """The counts of these relations are no longer true."""
        gone = [stage for stage in self._counted if not stage.isdisjoint(relations)]
        if gone:
            self._counted = {stage: counts for stage, counts in self._counted.items() if stage not in gone}

    def count(
        self,
        stage: Stage,
        driving: LocalFacts,
        blocking: LocalFacts,
        matching: Matching,
        sign: int,
        phase: str,
    ) -> LocalFacts:
        """As `derive`, but adds `sign` to the head's count in the instance's round, once per instance."""
        found: list[LocalFacts] = []
        for rule, executable, rows in self._driven(stage, driving, blocking, matching):
            found.extend(self._count(stage, rule, executable, rows, sign, phase))
        return union(found)

    def count_all(
        self, stage: Stage, rules: Sequence[LoweredRule], matching: Matching, sign: int, phase: str
    ) -> LocalFacts:
        """As `evaluate`, but counting."""
        prepared = self._preparation(stage)
        found: list[LocalFacts] = []
        for rule in rules:
            executable = prepared.executable(rule, Driver.NOTHING, None, matching)
            found.extend(self._count(stage, rule, executable, None, sign, phase))
        return union(found)

    def due(self, facts: LocalFacts) -> tuple[int, LocalFacts, LocalFacts, LocalFacts]:
        """The facts that have to leave or enter the least round in which one has to; see the protocol."""
        counted = {name: (self._counts(name), rows) for name, rows in facts.parts.items()}
        number, *moves = counting.due(counted)
        leaving, entering, later = map(LocalFacts, moves)
        return number, leaving, entering, later

    def rank(self, facts: LocalFacts, round_number: int | None) -> None:
        """Give the facts a rank, or none."""
        for name, rows in facts.parts.items():
            self._undo.append(self._counts(name).rank(rows, round_number))

    def _counts(self, name: str) -> Counts:
        """The counts of a relation that is counted."""
        stage = next(stage for stage in self._counted if name in stage)
        if name not in self._counted[stage]:
            counts = self._counted[stage][name] = Counts(self.relations[name])
            counts.follow()
        return self._counted[stage][name]

    def _count(
        self, stage: Stage, rule: LoweredRule, executable: Executable, rows: Array | None, sign: int, phase: str
    ) -> Iterator[LocalFacts]:
        """Count the heads of one rule's instances; `rows` are the driving facts, None without a driver."""
        name = rule.head.relation
        relation = self.relation(name, len(rule.head.terms))
        own = [at for at, join in enumerate(executable.joins) if join.relation in stage.relations]
        driver = executable.plan.relation if executable.plan.relation in stage.relations else None
        driving = NO_DRIVER if rows is None else self.relations[executable.plan.relation or ""].rows[rows]
        for heads, body in watched(rule, self.on_progress, executable.instances(driving, own)):
            if not len(heads):
                continue
            facts = relation.store(_with_columns(heads), ANY, Mark(0))
            rounds = np.zeros(len(facts), np.int64)
            for column, at in enumerate(own, start=1):
                rounds = np.maximum(rounds, self._counts(executable.joins[at].relation).ranks(body[:, column]))
            if driver is not None and rows is not None:
                rounds = np.maximum(rounds, self._counts(driver).ranks(rows[body[:, 0]]))
            self.derivations[rule.key, phase] += len(facts)
            self._undo.append(self._counts(name).add(facts, rounds + 1, sign))
            yield LocalFacts({name: distinct(facts)})

    def regroup(self, rule: GroupRule, changed: LocalFacts, phase: str) -> tuple[LocalFacts, LocalFacts]:
        """The aggregate facts to insert and to delete, given the body facts that changed."""
        body = self.relation(rule.body_relation, rule.body_arity)
        result = self.relation(rule.relation, rule.group + 1)
        rows = changed.parts.get(rule.body_relation)
        if rows is None:
            return NOTHING, NOTHING
        with blamed(rule):
            insert, delete, groups = grouping.regroup(rule, body, rows, result, self.dictionary)
        self.derivations[rule.key, phase] += groups
        return LocalFacts({rule.relation: insert}), LocalFacts({rule.relation: delete})

    # -- within ----------------------------------------------------------------------------------------------------

    def _preparation(self, stage: Stage) -> Preparation:
        found = self._prepared.get(id(stage))
        if found is None or found.stage is not stage:
            found = Preparation(stage, self.relations, self.relation, self.dictionary)
            self._prepared[id(stage)] = found
        return found

    def _drive(
        self, stage: Stage, driving: LocalFacts, blocking: LocalFacts, matching: Matching, phase: str, sink: Sink
    ) -> None:
        runs = [run for run in self._driven(stage, driving, blocking, matching) if not run[1].is_futile()]
        for rule, executable, rows in runs:
            relation = self.relations[executable.plan.relation or ""]
            self._feed(rule, executable, relation.rows.take(rows, axis=0), phase, sink)

    def _driven(
        self, stage: Stage, driving: LocalFacts, blocking: LocalFacts, matching: Matching
    ) -> Iterator[tuple[LoweredRule, Executable, Array]]:
        """Each rule and literal that the facts drive, with the executable and the driving rows."""
        prepared = self._preparation(stage)
        for name, rows in driving.parts.items():
            for rule, literal in prepared.driven.get(name, ()):
                self.on_progress()
                yield rule, prepared.executable(rule, Driver.LITERAL, literal, matching), rows
        for name, rows in blocking.parts.items():
            for rule, literal in prepared.blocked.get(name, ()):
                executable = prepared.executable(rule, Driver.LITERAL, literal, matching)
                first = grouping.first_of_each(self.relations[name].rows[rows], executable.plan.columns)
                yield rule, executable, rows[first]

    def _enumerate(
        self, stage: Stage, rules: Sequence[LoweredRule], matching: Matching, phase: str, sink: Sink
    ) -> None:
        prepared = self._preparation(stage)
        executables = [(rule, prepared.executable(rule, Driver.NOTHING, None, matching)) for rule in rules]
        promising = [(rule, executable) for rule, executable in executables if not executable.is_futile()]
        for rule, executable in promising:
            self._feed(rule, executable, NO_DRIVER, phase, sink)

    def _feed(self, rule: LoweredRule, executable: Executable, driving: Array, phase: str, sink: Sink) -> None:
        derived = 0
        for table in watched(rule, self.on_progress, executable.heads(driving)):
            if len(table):
                derived += len(table)
                sink(rule, _with_columns(table))
        if derived:
            self.derivations[rule.key, phase] += derived

    def _collector(self, found: dict[str, list[Array]], heads: View, add: Mark) -> Sink:
        def collect(rule: LoweredRule, table: Array) -> None:
            rows = self.relation(rule.head.relation, len(rule.head.terms)).store(table, heads, add)
            if len(rows):
                found.setdefault(rule.head.relation, []).append(rows)

        return collect


def _with_columns(table: Array) -> Array:
    """Facts without columns are stored with one that is always 0."""
    return table if table.shape[1] else np.zeros((len(table), 1), np.int32)

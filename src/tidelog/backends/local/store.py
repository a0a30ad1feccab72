"""The local store: the protocol of maintenance/store.py on compiled kernels.

What      : relations, dictionary and prepared plans; every call is a few kernel runs per rule, in bounded chunks.
Idea      : a call for heads runs the join machine and stores what comes out; marks make each head count once.
Invariant : a call costs what it enumerates and the facts it is given, whatever the sizes of the relations.
Never     : no strategy and no user-facing values (see fact_tables.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from tidelog.backends.local.constants.dictionary import Dictionary
from tidelog.backends.local.joins.aggregates import regroup
from tidelog.backends.local.joins.bundle import MOST_DRIVING
from tidelog.backends.local.joins.executable import Executable
from tidelog.backends.local.joins.preparation import NO_DRIVER, Preparation
from tidelog.backends.local.joins.row_lookups import first_of_each
from tidelog.backends.local.joins.runner import Runner, Sink, with_columns
from tidelog.backends.local.joins.sweep import sweep
from tidelog.backends.local.joins.watched import watched
from tidelog.backends.local.kernels.compiled import Array
from tidelog.backends.local.relations.counted_stages import Counted
from tidelog.backends.local.relations.facts import NOTHING, LocalFacts, distinct, gather, union
from tidelog.backends.local.relations.relation import Relation
from tidelog.errors import UpdateError
from tidelog.maintenance.prices import LOCAL_PRICES, Prices
from tidelog.maintenance.store import BulkStore, Passing
from tidelog.planning.blame import blamed
from tidelog.planning.lowered import GroupRule, LoweredRule, Stage
from tidelog.planning.plan import Driver
from tidelog.planning.views import ANY, NO_MARKS, OLD, Mark, Matching, View

_MOST_PROVED = 1 << 13
"""How many facts are asked for proofs between two looks at the budget."""
_OLD = int(Mark.OLD)
_NO_CANDIDATE, _OLD_NO_CANDIDATE = View(outside=Mark.CANDIDATE), View(Mark.OLD, Mark.CANDIDATE)


class LocalStore(Runner):
    """Facts of all relations on this machine."""

    prices: Prices = LOCAL_PRICES

    def __init__(self, dictionary: Dictionary | None = None) -> None:
        super().__init__()
        self.dictionary = Dictionary() if dictionary is None else dictionary
        self._relations_before: dict[str, Relation] = {}
        self._are_new = False
        self._opened: list[Relation] = []
        self._prepared: dict[int, Preparation] = {}
        self.counted = Counted()

    @property
    def journeys(self) -> int:
        """None: all facts are here."""
        return 0

    @property
    def bulk(self) -> BulkStore | None:
        """Nothing is too large."""
        return None

    # -- for the engine --------------------------------------------------------------------------------------------

    def relation(self, name: str, arity: int) -> Relation:
        """The relation of that name, made when it is first asked for, or anew with other columns if it is empty."""
        found = self.relations.get(name)
        if found is None or (found.arity != arity and not found.alive and not len(found.journal)):
            found = self.relations[name] = Relation(name, arity, self._opened)
            self._are_new = True
        if found.arity != arity:
            raise UpdateError.of(
                "E301", f"{name} has {found.arity} columns, not {arity}", remedy="use one number of them"
            )
        return found

    def intern(self, name: str, table: Array) -> LocalFacts:
        """Facts given as encoded rows, stored without marks if they are new, as a set."""
        relation = self.relation(name, table.shape[1])
        rows = relation.store(with_columns(table), _NO_CANDIDATE, Mark.CANDIDATE)
        relation.mark(rows, NO_MARKS, Mark.CANDIDATE)
        return LocalFacts({name: rows})

    def find(self, name: str, table: Array) -> LocalFacts:
        """Those of the facts, given as encoded rows, that are stored."""
        relation = self.relations.get(name)
        if relation is None or relation.arity != table.shape[1]:
            return NOTHING
        if len(table) == 1:  # and nothing can occur twice
            return LocalFacts({name: relation.find(with_columns(table), OLD)})
        rows = relation.store(with_columns(table), _OLD_NO_CANDIDATE, Mark.CANDIDATE)
        relation.mark(rows, NO_MARKS, Mark.CANDIDATE)
        return LocalFacts({name: rows})

    def commit(self) -> None:
        """End the transaction: what is NOW becomes OLD."""
        if self._are_new:
            self._relations_before, self._are_new = dict(self.relations), False
        has_outgrown = False
        for relation in self._opened:
            relation.commit()
            has_outgrown |= relation.note_growth()
        self._opened.clear()
        self.counted.commit()
        if has_outgrown:
            for prepared in self._prepared.values():
                prepared.forget_if_outgrown()

    def rollback(self) -> None:
        """Undo the transaction."""
        self.counted.undo()
        if self._are_new:
            self.relations.clear()
            self.relations.update(self._relations_before)
            self._prepared.clear()
            self._are_new = False
        for relation in self.relations.values():
            relation.on_move = None
        for relation in self._opened:  # they stay there, because the next commit gives back their room
            relation.rollback()
        self.counted.follow()

    def keep(self, stages: Iterable[Stage]) -> None:
        """Forget what is prepared for other stages than these."""
        wanted = {id(stage) for stage in stages}
        self._prepared = {key: prepared for key, prepared in self._prepared.items() if key in wanted}

    @property
    def nbytes(self) -> int:
        """The memory that facts, indexes, counts and constants take."""
        counts = sum(counts.nbytes for _, counts in self.counted)
        return sum(relation.nbytes for relation in self.relations.values()) + counts + self.dictionary.nbytes

    # -- sets of facts ---------------------------------------------------------------------------------------------

    def nothing(self) -> LocalFacts:
        """The empty set."""
        return NOTHING

    def union(self, parts: Iterable[LocalFacts], *, disjoint: bool = False) -> LocalFacts:
        """The union of sets."""
        return union(parts, disjoint=disjoint)

    def of(self, facts: LocalFacts, relations: Iterable[str]) -> LocalFacts:
        """The facts of the given relations."""
        return LocalFacts({name: facts.parts[name] for name in relations if name in facts.parts})

    def restrict(self, facts: LocalFacts, view: View) -> LocalFacts:
        """The given facts that are in the view."""
        if not facts:
            return NOTHING
        return LocalFacts({name: self.relations[name].restrict(rows, view) for name, rows in facts.parts.items()})

    def select(self, relations: Iterable[str], view: View) -> LocalFacts:
        """Every stored fact of the relations that is in the view."""
        return LocalFacts({name: self.relations[name].select(view) for name in relations if name in self.relations})

    def touched(self, relations: Iterable[str], view: View) -> LocalFacts:
        """The facts journalled in this transaction that are in the view."""
        found = {}
        for name in relations:
            relation = self.relations.get(name)
            if relation is not None and len(relation.journal) and (relation.alive or not view.want & _OLD):
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

    def several_rounds(
        self, stage: Stage, driving: LocalFacts, matching: Matching, heads: View, passing: Passing, phase: str
    ) -> tuple[LocalFacts, LocalFacts, int] | None:
        """Several small rounds at once, if the facts and everything that they drive are of one relation."""
        if len(driving.parts) != 1 or len(driving) > MOST_DRIVING:
            return None
        [(name, rows)] = driving.parts.items()
        crew = self._preparation(stage).crew(name, Driver.LITERAL, matching)
        if crew.bundle is None or crew.others or crew.bundle.scans or crew.bundle.heads != {name}:
            return None
        self.on_progress()
        swept = sweep(crew.bundle, self.relations[name], rows, heads, passing, self._scratch)
        self.on_progress()
        for key, count in swept.hits:
            self.derivations[key, phase] += count
        return (
            (LocalFacts({name: swept.found}), LocalFacts({name: swept.driving}), swept.rounds) if swept.rounds else None
        )

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
        found = {}
        for name, rows in facts.parts.items():
            crew, relation = self._provers(prepared, name, rows, matching), self.relations[name]
            parts = [rows[start : start + _MOST_PROVED] for start in range(0, len(rows), _MOST_PROVED)]
            found[name] = [part[self._proved(crew, relation.rows.take(part, axis=0), phase)] for part in parts]
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

    # -- counts and aggregates -------------------------------------------------------------------------------------

    def is_counted(self, relations: frozenset[str]) -> bool:
        """Whether the counts of these relations, as one stage, are kept and true."""
        return relations in self.counted

    def start_counting(self, relations: frozenset[str]) -> None:
        """Keep counts of these relations as one stage, from no counts and no ranks on."""
        self.counted.start(relations)

    def stop_counting(self, relations: Iterable[str]) -> None:
        """The counts of these relations are no longer true."""
        self.counted.stop(relations)

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
        return self.counted.due((self.relations[name], rows) for name, rows in facts.parts.items())

    def rank(self, facts: LocalFacts, round_number: int | None) -> None:
        """Give the facts a rank, or none."""
        for name, rows in facts.parts.items():
            self.counted.rank(self.relations[name], rows, round_number)

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
            facts = relation.store(with_columns(heads), ANY, NO_MARKS)
            rounds = np.zeros(len(facts), np.int64)
            for column, at in enumerate(own, start=1):
                rounds = np.maximum(rounds, self._ranks(executable.joins[at].relation, body[:, column]))
            if driver is not None and rows is not None:
                rounds = np.maximum(rounds, self._ranks(driver, rows[body[:, 0]]))
            self.derivations[rule.key, phase] += len(facts)
            self.counted.add(relation, facts, rounds + 1, sign)
            yield LocalFacts({name: distinct(facts)})

    def _ranks(self, name: str, rows: Array) -> Array:
        return self.counted.of(self.relations[name]).ranks(rows)

    def regroup(self, rule: GroupRule, changed: LocalFacts, phase: str) -> tuple[LocalFacts, LocalFacts]:
        """The aggregate facts to insert and to delete, given the body facts that changed."""
        body = self.relation(rule.body_relation, rule.body_arity)
        result = self.relation(rule.relation, rule.group + 1)
        rows = changed.parts.get(rule.body_relation)
        if rows is None:
            return NOTHING, NOTHING
        with blamed(rule):
            insert, delete, groups = regroup(rule, body, rows, result, self.dictionary)
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
        prepared = self._preparation(stage)
        for name, rows in driving.parts.items():
            crew = prepared.crew(name, Driver.LITERAL, matching)
            self._run(crew, self.relations[name].table(rows), phase, sink)
        for rule, executable, rows in self._driven(stage, NOTHING, blocking, matching):
            if not executable.is_futile():
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
                first = first_of_each(self.relations[name].rows[rows], executable.plan.columns)
                yield rule, executable, rows[first]

    def _enumerate(
        self, stage: Stage, rules: Sequence[LoweredRule], matching: Matching, phase: str, sink: Sink
    ) -> None:
        prepared = self._preparation(stage)
        executables = [(rule, prepared.executable(rule, Driver.NOTHING, None, matching)) for rule in rules]
        promising = [(rule, executable) for rule, executable in executables if not executable.is_futile()]
        for rule, executable in promising:
            self._feed(rule, executable, NO_DRIVER, phase, sink)

    def _collector(self, found: dict[str, list[Array]], heads: View, add: Mark) -> Sink:
        def collect(rule: LoweredRule, table: Array) -> None:
            rows = self.relation(rule.head.relation, len(rule.head.terms)).store(table, heads, add)
            if len(rows):
                found.setdefault(rule.head.relation, []).append(rows)

        return collect

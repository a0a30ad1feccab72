"""Executables at work.

What      : runs executables over driving rows, hands the heads on, and counts the derivations by rule and phase.
Idea      : few driving rows go through all rules in one kernel call (bundle.py), many through one rule after another.
Invariant : budgets are asked before and after every table; an error names the rule that it happened in.
Never     : no facts are stored here, and no plan is chosen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np

from tidelog.backends.local.joins.bundle import MOST_DRIVING, scratch
from tidelog.backends.local.joins.executable import Executable
from tidelog.backends.local.joins.preparation import NO_DRIVER, Crew, Preparation
from tidelog.backends.local.joins.side_by_side import heads_by
from tidelog.backends.local.joins.under_budget import under_budget
from tidelog.backends.local.kernels.compiled import Array
from tidelog.backends.local.kernels.workers import ALONE, Workers
from tidelog.backends.local.relations.counted_stages import Counted
from tidelog.backends.local.relations.derivation_counts import raise_rounds
from tidelog.backends.local.relations.facts import LocalFacts, distinct, gather
from tidelog.backends.local.relations.relation import Relation
from tidelog.backends.local.relations.steps import joined
from tidelog.planning.lowered import LoweredRule
from tidelog.planning.plan import Driver
from tidelog.planning.views import ANY, NO_MARKS, Mark, Matching, View

_MANY_FACTS, _SAMPLE = 4096, 64
"""From how many facts on orders of joins race, and over how many of them."""
_SPREAD, _LEAST_ROOM = 4, 1 << 16
"""Heads that are only looked at may be this many times as many as the facts they come from, and always a few."""
Sink = Callable[[LoweredRule, Array], None]
"""Takes the heads that a rule derives, a chunk at a time."""


class Runner:
    """Runs executables over the relations of a store, under a budget."""

    def __init__(self, relations: Mapping[str, Relation], workers: Workers = ALONE) -> None:
        self._relations, self._workers = relations, workers
        self.derivations: Counter[tuple[str, str]] = Counter()
        self.ask_budget: Callable[[], None] = lambda: None
        self.scratch = scratch()

    @contextmanager
    def beside(self) -> Iterator[None]:
        """Let another transaction use scratch space of its own: that of the open one holds heads to be stored."""
        kept, self.scratch = self.scratch, scratch()
        try:
            yield
        finally:
            self.scratch = kept

    def run(self, crew: Crew, driving: Array, phase: str, sink: Sink) -> None:
        """The heads of everything that the rows drive: of few rows at once, of many rule by rule."""
        alone = crew.everyone
        if crew.bundle is not None and len(driving) <= MOST_DRIVING:
            self.ask_budget()
            matches = crew.bundle.matches(driving, self.scratch)
            for executable, count in matches.hits:
                self.derivations[executable.plan.rule.key, phase] += count
            for rule, heads in matches.tables:
                sink(rule, heads)
            alone = [*crew.others, *matches.unfinished]
        for executable in [executable for executable in alone if not executable.is_futile()]:
            self.feed(executable, driving, phase, sink)

    def feed(self, executable: Executable, driving: Array, phase: str, sink: Sink) -> None:
        """Hand the heads of one executable to the sink, a chunk at a time."""
        rule, derived = executable.plan.rule, 0
        for table in under_budget(self.ask_budget, heads_by(self._workers, executable, driving)):
            if len(table):
                derived += len(table)
                sink(rule, with_columns(table))
        if derived:
            self.derivations[rule.key, phase] += derived

    def run_all(
        self, prepared: Preparation, rules: Sequence[LoweredRule], matching: Matching, phase: str, sink: Sink
    ) -> None:
        """The heads of all instances of some rules: of small relations at once, of large ones rule by rule."""
        executables = prepared.from_nothing(rules, matching)
        is_whole = rules is prepared.stage.rules and len(executables) == len(rules)
        crew = prepared.whole(matching) if is_whole else None
        if crew is not None and crew.bundle is not None and crew.bundle.is_small:
            self.run(crew, NO_DRIVER, phase, sink)
            return
        for executable in executables:
            self.feed(executable, NO_DRIVER, phase, sink)

    def tables(self, prepared: Preparation, matching: Matching) -> list[Array] | None:
        """The heads of each rule of a stage, neither stored nor counted; None if a rule has far more than it reads."""
        found = []
        for rule in prepared.stage.rules:
            executable = prepared.executable(rule, Driver.NOTHING, None, matching)
            parts, room = [np.empty((0, len(rule.head.terms)), np.int32)], _LEAST_ROOM
            room += _SPREAD * sum(relation.count for relation in executable.relations)
            source = iter(()) if executable.is_futile() else executable.heads(NO_DRIVER)
            for table in under_budget(self.ask_budget, source):
                parts.append(table)
                room -= len(table)
                if room < 0:
                    return None
            found.append(np.concatenate(parts))
        return found

    def proved(self, crew: Crew, driving: Array, phase: str) -> Array:
        """Which of the rows are the head of an instance."""
        self.ask_budget()
        proved, alone = np.zeros(len(driving), np.bool_), crew.others
        if crew.bundle is not None:
            proofs = crew.bundle.proved(driving)
            proved, alone = proofs.proved, [*proofs.unfinished, *alone]
            for executable, count in proofs.hits:
                self.derivations[executable.plan.rule.key, phase] += count
        for executable in alone:
            waiting = np.flatnonzero(~proved)
            if not len(waiting):
                break
            rule = executable.plan.rule
            for table in under_budget(self.ask_budget, executable.bodies(driving[waiting], (), 1)):
                proved[waiting[table[:, 0]]] = True
            self.derivations[rule.key, phase] += len(waiting) - int(np.count_nonzero(~proved))
        return proved

    def race(self, prepared: Preparation, name: str, rows: Array, matching: Matching) -> Crew:
        """The executables that look for supports of the facts; for many facts, orders of joins race on a sample.

        How much there is to look at depends on what this very update has taken away; estimates do not know that.
        """
        usual = prepared.crew(name, Driver.HEAD, matching)
        rivals = prepared.rivals(name, matching) if len(rows) >= _MANY_FACTS else None
        if rivals is None or rivals.bundle is None or usual.bundle is None:
            return usual
        sample = self._relations[name].rows[rows[:: len(rows) // _SAMPLE]]
        ours, theirs = usual.bundle.proved(sample), rivals.bundle.proved(sample)
        if ours.unfinished or theirs.unfinished or not np.any(theirs.looked < ours.looked):
            return usual
        return prepared.mixed(name, matching, tuple((theirs.looked < ours.looked).tolist()))

    def expand(
        self,
        prepared: Preparation,
        facts: LocalFacts,
        matching: Matching,
        limit: int,
        bodies: View,
        add: Mark,
        phase: str,
    ) -> tuple[LocalFacts, LocalFacts]:
        """The stage's own body facts of at most `limit` instances per rule and given head, and the heads exhausted."""
        found: dict[str, list[Array]] = {}
        exhausted: dict[str, Array] = {}
        for name, rows in facts.parts.items():
            is_open = np.zeros(len(rows), np.bool_)
            for rule in prepared.heads.get(name, ()):
                executable = prepared.executable(rule, Driver.HEAD, None, matching)
                driving = self._relations[name].rows[rows]
                counts = self._bodies(executable, driving, limit, bodies, add, found)
                self.derivations[rule.key, phase] += int(counts.sum())
                is_open |= counts >= limit
            exhausted[name] = rows[~is_open]
        return gather(found), LocalFacts(exhausted)

    def _bodies(
        self,
        executable: Executable,
        driving: Array,
        limit: int,
        bodies: View,
        add: Mark,
        found: dict[str, list[Array]],
    ) -> Array:
        """The same for one rule; how many instances each row has."""
        own = [at for at, join in enumerate(executable.joins) if join.relation in executable.own]
        counts = np.zeros(len(driving), np.int64)
        for table in under_budget(self.ask_budget, executable.bodies(driving, own, limit)):
            counts += np.bincount(table[:, 0], minlength=len(driving))
            for column, at in enumerate(own, start=1):
                name = executable.joins[at].relation
                rows = self._relations[name].restrict(np.ascontiguousarray(table[:, column]), bodies, add)
                found.setdefault(name, []).append(rows)
        return counts

    def count_heads(
        self,
        runs: Iterable[tuple[Executable, Array | None]],
        relation_of: Callable[[str, int], Relation],
        counted: Counted,
        sign: int,
        phase: str,
    ) -> LocalFacts:
        """Count the instances of executables, each with its driving facts; the heads that may be due then."""
        found: dict[str, list[Array]] = {}
        for executable, rows in runs:
            head = executable.plan.rule.head
            heads = relation_of(head.relation, len(head.terms))
            found.setdefault(head.relation, []).extend(self._count(executable, rows, heads, counted, sign, phase))
        return LocalFacts({name: distinct(joined(parts)) for name, parts in found.items() if parts})

    def _count(
        self,
        executable: Executable,
        rows: Array | None,
        heads: Relation,
        counted: Counted,
        sign: int,
        phase: str,
    ) -> Iterator[Array]:
        """Add `sign` to the count of every instance's head in the instance's round; the heads that may be due then.

        `rows` are the numbers of the driving facts, None without a driver.
        """
        rule, relation = executable.plan.rule, executable.plan.relation
        joined = [self._relations[name] for name in executable.at_home]
        driving, ranks = NO_DRIVER, None
        if rows is not None and relation is not None:
            driving = self._relations[relation].rows.take(rows, axis=0)
            if relation in executable.own:
                ranks = counted.of(self._relations[relation]).ranks(rows)
        instances = executable.instances(driving)
        for table, body in under_budget(self.ask_budget, instances, lambda pair: len(pair[0])):
            if not len(table):
                continue
            facts = heads.store(with_columns(table), ANY, NO_MARKS)
            rounds = np.ones(len(facts), np.int32)
            if ranks is not None:
                raise_rounds(body, 0, ranks, rounds)
            for column, one in enumerate(joined, start=1):
                raise_rounds(body, column, counted.of(one).ranks(), rounds)
            self.derivations[rule.key, phase] += len(facts)
            yield counted.add(heads, facts, rounds, sign)


def with_columns(table: Array) -> Array:
    """Facts without columns are stored with one that is always 0."""
    return table if table.shape[1] else np.zeros((len(table), 1), np.int32)

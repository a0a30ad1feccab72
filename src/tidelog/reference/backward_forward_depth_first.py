"""Backward/Forward with marking in the order of work of the authors' program.

Idea       : Algorithm 1 leaves open which rule instance is taken next, and the program that produced the published
             counters departs from its printed priorities as well. This is the algorithm in that order, so that the
             counters can be compared (tables.py); `backward_forward_marking.py` is the algorithm as printed.
Source     : Illich, Glimm 2025, Algorithm 1 and its evaluation program (Constraint Handling Rules, published with the
             paper), retold in our words; comments carry the line numbers of Algorithm 1.
Invariant  : a fact is in one state at a time, and the facts that are still under check when a check ends have no proof.
Cost       : as B/F with marking.
Departures : from Algorithm 1, numbered here and in the code:
             1. one check at a time: block d) comes right after it, before the next application of line 23;
             2. line 20 takes no instance with a body fact that is itself under check; it waits until that is proved;
             3. line 23 leaves heads alone that are delayed, which are proved already;
             4. facts with a mark are checked one after the other between two updates: before U2 arrives, with nothing
                delayed meanwhile, and one that an earlier check has settled is no longer checked and not counted;
             5. depth first: body facts are followed in their order, each to the end, and what a newly proved fact
                opens for line 20 comes before line 11;
             6. newest first: of several instances the one whose facts changed their state last, in the order of rules;
                line 20 comes to bodies with a delayed fact last (the program for the map takes some of them earlier).

Counters as in `backward_forward_marking.py`, except that an implicit mark counts when its check starts.
"""

# ruff: noqa: N803, N806 (the paper's letters)

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator, Iterable, Iterator
from enum import Enum, auto
from typing import Any

from tidelog.language.terms import Program
from tidelog.reference.backward_forward_marking import BackwardForwardMarking, BackwardForwardSharedMarks
from tidelog.reference.evaluation import Instance
from tidelog.reference.facts import FactSet, GroundFact
from tidelog.reference.stratified import Step

Work = Generator["Work", None, None]
"""Work that hands out more work, to be finished before it goes on; an explicit stack, so that depth is no limit."""


class State(Enum):
    """What an update knows of a present fact."""

    UNTOUCHED = auto()
    WAITING = auto()  # in W: taken up by line 21 or 24, its check has not begun
    CHECKED = auto()  # under check, neither proved nor disproved
    PROVED = auto()  # in V
    DELAYED = auto()  # in Y
    DELETED = auto()  # in D


class BackwardForwardDepthFirst(BackwardForwardMarking):
    """B/F with marking as the authors' program for the map works; `trace` stays empty."""

    def __init__(self, program: Program) -> None:
        self._ages: dict[GroundFact, int] = {}
        self._time = 0
        super().__init__(program)

    def maintain(self, step: Step) -> None:
        """One stratum."""
        _Update(self, step).run()

    def touch(self, fact: GroundFact) -> None:
        """The fact changes its state now and becomes the newest."""
        self._time += 1
        self._ages[fact] = -self._time

    def age(self, fact: GroundFact) -> int:
        """Smaller is newer."""
        return self._ages.get(fact, 0)

    def count_marks(self) -> None:
        """Explicit marks only: an implicit one counts when its check starts (departure 4)."""
        self.counters["marks explicit"] += len(self.marked)

    def finish(self) -> None:
        """As for every update; forget the ages of facts that are gone."""
        super().finish()
        self._ages = {fact: age for fact, age in self._ages.items() if fact in self._facts}


class BackwardForwardDepthFirstShared(BackwardForwardDepthFirst, BackwardForwardSharedMarks):
    """The same with shared marks, as the authors' programs for P_trans and P_seq work."""


class _Update:
    """One update of one stratum."""

    def __init__(self, algorithm: BackwardForwardDepthFirst, step: Step) -> None:
        self.algorithm, self.step, self.I, self.count = algorithm, step, step.present, algorithm.counters
        self.state: dict[GroundFact, State] = {}
        self.V = FactSet()
        self._under_check: dict[GroundFact, None] = {}
        self._deleted: list[GroundFact] = []  # facts of D whose rule instances are still to come
        self._affected: dict[int, dict[GroundFact, None]] = defaultdict(dict)  # heads for line 23, by rule
        self._rank = {id(rule): number for number, rule in enumerate((*step.rules, *step.removed))}
        self._is_delaying = False
        for fact in reversed(step.delete):
            if fact[0] in step.below:
                self._delete(fact)  # line 6

    def run(self) -> None:
        """What the last update left to check, deletions, insertions."""
        self._check_marked()
        self._delay()
        self._check_changed()
        self.algorithm.look()  # lines 7-9
        while self._c():
            self.algorithm.look()
        self._e()
        self._f()

    def _check_marked(self) -> None:
        """Line 32, departure 4."""
        own = [fact for fact in self.algorithm.waiting if fact[0] in self.step.own and fact in self.I]
        for fact in sorted(own, key=self.algorithm.age):
            if self._is_in(fact, State.UNTOUCHED):
                self.count["marks implicit"] += 1
                self._check(fact)

    def _delay(self) -> None:
        """From now on line 16 works; it catches up on what the checks so far have proved."""
        self._is_delaying = True
        for instance in self._newest_first([*self.step.unconditional(), *self.step.derived(self.V, self.V, self.V)]):
            self._finish(self._a(instance))

    def _check_changed(self) -> None:
        """Facts of this stratum that are no longer explicit, and heads of instances that rules or negation lose."""
        for fact in (*self.step.delete, *(instance.head for instance in self.step.lost())):
            if fact[0] in self.step.own and self._is_in(fact, State.UNTOUCHED):
                self._check(fact)

    def _c(self) -> bool:
        """Determine a fact affected by deletion, and check it; whether there is one."""
        while self._deleted:
            at = FactSet([self._deleted.pop()])
            for instance in self.step.affected(self.I, at, self.I):
                self._affected[self._rank[id(instance.rule)]][instance.head] = None
        for rank in sorted(self._affected):
            heads = [fact for fact in self._affected[rank] if self._is_in(fact, State.UNTOUCHED)]  # departure 3
            self._affected[rank] = dict.fromkeys(heads)
            if heads:
                self.count["deletions"] += 1  # line 23
                self._check(min(heads, key=self.algorithm.age))
                return True
        return False

    def _check(self, F: GroundFact) -> None:
        """Follow one fact to the end; what has no proof then is deleted (line 25, departure 1)."""
        self._finish(self._b(F))
        for fact in sorted(self._under_check, key=self.algorithm.age):
            self._delete(fact)
        self._under_check.clear()

    def _b(self, F: GroundFact) -> Work:
        """Backward chaining from a waiting fact."""
        if self.step.is_given(F):  # line 18
            yield self._prove(F)
            return
        self._set(F, State.CHECKED)
        self._under_check[F] = None
        yield self._follow(list(self.step.supports(F, self.I)))
        for instance in self._newest_first(self.step.supports(F, self.V)):
            yield self._a(instance)

    def _follow(self, instances: list[Instance]) -> Work:
        """Apply line 20 to instances with heads under check; bodies with a delayed fact come last (departure 6)."""
        for has_delayed in (False, True):
            for instance in self._newest_first(instances):
                if has_delayed or not any(self._is_in(fact, State.DELAYED) for fact in instance.body):
                    yield self._support(instance)

    def _support(self, instance: Instance) -> Work:
        """Bring the new facts of one instance under check, in the order of the body."""
        undecided = (State.WAITING, State.CHECKED, State.DELETED)
        is_blocked = any(self._is_in(fact, *undecided) for fact in instance.body)  # line 20, departure 2
        new = self._new(instance)
        if is_blocked or not new or not self._is_in(instance.head, State.CHECKED):
            return
        self.count["backward"] += 1
        delayed = {fact for fact in new if self._is_in(fact, State.DELAYED)}
        for fact in new:
            self.state[fact] = State.WAITING  # line 21
        for fact in new:
            yield self._prove(fact) if fact in delayed else self._b(fact)  # line 18

    def _prove(self, F: GroundFact) -> Work:
        """Lines 14, 15 and 19, and what the proved fact opens: first for line 20, then for line 11 (departure 5)."""
        self._set(F, State.PROVED)
        self._under_check.pop(F, None)
        self.V.add(F)
        yield self._open(F)
        instances = list(self.step.derived(self.V, FactSet([F]), self.V))
        for state in (State.CHECKED, State.UNTOUCHED):
            for instance in self._newest_first(instances):
                if self._is_in(instance.head, state):
                    yield self._a(instance)

    def _open(self, F: GroundFact) -> Work:
        """Line 20 for the facts under check that a proved or delayed fact may support."""
        if self._under_check:
            instances = self.step.derived(self.I, FactSet([F]), self.I)
            yield self._follow([each for each in instances if self._is_in(each.head, State.CHECKED)])

    def _a(self, instance: Instance) -> Work:
        """Forward chaining: the head of an instance over V is proved or delayed."""
        H = instance.head
        is_checked = self._is_in(H, State.CHECKED)
        if is_checked or (self._is_delaying and self._is_in(H, State.UNTOUCHED)):  # line 11
            self.algorithm.mark(instance)  # line 12
            self.count["forward"] += 1
            if is_checked:
                yield self._prove(H)
            else:
                self._set(H, State.DELAYED)  # line 16
                yield self._open(H)

    def _e(self) -> None:
        """Finish deletions and prepare insertions; proved facts become new, the latest proved first."""
        self.I.difference_update(fact for fact, state in self.state.items() if state is State.DELETED)  # line 26
        kept = [fact for fact, state in self.state.items() if state is not State.DELETED]
        for fact in sorted(kept, key=self.algorithm.age):
            self.algorithm.touch(fact)
        for fact in reversed([fact for fact in self.step.insert if self.I.add(fact)]):
            self.algorithm.touch(fact)

    def _f(self) -> None:
        """Add new derivable facts, depth first: the consequences of a new fact come before its siblings."""
        inserted = FactSet(fact for fact in self.step.insert if fact in self.I)
        first = [*self.step.gained(self.I), *self.step.derived(self.I, inserted, self.I)]
        stack = [iter(self._newest_first(first)[::-1])]
        while stack:
            instance = next(stack[-1], None)
            if instance is None:
                stack.pop()
            elif instance.head not in self.I:  # line 28
                self.algorithm.look()
                self.algorithm.mark(instance)  # line 29
                self.I.add(instance.head)  # line 30
                self.algorithm.touch(instance.head)
                self.count["insertions"] += 1
                stack.append(iter(self._newest_first(self.step.derived(self.I, FactSet([instance.head]), self.I))))

    def _newest_first(self, instances: Iterable[Instance]) -> list[Instance]:
        """By rule; then the newest of the facts that the instance changes; then the newest of the others."""

        def key(instance: Instance) -> tuple[Any, ...]:
            changed = self._new(instance) or [instance.head]
            others = [fact for fact in (instance.head, *instance.body) if fact not in changed]
            age = self.algorithm.age
            return self._rank[id(instance.rule)], [age(fact) for fact in changed], [age(fact) for fact in others]

        return sorted(instances, key=key)

    def _new(self, instance: Instance) -> list[GroundFact]:
        """The facts of a body that line 20 has not taken up yet."""
        return [fact for fact in dict.fromkeys(instance.body) if self._is_in(fact, State.UNTOUCHED, State.DELAYED)]

    def _is_in(self, fact: GroundFact, *states: State) -> bool:
        return self.state.get(fact, State.UNTOUCHED) in states

    def _set(self, fact: GroundFact, state: State) -> None:
        self.state[fact] = state
        self.algorithm.touch(fact)

    def _delete(self, fact: GroundFact) -> None:
        self._set(fact, State.DELETED)
        self._deleted.append(fact)

    @staticmethod
    def _finish(work: Work) -> None:
        stack: list[Iterator[Work]] = [work]
        while stack:
            more = next(stack[-1], None)
            if more is None:
                stack.pop()
            else:
                stack.append(more)

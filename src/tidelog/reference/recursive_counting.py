"""Recursive counting: one count per fact and round.

Idea       : a rule instance belongs to the round after the one in which its last body fact first appears. Derivations
             are counted per round, so that a fact which supports itself does so only in a later round than its first.
Source     : Motik et al. 2019 as described by Illich, Glimm 2023, section 2.1.2 (the trace of multisets).
Invariant  : trace[n][F] is the number of rule instances with head F whose body is first complete after round n - 1; F
             is present if it is given (round 0) or some count is positive; it first appears in the least such round.
Cost       : grows with the instances whose round changes: a fact that merely appears earlier is work too.
Departures : rounds start anew in every stratum; if other relations join or leave a stratum, its trace is built again.
"""

from __future__ import annotations

from collections import Counter

from tidelog.language.terms import Program
from tidelog.reference.algorithm import Algorithm
from tidelog.reference.evaluation import Instance
from tidelog.reference.facts import FactSet, GroundFact, Without
from tidelog.reference.stratified import Step

Trace = dict[int, Counter[GroundFact]]
"""Per round from 1, how often each fact is derived in it."""

Rounds = dict[GroundFact, int]
"""The round in which a fact first appears; explicit facts and those from below are there in round 0."""


class RecursiveCounting(Algorithm):
    """One count per fact and round, for all programs."""

    def __init__(self, program: Program) -> None:
        self.traces: dict[frozenset[str], Trace] = {}
        super().__init__(program)

    def maintain(self, step: Step) -> None:
        """Bring the stratum's trace up to date; a fact is present if it is in round 0 or in the trace."""
        trace = self.traces.get(step.own)
        known = [fact for fact in step.present if fact[0] in step.below]
        given = FactSet(fact for fact in known if fact not in step.deleted_below)
        given.update(step.inserted_below)
        given.update(fact for fact in [*step.explicit, *step.insert] if fact[0] in step.own)
        if trace is None:
            after, trace = self._build(step, given)
        else:
            before = [*known, *(fact for fact in [*step.explicit, *step.delete] if fact[0] in step.own)]
            after, trace = _Rounds(self, step, trace, FactSet(before), given).run()
        self.traces = {own: kept for own, kept in self.traces.items() if not own & step.own} | {step.own: trace}
        step.present.difference_update([fact for fact in step.present if fact[0] in step.own and fact not in after])
        step.present.update(after)

    def _build(self, step: Step, given: FactSet) -> tuple[FactSet, Trace]:
        """The trace from nothing: semi-naive evaluation that counts."""
        known, new, trace, found = given, given.copy(), Trace(), step.unconditional()
        while len(new) or found:
            found += step.derived(Without(known, new), new, known)
            for instance in found:
                self.consider("insertion", instance)
            trace[len(trace) + 1] = Counter(instance.head for instance in found)
            new = FactSet(instance.head for instance in found if instance.head not in known)
            known.update(new)
            found = []
        return known, {number: counts for number, counts in trace.items() if counts}

    def finish(self) -> None:
        """Forget the traces of relations that no rule derives any more."""
        derived = {rule.head.relation for rule in self.rules}
        self.traces = {own: trace for own, trace in self.traces.items() if own <= derived}

    def remember(self) -> object:
        """The traces; they are replaced, never changed."""
        return self.traces

    def restore(self, bookkeeping: object) -> None:
        """The traces as they were."""
        assert isinstance(bookkeeping, dict)
        self.traces = bookkeeping


class _Rounds:
    """The old and the new trace side by side, one round at a time."""

    def __init__(self, algorithm: Algorithm, step: Step, trace: Trace, before: FactSet, after: FactSet) -> None:
        self.consider, self.step = algorithm.consider, step
        self.trace: Trace = {number: counts.copy() for number, counts in trace.items()}
        self.last = max(trace, default=0)
        self.old_first: Rounds = dict.fromkeys(before, 0)
        for number in sorted(trace):
            for fact in trace[number]:
                self.old_first.setdefault(fact, number)
        self.new_first: Rounds = dict.fromkeys(after, 0)
        self.old, self.new = before, after
        self.moved = FactSet(fact for fact in before if fact not in after)
        self.moved.update(fact for fact in after if fact not in before)
        self.lost = step.lost()

    def run(self) -> tuple[FactSet, Trace]:
        """All rounds; stops when the old trace is at its end and the new one adds nothing."""
        number, has_new = 1, True
        while has_new or number <= self.last:
            counts = self.trace.setdefault(number, Counter())
            self._count(number, counts)
            self.trace[number] = +counts
            has_new = self._advance(number)
            number += 1
        return self.new, {number: counts for number, counts in self.trace.items() if counts}

    def _count(self, number: int, counts: Counter[GroundFact]) -> None:
        """Correct the counts of a round by the instances that leave it and those that enter it."""
        step, old, new = self.step, self.old, self.new
        leaving = FactSet(fact for fact in self.moved if fact in old)
        entering = FactSet(fact for fact in self.moved if fact in new)
        for instance in [*self.lost, *step.affected(Without(old, leaving), leaving, old)]:
            if _round(instance, self.old_first) == number:
                self.consider("deletion", instance)
                counts[instance.head] -= 1
        for instance in [*step.gained(new), *step.affected(Without(new, entering), entering, new)]:
            if _round(instance, self.new_first) == number:
                self.consider("insertion", instance)
                counts[instance.head] += 1

    def _advance(self, number: int) -> bool:
        """Let the facts of a round appear, before and now; remember those that appear in another round than before."""
        before = [fact for fact, first in self.old_first.items() if first == number]
        now = [fact for fact in self.trace[number] if fact not in self.new_first]
        self.new_first.update(dict.fromkeys(now, number))
        self.old.update(before)
        self.new.update(now)
        self.moved.update(fact for fact in before if self.new_first.get(fact) != number)
        self.moved.update(fact for fact in now if self.old_first.get(fact) != number)
        return bool(now)


def _round(instance: Instance, first: Rounds) -> int:
    return 1 + max((first[fact] for fact in instance.body), default=0)

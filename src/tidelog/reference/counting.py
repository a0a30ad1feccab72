"""Counting.

Idea       : every fact carries the number of its derivations; it goes when that is 0 and it is not explicit either.
Source     : Gupta, Katiyar, Mumick 1992, as described by Illich, Glimm 2023, section 2.1.2.
Invariant  : the count of a fact is the number of rule instances over the present facts with that head.
Cost       : grows with the rule instances that come and go; nothing is derived twice.
Departures : being explicit is not counted as a derivation but looked up, so that a relation may gain its first rule;
             recursive rules are refused, because a fact could keep itself alive (see recursive_counting.py).
"""

# ruff: noqa: N806, E741 (the papers' letters)

from __future__ import annotations

from collections import Counter

from tidelog.analysis.components import components
from tidelog.errors import ProgramError
from tidelog.language.terms import Program, Rule
from tidelog.reference.algorithm import Algorithm
from tidelog.reference.facts import FactSet, GroundFact, Without
from tidelog.reference.stratified import Step


class Counting(Algorithm):
    """One count per fact, for programs without recursion."""

    handles_recursion = False

    def __init__(self, program: Program) -> None:
        self.counts: Counter[GroundFact] = Counter()
        super().__init__(program)

    def refuse(self, rules: tuple[Rule, ...]) -> None:
        """Refuse recursion, naming the relations."""
        super().refuse(rules)
        for component in components(rules):
            if component.is_recursive:
                names = ", ".join(sorted(component.relations))
                raise ProgramError.of(
                    "E209",
                    f"counting cannot maintain the recursive relations {names}",
                    place=component.rules[0].place,
                    remedy="use recursive counting, which keeps one count per round",
                )

    def maintain(self, step: Step) -> None:
        """Take counts away until no fact falls to 0, then add counts until no fact is new."""
        before = self.counts
        counts = Counter({fact: count for fact, count in before.items() if fact[0] in step.own})
        self._delete(step, counts)
        self._insert(step, counts)
        self.counts = Counter({fact: count for fact, count in counts.items() if fact[0] in step.own and count})
        self.counts.update({fact: count for fact, count in before.items() if fact[0] not in step.own})

    def finish(self) -> None:
        """Forget the counts of relations that no rule derives any more."""
        derived = {rule.head.relation for rule in self.rules}
        self.counts = Counter({fact: count for fact, count in self.counts.items() if fact[0] in derived})

    def remember(self) -> object:
        """The counts."""
        return self.counts

    def restore(self, bookkeeping: object) -> None:
        """The counts as they were."""
        assert isinstance(bookkeeping, Counter)
        self.counts = bookkeeping

    def _delete(self, step: Step, counts: Counter[GroundFact]) -> None:
        I, O = step.present, FactSet()
        A = list(step.delete)
        for instance in step.lost():
            self.consider("lost", instance, "deletion")
            counts[instance.head] -= 1
            A.append(instance.head)
        while True:
            N = FactSet(fact for fact in A if counts[fact] == 0 and not step.is_given(fact))
            if not len(N):
                break
            A = []
            for instance in step.affected(Without(I, O, N), N, Without(I, O)):
                self.consider("deletion", instance)
                counts[instance.head] -= 1
                A.append(instance.head)
            O.update(N)
        I.difference_update(O)

    def _insert(self, step: Step, counts: Counter[GroundFact]) -> None:
        I = step.present
        A = list(step.insert)
        for instance in step.gained(I):
            self.consider("gained", instance, "insertion")
            counts[instance.head] += 1
            A.append(instance.head)
        while A:
            N = FactSet(fact for fact in A if fact not in I)
            I.update(N)
            A = []
            for instance in step.derived(Without(I, N), N, I):
                self.consider("insertion", instance)
                counts[instance.head] += 1
                A.append(instance.head)

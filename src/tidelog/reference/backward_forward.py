"""The Backward/Forward algorithm.

Idea       : before a consequence of a deleted fact is followed, look backward for its supports and forward from what is
             proved; delete exactly the facts that have no other proof.
Source     : Motik et al. 2015, Algorithms 1-3; comments carry their line numbers.
Invariant  : Theorem 1: every (rule, substitution) is considered at most once in lines 9 and 27 together, so
             `counters["repeated"]` stays 0.
Cost       : grows with the checked facts C and their supports; good where proofs are short or many.
Departures : recursion in line 18 is an explicit stack of generators, so that depth is no limit; insertion is DR5
             (dred.py); heads of lost instances join D in line 2 (stratified.py); what rules without a positive atom
             derive is delayed from the start, since no proved fact would bring it up.

Counters, as in the paper's Table 2: `checked` |C|, derivations `backward` (line 16), `forward` (line 27), `deletion`
(line 9), and `insertion` (DR5).
"""

# ruff: noqa: N802, N803, N806, E741 (the paper's letters)

from __future__ import annotations

from collections.abc import Iterator

from tidelog.reference.algorithm import Algorithm
from tidelog.reference.facts import FactSet, GroundFact, Without
from tidelog.reference.stratified import Step


class BackwardForward(Algorithm):
    """B/F. After `apply`, `checked` holds the facts that the update checked, in order."""

    checked: tuple[GroundFact, ...] = ()

    def maintain(self, step: Step) -> None:
        """B/F-delete for one stratum, then DR5."""
        deletion = _Deletion(self, step)
        deletion.run()
        self.checked = tuple(deletion.C)
        self.counters["checked"] += len(deletion.C)
        self._insert(step)

    def _insert(self, step: Step) -> None:
        """DR5 with E+ and the heads of gained instances."""
        I = step.present
        A = step.insert + [instance.head for instance in step.gained(I)]
        while True:
            N = FactSet(fact for fact in A if fact not in I)
            if not len(N):
                return
            I.update(N)
            A = []
            for instance in step.derived(Without(I, N), N, I):
                self.consider("insertion", instance)
                A.append(instance.head)


class _Deletion:
    """The global variables of Algorithm 1, and Algorithms 1-3 as methods."""

    def __init__(self, algorithm: BackwardForward, step: Step) -> None:
        self.consider, self.step, self.I = algorithm.consider, step, step.present
        # line 1
        self.C, self.D, self.P = FactSet(), FactSet(), FactSet()
        self.Y, self.O, self.S, self.V = FactSet(), FactSet(), FactSet(), FactSet()
        self.Y.update(instance.head for instance in step.unconditional())
        self.queue_D: list[GroundFact] = []
        self.queue_C: list[GroundFact] = []
        self.queue_P: list[GroundFact] = []
        self.unsettled: list[GroundFact] = []

    def run(self) -> None:
        """Algorithm 1."""
        for F in [*self.step.delete, *self._lost()]:  # line 2 (E is already without E-)
            self._add_D(F)
        for F in self.queue_D:  # line 3: the queue grows while it is read
            self.check_provability(F)  # line 4
            self.S.update(G for G in _drain(self.unsettled) if G not in self.P)  # line 5: earlier ones are settled
            if F not in self.P:  # line 6
                at = FactSet([F])
                rest = Without(self.I, self.O)
                for instance in self.step.affected(Without(rest, at), at, rest):  # lines 7, 8
                    self.consider("deletion", instance, "lines 9 and 27")
                    self._add_D(instance.head)  # line 9
                self.O.add(F)  # line 10
        self.I.difference_update([F for F in self.D if F not in self.P])  # line 11

    def _lost(self) -> Iterator[GroundFact]:
        for instance in self.step.lost():
            self.consider("lost", instance, "lines 9 and 27")
            yield instance.head

    def check_provability(self, F: GroundFact) -> None:
        """Algorithm 2, depth first."""
        stack = [self._check(F)]
        while stack:
            G = next(stack[-1], None)
            if G is None:
                stack.pop()
            else:
                stack.append(self._check(G))

    def _check(self, F: GroundFact) -> Iterator[GroundFact]:
        """One call of Algorithm 2; yields the facts of its recursive calls."""
        if not self._add_C(F):  # line 12
            return
        self.saturate()  # line 13
        if F in self.P:  # line 14
            return
        for instance in self.step.supports(F, Without(self.I, self.S)):  # lines 15, 16
            self.consider("backward", instance)
            yield from instance.body  # lines 17, 18
            if F in self.P:  # line 19
                return

    def saturate(self) -> None:
        """Algorithm 3."""
        for F in _drain(self.queue_C):  # line 20
            if self.step.is_given(F) or F in self.Y:  # line 21
                self._add_P(F)  # line 22
        for F in _drain(self.queue_P):  # line 23
            if self.V.add(F):  # line 24
                at = FactSet([F])
                for instance in self.step.derived(Without(self.V, at), at, self.V):  # lines 25, 26
                    self.consider("forward", instance, "lines 9 and 27")
                    H = instance.head  # line 27
                    if H in self.C:
                        self._add_P(H)  # line 28
                    else:
                        self.Y.add(H)  # line 29

    def _add_D(self, F: GroundFact) -> None:
        if self.D.add(F):
            self.queue_D.append(F)

    def _add_C(self, F: GroundFact) -> bool:
        is_new = self.C.add(F)
        if is_new:
            self.queue_C.append(F)
            self.unsettled.append(F)
        return is_new

    def _add_P(self, F: GroundFact) -> None:
        if self.P.add(F):
            self.queue_P.append(F)


def _drain(queue: list[GroundFact]) -> Iterator[GroundFact]:
    """X.next until every fact has been returned; facts added meanwhile are returned too."""
    while queue:
        yield queue.pop(0)

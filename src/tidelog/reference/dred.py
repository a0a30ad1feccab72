"""Delete and rederive.

Idea       : take away everything that might depend on a deleted fact, then give back what has another proof.
Source     : Motik et al. 2015, section 3, DR1-DR5 and "Repeating Derivations"; comments below carry the paper's labels.
Invariant  : with the fix no rule instance is considered twice in DR2, nor twice in DR5; `counters["repeated"]` stays 0.
Cost       : grows with the overdeleted set, not with the result; bad on dense cycles.
Departures : instances lost and gained through negation, aggregates and rule changes join A in DR1 and DR4
             (stratified.py).

Counters: `overdeleted` |D|, `rederived` facts of D that come back, `inserted` implicit facts that DR5 adds beyond that,
and the derivations of `DR2`, `DR4` and `DR5`.
"""

# ruff: noqa: N803, N806, E741 (the paper's letters)

from __future__ import annotations

from tidelog.reference.algorithm import Algorithm
from tidelog.reference.facts import FactSet, GroundFact, Without
from tidelog.reference.stratified import Step


class DRed(Algorithm):
    """Delete/Rederive with the paper's fix against repeated derivations."""

    avoids_repetition = True

    def maintain(self, step: Step) -> None:
        """DR1 to DR5 for one stratum."""
        I = step.present
        D = self._overdelete(step)  # DR1, DR2
        self.counters["overdeleted"] += sum(1 for fact in D if step.is_derivable(fact))
        # DR3
        I.difference_update(D)
        A = [fact for fact in D if step.is_given(fact)] + step.insert
        # DR4: H^A <- H^D, B1^I, ..., Bn^I
        for fact in D:
            for instance in step.supports(fact, I):
                self.consider("DR4", instance, "rederivation")
                A.append(fact)
                break
        for instance in step.gained(I):
            self.consider("gained", instance)
            A.append(instance.head)
        self._insert(step, A, D)

    def _overdelete(self, step: Step) -> FactSet:
        """DR1 and DR2: all facts that might need to be deleted."""
        I, D, O = step.present, FactSet(), FactSet()
        A: list[GroundFact] = list(step.delete)
        for instance in step.lost():
            self.consider("lost", instance, "DR2")
            A.append(instance.head)
        while True:
            N = FactSet(fact for fact in A if fact not in D)
            if not len(N):
                return D
            D.update(N)
            A = []
            before, after = (Without(I, O, N), Without(I, O)) if self.avoids_repetition else (I, I)
            for instance in step.affected(before, N, after):
                self.consider("DR2", instance)
                A.append(instance.head)
            O.update(N)

    def _insert(self, step: Step, A: list[GroundFact], D: FactSet) -> None:
        """DR5: (re)insertion."""
        I = step.present
        while True:
            N = FactSet(fact for fact in A if fact not in I)
            if not len(N):
                return
            I.update(N)
            A = []
            for fact in N:
                if step.is_derivable(fact):
                    self.counters["rederived" if fact in D else "inserted"] += 1
            for instance in step.derived(Without(I, N) if self.avoids_repetition else I, N, I):
                self.consider("DR5", instance)
                A.append(instance.head)


class DRedRepeating(DRed):
    """Delete/Rederive as first published: every atom but the driving one is matched in I."""

    avoids_repetition = False

"""Backward/Forward with marking, over a stream of updates.

Idea       : while U1 is processed, mark the explicit facts that U2 deletes and the heads derived from them; those heads
             are under check from the start when U2 is processed, without a rule application to find them.
Source     : Illich, Glimm 2025, Algorithm 1; comments carry its line numbers, `trace` its blocks a) to g).
Invariant  : a mark only brings a check forward (appendix A, lemma 3): the result does not depend on marks.
Cost       : as B/F; saves applications of line 23, may change the order and so the number of those of lines 11 and 20.
Departures : the existential quantifiers are generators that go on where they stopped, since what they have passed never
             becomes applicable again; an explicit fact of a derived relation is checked (W) rather than deleted (D);
             heads of lost instances wait from the start, gained ones join block f), what rules without a positive atom
             derive comes first in block a).

Counters, as in the paper's tables: `deletions` (line 23), `backward` (line 20), `forward` (line 11), `insertions`
(line 28), `marks explicit` and `marks implicit` when an update ends. The published values come from a program
that works in another order than the one printed: backward_forward_depth_first.py.
"""

# ruff: noqa: N803, N806 (the paper's letters)

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tidelog.language.terms import Program
from tidelog.reference.evaluation import Instance
from tidelog.reference.facts import FactSet, GroundFact, Without
from tidelog.reference.look_ahead import LookAheadAlgorithm
from tidelog.reference.stratified import Step


class BackwardForwardMarking(LookAheadAlgorithm):
    """B/F with marking. `trace` lists the blocks of the last update with the facts they acted on."""

    def __init__(self, program: Program) -> None:
        self.marked = FactSet()  # explicit facts that U2 deletes
        self.marked_heads = FactSet()  # implicit facts with a mark
        self.waiting = FactSet()  # the W that the last update left for this one
        self.trace: list[tuple[str, GroundFact | None]] = []
        super().__init__(program)

    def maintain(self, step: Step) -> None:
        """The big loop for one stratum."""
        _Loop(self, step).run()

    def look(self) -> None:
        """Lines 7-9: ask for U2 and mark what it deletes."""
        update = self.get_next()
        if update is not None:
            self.marked = self.deleted_next(update)

    def mark(self, instance: Instance) -> None:
        """Lines 12 and 29: the head of an instance with a marked explicit fact is marked."""
        if any(fact in self.marked for fact in instance.body):
            self.marked_heads.add(instance.head)

    def get_marked(self) -> FactSet:
        """GETMARKED(I) without E2-: the implicit facts that carry a mark."""
        return FactSet(fact for fact in self.marked_heads if fact in self._facts and fact not in self.marked)

    def finish(self) -> None:
        """Lines 32 and 33: marked implicit facts wait for the next update; all marks go."""
        self.waiting = self.get_marked()
        self.count_marks()
        self.marked, self.marked_heads = FactSet(), FactSet()

    def count_marks(self) -> None:
        """The facts that carry a mark when an update ends."""
        self.counters["marks explicit"] += len(self.marked)
        self.counters["marks implicit"] += len(self.waiting)

    def remember(self) -> object:
        """The waiting facts; a new update starts a new trace."""
        self.trace = []
        return self.waiting

    def restore(self, bookkeeping: object) -> None:
        """The waiting facts as they were."""
        assert isinstance(bookkeeping, FactSet)
        self.waiting = bookkeeping
        self.marked, self.marked_heads = FactSet(), FactSet()


class BackwardForwardSharedMarks(BackwardForwardMarking):
    """The authors' variant for P_trans and P_seq: a derived fact shares the mark of the facts it was last derived from.

    An explicit fact that is marked later then marks at once every fact whose last recorded derivation used it.
    """

    def __init__(self, program: Program) -> None:
        self.last_derived_from: dict[GroundFact, tuple[GroundFact, ...]] = {}
        super().__init__(program)

    def mark(self, instance: Instance) -> None:
        """Record the derivation; the mark is looked up when it is needed."""
        self.last_derived_from[instance.head] = instance.body

    def get_marked(self) -> FactSet:
        """The facts whose last recorded derivation used a marked explicit fact."""
        self.last_derived_from = {head: body for head, body in self.last_derived_from.items() if head in self._facts}
        return FactSet(
            head
            for head, body in self.last_derived_from.items()
            if head not in self.marked and any(fact in self.marked for fact in body)
        )


class _Loop:
    """The sets of Algorithm 1 for one stratum, and its blocks as methods; each says whether it could act."""

    def __init__(self, algorithm: BackwardForwardMarking, step: Step) -> None:
        self.algorithm, self.step, self.I, self.count = algorithm, step, step.present, algorithm.counters
        # lines 1, 2, 6 and 32
        self.C, self.V, self.Y = FactSet(), FactSet(), FactSet()
        self.D = FactSet(fact for fact in step.delete if fact[0] in step.below)
        self.W: dict[GroundFact, None] = {}  # in order, for GETLAST
        self._wait(fact for fact in algorithm.waiting if fact[0] in step.own and fact in self.I)
        self._wait(fact for fact in step.delete if fact[0] in step.own)
        self._wait(instance.head for instance in step.lost())
        self._proved: list[GroundFact] = []  # facts of V whose rule instances are still to come
        self._deleted = list(self.D)  # facts of D whose rule instances are still to come
        self._inserted: list[GroundFact] = []
        self._undecided: list[GroundFact] = []  # facts of C that block d) has not seen
        self._supports: dict[GroundFact, Iterator[Instance]] = {}

    def run(self) -> None:
        """The repeat loop: the first block that can act does, once per iteration."""
        forward, affected = self._forward_instances(), self._affected_instances()
        while True:
            self.algorithm.look()  # lines 7-9
            if not (self._a(forward) or self._b() or self._c(affected) or self._d()):
                break
        self._e()
        insertions = self._inserting_instances()
        while self._f(insertions):
            self.algorithm.look()
        self._note("g")

    def _a(self, instances: Iterator[Instance | None]) -> bool:
        """Forward chaining with proven facts."""
        for instance in instances:
            if instance is None:
                return False
            H = instance.head
            if H not in self.V and H not in self.Y:  # line 11
                self.algorithm.mark(instance)  # line 12
                if H in self.W or H in self.C:  # lines 13, 15
                    self._prove(H)  # lines 14, 15
                else:
                    self.Y.add(H)  # line 16
                self.count["forward"] += 1
                return self._note("a", H)
        return False

    def _b(self) -> bool:
        """Backward chaining with waiting facts."""
        if not self.W:
            return False
        F = next(reversed(self.W))  # line 17
        if self.step.is_given(F) or F in self.Y:  # line 18
            self._prove(F)  # line 19
            return self._note("b", F)
        for instance in self._supports.setdefault(F, self.step.supports(F, self.I)):  # line 20
            new = [fact for fact in instance.body if fact not in self.W and fact not in self.C]
            if new and not any(fact in self.D for fact in instance.body):
                self._wait(new)  # line 21
                self.count["backward"] += 1
                return self._note("b", F)
        self._check(F)  # line 22
        return self._note("b", F)

    def _c(self, instances: Iterator[Instance | None]) -> bool:
        """Determine facts affected by deletion."""
        for instance in instances:
            if instance is None:
                return False
            if instance.head not in self.W and instance.head not in self.C:  # line 23
                self._wait([instance.head])  # line 24
                self.count["deletions"] += 1
                return self._note("c", instance.head)
        return False

    def _d(self) -> bool:
        """Delete facts that cannot be proven."""
        disproved = [F for F in self._undecided if F not in self.V and F not in self.D]
        self._undecided.clear()
        self.D.update(disproved)  # line 25
        self._deleted += disproved
        return self._note("d", disproved[0]) if disproved else False

    def _e(self) -> None:
        """Finish deletions and prepare insertions."""
        self.I.difference_update(self.D)  # line 26
        self._inserted = [fact for fact in self.step.insert if self.I.add(fact)]
        self._note("e")

    def _f(self, instances: Iterator[Instance | None]) -> bool:
        """Add new derivable facts."""
        for instance in instances:
            if instance is None:
                return False
            if instance.head not in self.I:  # line 28
                self.algorithm.mark(instance)  # line 29
                self.I.add(instance.head)  # line 30
                self._inserted.append(instance.head)
                self.count["insertions"] += 1
                return self._note("f", instance.head)
        return False

    def _forward_instances(self) -> Iterator[Instance | None]:
        """The rule instances over V, each once, as V grows; None while there is nothing to do."""
        processed = FactSet()
        yield from self.step.unconditional()
        while True:
            while self._proved:
                at = FactSet([self._proved.pop(0)])
                processed.update(at)
                yield from self.step.derived(Without(processed, at), at, processed)
            yield None

    def _affected_instances(self) -> Iterator[Instance | None]:
        """The rule instances over I with a fact of D, as D grows; None while there is nothing to do."""
        while True:
            while self._deleted:
                at = FactSet([self._deleted.pop(0)])
                yield from self.step.affected(self.I, at, self.I)
            yield None

    def _inserting_instances(self) -> Iterator[Instance | None]:
        """The rule instances over I that the deletion phase leaves underived: gained ones and those with a new fact."""
        yield from self.step.gained(self.I)
        while self._inserted:
            at = FactSet([self._inserted.pop(0)])
            yield from self.step.derived(self.I, at, self.I)

    def _wait(self, facts: Iterable[GroundFact]) -> None:
        for fact in facts:
            self.W.setdefault(fact)

    def _prove(self, F: GroundFact) -> None:
        if self.V.add(F):
            self._proved.append(F)
        self._check(F)

    def _check(self, F: GroundFact) -> None:
        if self.C.add(F):
            self._undecided.append(F)
        self.W.pop(F, None)
        self._supports.pop(F, None)

    def _note(self, block: str, fact: GroundFact | None = None) -> bool:
        self.algorithm.trace.append((block, fact))
        return True

"""Delete and rederive with marking, over a stream of updates.

Idea       : a negative mark says that the next update will (over)delete a present fact, a positive one that it will
             bring back a fact deleted now. Rule applications of this update pass marks on, and the next starts from
             them without applying rules.
Source     : Illich, Glimm 2025 (ESWC) as described in DL 2025, section 3.1; the three phases are overdeletion,
             rederivation (to its end) and insertion.
Invariant  : D stays closed under the rule instances that use it, so superfluous negative marks cost work only; a
             positive mark is passed on only by what is certain to hold after the next update.
Cost       : as DRed; each marked implicit fact saves the rule application that would find it.
Departures : only rules without negation and aggregates pass positive marks on, and none does if the next update changes
             rules; marks of an update that does not come as announced are dropped if positive.

Counters: `overdeleted`, `rederived` and `inserted` implicit facts (by rules, not by marks), and the marks of each kind
when an update ends.
"""

# ruff: noqa: N803, N806, E741 (the paper's letters)

from __future__ import annotations

from collections.abc import Iterable

from tidelog.language.terms import Program, Rule, atoms
from tidelog.reference.algorithm import Change, Update
from tidelog.reference.evaluation import Instance
from tidelog.reference.facts import FactSet, GroundFact, Without
from tidelog.reference.look_ahead import GetNext, LookAheadAlgorithm
from tidelog.reference.stratified import Step


class DRedMarking(LookAheadAlgorithm):
    """DRed with negative and positive marks."""

    def __init__(self, program: Program) -> None:
        self.negative, self.positive = FactSet(), FactSet()
        self.to_delete, self.to_insert = FactSet(), FactSet()  # what the last update's marks leave for this one
        self._announced: Update | None = None
        self._deleting = FactSet()
        super().__init__(program)

    def apply(
        self,
        insert: Iterable[GroundFact] = (),
        delete: Iterable[GroundFact] = (),
        add_rules: Iterable[Rule] = (),
        remove_rules: Iterable[Rule | str] = (),
        look_ahead: Update | GetNext | None = None,
    ) -> Change:
        """Process one update; positive marks count only if it is the one that was announced."""
        update = Update(tuple(insert), tuple(delete), tuple(add_rules), tuple(remove_rules))
        if self._announced is None or not _same(update, self._announced):
            self.to_insert = FactSet()
        again = set(update.insert)
        self._deleting = FactSet(fact for fact in update.delete if fact in self._explicit and fact not in again)
        return super().apply(update.insert, update.delete, update.add_rules, update.remove_rules, look_ahead)

    def maintain(self, step: Step) -> None:
        """Overdeletion, rederivation and insertion for one stratum."""
        D = self._overdelete(step)
        step.present.difference_update(D)
        self._rederive(step, D)
        self._insert(step)

    def _overdelete(self, step: Step) -> FactSet:
        I, D, O = step.present, FactSet(), FactSet()
        A = [*step.delete, *(fact for fact in self.to_delete if fact[0] in step.own and fact in I)]
        A += [instance.head for instance in step.lost()]
        N = FactSet(A)
        while len(N):
            D.update(N)
            new = FactSet()
            for instance in step.affected(Without(I, O, N), N, Without(I, O)):
                self._look()
                if instance.head not in D and new.add(instance.head):
                    self.counters["overdeleted"] += 1
                    self._mark_positively(instance, D)
            O.update(N)
            N = new
        return D

    def _rederive(self, step: Step, D: FactSet) -> None:
        """The facts of D that are explicit or have a derivation from what is left, to the end."""
        I, N = step.present, FactSet(fact for fact in D if step.is_given(fact))
        for fact in D:
            self._look()
            instance = next(step.supports(fact, I), None)
            if fact not in N and instance is not None:
                self._rederived(instance, N)
        while len(N):
            I.update(N)
            new = FactSet()
            for instance in step.derived(Without(I, N), N, I):
                self._look()
                if instance.head in D and instance.head not in I and instance.head not in new:
                    self._rederived(instance, new)
            N = new

    def _rederived(self, instance: Instance, new: FactSet) -> None:
        new.add(instance.head)
        self.counters["rederived"] += 1
        self._mark_negatively(instance)

    def _insert(self, step: Step) -> None:
        """The insertions of the update, of positive marks and of gained instances, and what follows from them."""
        I = step.present
        N = FactSet(fact for fact in step.insert if fact not in I)
        N.update(fact for fact in self.to_insert if fact[0] in step.own and fact not in I)
        self._inserted(step.gained(I), I, N)
        while len(N):
            I.update(N)
            new = FactSet()
            self._inserted(step.derived(Without(I, N), N, I), I, new)
            N = new

    def _inserted(self, found: Iterable[Instance], present: FactSet, new: FactSet) -> None:
        for instance in found:
            self._look()
            if instance.head not in present and new.add(instance.head):
                self.counters["inserted"] += 1
                self._mark_negatively(instance)

    def _look(self) -> None:
        """Ask for the next update; its deletions of present facts and insertions of deleted ones are marked."""
        update = self.get_next()
        if update is not None:
            self.negative.update(self.deleted_next(update))
            if not update.add_rules and not update.remove_rules:
                self.positive.update(fact for fact in update.insert if fact in self._deleting)

    def _mark_negatively(self, instance: Instance) -> None:
        """A head is marked iff a body fact is; implicit facts pass marks on too."""
        if any(fact in self.negative for fact in instance.body):
            self.negative.add(instance.head)

    def _mark_positively(self, instance: Instance, D: FactSet) -> None:
        """A deleted head is marked iff every body fact stays explicit, or is deleted with a positive mark."""
        if any(not is_monotone for literal in instance.rule.body for _, is_monotone in atoms(literal)):
            return
        if all(
            fact in self.positive if fact in D else fact in self._explicit and fact not in self.negative
            for fact in instance.body
        ) and self._may_mark_positively():  # fmt: skip
            self.positive.add(instance.head)

    def _may_mark_positively(self) -> bool:
        """Whether the next update is known and leaves the rules alone."""
        update = self.next_update
        return update is not None and not update.add_rules and not update.remove_rules

    def finish(self) -> None:
        """After the answer: marks become the first deletions and insertions of the next update."""
        self._look()
        update = self.next_update
        explicit = FactSet(() if update is None else self.deleted_next(update))
        self.to_delete = FactSet(fact for fact in self.negative if fact in self._facts and fact not in explicit)
        again = FactSet(fact for fact in self.positive if fact in self._deleting)
        self.to_insert = FactSet(fact for fact in self.positive if fact not in again)
        self.counters["marks explicit"] += len(explicit)
        self.counters["marks implicit"] += len(self.to_delete)
        self.counters["marks positive explicit"] += len(again)
        self.counters["marks positive implicit"] += len(self.to_insert)
        self._announced = update
        self.negative, self.positive = FactSet(), FactSet()

    def remember(self) -> object:
        """What the last update's marks leave."""
        return self.to_delete, self.to_insert, self._announced

    def restore(self, bookkeeping: object) -> None:
        """What the last update's marks left; the marks of this one go."""
        assert isinstance(bookkeeping, tuple)
        self.to_delete, self.to_insert, self._announced = bookkeeping
        self.negative, self.positive = FactSet(), FactSet()


def _same(left: Update, right: Update) -> bool:
    """Whether two updates delete and insert the same facts and change no rules."""
    return (set(left.insert), set(left.delete)) == (set(right.insert), set(right.delete)) and not (
        left.add_rules or left.remove_rules or right.add_rules or right.remove_rules
    )

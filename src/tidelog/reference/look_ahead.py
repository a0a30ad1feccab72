"""Algorithms that see the next update while they process the present one.

What      : `apply` takes a `look_ahead`: the next update, or a function that is asked before every step of the
            computation and gives the next update once it has arrived (the paper's GETNEXT).
Idea      : only what the next update really deletes (an explicit fact that it does not insert again) can carry a mark.
Invariant : what is announced changes the work, never the result: if the next update comes as announced or not at all,
            the facts after every update are the same.
Never     : no marks here; what to do with the next update is the algorithm's business.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tidelog.language.terms import Program, Rule
from tidelog.reference.algorithm import Algorithm, Change, Update
from tidelog.reference.facts import FactSet, GroundFact

GetNext = Callable[[], Update | None]


class LookAheadAlgorithm(Algorithm):
    """An algorithm with one update of look-ahead."""

    looks_ahead = True

    def __init__(self, program: Program) -> None:
        self._get_next: GetNext = lambda: None
        self.next_update: Update | None = None
        super().__init__(program)

    def apply(
        self,
        insert: Iterable[GroundFact] = (),
        delete: Iterable[GroundFact] = (),
        add_rules: Iterable[Rule] = (),
        remove_rules: Iterable[Rule | str] = (),
        look_ahead: Update | GetNext | None = None,
    ) -> Change:
        """Process one update, U1; `look_ahead` gives the next one, U2, at once or later."""
        self._get_next = look_ahead if callable(look_ahead) else lambda: look_ahead
        self.next_update = None
        return super().apply(insert, delete, add_rules, remove_rules)

    def get_next(self) -> Update | None:
        """U2 if it arrives just now; asks until there is one."""
        if self.next_update is not None:
            return None
        self.next_update = self._get_next()
        return self.next_update

    def deleted_next(self, update: Update) -> FactSet:
        """(I u E1+) n E2-: the explicit facts after U1 that U2 deletes."""
        again = set(update.insert)
        return FactSet(
            fact
            for fact in update.delete
            if (fact in self._explicit or fact in self._inserting) and fact not in again
        )  # fmt: skip

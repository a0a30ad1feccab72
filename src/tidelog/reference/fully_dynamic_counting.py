"""Counting with fully dynamic updates, recursion included.

Idea       : a fact stays while derivations that were really applied support it; its count is their number. It goes when
             none of those that are left is sound, and comes back if one of them turns out sound later.
Source     : Illich, Glimm 2023, sections 2.1.2 and 3.1 ("remember which rule instances were really applied").
Invariant  : as fully_dynamic.py. When O is empty, the derivations applied to a fact are exactly the rule instances over
             the present facts with that head, and one more if it is explicit.
Departures : a count that includes recursive derivations proves nothing, so a fact that loses what founded it must be
             founded anew on a sound derivation among those counted, or go.
"""

from __future__ import annotations

from dataclasses import replace

from tidelog.reference.fully_dynamic import (
    EXPLICIT,
    Derivation,
    FullyDynamic,
    Operation,
    Present,
    State,
    with_operations,
    without,
)


class DynamicCounting(FullyDynamic):
    """Counting as a transition system."""

    def age(self, state: State) -> int:  # noqa: ARG002 (counts do not depend on time)
        """Nothing: deletions aim at derivations, not at older facts."""
        return 0

    def count(self, state: State, fact: object) -> int:
        """The number of derivations of a fact."""
        return len(state.present[fact].applied) if fact in state.present else 0

    def is_void(self, state: State, operation: Operation) -> bool:
        """An addition that is counted already or without its reason; a deletion of what is not counted."""
        present, derivation = state.present.get(operation.fact), operation.derivation
        is_wanted = operation.fact in state.explicit
        is_counted = present is not None and derivation in present.applied
        if operation.kind == "add":
            return is_counted or not (is_wanted if derivation == EXPLICIT else state.is_alive(derivation))
        if present is None or present.birth != operation.birth or not is_counted:
            return True
        return derivation == EXPLICIT and is_wanted

    def is_ready(self, state: State, operation: Operation) -> bool:
        """Always if the fact is present; a new fact needs a sound derivation."""
        return operation.kind == "del" or operation.fact in state.present or state.is_sound(operation.derivation)

    def execute(self, state: State, operation: Operation) -> State:
        """Rule 3: one derivation more or one less; the fact comes with the first and goes with the last sound one."""
        fact, derivation = operation.fact, operation.derivation
        present = state.present.get(fact)
        if operation.kind == "add":
            if present is None:
                return self.introduce(state, fact, derivation)
            return _with_present(state, present._replace(applied=present.applied | {derivation}))
        assert present is not None
        left = present._replace(applied=present.applied - {derivation})
        if derivation != present.founding:
            return _with_present(state, left)
        founding = self._sound(without(state, fact), left)
        if founding is not None:
            return _with_present(state, left._replace(founding=founding))
        return self._remove(state, left)

    def _sound(self, state: State, present: Present) -> Derivation | None:
        """A derivation to found the fact anew; the fact itself is absent from the state, so none that is recursive."""
        return next((one for one in sorted(present.applied, key=repr) if state.is_sound(one)), None)

    def _remove(self, state: State, gone: Present) -> State:
        """I minus {F}: derivations that use this birth are lost, those that are left may still turn out sound."""
        state = without(state, gone.fact)
        lost = [
            Operation("del", head.fact, derivation, head.birth, 0, "implied")
            for head in state.present.values()
            for derivation in sorted(head.applied, key=repr)
            if (gone.fact, gone.birth) in derivation.body
        ]
        left = [
            Operation("add", gone.fact, derivation, 0, 0, "implied") for derivation in sorted(gone.applied, key=repr)
        ]
        return with_operations(state, [*lost, *left])


def _with_present(state: State, present: Present) -> State:
    return replace(state, present={**state.present, present.fact: present})

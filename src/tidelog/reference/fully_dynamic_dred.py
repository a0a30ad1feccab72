"""Delete and rederive with fully dynamic updates.

Idea       : a deletion overdeletes along the rules, a deleted fact is re-added where a sound derivation is left; the
             two phases overlap freely.
Source     : Illich, Glimm 2023, sections 2.1.1 and 3.1; Examples 1-4.
Invariant  : as fully_dynamic.py. A deletion acts only on facts that are older than its update, or that were derived
             through the very birth that is deleted.
Departures : see fully_dynamic.py.
"""

from __future__ import annotations

from tidelog.reference.fully_dynamic import (
    EXPLICIT,
    FullyDynamic,
    Operation,
    State,
    with_operations,
    without,
)


class DynamicDRed(FullyDynamic):
    """DRed as a transition system."""

    def is_void(self, state: State, operation: Operation) -> bool:
        """An addition of a present fact or without its reason; a deletion of an absent birth or of an explicit fact."""
        present = state.present.get(operation.fact)
        if operation.kind == "add":
            if operation.derivation == EXPLICIT:
                return present is not None or operation.fact not in state.explicit
            return present is not None or not state.is_alive(operation.derivation)
        if present is None or present.birth != operation.birth:
            return True
        return present.founding == EXPLICIT and operation.fact in state.explicit

    def is_ready(self, state: State, operation: Operation) -> bool:
        """A deletion always, an addition if its derivation is sound."""
        return operation.kind == "del" or state.is_sound(operation.derivation)

    def execute(self, state: State, operation: Operation) -> State:
        """Rule 3: I u {F}, or I minus {F} with overdeletion and rederivation as what follows."""
        if operation.kind == "add":
            return self.introduce(state, operation.fact, operation.derivation)
        deletions = self._overdeletions(state, operation)
        state = without(state, operation.fact)
        rederivations = self.additions(state, self.deriving(state, operation.fact))
        if operation.fact in state.explicit:
            rederivations.append(Operation("add", operation.fact, EXPLICIT, 0, 0, "implied"))
        return with_operations(state, [*deletions, *rederivations])

    def _overdeletions(self, state: State, operation: Operation) -> list[Operation]:
        """Rule 1 (ii) b: deletions of heads that are older than the update or founded on the deleted birth."""
        deleting = {other.fact for other in state.operations if other.kind == "del"}
        older = {
            rule.head
            for rule in self.affected(state, operation.fact)
            if rule.head in state.present
            and state.present[rule.head].since < operation.update
            and all(fact in state.present or fact in deleting for fact in rule.body)
        }
        return [
            Operation("del", head.fact, EXPLICIT, head.birth, operation.update, "implied")
            for head in state.present.values()
            if head.fact != operation.fact
            and (head.fact in older or (operation.fact, operation.birth) in head.founding.body)
        ]

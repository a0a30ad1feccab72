"""A guest in the local store: derives relations of its own from committed facts, and leaves nothing behind.

What      : a `Guest` is a backend that shares the relations and constants of another one and adds relations of its own.
Idea      : outside a transaction the marks NOW and OLD agree, so rules can be evaluated over the shared relations
            without marking a fact in them; only what is derived is stored, in relations that the host never sees.
Invariant : the host's facts, marks and prepared plans are untouched: relations without facts are not shared, because a
            question may derive one of the same name, such as the members of an aggregate that the rules no longer have.
            Constants that a guest added are forgotten when it
            leaves; what it hands out before that is decoded.
Never     : no commit and no rollback: a guest has no versions.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tidelog.backends.local.backend import LocalBackend
from tidelog.backends.local.relations.facts import LocalFacts
from tidelog.backends.local.store import LocalStore
from tidelog.changes.change import FactTable
from tidelog.changes.kept_facts import KeptFacts
from tidelog.limits import Budget


class Guest(LocalBackend):
    """A visitor of one backend, for one question."""

    def __init__(self, host: LocalBackend) -> None:
        super().__init__(LocalStore(host.store.dictionary, workers=host.store.workers))
        self.store.relations.update((name, one) for name, one in host.store.relations.items() if one.alive)
        self._before = self.store.dictionary.counters.copy()

    @property
    def has_added_constants(self) -> bool:
        """Whether there are constants that the host does not know."""
        return bool((self.store.dictionary.counters != self._before).any())

    def freeze(self, relation: str, facts: LocalFacts) -> FactTable:
        """Facts as a table that stays as it is; decoded now if their constants will not stay."""
        table = super().freeze(relation, facts)
        return KeptFacts(table.to_arrow(), len(table)) if self.has_added_constants else table

    def leave(self) -> None:
        """Forget the constants that were added."""
        if self.has_added_constants:
            self.store.dictionary.rewind(self._before)


@contextmanager
def visit(host: LocalBackend, budget: Budget) -> Iterator[Guest]:
    """A guest for the time of the block, charged to a budget."""
    guest = Guest(host)
    guest.begin(budget)
    try:
        yield guest
    finally:
        guest.leave()

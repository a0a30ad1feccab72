"""The facts of a backend, as the search for proofs asks about them.

What      : `StoredFacts` answers patterns and whether a fact is explicit.
Invariant : it sees the last commit, whatever happens meanwhile.
Never     : no backend is imported; anything that can be asked will do.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from tidelog.changes.change import FactTable
from tidelog.language.terms import Atom, Value


class Asked(Protocol):
    """What is needed of a backend."""

    def arity(self, relation: str) -> int | None:
        """The number of columns of a stored relation, None if it is not stored."""

    def query(self, pattern: Atom) -> FactTable:
        """The facts that match a pattern."""

    def is_explicit(self, relation: str, values: tuple[Value, ...]) -> bool:
        """Whether a fact of a stored relation is explicit."""


class StoredFacts:
    """Facts that a backend holds."""

    def __init__(self, backend: Asked) -> None:
        self._backend = backend

    def matching(self, pattern: Atom) -> Iterable[tuple[Value, ...]]:
        """The facts that match an atom of constants and variables."""
        return self._backend.query(pattern) if self._backend.arity(pattern.relation) is not None else ()

    def is_explicit(self, relation: str, values: tuple[Value, ...]) -> bool:
        """Whether a fact was given and not taken back."""
        return self._backend.arity(relation) is not None and self._backend.is_explicit(relation, values)

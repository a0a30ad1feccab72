"""The two versions around an update, as the search for proofs asks about them.

What      : `Present` is the version after the update, `Past` the one before; `Index` finds the facts of a change.
Idea      : the version before is the present one without the inserted and with the deleted facts. Facts that are in
            both versions need no reason here, because only the difference is to be explained.
Invariant : `Past.matching` gives exactly the facts of the version before.
Never     : no backend is imported; a change and something that answers patterns will do.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping

from tidelog.changes.change import Change, FactTable, FactTables
from tidelog.language.terms import Atom, Constant, Value, Variable
from tidelog.language.values import fact_identity, identity
from tidelog.provenance.instances import Facts


class Present:
    """The version after the update, in which facts that were there before need no reason."""

    def __init__(self, held: Facts, change: Change) -> None:
        self._held, self._new = held, Index(change.inserted)

    def matching(self, pattern: Atom) -> Iterable[tuple[Value, ...]]:
        """The facts of this version that match a pattern."""
        return self._held.matching(pattern)

    def is_explicit(self, relation: str, values: tuple[Value, ...]) -> bool:
        """Whether a fact is where the search can stop."""
        return not self._new.has(relation, values) or self._held.is_explicit(relation, values)

    def is_own(self, relation: str, values: tuple[Value, ...]) -> bool:
        """Whether a leaf is something that the update inserted."""
        return self._new.has(relation, values)


class Past:
    """The version before the update, in which facts that are still there need no reason."""

    def __init__(self, held: Facts, change: Change, withdrawn: Mapping[str, FactTable]) -> None:
        self._held, self._new, self._gone = held, Index(change.inserted), Index(change.deleted)
        self._withdrawn = withdrawn

    def matching(self, pattern: Atom) -> Iterable[tuple[Value, ...]]:
        """The facts of this version that match a pattern."""
        for values in self._held.matching(pattern):
            if not self._new.has(pattern.relation, values):
                yield values
        yield from self._gone.matching(pattern)

    def is_explicit(self, relation: str, values: tuple[Value, ...]) -> bool:
        """Whether a fact is where the search can stop."""
        return not self._gone.has(relation, values) or self.is_own(relation, values)

    def is_own(self, relation: str, values: tuple[Value, ...]) -> bool:
        """Whether a leaf is something that the update deleted."""
        return relation in self._withdrawn and values in self._withdrawn[relation]


class Index:
    """The facts of one side of a change, by relation and by the columns that are asked for."""

    def __init__(self, tables: FactTables) -> None:
        self._tables = tables
        self._known: dict[tuple[str, tuple[int, ...]], dict[tuple[Hashable, ...], list[tuple[Value, ...]]]] = {}

    def has(self, relation: str, values: tuple[Value, ...]) -> bool:
        """Whether a fact is one of them."""
        return relation in self._tables and bool(self._found(relation, tuple(range(len(values))), values))

    def matching(self, pattern: Atom) -> Iterator[tuple[Value, ...]]:
        """The facts that match constants and repeated variables."""
        if pattern.relation not in self._tables:
            return
        bound = [(at, term.value) for at, term in enumerate(pattern.terms) if isinstance(term, Constant)]
        columns, wanted = tuple(at for at, _ in bound), tuple(value for _, value in bound)
        for values in self._found(pattern.relation, columns, wanted):
            if len(values) == len(pattern.terms) and _agrees(pattern, values):
                yield values

    def _found(self, relation: str, columns: tuple[int, ...], wanted: tuple[Value, ...]) -> list[tuple[Value, ...]]:
        if (relation, columns) not in self._known:
            groups: dict[tuple[Hashable, ...], list[tuple[Value, ...]]] = {}
            for values in self._tables[relation]:
                groups.setdefault(fact_identity([values[at] for at in columns if at < len(values)]), []).append(values)
            self._known[relation, columns] = groups
        return self._known[relation, columns].get(fact_identity(wanted), [])


def _agrees(pattern: Atom, values: tuple[Value, ...]) -> bool:
    """Whether equal variables have equal values."""
    seen: dict[str, object] = {}
    return all(
        seen.setdefault(term.name, identity(value)) == identity(value)
        for term, value in zip(pattern.terms, values)
        if isinstance(term, Variable) and not term.is_anonymous
    )

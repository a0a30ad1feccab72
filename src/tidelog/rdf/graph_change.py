"""What an update did to a graph.

What      : `GraphChange`: the triples that came and went, derived ones included.
Idea      : the engine's change is kept as it is; triples become Python values when somebody looks.
Invariant : `inserted` and `deleted` are disjoint, and exactly the difference between two versions of the graph.
Never     : nothing is computed here but the difference of two sets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from tidelog.changes.change import Change, FactTables, ListedFacts, Stats
from tidelog.rdf.layouts import is_shown, is_statement, triples_of
from tidelog.rdf.quads import Triple
from tidelog.rdf.rule_table import TRIPLE
from tidelog.rdf.triple_tables import change_of_triples
from tidelog.rdf.write import lines


class Triples:
    """Triples that came or went; they are made when they are looked at."""

    def __init__(self, make: Callable[[], Iterator[Triple]]) -> None:
        self._make = make
        self._count: int | None = None

    def __iter__(self) -> Iterator[Triple]:
        return self._make()

    def __len__(self) -> int:
        if self._count is None:
            self._count = sum(1 for _ in self)
        return self._count

    def __contains__(self, triple: object) -> bool:
        return any(triple == one for one in self)

    def __repr__(self) -> str:
        return f"<{len(self):,} triples>"


class GraphChange:
    """The difference between two versions of a graph."""

    def __init__(self, change: Change) -> None:
        self.facts = change
        self.version = change.version
        self.inserted = Triples(lambda: _triples(self.facts.inserted))
        self.deleted = Triples(lambda: _triples(self.facts.deleted))

    @property
    def stats(self) -> Stats:
        """How the change was found."""
        return self.facts.stats

    @property
    def is_empty(self) -> bool:
        """Whether nothing changed."""
        return not len(self.inserted) and not len(self.deleted)

    def as_triples(self) -> Change:
        """The engine's change with what happened to classes and properties as one change of `triple`."""
        return change_of_triples(self.facts)

    def lines(self) -> tuple[bytes, bytes]:
        """What came and what went, as N-Triples."""
        come, gone = (
            b"".join(lines(name, table.to_arrow()) for name, table in tables.items() if is_statement(name))
            for tables in (self.facts.inserted, self.facts.deleted)
        )
        return come, gone

    def __repr__(self) -> str:
        return f"GraphChange(version {self.version}: {len(self.inserted)} inserted, {len(self.deleted)} deleted)"


class ListedChange(GraphChange):
    """A change that is known triple by triple: that of a graph that went over to another layout."""

    def __init__(self, inserted: Iterable[Triple], deleted: Iterable[Triple], change: Change) -> None:
        super().__init__(change)
        come, gone = list(inserted), list(deleted)
        self.inserted, self.deleted = Triples(lambda: iter(come)), Triples(lambda: iter(gone))

    def as_triples(self) -> Change:
        """The engine's change, with these triples as the change of `triple`."""
        come, gone = (
            FactTables({**{name: table for name, table in tables.items() if not is_statement(name)}, TRIPLE: listed})
            for tables, listed in (
                (self.facts.inserted, ListedFacts(self.inserted)),
                (self.facts.deleted, ListedFacts(self.deleted)),
            )
        )
        return Change(come, gone, self.stats, self.facts.version)

    def lines(self) -> tuple[bytes, bytes]:
        """What came and what went, as N-Triples."""
        from tidelog.rdf.literals import spelled

        def text(triples: Triples) -> bytes:
            return b"".join(f"{' '.join(map(spelled, one))} .\n".encode() for one in triples)

        return text(self.inserted), text(self.deleted)


def _triples(tables: FactTables) -> Iterator[Triple]:
    for name, table in tables.items():
        if is_statement(name):
            yield from filter(is_shown, triples_of(name, table))

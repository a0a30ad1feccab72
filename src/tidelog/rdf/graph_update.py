"""What comes to a graph: triples and rules.

What      : `GraphUpdate`: triples to insert and delete, rules to add and remove, and facts of relations that are no
            triples.
Invariant : its triples have been read and are right; they are in no layout yet.
Never     : nothing is applied here (see graph.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tidelog.language.terms import Program
from tidelog.rdf.far_triples import FarTriples
from tidelog.rdf.quads import Quads, merged, of_triples
from tidelog.rdf.user_rules import no_triples, triples_among


@dataclass(frozen=True, eq=False)
class GraphUpdate:
    """One transaction of a graph."""

    come: Quads | FarTriples = field(default_factory=lambda: of_triples([]))
    gone: Quads = field(default_factory=lambda: of_triples([]))
    added: Program = field(default_factory=Program)
    removed: tuple[str, ...] = ()
    insert: Mapping[str, object] = field(default_factory=dict)
    """Facts of relations whose names have no colon: they are the user's own."""
    delete: Mapping[str, object] = field(default_factory=dict)

    def with_written_triples(self) -> GraphUpdate:
        """The update with triples that are written among its rules as triples that come: they may be axioms."""
        written = triples_among(self.added.facts)
        if not written or isinstance(self.come, FarTriples):
            return self
        come = merged([self.come, of_triples(written)])
        return replace(self, come=come, added=replace(self.added, facts=no_triples(self.added.facts)))

"""Triples that stay where they are: too many for this process.

What      : `FarTriples`: what a graph has to know of triples that only its engine will read.
Idea      : a graph looks at axioms and at literals, and at nothing else. Tasks that read the triples have found both
            (pipeline/sources/packed_triples.py); everything else goes to the engine by relation, as it is.
Invariant : `axioms` are all axioms among the triples, `about_literals` the facts about them that rules need.
Never     : no Spark here: `facts` gives whatever the engine's backend takes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tidelog.rdf.layouts import Layout
from tidelog.rdf.quads import Triple


@dataclass(frozen=True, eq=False)
class FarTriples:
    """Triples elsewhere. What `facts` gives for a relation has a number of columns, `arity`."""

    count: int
    axioms: list[Triple]
    about_literals: Mapping[str, object]
    facts: Callable[[Layout], Mapping[str, object]]

    def __len__(self) -> int:
        return self.count

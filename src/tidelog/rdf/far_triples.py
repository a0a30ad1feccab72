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
from typing import Protocol, TypeAlias

from tidelog.changes.shared import SharedFacts
from tidelog.language.terms import Value
from tidelog.rdf.layouts import Layout
from tidelog.rdf.quads import Triple

ListedTuples: TypeAlias = list[tuple[Value, ...]]
"""Some facts of one relation as Python tuples."""


class FarColumns(Protocol):
    """Facts of one relation that an engine's backend reads, and of which a graph knows the number of columns."""

    @property
    def arity(self) -> int:
        """The number of columns."""


Statements: TypeAlias = Mapping[str, SharedFacts | FarColumns | ListedTuples]
"""Triples, and what rules have to know of their literals, as facts by relation; none of them is empty."""


@dataclass(frozen=True, eq=False)
class FarTriples:
    """Triples elsewhere."""

    count: int
    axioms: list[Triple]
    about_literals: Mapping[str, ListedTuples]
    facts: Callable[[Layout], Mapping[str, FarColumns]]

    def __len__(self) -> int:
        return self.count

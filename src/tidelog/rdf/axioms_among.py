"""The axioms among triples.

What      : `axioms_among` gives the statements of a source that are axioms or parts of them.
Idea      : among many statements they are found by their predicates and classes, so that only they become Python
            values.
Invariant : the same triples as `is_axiom` accepts one by one.
Never     : no rule is made of them (see axioms.py).
"""

from __future__ import annotations

from tidelog.rdf.axioms import KINDS, PREDICATES, is_axiom
from tidelog.rdf.layouts import Layout, facts_of, triple_of
from tidelog.rdf.quads import FEW, Quads, Triple


def axioms_among(quads: Quads) -> list[Triple]:
    """The triples that are axioms or parts of them."""
    if len(quads) <= FEW:
        return [triple for triple in quads.triples() if is_axiom(triple)]
    wanted = {
        name: facts for name, facts in facts_of(quads, Layout.RULES).items() if name in KINDS or name in PREDICATES
    }
    values = quads.values() if wanted else []
    return [
        triple_of(name, [values[number] for number in row])
        for name, facts in wanted.items()
        for row in facts.rows.tolist()
    ]

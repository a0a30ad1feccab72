"""The axioms among triples.

What      : `axioms_among` gives the statements of a source that are axioms or parts of them.
Idea      : among many statements they are found by their predicates and classes, so that only they become Python
            values: an ontology has hundreds of them, its data millions.
Invariant : the same triples as `is_axiom` accepts one by one.
Never     : no rule is made of them (see axioms.py).
"""

from __future__ import annotations

import numpy as np

from tidelog.changes.shared import SharedFacts
from tidelog.rdf.axioms import KINDS, PREDICATES, is_axiom
from tidelog.rdf.far_triples import Statements
from tidelog.rdf.layouts import triple_of
from tidelog.rdf.quads import FEW, Quads, Triple


def axioms_among(quads: Quads, facts: Statements) -> list[Triple]:
    """The triples that are axioms or parts of them; `facts` are the same statements by class and property."""
    if len(quads) <= FEW:
        return [triple for triple in quads.triples() if is_axiom(triple)]
    wanted = {
        name: part.rows
        for name, part in facts.items()
        if (name in KINDS or name in PREDICATES) and isinstance(part, SharedFacts)
    }
    used = np.unique(np.concatenate([rows.ravel() for rows in wanted.values()])) if wanted else ()
    values = {number: quads.constants.values[number].as_py() for number in map(int, used)}
    return [
        triple_of(name, [values[number] for number in row]) for name, rows in wanted.items() for row in rows.tolist()
    ]

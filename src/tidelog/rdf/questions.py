"""Questions about triples, where triples are kept by class and property.

What      : `in_words_of` gives a question, a rule body about `triple`, in the words of a graph's layout.
Idea      : `triple(x, rdf:type, ub:Chair)` is `ub:Chair(x)` there, `triple(x, ub:advisor, y)` is `ub:advisor(x, y)`.
Invariant : the answer has the same columns: variables keep their order.
Never     : nothing is asked here.

Code: E838 a question whose class or property is a variable.
"""

from __future__ import annotations

from tidelog.errors import ProgramError, UsageError
from tidelog.language.parser import parse
from tidelog.language.printer import print_literal
from tidelog.language.renaming import with_atoms
from tidelog.language.terms import Atom
from tidelog.rdf.layouts import Layout, atom_of
from tidelog.rdf.rule_table import TRIPLE


def in_words_of(layout: Layout, question: str) -> str:
    """The question in the relations of a layout: atoms of `triple` are replaced, other atoms are not."""
    if layout is Layout.TRIPLES or TRIPLE not in question or "$" in question:
        return question
    try:
        rules = parse(f"asked() :- {question.rstrip().rstrip('.')}.").rules
    except ProgramError:
        return question  # who answers says what is wrong with it
    return (
        ", ".join(print_literal(with_atoms(literal, _atom)) for literal in rules[0].body)
        if len(rules) == 1
        else question
    )


def _atom(atom: Atom) -> Atom:
    found = atom_of(atom) if len(atom.terms) == 3 else atom
    if found is None:
        sentence = "the question has a variable for a class or property, and triples are kept by class and property"
        raise UsageError.of("E838", sentence, remedy="name the class or property, or ask in SPARQL: --sparql")
    return found

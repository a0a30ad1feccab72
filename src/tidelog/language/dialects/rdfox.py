"""RDFox's Datalog, which speaks of triples.

What      : `read_rules`: `[?x, a, :Person] :- [?x, :worksFor, ?y] .`
Idea      : a triple with a class that is named is an atom of one column, one with a property that is named an atom of
            two, and one with a variable for its property an atom of `triple`; `:p[?x, ?y]` is the atom p(x, y).
Source    : the RDFox manual, chapter on reasoning (rules with NOT, NOT EXISTS, FILTER, BIND, AGGREGATE).
Invariant : the program means what RDFox says it means. AGGREGATE has a result for every group for which its body
            holds, as in zodiacedge.py.
Never     : no guess which dialect a text is in (see language/read.py).
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from tidelog.language.dialects.zodiacedge import ZodiacEdgeBuilder, inner_names
from tidelog.language.nodes import Applied, Formula, Name
from tidelog.language.rdf_terms import IRI
from tidelog.language.reader import Reader, raise_if_any
from tidelog.language.terms import Constant, Program

if TYPE_CHECKING:
    from lark import Token

_TYPE = IRI("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
TRIPLE = "triple"


def read_rules(text: str, source: str = "<rules>") -> Program:
    """The program that RDFox rules mean; raises ProgramError with every problem found."""
    _reader().read(text, source, "program")
    builder = _reader().builder
    program = builder.finished_program()
    raise_if_any(builder.problems)
    return program


class RdfoxBuilder(ZodiacEdgeBuilder):
    """The reductions that differ."""

    def type_term(self, children: list[Token]) -> Constant:
        """`a`, which is `rdf:type`."""
        return Constant(_TYPE, self.place(children[0]))

    def triple_atom(self, children: list[Any]) -> Applied:
        """`[subject, property, object]`."""
        subject, predicate, target = (self.as_term(child) for child in children)
        place = predicate.place or subject.place
        assert place is not None
        if not isinstance(predicate, Constant):
            return Applied(Name(TRIPLE, False, place), (subject, predicate, target))
        if predicate.value == _TYPE and isinstance(target, Constant) and isinstance(target.value, IRI):
            return Applied(Name(target.value.value, True, place), (subject,))
        if predicate.value == _TYPE:
            return Applied(Name(TRIPLE, False, place), (subject, predicate, target))
        if isinstance(predicate.value, IRI):
            return Applied(Name(predicate.value.value, True, place), (subject, target))
        self.refuse("E106", "a literal cannot be a property", place, "write an IRI or a variable")
        return Applied(Name(TRIPLE, False, place), (subject, predicate, target))

    def named_atom(self, children: list[Any]) -> Applied:
        """`:p[?x, ?y]`."""
        name, *terms = children
        assert isinstance(name.value, IRI)
        return Applied(Name(name.value.value, True, name.place), tuple(self.as_term(term) for term in terms))

    def not_exists(self, children: list[Any]) -> Formula:
        """`NOT EXISTS ?y IN [?x, :p, ?y]`: variables of a negated atom alone are existential anyway."""
        return self.negation([children[0], children[-1]])

    def filter(self, children: list[Any]) -> Formula:
        """`FILTER(left op right)`."""
        formula: Formula = children[1]
        return formula

    def aggregate_literal(self, children: list[Any]) -> Formula:
        """`AGGREGATE(body ON group BIND count(?x) AS ?n)`."""
        _, body, _, group, _, (word, value), _, result = children
        literals = self.as_alternatives(body)[0]
        names = inner_names(literals, group, [result])
        aggregate = self.compare([result, "=", self.aggregated_inside(word, value, literals, names)])
        return Formula(((*literals, *aggregate.alternatives[0]),), result.place)


@cache
def _reader() -> Reader[RdfoxBuilder]:
    return Reader(RdfoxBuilder, "tidelog.language.dialects", "rdfox.lark", ("program",))

"""ZodiacEdge `.rules` files and their facts.

What      : `read_rules` and `read_facts`.
Source    : Xu, Cure 2023 (ZodiacEdge), section 4.5 (BIND, COMP, AGGREGATE) and appendices A to C (RS1, RS2, RS3).
Idea      : `<p>` and `p` are the relation p and, among the terms, the symbol "p"; `?X` and `X` are the variable X.
            A fact `<a> <rdf:type> <C>` is the unary fact C("a"), as the paper's C(?s) says.
Invariant : the program means what the paper says. `AGGREGATE(B) ON x WITH f(t) AS z` has a result for every x for which
            B holds, so B stands in the rule once outside the aggregate, to bind x, and once inside with its other
            variables renamed.
Never     : no guess which dialect a text is in (see language/read.py).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

from tidelog.language.builder import Builder
from tidelog.language.dialects.triples import read_triples
from tidelog.language.nodes import Aggregated, Formula, Name
from tidelog.language.reader import Reader, raise_if_any
from tidelog.language.renaming import rename_literal, rename_term
from tidelog.language.terms import Constant, Fact, Literal, Program, Term, Variable, variables

if TYPE_CHECKING:
    from lark import Token

_OPERATIONS = {
    "count": "count",
    "sum": "sum",
    "min": "min",
    "max": "max",
    "avg": "mean",
    "mean": "mean",
    "med": "median",
    "median": "median",
}


def read_rules(text: str, source: str = "<rules>") -> Program:
    """The program that a `.rules` text means; raises ProgramError with every problem found."""
    _reader().read(text, source, "program")
    builder = _reader().builder
    program = builder.finished_program()
    raise_if_any(builder.problems)
    return program


def read_facts(text: str, source: str = "<facts>") -> tuple[Fact, ...]:
    """The facts of N-Triples-like lines such as `<a> <p> 25 .`; raises ProgramError with every problem found."""
    return read_triples(text, source)


class ZodiacEdgeBuilder(Builder):
    """The reductions that differ from Tidelog's own."""

    def variable(self, children: list[Token]) -> Variable:
        """`?X`, or a bare capitalised name."""
        return Variable(str(children[0]).lstrip("?"), self.place(children[0]))

    def iri(self, children: list[Token]) -> Constant:
        """`<a>` among terms: a symbol."""
        return Constant(str(children[0])[1:-1], self.place(children[0]))

    def word(self, children: list[Token]) -> Constant:
        """A bare name in lower case among terms: a symbol."""
        return Constant(str(children[0]), self.place(children[0]))

    def name(self, children: list[Token]) -> Name:
        """A relation, in angle brackets or not."""
        token = children[0]
        is_iri = token.type == "IRI"
        return Name(str(token)[1:-1] if is_iri else str(token), is_iri, self.place(token))

    def conjunction(self, children: list[Any]) -> Formula:
        """Literals between `and`s; the words themselves say nothing more."""
        return super().conjunction([child for child in children if not isinstance(child, str)])

    def comp(self, children: list[Any]) -> Formula:
        """`COMP(left, op, right)`."""
        return self.compare(children[1:])

    def bind(self, children: list[Any]) -> Formula:
        """`BIND(term AS variable)`."""
        _, term, _, variable = children
        return self.compare([variable, "=", term])

    def group_by(self, children: list[Variable]) -> list[Variable]:
        """The variables behind ON."""
        return children

    def operation(self, children: list[Any]) -> tuple[Token, Variable]:
        """`count(?T)`."""
        return children[0], children[1]

    def aggregate_rule(self, children: list[Any]) -> None:
        """`head :- AGGREGATE(body) ON group WITH operation(value) AS result.`"""
        *label, heads, _, body, _, group, _, (word, value), _, result = children
        literals = self.as_alternatives(body)[0]
        names = inner_names(literals, group, [result, *heads[0].terms])
        aggregated = self.aggregated_inside(word, value, literals, names)
        aggregate = self.compare([result, "=", aggregated])
        self._add_rules(label, heads, ((*literals, *aggregate.alternatives[0]),))
        self.end_statement()

    def aggregated_inside(
        self, word: Token, value: Variable, literals: tuple[Literal, ...], names: dict[str, str]
    ) -> Aggregated:
        """The aggregate over a copy of the body, whose own variables have other names."""
        function = _OPERATIONS.get(str(word).lower())
        if function is None:
            known = ", ".join(sorted(name.upper() for name in _OPERATIONS))
            self.refuse("E107", f"there is no aggregate {word}", self.place(word), f"aggregates are {known}")
        inner: Term | None = None if function == "count" else rename_term(value, names)
        body = tuple(rename_literal(literal, names) for literal in literals)
        return Aggregated(function or "count", inner, body, self.place(word))


def inner_names(literals: Iterable[Literal], kept: Iterable[Variable], others: Iterable[Term]) -> dict[str, str]:
    """New names for the variables that belong to the inside of an aggregate: X becomes X1, or X2 if X1 is taken, ..."""
    inside = {variable.name for literal in literals for variable in variables(literal)}
    used = inside | {variable.name for term in others for variable in variables(term)}
    names: dict[str, str] = {}
    for name in sorted(inside - {variable.name for variable in kept}):
        number = 1
        while f"{name}{number}" in used or f"{name}{number}" in names.values():
            number += 1
        names[name] = f"{name}{number}"
    return names


@cache
def _reader() -> Reader[ZodiacEdgeBuilder]:
    return Reader(ZodiacEdgeBuilder, "tidelog.language.dialects", "zodiacedge.lark", ("program",))

"""Reductions of the grammar that build literals and formulas.

What      : comparisons, negations, aggregates, conjunctions and alternatives.
Idea      : a body is kept as alternatives of conjunctions from the start, so `;` costs nothing where it is not used.
Invariant : an aggregate inside a larger expression has become a literal of its own, with a new variable, in the
            conjunction that holds the expression; alternatives never multiply to more than `MAX_ALTERNATIVES`.
Never     : no statements (see builder.py).
"""

from __future__ import annotations

from itertools import chain, product
from math import prod
from typing import Any

from tidelog.errors import Place
from tidelog.language.lexemes import CONSTRAINT_WORDS
from tidelog.language.nodes import Aggregated, Applied, Formula, Node
from tidelog.language.term_reductions import FUNCTIONS, TermReductions
from tidelog.language.terms import Aggregate, Atom, Comparison, Constant, Literal, Negation, Term

MAX_ALTERNATIVES = 1000

_OPPOSITES = {
    "=": "!=",
    "!=": "=",
    "<": ">=",
    ">=": "<",
    ">": "<=",
    "<=": ">",
    "match": "!match",
    "!match": "match",
    "contains": "!contains",
    "!contains": "contains",
}

Alternatives = tuple[tuple[Literal, ...], ...]


class LiteralReductions(TermReductions):
    """The reductions for literals and formulas."""

    def compare(self, children: list[Any]) -> Formula:
        """`left op right`; with an aggregate on one side of `=` that aggregate's literal."""
        left, operator, right = children
        op = str(operator)
        if op == "<=" and self._looks_like_atom(left) and self._looks_like_atom(right):
            self.refuse_feature("subsumption (a head with <=)", left.place, "keep the best fact with min or max")
            return Formula(((),), left.place, is_refused=True)
        if op == "=" and isinstance(left, Aggregated) != isinstance(right, Aggregated):
            aggregated, other = (left, right) if isinstance(left, Aggregated) else (right, left)
            result = self.as_term(other)
            made = self.made_for(result)
            literal: Literal = Aggregate(result, aggregated.function, aggregated.value, aggregated.body, result.place)
        else:
            first = self.as_term(left)
            literal = Comparison(op, first, self.as_term(right), first.place)
            made = self.made_for(literal.left, literal.right)
        return self._nested(Formula(((*made, literal),), literal.place), [left, right])

    def negation(self, children: list[Any]) -> Formula:
        """`!atom`, or the opposite of a comparison."""
        token, node = children
        place = self.place(token)
        alternatives = self.as_alternatives(node)
        if len(alternatives) == 1 and (isinstance(node, Applied) or len(alternatives[0]) == 1):
            *made, last = alternatives[0]
            if isinstance(last, Atom):
                return self._nested(Formula(((*made, Negation(last, place)),), place), [node])
            if isinstance(last, Comparison):
                opposite = Comparison(_OPPOSITES[last.op], last.left, last.right, place)
                return self._nested(Formula(((*made, opposite),), place), [node])
        remedy = "give what is negated a relation of its own"
        self.give_up("E112", "only an atom or a comparison can be negated", place, remedy)
        return Formula(((),), place)

    def aggregate(self, children: list[Any]) -> Aggregated:
        """`function value : { body }`, `function(value) : { body }`, or with a single atom for the body."""
        token, *value, body = children
        return self._aggregated(str(token), value, body, self.place(token))

    def _aggregated(self, function: str, values: list[Any], body: Node, place: Place) -> Aggregated:
        terms: list[Term] = [self.as_term(value) for value in values]
        if len(terms) != (0 if function == "count" else 1):
            remedy = "write count : { ... }" if function == "count" else f"write {function} x : {{ ... }}"
            wanted = "takes no value" if function == "count" else "takes one value"
            self.refuse("E107", f"{function} {wanted}, not {len(terms)}", place, remedy)
        alternatives = self.as_alternatives(body)
        if len(alternatives) != 1:
            self.refuse("E114", "an aggregate's body has alternatives", place, "give them a relation of their own")
        literals = (*alternatives[0], *self.made_for(*terms))
        node = Aggregated(function, terms[0] if terms else None, literals, place)
        deepened = self.deepen(node, 1 + self.depth_of((*terms, body)), place)
        return deepened if isinstance(deepened, Aggregated) else Aggregated(function, None, (), place)

    def conjunction(self, children: list[Node]) -> Formula:
        """`a, b, ...`"""
        parts = [self.as_alternatives(child) for child in children]
        place = children[0].place
        if prod(map(len, parts)) > MAX_ALTERNATIVES:
            remedy = "give some alternatives a relation of their own"
            self.refuse("E114", f"a body with more than {MAX_ALTERNATIVES} alternatives", place, remedy)
            return Formula(((),), place)
        formula = Formula(tuple(tuple(chain.from_iterable(choice)) for choice in product(*parts)), place)
        return self._nested(formula, children)

    def disjunction(self, children: list[Node]) -> Formula:
        """`a ; b ; ...`"""
        alternatives = tuple(chain.from_iterable(self.as_alternatives(child) for child in children))
        return self._nested(Formula(alternatives, children[0].place), children)

    def _nested(self, formula: Formula, children: list[Node]) -> Formula:
        self.note_depth(formula, self.depth_of(children))
        return formula

    def as_alternatives(self, node: Node) -> Alternatives:
        """The node where only a literal or formula may stand."""
        match node:
            case Formula(alternatives=alternatives):
                return alternatives
            case Applied():
                return ((*self.made_for(*node.terms), self._applied_literal(node)),)
            case Constant(value=True):
                return ((),)
            case Constant(value=False):
                self.refuse("E106", "false never holds", node.place, "leave the rule or the alternative out")
                return ((),)
        what = "a term stands where an atom or comparison is expected"
        self.refuse("E106", what, node.place, "write a relation without columns as p()")
        return ((),)

    def as_atom(self, node: Applied) -> Atom:
        """`p(x)` as an atom."""
        return Atom(node.name.text, node.terms, node.place)

    def refuse_feature(self, feature: str, place: Place | None, remedy: str) -> None:
        """Record that a feature of Souffle is not supported."""
        self.refuse("E110", f"not supported: {feature}", place, remedy)

    def _applied_literal(self, node: Applied) -> Literal:
        word = node.name.text
        if word not in CONSTRAINT_WORDS or node.name.is_quoted:
            return self.as_atom(node)
        if len(node.terms) != 2:
            self.refuse("E107", f"{word} has {len(node.terms)} arguments here", node.place, "give it 2")
            return self.as_atom(node)
        return Comparison(word, node.terms[0], node.terms[1], node.place)

    @staticmethod
    def _looks_like_atom(node: Node) -> bool:
        return isinstance(node, Applied) and (node.name.is_quoted or node.name.text not in FUNCTIONS)

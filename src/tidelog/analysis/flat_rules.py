"""What is a rule without functions inside its atoms?

What      : `flattened` takes calls out of body atoms, negated atoms and results of aggregates: each becomes a variable
            and an equation.
Invariant : the rule means the same; only comparisons and the head hold calls. Bodies of aggregates stay as they are.
Never     : no order of evaluation.

    p(x) :- q(x), !r(x + 1).        becomes        p(x) :- q(x), v = x + 1, !r(v).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count

from tidelog.language.terms import Aggregate, Atom, Call, Comparison, Literal, Negation, Rule, Term, Variable


def flattened(rule: Rule) -> Rule:
    """The rule with calls in comparisons and in its head only."""
    fresh = (Variable(f"_:flat{number}") for number in count())
    return replace(rule, body=tuple(part for literal in rule.body for part in _flat(literal, fresh)))


def _flat(literal: Literal, fresh: Iterator[Variable]) -> Iterator[Literal]:
    match literal:
        case Comparison():
            yield literal
        case Atom(relation, terms, place):
            flat, equations = _without_calls(terms, fresh)
            yield Atom(relation, flat, place)
            yield from equations
        case Negation(Atom(relation, terms, inner), place):
            flat, equations = _without_calls(terms, fresh)
            yield from equations
            yield Negation(Atom(relation, flat, inner), place)
        case Aggregate(result=result):
            (flat_result,), equations = _without_calls((result,), fresh)
            yield replace(literal, result=flat_result)
            yield from equations


def _without_calls(terms: Sequence[Term], fresh: Iterator[Variable]) -> tuple[tuple[Term, ...], list[Comparison]]:
    flat: list[Term] = []
    equations: list[Comparison] = []
    for term in terms:
        if isinstance(term, Call):
            variable = next(fresh)
            equations.append(Comparison("=", variable, term, term.place))
            flat.append(variable)
        else:
            flat.append(term)
    return tuple(flat), equations

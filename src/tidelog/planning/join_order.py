"""The order in which the atoms of a rule are joined.

Idea       : greedily the atom that is expected to give the fewest facts per row found so far: its size divided by the
             number of distinct values of its known columns. Without data this is the ZodiacEdge heuristic (section
             4.6): most known columns first, then fewest new variables.
Invariant  : negated atoms, comparisons and arithmetic run as soon as their variables are known, comparisons of known
             values before arithmetic, so that a guard such as `y != 0` protects a division.
Never      : no data beyond the estimates it is given.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Protocol

from tidelog.language.terms import Atom, Comparison, Constant, Negation, Term, Variable, variables
from tidelog.planning.lowered import BodyLiteral, LoweredRule


class Estimates(Protocol):
    """What is known about the data."""

    def size(self, relation: str) -> int:
        """About how many facts a relation has."""

    def distinct(self, relation: str, column: int) -> int:
        """About how many distinct values a column has; 0 when unknown."""


class NoEstimates:
    """Nothing is known: relations count as equally large."""

    def size(self, relation: str) -> int:
        """The same for every relation."""
        del relation
        return 1000

    def distinct(self, relation: str, column: int) -> int:
        """Unknown."""
        del relation, column
        return 0


def order(rule: LoweredRule, first: int | None, bound: Iterable[Variable], estimates: Estimates) -> tuple[int, ...]:
    """The positions of the body's literals in the order of evaluation, without the driving one `first`.

    A driving negated atom stays in the order: its own absence is tested too.
    """
    known = set(bound)
    waiting = [position for position in range(len(rule.body)) if position != first or _is_negated(rule.body[position])]
    placed: list[int] = []
    while waiting:
        ready = [position for position in waiting if _is_ready(rule, rule.body[position], known)]
        position = min(ready, key=lambda p: _eagerness(rule.body[p], known)) if ready else None
        if position is None:
            atoms = [p for p in waiting if isinstance(rule.body[p], Atom)]
            position = min(atoms, key=lambda p: _fan_out(rule.body[p], known, estimates))
        waiting.remove(position)
        placed.append(position)
        known.update(_binds(rule.body[position]))
    return tuple(placed)


def shared_variables(rule: LoweredRule, negated: Negation) -> set[Variable]:
    """The variables of a negated atom that occur elsewhere in the rule; the others are existential inside it."""
    elsewhere = set(variables(rule.head))
    for literal in rule.body:
        if literal is not negated:
            elsewhere.update(variables(literal))
    return elsewhere.intersection(variables(negated))


def _is_negated(literal: BodyLiteral) -> bool:
    return isinstance(literal, Negation)


def _is_ready(rule: LoweredRule, literal: BodyLiteral, known: Collection[Variable]) -> bool:
    """Whether a literal other than an atom can be evaluated now."""
    match literal:
        case Negation():
            return all(variable in known for variable in shared_variables(rule, literal))
        case Comparison("=", left, right):
            return (_is_known(left, known) and (_is_known(right, known) or isinstance(right, Variable))) or (
                _is_known(right, known) and isinstance(left, Variable)
            )
        case Comparison(_, left, right):
            return _is_known(left, known) and _is_known(right, known)
        case Atom():
            return False


def _eagerness(literal: BodyLiteral, known: Collection[Variable]) -> int:
    """Cheap tests first, arithmetic last."""
    match literal:
        case Comparison(_, left, right) if _is_plain(left) and _is_plain(right):
            return 0 if _is_known(left, known) and _is_known(right, known) else 1
        case Negation():
            return 2
        case _:
            return 3


def _fan_out(literal: BodyLiteral, known: Collection[Variable], estimates: Estimates) -> tuple[float, int, int]:
    """The expected number of matches per row, then fewer unknown columns, then fewer columns."""
    assert isinstance(literal, Atom)
    expected = float(max(estimates.size(literal.relation), 1))
    unknown = 0
    for column, term in enumerate(literal.terms):
        if _is_known(term, known):
            distinct = estimates.distinct(literal.relation, column)
            expected /= distinct or 10
        else:
            unknown += 1
    if unknown == 0:
        expected = min(expected, 1.0)
    return max(expected, 0.001), unknown, len(literal.terms)


def _binds(literal: BodyLiteral) -> Iterable[Variable]:
    return () if isinstance(literal, Negation) else variables(literal)


def _is_known(term: Term, known: Collection[Variable]) -> bool:
    return all(variable in known for variable in variables(term))


def _is_plain(term: Term) -> bool:
    return isinstance(term, Variable | Constant)

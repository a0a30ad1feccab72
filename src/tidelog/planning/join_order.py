"""The order in which the atoms of a rule are joined.

Idea       : greedily the atom that is expected to give the fewest facts per row found so far: its size divided by the
             number of distinct values of its known columns. Without data, most known columns first, then fewest others.
Source     : Xu, Cure 2023 (ZodiacEdge), section 4.6.
Departures : negated atoms do not wait for all positive ones, nor comparisons and arithmetic: each runs as soon as it
             can. A unary atom is an atom like others, not the last of them.
Invariant  : negated atoms, comparisons and arithmetic run as soon as their variables are known, comparisons of known
             values before arithmetic, so that a guard such as `y != 0` protects a division.
Never      : no data beyond the estimates it is given.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from functools import cached_property
from heapq import heappop, heappush
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


def order(
    rule: LoweredRule,
    first: int | None,
    bound: Iterable[Variable],
    estimates: Estimates,
    leading: int | None = None,
) -> tuple[int, ...]:
    """The positions of the body's literals in the order of evaluation, without the driving one `first`.

    A driving negated atom stays in the order: its own absence is tested too. The atom `leading`, if given, comes before
    all others.
    """
    placed: list[int] = []
    if leading is not None:
        placed.append(leading)
        bound = (*bound, *variables(rule.body[leading]))
    agenda = _Agenda(rule, bound, estimates)
    for position, literal in enumerate(rule.body):
        if position != leading and (position != first or isinstance(literal, Negation)):
            agenda.add(position)
    while (chosen := agenda.next()) is not None:
        placed.append(chosen)
    return tuple(placed)


class _Agenda:
    """The literals that wait: those that can be evaluated by eagerness, then atoms by fan-out, ties by position.

    A literal is looked at again only when one of its variables becomes known, so that a body of n literals is ordered
    in O(n log n). A heap may hold an older price of a literal as well; it is then skipped.
    """

    def __init__(self, rule: LoweredRule, bound: Iterable[Variable], estimates: Estimates) -> None:
        self._rule, self._estimates = rule, estimates
        self._known = set(bound)
        self._waiting: dict[int, tuple[float, int, int] | None] = {}
        self._readers: defaultdict[Variable, list[int]] = defaultdict(list)
        self._heap: list[tuple[tuple[float, int, int], int]] = []

    @cached_property
    def _shared(self) -> set[Variable]:
        """The variables that occur in more than one of the head and the body's literals; only negated atoms ask."""
        rule = self._rule
        parts = Counter(variable for part in (rule.head, *rule.body) for variable in set(variables(part)))
        return {variable for variable, count in parts.items() if count > 1}

    def add(self, position: int) -> None:
        """Let a literal wait."""
        self._waiting[position] = None
        for variable in variables(self._rule.body[position]):
            self._readers[variable].append(position)
        self._look_at(position)

    def next(self) -> int | None:
        """The next literal to evaluate; None when none waits."""
        while self._heap:
            price, position = heappop(self._heap)
            if self._waiting.get(position) == price:
                del self._waiting[position]
                self._learn(self._rule.body[position])
                return position
        assert not self._waiting, "a checked rule can be evaluated"
        return None

    def _learn(self, literal: BodyLiteral) -> None:
        if isinstance(literal, Negation):
            return
        for variable in variables(literal):
            if variable not in self._known:
                self._known.add(variable)
                for position in self._readers[variable]:
                    if position in self._waiting:
                        self._look_at(position)

    def _look_at(self, position: int) -> None:
        """Price a literal as things stand; one that cannot be evaluated yet has no price."""
        price, literal = None, self._rule.body[position]
        if isinstance(literal, Atom):
            price = _fan_out(literal, self._known, self._estimates)
        elif self._is_ready(literal):
            price = (0.0, _eagerness(literal, self._known), 0)
        self._waiting[position] = price
        if price is not None:
            heappush(self._heap, (price, position))

    def _is_ready(self, literal: Negation | Comparison) -> bool:
        """Whether a literal other than an atom can be evaluated now."""
        known = self._known
        match literal:
            case Negation():
                return all(one in known for one in variables(literal) if one in self._shared)
            case Comparison("=", left, right):
                return (_is_known(left, known) and (_is_known(right, known) or isinstance(right, Variable))) or (
                    _is_known(right, known) and isinstance(left, Variable)
                )
            case Comparison(_, left, right):
                return _is_known(left, known) and _is_known(right, known)


def shared_variables(rule: LoweredRule, negated: Negation) -> set[Variable]:
    """The variables of a negated atom that occur elsewhere in the rule; the others are existential inside it."""
    elsewhere = set(variables(rule.head))
    for literal in rule.body:
        if literal is not negated:
            elsewhere.update(variables(literal))
    return elsewhere.intersection(variables(negated))


def _eagerness(literal: BodyLiteral, known: Collection[Variable]) -> int:
    """Cheap tests first, arithmetic last."""
    match literal:
        case Comparison(_, left, right) if _is_plain(left) and _is_plain(right):
            return 0 if _is_known(left, known) and _is_known(right, known) else 1
        case Negation():
            return 2
        case _:
            return 3


def _fan_out(literal: Atom, known: Collection[Variable], estimates: Estimates) -> tuple[float, int, int]:
    """The expected number of matches per row, then fewer unknown columns, then fewer columns."""
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


def _is_known(term: Term, known: Collection[Variable]) -> bool:
    return term in known if isinstance(term, Variable) else all(variable in known for variable in variables(term))


def _is_plain(term: Term) -> bool:
    return isinstance(term, Variable | Constant)

"""Order, arithmetic and aggregates where some of the values are RDF terms.

What      : what values.py asks for as soon as an operand is a term.
Idea      : numbers are ranked by type (rdf_values.py), computed exactly and rounded once to the widest type among them.
Invariant : results do not depend on the order of the operands of a sum, nor on who evaluates.
Never     : no operands without a term among them: those are values.py's own.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from tidelog.errors import EvaluationError
from tidelog.language.rdf_terms import Literal, RdfTerm
from tidelog.language.rdf_values import DECIMAL, DOUBLE, FLOAT, INTEGER, Number, moment, number, of_number
from tidelog.language.terms import Value

Plain = Callable[[str, Any, Any], int | float]
"""Arithmetic on Python's numbers, as values.py defines it."""

_EXACT: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "%": lambda a, b: a - b * int(a / b),
}
_HOLDS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def is_term(*values: Value) -> bool:
    """Whether a term is among the values."""
    return any(isinstance(value, RdfTerm) for value in values)


def ordered(op: str, left: Value, right: Value) -> bool | None:
    """Whether `left op right` holds by value; None if the two have no order."""
    one, other = _order(left), _order(right)
    if one is None or other is None or one[0] != other[0]:
        return None
    return bool(_HOLDS[op](one[1], other[1]))


def is_preferred(value: Value, best: Value) -> bool:
    """Which of two values that are equal in order an extreme is: the narrower type, then the lesser text."""
    one, other = _order(value), _order(best)
    if one is None or other is None or one[1] != other[1]:
        return False
    ranks = [its[0] if (its := _ranked(some)) else 0 for some in (value, best)]
    return (ranks[0], str(value)) < (ranks[1], str(best))


def signed(function: str, value: Value) -> Value:
    """`neg` or `abs` of a numeric literal."""
    rank, (exact,) = _numbers(function, (value,))
    return _result(function, -exact if (function == "neg" or exact < 0) else exact, rank)


def arithmetic(function: str, left: Value, right: Value, plain: Plain) -> Value:
    """Arithmetic with literals among the operands."""
    rank, (a, b) = _numbers(function, (left, right))
    if rank >= FLOAT or function not in _EXACT:
        return _result(function, plain(function, _finite(function, a), _finite(function, b)), max(rank, FLOAT))
    if function in ("/", "%") and b == 0:
        raise EvaluationError.of(
            "E501", f"division by zero: {left} {function} {right}", remedy="guard it with a comparison, such as y != 0"
        )
    exact = _EXACT[function](Fraction(a), Fraction(b))
    if rank == INTEGER and function in ("/", "%"):
        exact = Fraction(int(exact))
    return _result(function, exact, rank)


def aggregate(function: str, values: Sequence[Value]) -> Value:
    """`sum`, `mean` or `median` of numbers of which some are literals."""
    rank, numbers = _numbers(function, values)
    if rank >= FLOAT:
        numbers = [_finite(function, each) for each in numbers]
    exact = [Fraction(each) for each in numbers]
    if function == "sum":
        return _result(function, sum(exact, Fraction(0)), rank)
    by_size = sorted(exact)
    middle = [by_size[(len(by_size) - 1) // 2], by_size[len(by_size) // 2]]
    chosen = exact if function == "mean" else middle
    return _result(function, sum(chosen, Fraction(0)) / len(chosen), max(rank, DECIMAL))


def _order(value: Value) -> tuple[str, Number] | None:
    """What a value is ordered with, and by what: numbers of every type by value, dates and times by their moment."""
    found = _ranked(value)
    if found is not None:
        return "number", found[1]
    return moment(value) if isinstance(value, Literal) else None


def _ranked(value: Value) -> tuple[int, Number] | None:
    """The rank of a number's type and its value; None for everything else."""
    if isinstance(value, Literal):
        return number(value)
    if type(value) is int:
        return INTEGER, value
    return (DOUBLE, value) if type(value) is float else None


def _numbers(function: str, values: Sequence[Value]) -> tuple[int, list[Number]]:
    """The rank of the widest type among numbers, and their exact values."""
    ranked = []
    for value in values:
        found = _ranked(value)
        if found is None:
            raise EvaluationError.of("E504", f"{function} needs numbers, not {value!r}", remedy="check the column")
        ranked.append(found)
    return max(rank for rank, _ in ranked), [exact for _, exact in ranked]


def _finite(function: str, exact: Number) -> float:
    double = float(exact)
    if not math.isfinite(double):
        raise EvaluationError.of("E502", f"{function} of a number that is not finite", remedy="guard against INF")
    return double


def _result(function: str, exact: Number, rank: int) -> Value:
    constant = of_number(exact, rank)
    if constant is None:
        raise EvaluationError.of("E502", f"{function} overflows a decimal", remedy="use smaller numbers")
    return constant

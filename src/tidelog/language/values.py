"""What constants are and what functions on them mean.

What      : the one definition of identity, order, arithmetic and aggregation on values; the reference evaluates with
            it, compiled and distributed code is tested against it.
Idea      : partial functions raise. A rule instance whose arithmetic overflows, divides by zero or compares a number
            with a string is the user's mistake; it is reported and the update refused, never dropped silently.
Invariant : results do not depend on the order of evaluation (sums of floats are exact before the last rounding).
Never     : no rules, no facts, no text.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Hashable, Sequence
from fractions import Fraction

from tidelog.errors import EvaluationError
from tidelog.language import patterns
from tidelog.language import rdf_arithmetic as of_terms
from tidelog.language.terms import Value

INT_MIN, INT_MAX = -(2**63), 2**63 - 1

AGGREGATES = ("count", "sum", "min", "max", "mean", "median")


def is_unicode(text: str) -> bool:
    """Whether a text can be encoded: one with lone surrogates cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def identity(value: Value) -> Hashable:
    """A key that is equal for the same constant only: Python's own `1 == 1.0 == True` does not hold here."""
    return value if type(value) is int or type(value) is str else (type(value).__name__, value)


def fact_identity(values: Sequence[Value]) -> tuple[Hashable, ...]:
    """The identity of a fact's values; use it wherever facts are compared as Python tuples."""
    return tuple(identity(value) for value in values)


def is_among(fact: object, identities: Container[object]) -> bool:
    """Whether something is a fact whose identity is one of those; what cannot be a fact is not among them."""
    try:
        return isinstance(fact, tuple | list) and fact_identity(fact) in identities
    except TypeError:  # a value without a hash
        return False


def compare(op: str, left: Value, right: Value) -> bool:
    """Whether `left op right` holds. `=` and `!=` are identity; order is defined on numbers, on strings, on bools."""
    match op:
        case "=":
            return identity(left) == identity(right)
        case "!=":
            return identity(left) != identity(right)
        case "<" | "<=" | ">" | ">=":
            return _ordered(op, left, right)
        case "match" | "!match":
            holds = _matches(_text(left), _text(right))
        case "contains" | "!contains":
            holds = _text(left) in _text(right)
        case _:
            raise ValueError(f"no such comparison: {op}")
    return holds != op.startswith("!")


def apply(function: str, arguments: Sequence[Value]) -> Value:
    """The value of a function; raises EvaluationError where it has none."""
    match function:
        case "neg":
            return _signed(function, arguments[0])
        case "abs":
            return _signed(function, arguments[0])
        case "min" | "max":
            return _extreme(function, arguments)
        case "cat":
            return "".join(_text(argument) for argument in arguments)
        case "strlen":
            return len(_text(arguments[0]))
        case "substr":
            return _substr(arguments)
        case _:
            return _arithmetic(function, arguments[0], arguments[1])


def aggregate(function: str, values: Sequence[Value]) -> Value | None:
    """The aggregate of a group's values, one per substitution; None where it has no result."""
    if function == "count":
        return len(values)
    if not values:
        return 0 if function == "sum" else None
    if function in ("min", "max"):
        return _extreme(function, values)
    if of_terms.is_term(*values):
        return of_terms.aggregate(function, values)
    numbers = [_numeric(value, function) for value in values]
    match function:
        case "sum":
            return _number(_total(numbers), function)
        case "mean":
            return _number(float(_total(numbers)) / len(numbers), function)
        case "median":
            ordered = sorted(numbers)
            middle = ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]
            return _number(float(_total(middle)) / 2, function)
        case _:
            raise ValueError(f"no such aggregate: {function}")


def kind(value: Value) -> str:
    """The user's word for a value's type."""
    return {bool: "bool", int: "number", float: "float", str: "symbol"}.get(type(value), "term")


def _ordered(op: str, left: Value, right: Value) -> bool:
    has_terms = of_terms.is_term(left, right)
    found = of_terms.ordered(op, left, right) if has_terms else None
    if found is not None:
        return found
    if has_terms or _order_class(left) != _order_class(right):
        raise EvaluationError.of(
            "E503",
            f"{kind(left)} {left!r} and {kind(right)} {right!r} have no order",
            remedy="compare numbers with numbers and symbols with symbols",
        )
    holds: dict[str, Callable[[], bool]] = {
        "<": lambda: left < right,  # type: ignore[operator]
        "<=": lambda: left <= right,  # type: ignore[operator]
        ">": lambda: left > right,  # type: ignore[operator]
        ">=": lambda: left >= right,  # type: ignore[operator]
    }
    return holds[op]()


def _order_class(value: Value) -> str:
    return {bool: "bool", int: "number", float: "number", str: "symbol"}[type(value)]


def _extreme(function: str, values: Sequence[Value]) -> Value:
    """The least or greatest value; of an int and an equal float the int, so that the result is one constant."""
    best = values[0]
    for value in values[1:]:
        is_better = _ordered("<" if function == "min" else ">", value, best)
        if not is_better and of_terms.is_term(value, best):
            is_better = of_terms.is_preferred(value, best)
        if is_better or (value == best and type(value) is int):
            best = value
    return best


def _total(numbers: Sequence[int | float]) -> int | float:
    """The exact sum, rounded once; infinite if it is beyond the floats, whatever the order of the numbers."""
    if all(type(number) is int for number in numbers):
        return sum(numbers)
    try:
        return math.fsum(numbers)
    except OverflowError:
        return _exact_total(numbers)


def _exact_total(numbers: Sequence[int | float]) -> float:
    """The sum where `fsum` gives up because a partial sum is beyond the floats, though the whole may not be."""
    try:
        return float(sum(Fraction(float(number)) for number in numbers))
    except OverflowError:
        return math.inf


def _signed(function: str, value: Value) -> Value:
    """`neg` or `abs` of a number."""
    if of_terms.is_term(value):
        return of_terms.signed(function, value)
    number = _numeric(value, function)
    return _number(-number if function == "neg" else abs(number), function)


def _arithmetic(function: str, left: Value, right: Value) -> Value:
    if of_terms.is_term(left, right):
        return of_terms.arithmetic(function, left, right, _plain_arithmetic)
    return _plain_arithmetic(function, _numeric(left, function), _numeric(right, function))


def _plain_arithmetic(function: str, a: int | float, b: int | float) -> int | float:
    if function in ("/", "%") and b == 0:
        raise EvaluationError.of(
            "E501", f"division by zero: {a} {function} {b}", remedy="guard it with a comparison, such as y != 0"
        )
    whole = type(a) is int and type(b) is int
    match function:
        case "+":
            result: int | float = a + b
        case "-":
            result = a - b
        case "*":
            result = a * b
        case "/":
            result = _truncated(int(a), int(b)) if whole else a / b
        case "%":
            result = int(a) - int(b) * _truncated(int(a), int(b)) if whole else math.fmod(a, b)
        case "^":
            result = _power(a, b)
        case _:
            raise ValueError(f"no such function: {function}")
    return _number(result, function)


def _truncated(a: int, b: int) -> int:
    """Integer division towards zero, as in Souffle and C."""
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _power(a: int | float, b: int | float) -> int | float:
    undefined = (b < 0 and type(a) is int and type(b) is int) or (a == 0 and b < 0)
    if undefined or (a < 0 and not float(b).is_integer()):
        raise EvaluationError.of("E502", f"{a} ^ {b} has no value", remedy="use a float base or another exponent")
    if type(a) is int and type(b) is int:
        return a**b if abs(a) <= 1 or b <= 64 else INT_MAX + 1
    try:
        return float(pow(float(a), float(b)))
    except OverflowError:
        return math.inf


def _number(result: int | float, function: str) -> int | float:
    """A result as a constant: within 64 bits or finite, and one zero only."""
    if type(result) is int:
        if not INT_MIN <= result <= INT_MAX:
            raise EvaluationError.of("E502", f"{function} overflows 64 bits", remedy="use floats, or smaller numbers")
        return result
    if not math.isfinite(result):
        raise EvaluationError.of(
            "E502", f"the result of {function} is not a finite number", remedy="use smaller numbers"
        )
    return result + 0.0


def _numeric(value: Value, function: str) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise EvaluationError.of(
            "E504", f"{function} needs numbers, not the {kind(value)} {value!r}", remedy="check the column's type"
        )
    return value


def _text(value: Value) -> str:
    if not isinstance(value, str):
        raise EvaluationError.of("E504", f"a symbol is needed, not the {kind(value)} {value!r}", remedy="use a string")
    return value


def _substr(arguments: Sequence[Value]) -> str:
    text, start, length = _text(arguments[0]), _numeric(arguments[1], "substr"), _numeric(arguments[2], "substr")
    if type(start) is not int or type(length) is not int or start < 0 or length < 0:
        raise EvaluationError.of("E504", "substr needs a start and a length that are whole and not negative")
    return text[start : start + length]


def _matches(pattern: str, text: str) -> bool:
    try:
        return patterns.matches(pattern, [text])[0]
    except ValueError as error:
        shown = pattern if len(pattern) <= _SHOWN else f"{pattern[:_SHOWN]}..."
        raise EvaluationError.of(
            "E505", f"{shown!r} is not a regular expression: {error}", remedy="write it as RE2 wants it"
        ) from error


_SHOWN = 200

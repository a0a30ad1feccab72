"""Values that may be missing.

What      : functions, comparisons and aggregates of values.py, with None where values.py raises: no value.
Idea      : arithmetic without a value is no accident of a run but a fact about the data: the instance is no instance
            (docs/decisions/0014-arithmetic-without-a-value.md). A missing value makes everything missing that is
            computed from it, and a comparison with it holds in no way, negated or not.
Invariant : where values.py gives a value, this gives the same.
Never     : no rules and no facts.

Two comparisons and some functions are for our own rules only (planning/undefined.py); users cannot write them:
`@undefined` holds if its left side has no value, `@maybe` if it has none or is true. The function `@<` is the
comparison `<` as a value, and so for every comparison; `@all` has a value if all its arguments have.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.errors import EvaluationError
from tidelog.language import values
from tidelog.language.terms import Value

UNDEFINED, MAYBE = "@undefined", "@maybe"
ALL = "@all"


def as_function(op: str) -> str:
    """The function that gives a comparison's truth as a value."""
    return f"@{op}"


def apply(function: str, arguments: Sequence[Value | None]) -> Value | None:
    """The value of a function, None if it has none."""
    if any(argument is None for argument in arguments):
        return None
    known: list[Value] = [argument for argument in arguments if argument is not None]
    if function == ALL:
        return True
    try:
        if function.startswith("@"):
            return values.compare(function[1:], known[0], known[1])
        return values.apply(function, known)
    except EvaluationError:
        return None


def holds(op: str, left: Value | None, right: Value | None) -> bool:
    """Whether a comparison has a value and is true."""
    if op == UNDEFINED:
        return left is None
    if op == MAYBE:
        return left is None or left is True
    return apply(as_function(op), (left, right)) is True


def aggregate(function: str, members: Sequence[Value]) -> Value | None:
    """The aggregate of a group's values, None if it has no result or no value."""
    try:
        return values.aggregate(function, members)
    except EvaluationError:
        return None

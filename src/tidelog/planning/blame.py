"""Which rule an evaluation error comes from.

What      : `blamed` turns an error about values into one that names the rule and its place.
Idea      : functions know values, not rules. The code that runs a rule knows both, and adds what a person needs to act.
Invariant : code, remedy and sentence stay; an error that has a rule or a place keeps them.
Never     : no evaluation here.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from tidelog.errors import EvaluationError
from tidelog.planning.lowered import GroupRule, LoweredRule


@contextmanager
def blamed(rule: LoweredRule | GroupRule) -> Iterator[None]:
    """What is evaluated inside belongs to this rule."""
    try:
        yield
    except EvaluationError as error:
        raise blame(error, rule) from error


def blame(error: EvaluationError, rule: LoweredRule | GroupRule) -> EvaluationError:
    """The error with the rule's key and place, unless it has a place."""
    return EvaluationError(
        problem if problem.place is not None else replace(problem, rule=rule.key, place=rule.source.place)
        for problem in error.problems
    )

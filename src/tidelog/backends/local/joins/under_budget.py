"""Tables of a rule as they come, under a budget.

What      : `under_budget` hands tables on; budgets are asked before the first and after each, and errors name the rule.
Idea      : a join may run for long before it gives a table, so the budget must be able to stop it in between.
Invariant : the tables are those of the source, in order.
Never     : no facts are looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from tidelog.errors import EvaluationError
from tidelog.planning.blame import blame
from tidelog.planning.lowered import LoweredRule

T = TypeVar("T")


def under_budget(rule: LoweredRule, ask_budget: Callable[[], None], tables: Iterator[T]) -> Iterator[T]:
    """The tables of a rule; `ask_budget` raises when a budget is used up."""
    ask_budget()
    try:
        for table in tables:
            yield table
            ask_budget()
    except EvaluationError as error:  # no context manager: a small update comes by here a dozen times
        raise blame(error, rule) from error

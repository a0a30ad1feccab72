"""Tables of a rule as they come, under a budget.

What      : `under_budget` hands tables on; budgets are asked before the first and after each.
Idea      : a join may run for long before it gives a table, so the budget must be able to stop it in between.
Invariant : the tables are those of the source, in order.
Never     : no facts are looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

T = TypeVar("T")


def under_budget(ask_budget: Callable[[], None], tables: Iterator[T]) -> Iterator[T]:
    """The tables of a rule; `ask_budget` raises when a budget is used up."""
    ask_budget()
    for table in tables:
        yield table
        ask_budget()

"""Tables of a rule as they come, under a budget.

What      : `under_budget` hands tables on; budgets are asked before the first and after each, and before a long one.
Idea      : a join may run for long before it gives a table, so the budget must be able to stop it in between. To store
            a long table takes as long as to make it, so that these are two steps.
Invariant : the tables are those of the source, in order.
Never     : no facts are looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

T = TypeVar("T")
_LONG = 1 << 14


def under_budget(ask_budget: Callable[[], None], tables: Iterator[T], size: Callable[[Any], int] = len) -> Iterator[T]:
    """The tables of a rule; `ask_budget` raises when a budget is used up."""
    ask_budget()
    for table in tables:
        if size(table) > _LONG:
            ask_budget()
        yield table
        ask_budget()

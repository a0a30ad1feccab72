"""Values that are no constants, on their way.

What      : numbers that stand for such values in columns of ids, and the errors that they end in.
Idea      : a task that meets one goes on, and the driver, which sees all of them, refuses the whole update.
Invariant : no constant has one of these numbers: they are negative and tagged as bools.
Never     : no session.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.changes.fact_sources import column_name
from tidelog.errors import Problem, UpdateError

NO_NUMBER, NO_TEXT, NEGATIVE, MISSING = -1, -5, -9, -13
"""Stand for a float, a string and an unsigned number that are no constants, and for no value."""

REFUSALS = {
    MISSING: ("E302", "has missing values", "leave these facts out, or use a constant for unknown"),
    NO_NUMBER: ("E304", "has NaN or infinite values, or whole numbers that no float holds", "leave these facts out"),
    NO_TEXT: ("E304", "has strings that are not valid Unicode", "repair them with make_valid_utf8"),
    NEGATIVE: ("E306", "has negative values, which are no unsigned", "declare a number, or leave these facts out"),
}


def refuse(relation: str, numbers: Sequence[int]) -> None:
    """Refuse facts if the least of the refused ids of a column (0 if there is none) stands for no constant."""
    for at, number in enumerate(numbers):
        if number in REFUSALS:
            code, sentence, remedy = REFUSALS[number]
            raise UpdateError(Problem(code, f"{column_name(relation, at + 1)} {sentence}", remedy=remedy))

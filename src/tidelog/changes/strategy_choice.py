"""What was decided about one component in one update, and why.

What      : `StrategyChoice` is the decision as a value; its text is what a person reads.
Idea      : a decision is written down as what was known, and no sentence is taken apart again. The text is made when it
            is asked for: an update whose decisions are never printed does not pay for it.
Invariant : only relations of the user are named.
Never     : nothing is decided here (maintenance/choose.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Amount(StrEnum):
    """What the number of a choice counts: facts and rules that come or go."""

    INSERTIONS = "insertion"
    DELETIONS = "deletion"
    CHANGES = "change"


class Reason(StrEnum):
    """Why a strategy was chosen."""

    NOTHING_LOST = "nothing can be lost"
    TRIFLE = "deriving it anew is a trifle"
    MOSTLY_GONE = "most of it is in doubt"
    FEW_PROOFS = "few derivations per fact"
    MANY_PROOFS = "many derivations per fact"
    ONE_PROOF = "every fact has one derivation"
    NO_RECURSION = "no recursion"
    UNTRIED = "not tried before"
    CHEAPEST = "the cheapest so far"
    BEGINS_TO_COUNT = "counts would have paid"
    COUNTED = "its derivations are counted"
    CUT_OFF = "the others took too long"
    AT_ONCE = "deriving it at once is cheaper than a look at it"
    BULK = "derived in bulk"


@dataclass(frozen=True, slots=True)
class StrategyChoice:
    """A strategy for a component in an update."""

    component: str
    """The component's relations, or the aggregate that it serves, in the user's words."""
    strategy: str
    """The strategy's name; `insertion` where every strategy does the same."""
    reason: Reason
    facts: int
    """How many facts the component had before; of one derived in bulk how many it has now."""
    number: int = 0
    amount: Amount = Amount.CHANGES
    """How many facts and rules come or go, and which of the two."""
    allowance: float | None = None
    """What the attempt may cost, in derivations (maintenance/prices.py), before it is given up; None for no limit."""
    cut_off: tuple[str, ...] = ()
    """The strategies that were tried before and given up."""

    def __str__(self) -> str:
        return f"component {self.component}: {self.strategy}, {self._why}"

    @property
    def _why(self) -> str:
        if self.reason is Reason.BULK:
            return f"{self.facts:,} facts derived in bulk"
        word = "into" if self.amount is Amount.INSERTIONS else "against"
        why = f"after {' and '.join(self.cut_off)} took too long" if self.cut_off else self.reason.value
        return f"{_counted(self.number, self.amount)} {word} {_short(self.facts)} facts, {why}"


def _counted(number: int, word: str) -> str:
    return f"{_short(number)} {word}{'' if number == 1 else 's'}"


def _short(number: int) -> str:
    """A number as people say it: 12, 340, 56 k, 1.2 M."""
    if number < 10_000:
        return str(number)
    for size, unit in ((1_000_000_000, "G"), (1_000_000, "M"), (10_000, "k")):
        if number >= size:
            shown = number / (1_000 if unit == "k" else size)
            return f"{shown:.1f} {unit}" if shown < 10 else f"{shown:.0f} {unit}"
    return str(number)

"""Constants that are in no fact any more.

What      : `Litter` says when most constants of a store are in no fact.
Idea      : facts have at most as many constants as values, so nobody has to look at rows. Values are counted when there
            are a quarter more constants than the last time, so that an update does not notice.
Invariant : when it says so, at least half of the constants, and at least 131,072, are in no fact.
Never     : nothing is given up here (backends/choice.py).
"""

from __future__ import annotations

from collections.abc import Iterable

from tidelog.backends.local.relations.relation import Relation

FEW = 1 << 17
"""How many constants may be in no fact: they take 8 MB."""


class Litter:
    """What one store has left lying about."""

    def __init__(self) -> None:
        self._counted_at = FEW

    def is_high(self, constants: int, relations: Iterable[Relation]) -> bool:
        """Whether most of that number of constants are in no fact of the relations."""
        if constants < self._counted_at:
            return False
        allowed = 2 * sum(relation.alive * relation.arity for relation in relations) + FEW
        self._counted_at = max(constants + constants // 4, allowed)
        return constants >= allowed

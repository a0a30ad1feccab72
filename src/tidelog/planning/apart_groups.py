"""Which literals of a body stand apart: they have to hold, whatever the rest of the rule is about.

What      : `apart_groups` are the groups of literals that share no variable with the head, the driver or other groups.
Idea      : in `q(x) :- i(x), e(y), f(y, z), g(_).` the literals `e(y), f(y, z)` are one group and `g(_)` is another. It
            is enough to find each group true once, instead of once for every x and for every way in which it is true.
Invariant : a variable that is local to a negated atom joins nothing.
Never     : no order of evaluation here (join_order.py).
"""

from __future__ import annotations

from collections.abc import Collection

from tidelog.language.terms import Negation, Variable, variables
from tidelog.planning.lowered import LoweredRule


def apart_groups(rule: LoweredRule, known: Collection[Variable]) -> list[frozenset[int]]:
    """The positions of the literals of each group that shares no variable with the known ones, in order."""
    if _are_together(rule, known):
        return []
    found: list[tuple[set[Variable], set[int]]] = []
    for position, literal in enumerate(rule.body):
        mine, places = set(variables(literal)), {position}
        if not mine:
            continue
        rest = []
        for others, positions in found:
            if mine.isdisjoint(others):
                rest.append((others, positions))
            else:
                mine |= others
                places |= positions
        found = [*rest, (mine, places)]
    groups = [frozenset(places) for mine, places in found if mine.isdisjoint(known)]
    binding = [group for group in groups if not all(isinstance(rule.body[at], Negation) for at in group)]
    return sorted(binding, key=min)


def _are_together(rule: LoweredRule, known: Collection[Variable]) -> bool:
    """Whether every literal leads back to the known variables by those before it, as in most rules."""
    met = set(known)
    for literal in rule.body:
        mine = set(variables(literal))
        if mine and mine.isdisjoint(met):
            return False
        met |= mine
    return True

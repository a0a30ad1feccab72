"""Random Z-sets and streams of them, over few values so that rows meet often."""

from __future__ import annotations

import random

from tidelog.circuits import Circuit, ZSet

VALUES = (1, 2, 3, 4, 2.5, "a", "b", True)


def zset(circuit: Circuit, rng: random.Random, arity: int, values=VALUES, most: int = 6) -> ZSet:
    """A few rows with weights of both signs."""
    found = ZSet.nothing(circuit.dictionary, arity)
    for _ in range(rng.randrange(most)):
        row = [tuple(rng.choice(values) for _ in range(arity))]
        found += ZSet.of(circuit.dictionary, row, rng.choice((-2, -1, 1, 1, 2)), arity=arity)
    return found


def total(changes) -> dict:
    """What changes add up to, by row."""
    found: dict = {}
    for change in changes:
        for row, weight in change:
            key = tuple((type(value).__name__, value) for value in row)
            found[key] = found.get(key, 0) + weight
    return {row: weight for row, weight in found.items() if weight}

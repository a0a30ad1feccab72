"""A workload: a program, its explicit facts, and deletions that grow.

What      : `Workload` is all that a report needs to know about a data set.
Invariant : a workload is the same in every run; generators draw from a random source of fixed seed.
Never     : nothing is measured here.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Fact = tuple[int | str, ...]
Facts = Mapping[str, Sequence[Fact]]
Deletions = tuple[tuple[str, Fact], ...]


@dataclass(frozen=True)
class Workload:
    """A program, its explicit facts, and an order in which facts go: a larger deletion contains every smaller one."""

    name: str
    program: str
    facts: Facts
    order: Deletions
    sizes: tuple[int, ...]
    """How many facts of the order the report deletes, one step each."""

    @property
    def explicit(self) -> int:
        """How many explicit facts there are."""
        return sum(map(len, self.facts.values()))

    def deletion(self, size: int) -> dict[str, list[Fact]]:
        """The first facts of the order, by relation."""
        return grouped(self.order[:size])


def grouped(facts: Sequence[tuple[str, Fact]]) -> dict[str, list[Fact]]:
    """Facts by relation."""
    by_relation: dict[str, list[Fact]] = {}
    for relation, fact in facts:
        by_relation.setdefault(relation, []).append(fact)
    return by_relation


def shuffled(facts: Facts, source: random.Random) -> Deletions:
    """All facts in a random order."""
    order = [(relation, fact) for relation, some in facts.items() for fact in some]
    source.shuffle(order)
    return tuple(order)

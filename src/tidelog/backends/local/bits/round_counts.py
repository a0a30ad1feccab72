"""Ranks and counts of a stage that is derived in bits.

What      : `Ranks` notes the round in which a fixpoint (fixpoint.py) finds each pair; from these it counts how many
            instances derive a pair in which round, and gives both to the counts of the relations.
Idea      : a strategy that counts has to know every instance by its round. Round by round in rows that is a look-up and
            an addition in a hash table for each; over the finished matrices it is an addition in an array.
Cost      : two bytes for every pair of values and relation, and four for every round besides: `fits` says whether that
            is within what matrices may take.
Invariant : ranks and counts are those that counting round by round gives (tests/backends/local/test_round_counts.py).
Never     : no fact is stored or marked here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tidelog.backends.local.bits import count_kernels
from tidelog.backends.local.bits.matrices import Matrices
from tidelog.backends.local.kernels.compiled import Array
from tidelog.backends.local.relations.counted_stages import Counted
from tidelog.backends.local.relations.derivation_counts import NEVER
from tidelog.backends.local.relations.relation import Relation
from tidelog.planning.pair_rules import DIRECT, FIRST, SECOND, PairRule

MOST_ROUNDS = 1 << 8
Walk = Callable[..., None]
"""Runs a kernel over all rows of the matrices of a rule, with further arguments."""


def fits(relations: int, values: int, rounds: int, most: int) -> bool:
    """Whether ranks, and counts of that many rounds, take at most so many bytes."""
    return rounds <= MOST_ROUNDS and relations * values * values * (2 + 4 * (rounds + 1)) <= most


class Ranks:
    """In which round each pair of each relation of a stage was found."""

    def __init__(self, names: Sequence[str], size: int) -> None:
        self._names, self._size = {name: at for at, name in enumerate(names)}, size
        self._ranks = np.full((len(names), size, size), count_kernels.NO_RANK, np.uint16)

    def note(self, matrices: Matrices, name: str, base: int, number: int) -> None:
        """The pairs of a matrix were found in a round; explicit ones in round 0."""
        count_kernels.note_ranks(matrices.space, base, self._size, self._ranks[self._names[name]], number)

    def counts(self, rules: Sequence[PairRule], rounds: int, walk: Walk) -> dict[str, Array]:
        """By relation, how many instances derive (x, z) in each round: `[x, round - 1, z]`."""
        found = {name: np.zeros((self._size, rounds + 1, self._size), np.int32) for name in self._names}
        for rule in rules:
            walk(count_kernels.count_by_round, rule, self._ranked(rule), self._ranks, found[rule.rule.head.relation])
        return found

    def give(self, counted: Counted, relation: Relation, numbers: Array, counts: Array) -> None:
        """Let the counts of a relation, of which there are none yet, begin with these."""
        size = relation.count
        ranks, near = np.full(size, NEVER, np.int64), np.zeros(2 * size, np.int64)
        most = int(np.count_nonzero(counts))
        cells, further = np.empty((most, 2), np.int32), np.empty(most, np.int64)
        found = count_kernels.read_counts(
            relation.rows, size, numbers, self._ranks[self._names[relation.name]], counts, ranks, near, cells, further
        )
        counted.begin(relation, ranks, near, cells[:found], further[:found])

    def _ranked(self, rule: PairRule) -> Array:
        """Of each literal, in the order of its code, which ranks it has and whether it is inverted."""
        factors = [one for way in (FIRST, DIRECT, SECOND) for one in rule.factors[way]]
        ranked = [(self._names.get(one.relation, -1), int(one.is_inverse)) for one in factors]
        return np.array(ranked, np.int64).reshape(-1, 2)

"""Ranks and counts of a stage that is derived in bits.

What      : `Ranks` notes the round in which a fixpoint (fixpoint.py) finds each pair; from these it counts how many
            instances derive a pair in which round, and gives both to the counts of the relations.
Idea      : a strategy that counts has to know every instance by its round. Round by round in rows that is a look-up and
            an addition in a hash table for each; over the finished matrices it is an addition in an array.
Cost      : two bytes for every pair of values and relation, and four for where it is stored: `fits` says whether that
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
_BLOCK = 32
"""For how many values at a time instances are counted: their counts stay in the cache."""
Counting = Callable[[Relation, int, int, Array], None]
"""Counts the instances that derive pairs of a relation from some values on, by round (fixpoint.py)."""


def fits(relations: int, values: int, rounds: int, most: int) -> bool:
    """Whether ranks, the places of rows, and counts of that many rounds take at most that number of bytes."""
    return rounds <= MOST_ROUNDS and values * (values * (2 * relations + 4) + 4 * _BLOCK * (rounds + 1)) <= most


class Ranks:
    """In which round each pair of each relation of a stage was found."""

    def __init__(self, names: Sequence[str], size: int) -> None:
        self._names, self._size = {name: at for at, name in enumerate(names)}, size
        self.ranks = np.full((len(names), size, size), count_kernels.NO_RANK, np.uint16)

    def note(self, matrices: Matrices, name: str, base: int, number: int) -> None:
        """The pairs of a matrix were found in a round; explicit ones in round 0."""
        count_kernels.note_ranks(matrices.space, base, self._size, self.ranks[self._names[name]], number)

    def ranked(self, rule: PairRule) -> Array:
        """Of each literal of a rule, in the order of its code, which ranks it has and whether it is inverted."""
        factors = [one for way in (FIRST, DIRECT, SECOND) for one in rule.factors[way]]
        ranked = [(self._names.get(one.relation, -1), int(one.is_inverse)) for one in factors]
        return np.array(ranked, np.int64).reshape(-1, 2)

    def give(self, counted: Counted, relation: Relation, numbers: Array, rounds: int, count: Counting) -> None:
        """Let the counts of a relation, of which there are none yet, begin with what is counted now."""
        size, values = relation.count, self._size
        ranks, near = np.full(size, NEVER, np.int64), np.zeros(2 * size, np.int64)
        places = np.empty((values, values), np.int32)
        count_kernels.find_places(
            relation.rows, size, numbers, self.ranks[self._names[relation.name]], places, ranks
        )  # fmt: skip
        counts = np.zeros((_BLOCK, rounds + 1, values), np.int32)
        cells, further = [np.empty((0, 2), np.int32)], [np.empty(0, np.int64)]
        for base in range(0, values, _BLOCK):
            stop = min(base + _BLOCK, values)
            counts[:] = 0
            count(relation, base, stop, counts)
            room = int(np.count_nonzero(counts))
            some, their = np.empty((room, 2), np.int32), np.empty(room, np.int64)
            found = count_kernels.read_counts(counts, base, stop, places, near, some, their)
            cells.append(some[:found])
            further.append(their[:found])
        counted.begin(relation, ranks, near, np.concatenate(cells), np.concatenate(further))

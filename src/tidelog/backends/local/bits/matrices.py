"""The bit matrices of one stage.

What      : `Matrices` lays out a matrix for every relation that a stage reads, forwards and inverted as its rules need
            it, and fills them from stored rows; conditions on one value become vectors of bits.
Idea      : what is derived has three matrices: all that is known, what drives this round, and what this round finds.
            Which facts are stored already is a fourth, if there are any, so that only others are written as rows.
Invariant : bases are known before memory is taken (`words`), so that a stage can be declined for its size.
Never     : no rule is applied here (fixpoint.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy

import numpy as np

from tidelog.backends.local.bits import bit_kernels
from tidelog.backends.local.bits.numbering import Numbering
from tidelog.backends.local.kernels.compiled import Array
from tidelog.backends.local.relations.relation import Relation
from tidelog.planning.pair_rules import SECOND, Condition, Factor, PairRule, Y, Z
from tidelog.planning.views import ANY, NOW, Mark, View

KNOWN, DELTA, FRESH, STORED = range(4)
"""The matrices of a relation: known facts, those that drive, those found this round, those stored."""
EXPLICIT = View(Mark.EXPLICIT)


def needs_product(rule: PairRule) -> bool:
    """Whether what leads from the middle to the end is more than one matrix."""
    second = rule.factors[SECOND]
    return (Y, Z) in rule.apart or len(second) > 1 or any(factor.is_negated for factor in second)


class Layout:
    """Which matrices a stage needs: their places by relation, direction and kind, and some without a name."""

    def __init__(self, rules: Sequence[PairRule], own: frozenset[str], stored: Iterable[str]) -> None:
        self.own, self.places = own, dict[tuple[str, bool, int], int]()
        for name in sorted(own):
            for kind in (KNOWN, DELTA, FRESH):
                self._add(name, kind)
        for name in stored:
            self._add(name, STORED)
        for rule in rules:
            for factor in (one for factors in rule.factors.values() for one in factors):
                self._add(factor.relation, KNOWN, is_inverse=factor.is_inverse)
                if factor.relation in own:
                    self._add(factor.relation, DELTA, is_inverse=factor.is_inverse)
        self.spare = any(map(needs_product, rules))
        """Whether a matrix is needed for products."""

    def __len__(self) -> int:
        return len(self.places) + self.spare

    @property
    def alone(self) -> Layout:
        """The same without what is stored."""
        other = copy(self)
        names = [key for key in self.places if key[2] != STORED]
        other.places = {key: place for place, key in enumerate(names)}
        return other

    def _add(self, relation: str, kind: int, *, is_inverse: bool = False) -> None:
        self.places.setdefault((relation, is_inverse, kind), len(self.places))


class Matrices:
    """The matrices and vectors of a stage, filled from its relations."""

    def __init__(self, layout: Layout, numbering: Numbering, relations: Mapping[str, Relation]) -> None:
        self._layout, self._numbering, self._relations = layout, numbering, relations
        self.size, self.width = len(numbering), (len(numbering) + 63) // 64
        self.space = np.zeros((len(layout) * self.size, self.width), np.uint64)
        self.full = np.zeros(self.width, np.uint64)
        for number in range(self.width):
            left = min(self.size - 64 * number, 64)
            self.full[number] = np.uint64((1 << left) - 1)
        self.facts = numbering.facts
        """How many facts there are to begin with."""
        self.read = 0
        """How many rows were looked at."""
        for (name, is_inverse, kind), place in layout.places.items():
            if kind == STORED:
                self._fill(name, place, ANY, is_inverse=False)
            elif kind == KNOWN:
                self._fill(name, place, EXPLICIT if name in layout.own else NOW, is_inverse=is_inverse)

    def base(self, relation: str, kind: int, *, is_inverse: bool = False) -> int:
        """Where a matrix begins; -1 if there is none."""
        place = self._layout.places.get((relation, is_inverse, kind))
        return -1 if place is None else place * self.size

    @property
    def product(self) -> int:
        """Where products are put."""
        return len(self._layout.places) * self.size

    def literals(self, factors: Sequence[Factor], driving: int = -1) -> list[tuple[int, int]]:
        """The matrices of some factors, the one at `driving` as what drives; each with whether it is negated."""
        return [
            (
                self.base(one.relation, DELTA if at == driving else KNOWN, is_inverse=one.is_inverse),
                int(one.is_negated),
            )
            for at, one in enumerate(factors)
        ]

    def vector(self, conditions: Sequence[Condition]) -> Array:
        """The values that fulfil all the conditions."""
        found = self.full.copy()
        for condition in conditions:
            one, relation = np.zeros(self.width, np.uint64), self._relations.get(condition.relation)
            if relation is not None:
                bit_kernels.fill_vector(
                    one, relation.rows, relation.marks, relation.count, NOW.care, NOW.want, self._numbering.numbers,
                    condition.column, condition.is_loop,
                )  # fmt: skip
                self.read += relation.count
            found &= ~one if condition.is_negated else one
        return found

    def write(self, relation: Relation, count: int) -> None:
        """Let what drives the next round wait as rows, without what is stored; `count` is at least how many it is."""
        delta, stored = self.base(relation.name, DELTA), self.base(relation.name, STORED)
        room, values = relation.room(count), self._numbering.values
        relation.waiting += bit_kernels.write_pairs(self.space, delta, stored, self.size, values, room)

    def flip(self, relation: str) -> None:
        """Bring the inverse of a relation of the stage up to date, if it is needed."""
        every = self.base(relation, KNOWN, is_inverse=True)
        if every >= 0:
            delta, flipped = (self.base(relation, DELTA, is_inverse=one) for one in (False, True))
            bit_kernels.flip_new(self.space, self.size, delta, every, flipped)

    def compared(self, relation: Relation) -> tuple[Array, Array, int]:
        """The stored rows of a relation of the stage that come, those that go, and how many facts are not stored."""
        coming, going = np.empty(relation.count, np.int32), np.empty(relation.count, np.int32)
        known = self.base(relation.name, KNOWN)
        come, gone, stored = bit_kernels.compare_rows(
            relation.rows, relation.marks, relation.count, int(Mark.NOW), self._numbering.numbers, self.space, known,
            coming, going,
        )  # fmt: skip
        total = bit_kernels.count_rows(self.space, known, self.size, np.empty(self.size, np.int64))
        return coming[:come], going[:gone], int(total - stored)

    def _fill(self, name: str, place: int, view: View, *, is_inverse: bool) -> None:
        relation = self._relations.get(name)
        if relation is not None:
            self.read += relation.count
            bit_kernels.fill_matrix(
                self.space, place * self.size, relation.rows, relation.marks, relation.count, view.care, view.want,
                self._numbering.numbers, is_inverse,
            )  # fmt: skip

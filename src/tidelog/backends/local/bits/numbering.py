"""A compact numbering of the values that occur in some relations.

What      : a `Numbering` gives the values in the facts that a stage reads the numbers 0, 1, 2, ...; a `Numbers` is the
            array behind it, which a store keeps from one stage to the next.
Idea      : ids of constants are dense over the whole dictionary, which may be large; the values of one stage are few.
            The array has a place for every id, is -1 everywhere between two uses, and only the places that were used
            are cleaned, so that a numbering costs what it numbers.
Invariant : an interrupt in the middle leaves the array in doubt, and then the next use begins with a new one.
Never     : more values than a caller has allowed: counting stops there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from tidelog.backends.local.bits import bit_kernels
from tidelog.backends.local.kernels.compiled import Array
from tidelog.backends.local.relations.relation import Relation
from tidelog.planning.views import View


@dataclass(frozen=True, slots=True)
class Numbering:
    """Values by number, and numbers by id."""

    values: Array
    numbers: Array
    facts: int
    """How many facts the values were met in."""

    def __len__(self) -> int:
        return len(self.values)


class Numbers:
    """The array that numberings use in turn."""

    def __init__(self) -> None:
        self._numbers = np.empty(0, np.int32)
        self._is_clean = True

    @property
    def nbytes(self) -> int:
        """The memory that the array takes."""
        return self._numbers.nbytes

    def number(self, facts: Iterable[tuple[Relation, View]], ids: int, most: int) -> Numbering | None:
        """The numbering of the values in the given facts; None if there are more than `most`.

        `ids` is more than any id in a stored row. The numbering is valid until `clean`.
        """
        if not self._is_clean or len(self._numbers) < ids:
            self._numbers = np.full(ids + ids // 4, -1, np.int32)
        self._is_clean = False
        values, known, total = np.empty(most, np.int32), 0, 0
        for relation, view in facts:
            known, met = bit_kernels.number_values(
                relation.rows, relation.marks, relation.count, view.care, view.want, self._numbers, values, known
            )
            if known < 0:
                self.clean(Numbering(values, self._numbers, total))
                return None
            total += met
        return Numbering(values[:known], self._numbers, total)

    def clean(self, numbering: Numbering) -> None:
        """The numbering is not needed any more."""
        bit_kernels.forget_numbers(self._numbers, numbering.values, len(numbering))
        self._is_clean = True

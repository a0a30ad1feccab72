"""About how many distinct values there are, in four kilobytes.

What      : `Sketch` takes numbers, and says about how many distinct ones it was given.
Idea      : hash every number and keep the 512 least hashes. If the greatest of them is a hundredth of the greatest
            hash there can be, there are about 51,200 distinct numbers. Two sketches are merged by the same rule.
Source    : Bar-Yossef et al. 2002, "Counting distinct elements in a data stream", algorithm 2.
Invariant : exact up to 511 distinct numbers; beyond that the standard error is 5 %. The order of arrival is of no
            importance.
Never     : no facts are kept.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tidelog.backends.spark.values.ids import Ids

_KEPT = 512
_PORTION = 1 << 14
"""Numbers that are hashed at once: they stay in the processor's cache."""
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(31)

Hashes = npt.NDArray[np.uint64]


class Sketch:
    """The least hashes of what was seen."""

    def __init__(self, kept: Hashes | None = None) -> None:
        self._kept: Hashes = np.empty(0, np.uint64) if kept is None else kept

    def add(self, numbers: Ids) -> None:
        """Take numbers, some at a time: of later ones hardly any is among the least."""
        for start in range(0, len(numbers), _PORTION):
            hashes = numbers[start : start + _PORTION].astype(np.uint64)
            hashes *= _FACTOR
            hashes ^= hashes >> _SHIFT
            hashes *= _FACTOR
            hashes ^= hashes >> _SHIFT
            if len(self._kept) == _KEPT:
                hashes = hashes[hashes <= self._kept[-1]]
            if len(hashes) > _KEPT:  # few distinct numbers, each many times: most are known
                places = np.searchsorted(self._kept, hashes)
                places[places == len(self._kept)] = 0
                hashes = hashes[self._kept[places] != hashes] if len(self._kept) else hashes
            self._take(hashes)

    def merge(self, other: Sketch) -> None:
        """Take what another sketch has seen."""
        self._take(other._kept)

    @property
    def count(self) -> int:
        """About how many distinct numbers were seen."""
        if len(self._kept) < _KEPT:
            return len(self._kept)
        return int((_KEPT - 1) / (float(self._kept[-1]) / 2.0**64))

    def to_bytes(self) -> bytes:
        """The sketch on its way from a task to the driver."""
        return self._kept.tobytes()

    @staticmethod
    def of(data: bytes) -> Sketch:
        """The sketch of these bytes."""
        return Sketch(np.frombuffer(data, np.uint64))

    def _take(self, hashes: Hashes) -> None:
        if len(hashes):
            both = np.sort(np.concatenate([self._kept, hashes]))
            self._kept = both[np.concatenate([[True], both[1:] != both[:-1]])][:_KEPT]

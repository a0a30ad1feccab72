"""Many keys looked up in a sorted column.

What      : `KeySearch` says for each of many keys where it begins in a sorted column, and how often it is there.
Idea      : a binary search among a million numbers goes through twenty places, half of them far apart in memory. Keys
            that are hashes are spread evenly, so their leading bits say nearly where they are: a table has, for each
            of about as many values of these bits as there are numbers, where they begin. What is left is a short
            search (180 nanoseconds became 30).
Invariant : the places are those of np.searchsorted, wherever the keys lie.
Never     : the column is not copied.
"""

from __future__ import annotations

import numpy as np

from tidelog.backends.local.kernels.compiled import Array, Int, compiled, read_only

_FEW = 1 << 12
"""With fewer numbers than these a table is not worth its kernels."""
_WORTH = 50
"""A table is made for a fiftieth as many keys as there are numbers: it takes about 2 nanoseconds for a number."""


class KeySearch:
    """A sorted column of int64, ready to be searched."""

    def __init__(self, column: Array) -> None:
        self._column = column
        self._starts: Array | None = None
        self._first, self._shift = np.int64(0), 0

    def find(self, keys: Array) -> tuple[Array, Array]:
        """The first place of each key, or where it would be, and how many places have it."""
        if self._starts is None and len(self._column) > _FEW and _WORTH * len(keys) > len(self._column):
            self._begin()
        if self._starts is None:
            first = np.searchsorted(self._column, keys, "left")
            return first, np.searchsorted(self._column, keys, "right") - first
        first, counts = np.empty(len(keys), np.int64), np.empty(len(keys), np.int64)
        column = read_only(self._column)
        _find(column, self._first, self._shift, read_only(self._starts), read_only(keys), first, counts)
        return first, counts

    def _begin(self) -> None:
        column = read_only(self._column)
        self._first = np.int64(column[0] >> 1)  # halves, so that the distance of two numbers is a number
        spread = int(column[-1] >> 1) - int(self._first)
        self._shift = max(spread.bit_length() - len(column).bit_length(), 0)
        starts = np.empty((spread >> self._shift) + 2, np.int32)
        _begin(column, self._first, self._shift, starts)
        self._starts = starts


@compiled
def _begin(column: Array, first: Int, shift: Int, starts: Array) -> None:
    """Where the numbers of each bucket begin; behind the last bucket, how many there are."""
    bucket = 0
    for at in range(len(column)):
        own = ((column[at] >> 1) - first) >> shift
        while bucket <= own:
            starts[bucket] = at
            bucket += 1
    while bucket < len(starts):
        starts[bucket] = len(column)
        bucket += 1


@compiled
def _find(column: Array, first: Int, shift: Int, starts: Array, keys: Array, found: Array, counts: Array) -> None:
    """Look up each key among the numbers of its bucket."""
    last = len(starts) - 2
    for at in range(len(keys)):
        key = keys[at]
        if at and key == keys[at - 1]:  # keys that come sorted are often several of one
            found[at], counts[at] = found[at - 1], counts[at - 1]
            continue
        if key < column[0]:
            low = high = np.int64(0)
        elif key > column[-1]:
            low = high = np.int64(len(column))
        else:
            bucket = min(((key >> 1) - first) >> shift, last)
            low, high = np.int64(starts[bucket]), np.int64(starts[bucket + 1])
        stop = high
        while low < high:
            middle = (low + high) >> 1
            if column[middle] < key:
                low = middle + 1
            else:
                high = middle
        end = low
        while end < stop:  # a search again, because a key may have most of the places
            middle = (end + stop) >> 1
            if column[middle] > key:
                stop = middle
            else:
                end = middle + 1
        found[at], counts[at] = low, end - low

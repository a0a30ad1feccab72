"""Room for rows that come.

What      : how large the arrays of a relation are made, and `grown`, which makes a larger one.
Idea      : moving rows is expensive; room is cheap, because it takes no memory until it is used.
Invariant : a table of full rows has a power of two of slots, of which its rows take at most three quarters.
Never     : no rows are looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from tidelog.backends.local.kernels import workers as sharing
from tidelog.backends.local.kernels.compiled import Array
from tidelog.backends.local.kernels.workers import ALONE, Workers
from tidelog.backends.local.relations.steps import COPIED, never, ranges, zeros

LEAST_ROWS = 16
MEDIUM = 1 << 20
_SMALL = 1 << 12
"""Up to this number of rows, a copy takes a microsecond or two, which is less than to cut it into steps."""
_LARGE = 1 << 24
_HUGE = 1 << 21
"""Above 262,144 rows, arrays have room for this many: NumPy asks for huge pages from 4 MB on, and to touch 2 MB in
small pages takes 1.5 ms, in a huge one 0.2 ms. Room that is not touched takes no memory. For fewer rows, to ask the
system for so much costs more than it saves: 100,000 triples of LUBM take twice as long."""


def grown(
    array: Array,
    capacity: int,
    pause: Callable[[], None] = never,
    workers: Workers = ALONE,
    *,
    zeroed: bool = False,
) -> Array:
    """The array with at least the given capacity; new entries are anything, or zero if they are asked to be.

    Several threads copy it: that memory is touched for the first time costs more than copying, and is shared with it.
    """
    if len(array) >= capacity:
        return array
    larger = (zeros if zeroed else np.empty)((capacity, *array.shape[1:]), array.dtype)
    if len(array) <= _SMALL:
        larger[: len(array)] = array
        return larger
    crew = workers.of(len(array))
    for start, stop in ranges(len(array), COPIED, crew):
        if crew.threads > 1:
            parts = sharing.ranges(stop - start, crew.threads)
            crew.run([partial(_copy, array, larger, start + first, start + last) for first, last in parts])
        else:
            _copy(array, larger, start, stop)
        pause()
    return larger


def _copy(array: Array, larger: Array, start: int, stop: int) -> None:
    larger[start:stop] = array[start:stop]


def empty_table(rows: int) -> Array:
    """The table of full rows with room for that number of rows."""
    return np.zeros(table_size(rows), np.uint32)


def table_size(rows: int) -> int:
    """The number of slots of a table of full rows with room for that number of rows."""
    size = 32
    while size * 3 < rows * 4:
        size *= 2
    return size


def capacity_for(needed: int, present: int) -> int:
    """How large an array is made that needs more room than it has at present.

    Half as much again as is needed: a first load would fill its arrays to the brim, and the first fact that is derived
    would move them all, in LUBM's 100,000 triples 0.8 of 13 ms.
    """
    step = present * 4 if present < _LARGE else present * 2
    return max(needed + needed // 2, step, _HUGE if needed > MEDIUM // 4 else 0)

"""The table of full rows, filled.

What      : `filled` makes a table of the first rows of a relation, in steps.
Idea      : a table that is too small, or behind, is made anew beside the old one (relation.py puts it in its place).
Invariant : at most 3/4 of the slots are used (row_table.py).
Never     : no relation is known here.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tidelog.backends.local.kernels.compiled import Array
from tidelog.backends.local.kernels.workers import ALONE, Workers
from tidelog.backends.local.relations import parts, row_table
from tidelog.backends.local.relations.room import empty_table
from tidelog.backends.local.relations.steps import COPIED, ranges


def filled(rows: Array, count: int, room: int, pause: Callable[[], None], workers: Workers = ALONE) -> Array:
    """The table of the first rows, with room for that number of rows; made with pauses, which may raise."""
    slots, ahead = empty_table(room), np.empty(row_table.BLOCK, np.uint64)  # a reader may have asked
    for start, stop in ranges(len(slots), COPIED) if len(slots) > COPIED else ():
        slots[start:stop] = 0  # rows are entered anywhere, and would touch all of this memory in one step
        pause()
    crew = workers.of(count)
    for start, stop in ranges(count, workers=crew):
        if crew.threads > 1:
            parts.enter_rows(crew, rows, start, stop, slots)
        else:
            row_table.enter_all(rows, start, stop, slots, ahead)
        pause()
    return slots

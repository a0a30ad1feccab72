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
from tidelog.backends.local.relations.growth import table_size
from tidelog.backends.local.relations.steps import COPIED, full, ranges


def filled(rows: Array, count: int, room: int, pause: Callable[[], None], workers: Workers = ALONE) -> Array:
    """The table of the first rows, with room for that number of rows; made with pauses, which may raise."""
    size, ahead = table_size(room), np.empty(row_table.BLOCK, np.uint64)  # a reader may have asked
    # rows are entered anywhere, and would touch all memory of a large table in one step
    slots = np.zeros(size, np.uint32) if size <= COPIED else full(size, 0, np.uint32, pause)
    crew = workers.of(count)
    for start, stop in ranges(count, workers=crew):
        if crew.threads > 1:
            parts.enter_rows(crew, rows, start, stop, slots)
        else:
            row_table.enter_all(rows, start, stop, slots, ahead)
        pause()
    return slots

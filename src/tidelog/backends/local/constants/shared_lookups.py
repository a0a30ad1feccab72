"""Ids of many values, looked up by several threads.

What      : `known_ids` finds the ids of those values of a column that have one.
Idea      : most values of a large load were met before, and looking up changes nothing, so it needs no lock. New
            values are added afterwards by one thread, in their order: ids are those of one thread alone.
Invariant : the caller holds the dictionary's latch.
Never     : no constant is added here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from tidelog.backends.local.kernels.compiled import Array
from tidelog.backends.local.kernels.workers import Workers, ranges

_SAMPLE = 1 << 10
"""If half of the first values are new, all of them are left to the thread that adds them."""


def known_ids(workers: Workers, size: int, look_up: Callable[[int, int, Array], None]) -> Array | None:
    """The ids of values, -1 for those that have none; None if that is not worth while.

    `look_up` writes the ids of the values from one position to another.
    """
    if not workers.takes(size):
        return None
    out, few = np.empty(size, np.int32), min(size, _SAMPLE)
    look_up(0, few, out[:few])
    if 2 * int(np.count_nonzero(out[:few] < 0)) > few:
        return None
    parts = ranges(size, workers.threads)
    workers.run([partial(look_up, start, stop, out[start:stop]) for start, stop in parts])
    return out

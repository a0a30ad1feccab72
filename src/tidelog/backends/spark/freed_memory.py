"""Memory that the driver, or a task, has freed.

What      : `give_back` hands it to the system.
Idea      : what a large change has brought goes at its end, but allocators keep pages that they may need again, and a
            small block in the middle keeps its neighbours. Asked once, after much has gone, it costs milliseconds.
            Spark's workers live on between tasks: one that derived 50 million facts kept five gigabytes.
Invariant : nothing that is in use is touched. Where the C library has no such call, Arrow's memory alone is given back.
Never     : no fact, no session.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache

import pyarrow as pa


def give_back() -> None:
    """Hand freed memory to the system."""
    pa.default_memory_pool().release_unused()
    trim = _trim()
    if trim is not None:
        trim(0)


@cache
def _trim() -> Callable[[int], int] | None:
    """What the C library of Linux offers for it."""
    try:
        found: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):
        return None
    return found

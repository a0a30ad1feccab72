"""Memory that is freed here and soon needed again.

What      : `keep_freed_memory` lets the C library keep the memory of arrays that are freed, up to some megabytes.
Idea      : glibc takes arrays of 128 kB and more from the system and gives them back at once; touching them again costs
            a microsecond for each 4 kB, which was a fifth of deriving 300,000 facts. It learns from the largest array
            that was freed so far which sizes come and go, so one that is never touched teaches it before it matters.
Invariant : no setting of the process is changed, and no page is touched. Where the C library does not learn, nothing
            happens.
Never     : a driver of Spark, which counts its megabytes.
"""

from __future__ import annotations

from functools import cache

import numpy as np

_SIZE = 16 << 20
"""Arrays up to this size stay; glibc keeps at most twice as much at the end of its memory."""


@cache
def keep_freed_memory() -> None:
    """From now on; once in a process."""
    np.empty(_SIZE, np.uint8)

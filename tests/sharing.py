"""Small work that is shared between threads as if it were large.

What      : `sharing` lowers every size from which on threads are used, for the time of a block.
Idea      : what is shared in real life has tens of thousands of rows; a test that has them cannot try many cases.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from tidelog.backends.local import store
from tidelog.backends.local.joins import executable, runner, side_by_side
from tidelog.backends.local.kernels import workers
from tidelog.backends.local.relations import relation


@contextmanager
def sharing(least: int = 4, chunk: int = 16) -> Iterator[None]:
    """Share whatever has at least `least` rows; the tables of joins have `chunk` rows."""
    with (
        patch.object(workers, "LEAST", least),
        patch.object(relation, "_CACHED", 0),
        patch.object(side_by_side, "CHUNK", chunk),
        patch.object(side_by_side, "_LEAST_RANGE", 1),
        patch.object(executable, "CHUNK", chunk),
        patch.object(runner, "MOST_DRIVING", 0),
        patch.object(store, "MOST_DRIVING", 0),
    ):
        yield

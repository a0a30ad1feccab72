"""A hash index on some columns of a relation.

What      : slots that find a key, and links that join all rows with one key to a chain.
Idea      : kernels add rows by the index's `head`, an array that holds the addresses of the others.
Invariant : an index that needs room is made anew beside the old one, with a head of its own, so that the relation can
            put it in the place of the old one in one step.
Never     : no marks.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy

import numpy as np

from tidelog.backends.local.kernels import hashing
from tidelog.backends.local.kernels.compiled import Array
from tidelog.backends.local.kernels.workers import ALONE, Workers
from tidelog.backends.local.relations.growth import grown
from tidelog.backends.local.relations.parts import link_rows
from tidelog.backends.local.relations.steps import full, never, ranges

_LINKED = 1 << 13
"""How many rows are linked in a step while an index is built. Where keys are few, the slots for one step, 128 KB, are
all that is touched: in fresh memory, 100,000 rows with 31 keys take 0.5 ms, and 1.3 with slots for a key per row."""


class Index:
    """One index; `rows` are always the rows of its relation."""

    def __init__(
        self,
        columns: tuple[int, ...],
        rows: Array,
        count: int,
        capacity: int,
        pause: Callable[[], None] = never,
        workers: Workers = ALONE,
    ) -> None:
        """The index of the first `count` rows, with links for up to `capacity`; built with pauses, which may raise."""
        self.columns = columns
        self.head = np.zeros(hashing.COLUMNS + len(columns), np.int64)
        self.head[hashing.WIDTH] = len(columns)
        self.head[hashing.COLUMNS :] = columns
        self.links = np.empty(capacity, np.int32)
        self.slots = _empty_slots(min(count, _LINKED), pause)
        self._point()
        crew, heads = workers.of(count), np.array([self.head.ctypes.data], np.int64)
        for start, stop in ranges(count, _LINKED, crew):
            if self.spare < stop - start:  # as many keys will come as have come, and a step can bring a key with a row
                self._rehash(max(self.keys * count // max(start, 1), self.keys + stop - start), rows, pause)
            link_rows(crew, heads, rows, start, stop)
            pause()
        if _table_size(self.keys * 9 // 8) < len(self.slots):
            self._rehash(self.keys * 9 // 8, rows, pause)  # there was room for more keys than have come

    @property
    def keys(self) -> int:
        """The number of distinct keys among all stored rows."""
        return int(self.head[hashing.KEYS])

    @property
    def spare(self) -> int:
        """How many further keys it has room for."""
        return len(self.slots) * 5 // 8 - self.keys

    def roomier(self, more: int, rows: Array, pause: Callable[[], None] = never, workers: Workers = ALONE) -> Index:
        """An index with the same content and room for `more` keys and for as many rows as there is space for.

        If this index has enough room, it is the answer itself.
        """
        needed = self.keys + more
        is_full = needed * 8 > len(self.slots) * 5
        if not is_full and len(self.links) >= len(rows):
            return self
        larger = copy(self)
        larger.head = self.head.copy()
        larger.links = grown(self.links, len(rows), pause, workers)
        if is_full:
            larger._rehash(needed, rows, pause)
        larger._point()
        return larger

    def nbytes(self, count: int) -> int:
        """The memory that the index takes for this number of rows."""
        return count * self.links.itemsize + self.slots.nbytes

    def _rehash(self, keys: int, rows: Array, pause: Callable[[], None]) -> None:
        """Go on in a table with room for that number of keys."""
        slots = _empty_slots(keys, pause)
        for start, stop in ranges(len(self.slots)):
            hashing.rehash(self.slots[start:stop], slots, rows.ctypes.data, rows.shape[1], self.head.ctypes.data)
            pause()
        self.slots = slots
        self._point()

    def _point(self) -> None:
        self.head[hashing.SLOTS] = self.slots.ctypes.data
        self.head[hashing.ROOM] = len(self.slots) - 1
        self.head[hashing.LINKS] = self.links.ctypes.data


def _empty_slots(keys: int, pause: Callable[[], None]) -> Array:
    """The slots of an index with room for that number of keys."""
    return full(_table_size(keys), -1, np.int64, pause)


def _table_size(keys: int) -> int:
    """A power of two of which the keys take at most five eighths, with some to spare."""
    size = 16
    while size * 5 < keys * 8 + 8:
        size *= 2
    return size

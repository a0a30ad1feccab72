"""The members of large groups in order, for `min`, `max` and `median`.

What      : `Orders` keeps, for each group that is large and has changed, a tree of its members (ledgers.py), and says
            what the aggregate was and is.
Idea      : a group is read once, when it is first met; from then on a changed row costs the logarithm of its group.
Invariant : a member is there as often as its weight says, or not at all below zero. A group that a moment touches is
            noted before its tree changes: if the moment fails, the tree is given up, and made again by reading.
Never     : groups that are small, or have a weight that no tree counts: these are read.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tidelog.backends.local.constants.dictionary import Dictionary
from tidelog.backends.local.constants.functions import NO_VALUE
from tidelog.backends.local.kernels.compiled import Array
from tidelog.backends.local.relations.ledgers import Ordering

LARGE = 64
"""Groups of fewer members are read: that takes less than a tree."""
_MOST, _HEAVY = 1 << 30, 100
"""How many members a tree counts, and how many a changed row may bring."""
Key = tuple[int, ...]


class Orders:
    """Trees by group."""

    def __init__(self, function: str, dictionary: Dictionary) -> None:
        self._function, self._dictionary = function, dictionary
        self._trees: dict[Key, Ordering] = {}
        self._touched: set[Key] = set()

    def __contains__(self, key: Key) -> bool:
        return key in self._trees

    def open(self, key: Key, ids: Array, weights: Array) -> None:
        """Begin with the members that a group has now."""
        counts = np.maximum(weights, 0)
        if len(ids) < LARGE or counts.max() > _HEAVY or len(ids) * _HEAVY > _MOST:
            return
        tree, nothing = Ordering(self._function, self._dictionary), np.empty(0, np.int32)
        self._touched.add(key)
        if tree.open(np.repeat(ids, counts), nothing, np.empty(0, np.int8)):
            self._trees[key] = tree

    def change(self, key: Key, ids: Array, before: Array, after: Array) -> tuple[int, int] | None:
        """The constants that were and are the aggregate, where members had and have some weights.

        None if that is for reading to find out: values without a common order too, and a median beyond floats.
        """
        tree, more = self._trees[key], np.maximum(after, 0) - np.maximum(before, 0)
        self._touched.add(key)
        if tree.members < LARGE or np.abs(more).max() > _HEAVY or tree.members > _MOST:
            del self._trees[key]
            return None
        was, chosen = tree.result(), more != 0  # a row that is no member before and after would be given a node
        is_usable = tree.change(ids[chosen], more[chosen].astype(np.int8)) and tree.members
        found = was, tree.result() if is_usable else NO_VALUE
        if NO_VALUE in found:
            del self._trees[key]
            return None
        return found

    def settle(self) -> None:
        """What was changed stays."""
        for key in self._touched & self._trees.keys():
            self._trees[key].settle()
        self._touched = set()

    def undo(self) -> None:
        """The moment failed."""
        self._forget(self._touched)
        self._touched = set()

    def clear(self) -> None:
        """Everything is read again."""
        self._forget(list(self._trees))

    def _forget(self, keys: Iterable[Key]) -> None:
        for key in keys:
            self._trees.pop(key, None)

    @property
    def nbytes(self) -> int:
        """The memory of the trees."""
        return sum(tree.nbytes for tree in self._trees.values())

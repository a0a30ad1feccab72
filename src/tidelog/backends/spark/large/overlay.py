"""What has changed since the files of a relation were written.

What      : `Overlay` says of changed facts (rows of ids) whether they are gone, derived or explicit now.
Idea      : two *levels* of sorted arrays, a large one and a young one. An update goes into the young level; when that
            has more than some thousand facts, it goes into the large one. So an update costs what it changes, whatever
            has changed before it, and a fact takes 8 bytes for each column and one more. Facts are found by any of
            their columns by binary search, in an order that is made when it is first asked for, 8 bytes a fact.
Invariant : a fact is in a level once, and the young level knows better. Immutable: a change makes another overlay.
Never     : no files and no session.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from tidelog.backends.local.kernels.compiled import Array
from tidelog.backends.local.relations.row_sorting import sorted_rows
from tidelog.backends.spark.files.reading import bound, matching
from tidelog.backends.spark.values.ids import Ids

GONE, DERIVED, EXPLICIT = 0, 1, 2
"""What an overlay says about a fact."""
SILENT = -1
"""It says nothing."""

_YOUNG = 8192
"""Facts of the young level. With each update it is sorted (1 ms); when it is full, it goes into the large one (50 ms
for a million facts)."""
_FEW = 8
"""Facts that are fewer than one in this number go into a level one by one; more are sorted together with it."""


_PROBE = 64
"""Finding a key costs as much as putting this number of values in order."""


class Level:
    """Distinct facts, sorted, and what became of each."""

    def __init__(self, rows: Ids, states: Array) -> None:
        self.rows, self.states = rows, states
        self._orders: dict[int, Array] = {}
        """By column, the places of all facts in its order."""

    def __len__(self) -> int:
        return len(self.rows)

    @staticmethod
    def of(rows: Ids, states: Array) -> Level:
        """Facts in any order; of equal ones the last counts."""
        if len(rows) <= _YOUNG:
            order = np.lexsort(rows.T[::-1])
            rows = rows[order]
        else:
            *columns, order = sorted_rows(np.stack([*rows.T, np.arange(len(rows))]), rows.shape[1] + 1)
            rows = np.stack(columns, axis=1)
        states = states[order].astype(np.int8)
        is_last = np.ones(len(rows), np.bool_)
        is_last[:-1] = (rows[1:] != rows[:-1]).any(axis=1)
        return Level(rows[is_last], states[is_last])

    @cached_property
    def has_explicit(self) -> bool:
        """Whether one of the facts is explicit."""
        return bool((self.states == EXPLICIT).any())

    def updated(self, later: Level) -> Level:
        """Both together; the later one knows better."""
        if not len(self) or not len(later):
            return later if len(later) else self
        if len(later) * _FEW <= len(self):
            return self._with(later)
        return Level.of(np.concatenate([self.rows, later.rows]), np.concatenate([self.states, later.states]))

    def say(self, rows: Ids) -> Array:
        """The states of these facts."""
        found = np.full(len(rows), SILENT, np.int8)
        if len(self) and len(rows):
            places, is_here = self._places(rows)
            found[is_here] = self.states[places[is_here]]
        return found

    def with_keys(self, columns: Sequence[int], keys: Ids) -> Array:
        """The places of the facts that have one of the keys, which are distinct, in the columns."""
        if not len(self) or not len(keys):
            return np.empty(0, np.int64)
        order = self._near(columns[0], keys[:, 0])
        named = {str(column): self.rows[order, column] for column in columns}
        names = [str(column) for column in columns]
        found: Array = order[matching(named, names[:1], names, keys)]
        return found

    def _with(self, later: Level) -> Level:
        """Both together, and the orders that this one has: a pass over each array, and no sorting."""
        places, is_here = self._places(later.rows)
        states, new, before = self.states.copy(), later.rows[~is_here], places[~is_here]
        states[places[is_here]] = later.states[is_here]
        found = Level(np.insert(self.rows, before, new, axis=0), np.insert(states, before, later.states[~is_here]))
        is_new = np.zeros(len(found), np.bool_)
        is_new[before + np.arange(len(before))] = True
        old_places, new_places = np.flatnonzero(~is_new), np.flatnonzero(is_new)
        for column, order in list(self._orders.items()):  # readers of this version may add one meanwhile
            own = np.argsort(new[:, column], kind="stable")
            between = np.searchsorted(self.rows[order, column], new[own, column], "right")
            found._orders[column] = np.insert(old_places[order], between, new_places[own])
        return found

    def _places(self, rows: Ids) -> tuple[Ids, Array]:
        """Where each of some rows is, or would be; and whether it is there."""
        places = bound(list(self.rows.T), rows, after=False)
        is_here = (self.rows[np.minimum(places, len(self) - 1)] == rows).all(axis=1)
        return places, is_here

    def _near(self, column: int, keys: Ids) -> Array:
        """Places in the order of a column: those of the facts with these keys, or all if the keys are many."""
        order, values = self._by(column), self.rows[:, column]
        if len(keys) * _PROBE > len(order):
            return order
        keys = np.unique(keys)
        first = _bisected(values, order, keys, after=False)
        counts = _bisected(values, order, keys, after=True) - first
        found: Array = order[np.repeat(first - (np.cumsum(counts) - counts), counts) + np.arange(counts.sum())]
        return found

    def _by(self, column: int) -> Array:
        if column not in self._orders:
            self._orders[column] = np.argsort(self.rows[:, column], kind="stable")
        return self._orders[column]


def _bisected(values: Ids, order: Array, keys: Ids, *, after: bool) -> Ids:
    """Where keys begin, or end, among values in their order; nothing is read but what a search compares."""
    low, high = np.zeros(len(keys), np.int64), np.full(len(keys), len(order))
    for _ in range(len(order).bit_length()):
        middle = np.minimum((low + high) >> 1, len(order) - 1)
        found = values[order[middle]]
        is_before = (found <= keys if after else found < keys) & (low < high)
        low, high = np.where(is_before, middle + 1, low), np.where(is_before, high, np.minimum(middle, high))
    return low


class Overlay:
    """Changed facts, of one relation."""

    def __init__(self, width: int, large: Level | None = None, young: Level | None = None) -> None:
        nothing = Level(np.empty((0, width), np.int64), np.empty(0, np.int8))
        self._width, self._large, self._young = width, large or nothing, young or nothing

    def __len__(self) -> int:
        """How many facts have changed; one that is in both levels counts twice."""
        return len(self._large) + len(self._young)

    def __bool__(self) -> bool:
        return len(self) > 0

    @property
    def has_explicit(self) -> bool:
        """Whether one of the facts is explicit, or was before it changed again."""
        return self._large.has_explicit or self._young.has_explicit

    def changed(self, rows: Ids, states: Array) -> Overlay:
        """After a further change, given the new states of distinct facts."""
        young = self._young.updated(Level.of(rows, states))
        if len(young) <= _YOUNG:
            return Overlay(self._width, self._large, young)
        return Overlay(self._width, self._large.updated(young))

    def say(self, rows: Ids) -> Array:
        """What the overlay says about facts: their states, SILENT where it knows nothing."""
        young = self._young.say(rows)
        silent = young == SILENT
        if silent.any():
            young[silent] = self._large.say(rows[silent])
        return young

    @cached_property
    def all(self) -> Level:
        """Everything in one level."""
        return self._large.updated(self._young)

    def present(self, columns: Sequence[int] = (), keys: Ids | None = None) -> tuple[Ids, Array]:
        """The facts that are there, and which are explicit: those with the keys in the columns, or all."""
        if keys is None:
            return _present(self.all.rows, self.all.states)
        young, large = self._young.with_keys(columns, keys), self._large.with_keys(columns, keys)
        older = self._large.rows[large]
        is_known = self._young.say(older) != SILENT
        rows = np.concatenate([self._young.rows[young], older[~is_known]])
        return _present(rows, np.concatenate([self._young.states[young], self._large.states[large][~is_known]]))


def _present(rows: Ids, states: Array) -> tuple[Ids, Array]:
    is_there = states != GONE
    return rows[is_there], states[is_there] == EXPLICIT


NOTHING = Overlay(1)
"""Nothing has changed."""

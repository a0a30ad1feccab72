"""Which facts of a cold relation the driver has.

What      : per relation and set of columns, the keys all of whose facts are on the driver.
Idea      : a join asks for the facts with certain values in certain columns; what was brought once stays true, because
            every later change goes through the driver.
Invariant : a key is noted only together with the fetch that brings its facts; if that fails, everything is forgotten.
Never     : no facts and no session.
"""

from __future__ import annotations

import numpy as np

from tidelog.backends.local.kernels.compiled import Array
from tidelog.backends.local.relations.facts import distinct
from tidelog.backends.local.relations.relation import Relation
from tidelog.planning.views import Mark, View

_UNKNOWN = View(outside=Mark.NOW)
_KNOWN = View(Mark.NOW)


class Pages:
    """What is on the driver."""

    def __init__(self) -> None:
        self._whole: set[str] = set()
        self._keys: dict[tuple[str, tuple[int, ...]], Relation] = {}

    def is_whole(self, relation: str) -> bool:
        """Whether every fact of the relation is on the driver."""
        return relation in self._whole

    def note_whole(self, relation: str) -> None:
        """Every fact of the relation is brought now."""
        self._whole.add(relation)
        self._keys = {key: registry for key, registry in self._keys.items() if key[0] != relation}

    def forget(self, relation: str) -> None:
        """Nothing is known about the relation."""
        self._whole.discard(relation)
        self._keys = {key: registry for key, registry in self._keys.items() if key[0] != relation}

    def note(self, relation: str, columns: tuple[int, ...], keys: Array) -> Array:
        """Note keys (local numbers, one row each); those that were not known before."""
        if relation in self._whole or not len(keys):
            return keys[:0]
        keys = self._uncovered(relation, columns, np.ascontiguousarray(keys))
        registry = self._keys.get((relation, columns))
        if registry is None:
            registry = self._keys[relation, columns] = Relation(relation, len(columns))
        new = registry.store(keys, _UNKNOWN, Mark.NOW)  # may move the rows, so they are read afterwards
        return registry.rows[new]

    def _uncovered(self, relation: str, columns: tuple[int, ...], keys: Array) -> Array:
        """The keys whose facts were not brought already by a look-up with fewer columns."""
        for (name, fewer), registry in self._keys.items():
            if name != relation or len(fewer) >= len(columns) or not set(fewer) <= set(columns) or not len(keys):
                continue
            parts = np.ascontiguousarray(keys[:, [columns.index(column) for column in fewer]])
            known = registry.rows[registry.find(parts, _KNOWN)]
            if len(known):
                keys = keys[~are_among(parts, known)]
        return keys


def lacking(rows: Array, known: Array) -> Array:
    """The distinct rows that are not in `known`; all of `known` are among the rows."""
    registry = Relation("", rows.shape[1])
    registry.store(np.ascontiguousarray(rows), _UNKNOWN, Mark.NOW)
    is_left = np.ones(registry.count, np.bool_)
    is_left[registry.find(np.ascontiguousarray(known), _KNOWN)] = False
    left: Array = registry.rows[: registry.count][is_left]
    return left


def are_among(rows: Array, known: Array) -> Array:
    """For each row whether it is in `known`. No number is negative, and `known` is not empty."""
    if rows.shape[1] == 1:  # numbers of a dictionary: dense
        is_known = np.zeros(max(int(rows.max(initial=0)), int(known.max(initial=0))) + 1, np.bool_)
        is_known[known[:, 0]] = True
        found: Array = is_known[rows[:, 0]]
        return found
    codes = np.concatenate([rows[:, 0], known[:, 0]]).astype(np.int64)
    for at in range(1, rows.shape[1]):
        if at > 1:  # two numbers fill a word
            codes = np.searchsorted(distinct(codes), codes)
        codes <<= 32
        codes |= np.concatenate([rows[:, at], known[:, at]])
    wanted = distinct(codes[len(rows) :])
    places = np.minimum(np.searchsorted(wanted, codes[: len(rows)]), len(wanted) - 1)
    is_among: Array = wanted[places] == codes[: len(rows)]
    return is_among

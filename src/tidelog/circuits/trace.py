"""Traces: what a stream has added up to, kept for look-ups.

What      : a `Trace` holds the sum of all changes of a stream, by the round in which they came, and finds rows by some
            of their columns.
Idea      : rows live in a relation of the local store, whose compiled hash tables and indexes they use; their weights
            lie beside them. The round is one more column: outside of a recursion it is 0.
Invariant : each of the `weights` is the sum of what was added to its row. Rows of weight zero are forgotten by
            `compact`, when they are most of what is there: state is as large as what it stands for.
Never     : no decision what a change means (operators.py).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tidelog.backends.local.joins.row_lookups import lookup
from tidelog.backends.local.kernels.compiled import Array
from tidelog.backends.local.relations.relation import Relation
from tidelog.backends.local.relations.room import grown
from tidelog.circuits.zset import too_heavy
from tidelog.planning.views import ANY, NO_MARKS

_LEAST_DEAD = 4096


class Trace:
    """Rows with weights, by round."""

    def __init__(self, arity: int) -> None:
        self.arity = arity
        self._relation = Relation("trace", arity + 1)
        self.weights = np.zeros(0, np.int64)
        self._dead = 0

    def add(self, rows: Array, weights: Array, number: int = 0) -> Array:
        """Add a change of a round, with distinct rows; the places of its rows."""
        table = np.empty((len(rows), self.arity + 1), np.int32)
        table[:, :-1], table[:, -1] = rows, number
        places = self._relation.store(table, ANY, NO_MARKS)
        self.weights = grown(self.weights, len(self._relation.marks), zeroed=True)
        before = self.weights[places]
        after = before + weights
        if np.any((before > 0) & (weights > 0) & (after < 0)) or np.any((before < 0) & (weights < 0) & (after >= 0)):
            raise too_heavy()
        self.weights[places] = after
        self._dead += int(np.count_nonzero(after == 0)) - int(np.count_nonzero((before == 0) & (after != 0)))
        return places

    def find(self, keys: Array, columns: tuple[int, ...]) -> tuple[Array, Array]:
        """Places of the rows that have the keys in the columns, and for each of them the number of its key."""
        if not len(keys):
            return np.empty(0, np.int32), np.empty(0, np.int32)
        if columns:
            places, at = lookup(self._relation, np.ascontiguousarray(keys, np.int32), ANY, columns)
        else:
            present = np.arange(self._relation.count, dtype=np.int32)
            places, at = np.tile(present, len(keys)), np.repeat(np.arange(len(keys), dtype=np.int32), len(present))
        alive = self.weights[places] != 0
        return places[alive], at[alive]

    def sums(self, rows: Array, below: int | None = None) -> tuple[Array, Array]:
        """For each of the rows, the weights of the rounds before `below` added up, and the weight of round `below`.

        Without a round all weights are added up.
        """
        before, there = np.zeros(len(rows), np.int64), np.zeros(len(rows), np.int64)
        places, at = self.find(rows, tuple(range(self.arity)))
        rounds, weights = self.rounds(places), self.weights[places]
        if below is None:
            np.add.at(before, at, weights)
        else:
            np.add.at(before, at, np.where(rounds < below, weights, 0))
            np.add.at(there, at, np.where(rounds == below, weights, 0))
        return before, there

    def rows(self, places: Array) -> Array:
        """The rows at some places."""
        found: Array = self._relation.rows[places, : self.arity]
        return found

    def rounds(self, places: Array) -> Array:
        """The rounds in which the rows at some places came."""
        found: Array = self._relation.rows[places, self.arity]
        return found

    def all(self) -> tuple[Array, Array, Array]:
        """All rows, their rounds and their weights."""
        places = np.flatnonzero(self.weights[: self._relation.count])
        return self.rows(places), self.rounds(places), self.weights[places]

    def at(self, number: int) -> tuple[Array, Array]:
        """The rows of one round, and their weights."""
        places, _ = self.find(np.array([[number]], np.int32), (self.arity,))
        return self.rows(places), self.weights[places]

    @property
    def last(self) -> int:
        """The last round of which there is anything; -1 if there is nothing."""
        rounds = self.all()[1]
        return int(rounds.max()) if len(rounds) else -1

    @property
    def nbytes(self) -> int:
        """The memory that rows, weights and indexes take."""
        return self._relation.nbytes + 8 * self._relation.count

    def compact(self, *, always: bool = False) -> None:
        """Forget rows of weight zero, if they are most of what is there."""
        if always or (self._dead > _LEAST_DEAD and 2 * self._dead > self._relation.count):
            self.load(self.stored())

    def stored(self) -> dict[str, Any]:
        """Everything, to be kept elsewhere."""
        rows, rounds, weights = self.all()
        return {"rows": rows.copy(), "rounds": rounds.copy(), "weights": weights.copy()}

    def load(self, stored: dict[str, Any]) -> None:
        """Become what was stored."""
        fresh = Trace(self.arity)
        for number in np.unique(stored["rounds"]).tolist():
            chosen = stored["rounds"] == number
            fresh.add(stored["rows"][chosen], stored["weights"][chosen], number)
        self.__dict__.update(fresh.__dict__)

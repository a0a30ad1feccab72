"""Traces: what a stream has added up to, kept for look-ups.

What      : a `Trace` holds the sum of all changes of a stream, by the round in which they came, and finds rows by some
            of their columns.
Idea      : rows live in a relation of the local store, whose compiled hash tables and indexes they use; their weights
            lie beside them. The round is one more column: outside of a recursion it is 0. Storing a row finds the one
            that is there, so a change need not be added up before it comes.
Invariant : each of the `weights` is the sum of what was added to its row. Rows of weight zero are forgotten by
            `compact`, when they are most of what is there: state is as large as what it stands for.
Never     : no decision what a change means (operators.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tidelog.backends.local.joins.row_lookups import lookup
from tidelog.backends.local.kernels.compiled import Array
from tidelog.backends.local.relations.relation import Relation
from tidelog.backends.local.relations.room import grown
from tidelog.circuits.weight_kernels import add_weights, sum_rounds
from tidelog.circuits.zset import too_heavy
from tidelog.planning.views import ANY, NO_MARKS

_LEAST_DEAD = 4096
_NEVER = 2**31 - 1
"""No round is so late."""
_PORTION = 1 << 16
"""How many rows are stored at a time: a relation makes room for all that may be new, and most may be known."""


class Trace:
    """Rows with weights, by round."""

    def __init__(self, arity: int) -> None:
        self.arity = arity
        self._relation = Relation("trace", arity + 1)
        self.weights, self._is_touched = np.zeros(0, np.int64), np.zeros(0, np.bool_)
        self._alive = np.zeros(1, np.int64)

    def __len__(self) -> int:
        """How many rows are stored, those of weight zero included."""
        return self._relation.count

    def add(self, rows: Array, weights: Array, rounds: Array | int = 0) -> Array:
        """Add a change of one round, or of several, any row any number of times; the places of its rows, each once."""
        given, touched, found = np.ascontiguousarray(weights), np.empty(len(rows), np.int32), 0
        stored: list[Array] = []
        for start in range(0, len(rows), _PORTION):
            part = slice(start, start + _PORTION)
            stored.append(self._places(rows[part], rounds if isinstance(rounds, int) else rounds[part]))
            more = add_weights(
                self.weights, stored[-1], given[part], self._is_touched, touched[found:], self._alive
            )  # fmt: skip
            if more < 0:
                self._is_touched[:] = False
                self._take_back(stored[:-1], given)
                rest = slice(start + _PORTION, None)
                stored.append(self._places(rows[rest], rounds if isinstance(rounds, int) else rounds[rest]))
                return self._add_exactly(np.concatenate(stored), given)
            found += more
        self._is_touched[touched[:found]] = False
        return touched[:found]

    def _places(self, rows: Array, rounds: Array | int) -> Array:
        """Store rows; where they are."""
        table = np.empty((len(rows), self.arity + 1), np.int32)
        table[:, :-1], table[:, -1] = rows, rounds
        places = self._relation.store(table, ANY, NO_MARKS)
        room = len(self._relation.marks)
        self.weights = grown(self.weights, room, zeroed=True)
        self._is_touched = grown(self._is_touched, room, zeroed=True)
        return places

    def _take_back(self, stored: Sequence[Array], given: Array) -> None:
        """Undo what was added at places."""
        places = np.concatenate([np.empty(0, np.int32), *stored])
        np.subtract.at(self.weights, places, given[: len(places)])
        self._alive[0] = np.count_nonzero(self.weights[: len(self)])

    def _add_exactly(self, places: Array, weights: Array) -> Array:
        """As `add`, where sums on the way may leave 64 bits; refused if one does in the end."""
        sums: dict[int, int] = {}
        for place, weight in zip(places.tolist(), weights.tolist()):
            sums[place] = sums.get(place, int(self.weights[place])) + weight
        if not all(-(2**63) <= total < 2**63 for total in sums.values()):
            raise too_heavy()
        touched = np.array(list(sums), np.int32)
        self.weights[touched] = list(sums.values())
        self._alive[0] = np.count_nonzero(self.weights[: len(self)])
        return touched

    def find(self, keys: Array, columns: tuple[int, ...]) -> tuple[Array, Array]:
        """Places of the rows that have the keys in the columns, and for each of them the number of its key."""
        places, at = self.candidates(keys, columns)
        alive = self.weights[places] != 0
        return places[alive], at[alive]

    def candidates(self, keys: Array, columns: tuple[int, ...]) -> tuple[Array, Array]:
        """The same, rows of weight zero included."""
        if not len(keys) or not len(self):
            return np.empty(0, np.int32), np.empty(0, np.int32)
        if columns:
            return lookup(self._relation, np.ascontiguousarray(keys, np.int32), ANY, columns)
        present = np.arange(len(self), dtype=np.int32)
        return np.tile(present, len(keys)), np.repeat(np.arange(len(keys), dtype=np.int32), len(present))

    def sums(self, rows: Array, below: int | None = None) -> tuple[Array, Array]:
        """For each of the rows, the weights of the rounds before `below` added up, and the weight of round `below`.

        Without a round all weights are added up.
        """
        before, there = np.zeros(len(rows), np.int64), np.zeros(len(rows), np.int64)
        if not len(self) or not len(rows):
            return before, there
        number, kept = _NEVER if below is None else below, self._relation.rows
        if not self.arity:
            rounds, weights = kept[: len(self), 0], self.weights[: len(self)]
            before[:], there[:] = weights[rounds < number].sum(), weights[rounds == number].sum()
            return before, there
        table, index = np.ascontiguousarray(rows, np.int32), self._relation.index(tuple(range(self.arity)))
        addresses = table.ctypes.data, index.head.ctypes.data, kept.ctypes.data
        sum_rounds(*addresses, kept, self.weights, number, before, there)
        return before, there

    @property
    def table(self) -> Array:
        """All rows with their rounds, as the kernels read them."""
        return self._relation.rows

    def rows(self, places: Array) -> Array:
        """The rows at some places."""
        return np.ascontiguousarray(self._relation.rows.take(places, axis=0)[:, : self.arity])

    def rounds(self, places: Array) -> Array:
        """The rounds in which the rows at some places came."""
        found: Array = self._relation.rows[places, self.arity]
        return found

    def all(self) -> tuple[Array, Array, Array]:
        """All rows, their rounds and their weights."""
        places = np.flatnonzero(self.weights[: len(self)])
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
        return self._relation.nbytes + 9 * len(self)

    def compact(self, *, always: bool = False) -> None:
        """Forget rows of weight zero, if they are most of what is there."""
        dead = len(self) - int(self._alive[0])
        if always or (dead > _LEAST_DEAD and 2 * dead > len(self)):
            self.load(self.stored())

    def stored(self) -> dict[str, Any]:
        """Everything, to be kept elsewhere."""
        rows, rounds, weights = self.all()
        return {"rows": rows.copy(), "rounds": rounds.copy(), "weights": weights.copy()}

    def load(self, stored: dict[str, Any]) -> None:
        """Become what was stored."""
        fresh = Trace(self.arity)
        fresh.add(stored["rows"], stored["weights"], stored["rounds"])
        self.__dict__.update(fresh.__dict__)

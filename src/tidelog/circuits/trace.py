"""Traces: what a stream has added up to, kept for look-ups.

What      : a `Trace` holds the sum of all changes of a stream, by the round in which they came, and finds rows by some
            of their columns.
Idea      : rows lie in one table with their round as the last column (outside of a recursion it is 0), their weights
            beside them. Rows that differ in the round only are a ring of the index on all other columns, so that index
            finds a row and adds up its rounds. Indexes are made when they are asked for. Adding a row finds the one
            that is there, so a change need not be added up before it comes; one that is added up already, and of a
            round that has not been, is written down without a look.
Invariant : each of the `weights` is the sum of what was added to its row. Rows of weight zero are forgotten by
            `compact`, when they are most of what is there: state is as large as what it stands for.
Never     : no decision what a change means (operators.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tidelog.backends.local.kernels.compiled import Array
from tidelog.backends.local.relations.growth import capacity_for, grown
from tidelog.backends.local.relations.index import Index
from tidelog.circuits import weight_kernels
from tidelog.circuits.weight_kernels import ALIVE, AT, COUNT, PLACE
from tidelog.circuits.zset import Piece, too_heavy

_LEAST_DEAD = 4096
_NEVER = 2**31 - 1
"""No round is so late."""
_PORTION = 1 << 16
"""How many rows are added at a time: there is room for all that may be new, and most may be known."""
_LEAST, _MOST = 64, 1 << 20
"""For how many pairs a look-up has room at first, and at most: NumPy asks for huge pages for as many."""


class Trace:
    """Rows with weights, by round."""

    def __init__(self, arity: int) -> None:
        self.arity = arity
        self.table, self.weights = np.empty((0, arity + 1), np.int32), np.empty(0, np.int64)
        self._is_touched = np.empty(0, np.bool_)
        self._counters, self._hashes = np.zeros(3, np.int64), np.empty(weight_kernels.BLOCK, np.uint64)
        self._indexes: dict[tuple[int, ...], Index] = {}
        self._heads, self._addresses = np.empty(0, np.int64), dict[tuple[int, ...], int]()
        self._leading = tuple(range(arity))
        self._room = 0
        """How many rows may come before anything has to grow."""

    def __len__(self) -> int:
        """How many rows are stored, those of weight zero included."""
        return int(self._counters[COUNT])

    def add(self, rows: Array, weights: Array, rounds: Array | int = 0) -> Array:
        """Add a change of one round, or of several, any row any number of times; the places of its rows, each once."""
        return self.add_pieces([(rows, weights)], rounds)

    def add_pieces(self, pieces: Sequence[Piece], rounds: Array | int = 0) -> Array:
        """As `add`, of a change that is given in pieces."""
        self.index(self._leading)
        numbers = np.array([rounds], np.int32) if isinstance(rounds, int) else rounds
        known, touched, done = len(self), list[Array](), 0
        for rows, weights in pieces:
            given, more = np.ascontiguousarray(rows, np.int32), np.ascontiguousarray(weights)
            for start in range(0, len(more), _PORTION):
                part = slice(start, start + _PORTION)
                few = given[part]
                self._reserve(len(few))
                places = np.empty(min(len(few), known), np.int32)
                found = weight_kernels.absorb(
                    few, more[part], numbers if len(numbers) == 1 else numbers[done : done + len(few)], self.table,
                    self.weights, self._counters, self._heads, self._is_touched, places, known, self._hashes,
                )  # fmt: skip
                if found < 0:
                    return self._add_exactly(pieces, numbers, done - 1 - found)
                if found:
                    touched.append(places[:found])
                done += len(few)
        fresh = np.arange(known, len(self), dtype=np.int32)
        if not touched:
            return fresh
        again = np.concatenate(touched)
        self._is_touched[again] = False
        return np.concatenate([again, fresh])

    def append(self, rows: Array, weights: Array, number: int) -> Array:
        """Add distinct rows with weights that are not zero, of a round of which there is nothing; their places."""
        given, first = np.ascontiguousarray(rows, np.int32), len(self)
        self._reserve(len(given))
        weight_kernels.append(
            given, np.ascontiguousarray(weights), number, self.table, self.weights, self._counters, self._heads
        )
        return np.arange(first, first + len(given), dtype=np.int32)

    def _reserve(self, more: int) -> None:
        """Make room for some more rows."""
        if more > self._room:
            needed, present = len(self) + more, len(self.weights)
            table, weights, is_touched = self.table, self.weights, self._is_touched
            if needed > present:
                capacity = max(capacity_for(max(needed, _LEAST), present), 2 * needed)  # the next round brings more
                table, weights = grown(table, capacity), grown(weights, capacity)
                is_touched = grown(is_touched, capacity, zeroed=True)
            indexes = {at: index.roomier(more, table) for at, index in self._indexes.items()}
            self._swap(indexes, table=table, weights=weights, _is_touched=is_touched)
        self._room -= more

    def _swap(self, indexes: dict[tuple[int, ...], Index], **arrays: Array) -> None:
        """Put arrays and indexes in the place of others, and tell the kernels where they are, the leading one first.

        It is one step: what an interrupt leaves goes on being used, and kernels check no bounds.
        """
        ordered = sorted(indexes.values(), key=lambda index: index.columns != self._leading)
        addresses = {index.columns: int(index.head.ctypes.data) for index in ordered}
        heads = np.array(list(addresses.values()), np.int64)
        present = len(arrays.get("weights", self.weights))
        room = min([present - len(self), *(index.spare for index in ordered)])
        self.__dict__.update(arrays, _indexes=indexes, _addresses=addresses, _heads=heads, _room=room)

    def index(self, columns: tuple[int, ...]) -> int:
        """The address of the index on some columns, which is made if there is none."""
        if columns not in self._indexes:
            made = Index(columns, self.table, len(self), len(self.weights))
            self._swap({**self._indexes, columns: made})
        return self._addresses[columns]

    def _add_exactly(self, pieces: Sequence[Piece], numbers: Array, done: int) -> Array:
        """As `add`, where sums on the way may leave 64 bits; refused if one does in the end.

        The first `done` rows were added already; they are taken back first.
        """
        rows = np.ascontiguousarray(np.concatenate([rows for rows, _ in pieces]), np.int32)
        weights = np.concatenate([weights for _, weights in pieces])
        rounds = np.broadcast_to(numbers, len(rows))
        self._is_touched[:] = False
        weight_kernels.withdraw(
            rows[:done], weights[:done], np.ascontiguousarray(rounds[:done]), self.table, self.weights, self._counters,
            self._heads[0],
        )  # fmt: skip
        touched = self.add(rows, np.zeros(len(rows), np.int64), np.ascontiguousarray(rounds))
        sums = {tuple(row): int(self.weights[at]) for row, at in zip(self.table[touched].tolist(), touched.tolist())}
        for row, number, weight in zip(rows.tolist(), rounds.tolist(), weights.tolist()):
            sums[(*row, number)] += weight
        if not all(-(2**63) <= total < 2**63 for total in sums.values()):
            raise too_heavy()
        self.weights[touched] = list(sums.values())
        self._counters[ALIVE] = np.count_nonzero(self.weights[: len(self)])
        return touched

    def find(self, keys: Array, columns: tuple[int, ...]) -> tuple[Array, Array]:
        """Places of the rows that have the keys in the columns, and for each of them the number of its key."""
        found = [(np.empty(0, np.int32), np.empty(0, np.int32))]
        given, wanted = np.ascontiguousarray(keys, np.int32), np.arange(keys.shape[1])
        state, room = np.array([0, -1, 0], np.int64), _LEAST + 2 * len(keys)
        while len(self) and state[AT] < len(given):
            places, at = np.empty(room, np.int32), np.empty(room, np.int32)
            size = weight_kernels.pairs(given, wanted, self.table, self.index(columns), state, places, at)
            found.append((places[:size], at[:size]))
            room = min(4 * room, _MOST)
        places, at = (np.concatenate([part[side] for part in found]) for side in (0, 1))
        alive = self.weights[places] != 0
        return places[alive], at[alive]

    def sums(self, rows: Array, below: int | None = None) -> tuple[Array, Array]:
        """For each of the rows, the weights of the rounds before `below` added up, and the weight of round `below`.

        Without a round all weights are added up.
        """
        before, there = np.zeros(len(rows), np.int64), np.zeros(len(rows), np.int64)
        if len(self) and len(rows):
            given, number = np.ascontiguousarray(rows, np.int32), _NEVER if below is None else below
            index = self.index(self._leading)
            weight_kernels.sum_rounds(given, index, self.table, self.weights, number, before, there)
        return before, there

    def rows(self, places: Array) -> Array:
        """The rows at some places."""
        return np.ascontiguousarray(self.table.take(places, axis=0)[:, : self.arity])

    def rounds(self, places: Array) -> Array:
        """The rounds in which the rows at some places came."""
        found: Array = self.table[places, self.arity]
        return found

    def all(self) -> tuple[Array, Array, Array]:
        """All rows, their rounds and their weights."""
        places = np.flatnonzero(self.weights[: len(self)])
        return self.rows(places), self.rounds(places), self.weights[places]

    @property
    def nbytes(self) -> int:
        """The memory that rows, weights and indexes take."""
        size = len(self)
        return size * (4 * self.arity + 13) + sum(index.nbytes(size) for index in self._indexes.values())

    def compact(self, *, always: bool = False) -> None:
        """Forget rows of weight zero, if they are most of what is there."""
        dead = len(self) - int(self._counters[ALIVE])
        if always or (dead > _LEAST_DEAD and 2 * dead > len(self)):
            self.load(self.stored())

    def stored(self) -> dict[str, Any]:
        """Everything, to be kept elsewhere."""
        rows, rounds, weights = self.all()
        return {"rows": rows, "rounds": rounds, "weights": weights}

    def load(self, stored: dict[str, Any]) -> None:
        """Become what was stored."""
        fresh = Trace(self.arity)
        fresh.add(stored["rows"], stored["weights"], stored["rounds"])
        self.__dict__.update(fresh.__dict__)


def look_up(size: int) -> tuple[Array, int]:
    """The state of a look-up that begins, and for how many pairs it has room at first."""
    state = np.zeros(3, np.int64)
    state[PLACE] = -1
    return state, min(_LEAST + 2 * size, _MOST)


def more_room(room: int) -> int:
    """For how many pairs there is room after that."""
    return min(4 * room, _MOST)

"""Operators that keep what came: joins and `distinct`.

What      : `Keeping` holds the traces of its inputs; `Join` and `Distinct` look changes up in them.
Idea      : a join is bilinear, so its change is three joins with what was there before; for `distinct` only the rows
            that a change touches are looked at. Changes come loose: a trace adds them up where it stores them.
Source    : Budiu et al., DBSP; de Lima et al. 2024, section 4.
Invariant : what a moment adds waits in `new` until `commit`: a moment that fails leaves nothing behind.
Rounds    : two rows of rounds p and q meet in round max(p, q); those that wait for a later round are in `later`.
Never     : no wiring (circuit.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from tidelog.backends.local.constants.dictionary import Dictionary
from tidelog.backends.local.kernels.compiled import Array
from tidelog.circuits.operators import Operator, Stored
from tidelog.circuits.trace import Trace, look_up, more_room
from tidelog.circuits.weight_kernels import AT, LATEST, change_signs, meet
from tidelog.circuits.zset import SUMMED, ZSet, product
from tidelog.errors import UsageError

_NEVER = 2**31 - 1
"""No round is so late."""


class Keeping(Operator):
    """An operator that keeps its inputs: `old` is what they added up to before this moment, `new` what came in it."""

    def __init__(self, dictionary: Dictionary, arity: int, kept: Sequence[int], note: str = "") -> None:
        super().__init__(dictionary, arity, note)
        self.old = [Trace(one) for one in kept]
        self.new = [Trace(one) for one in kept]
        self._swapped: list[int] = []
        """Of which inputs everything is new: what came has taken the place of the empty trace."""

    def commit(self) -> None:
        """Add what is new; checked as a whole, so that a weight that is too large changes nothing."""
        done: list[int] = []
        try:
            for at, (old, new) in enumerate(zip(self.old, self.new)):
                if len(old):
                    rows, rounds, weights = new.all()
                    old.add(rows, weights, rounds)
                else:
                    self._swap(at)
                done.append(at)
        except UsageError:
            self._take_back(done)
            raise

    def take_back(self) -> None:
        """A commit that was done is undone, because that of another operator failed."""
        self._take_back(range(len(self.old)))

    def _take_back(self, inputs: Iterable[int]) -> None:
        for at in inputs:
            if at in self._swapped:
                self._swap(at)
            else:
                rows, rounds, weights = self.new[at].all()
                self.old[at].add(rows, -weights, rounds)

    def _swap(self, at: int) -> None:
        self.old[at], self.new[at] = self.new[at], self.old[at]
        self._swapped.append(at)

    def undo(self) -> None:
        """Forget what is new."""
        super().undo()
        self.new = [Trace(one.arity) if len(one) else one for one in self.new]
        self._swapped = []

    def finish(self) -> None:
        """Begin another moment."""
        self.undo()
        for old in self.old:
            old.compact()

    @property
    def nbytes(self) -> int:
        """The memory of what is kept."""
        return sum(one.nbytes for one in (*self.old, *self.new))

    def stored(self) -> Stored:
        """What was kept, by input."""
        return {f"{at} {name}": array for at, old in enumerate(self.old) for name, array in old.stored().items()}

    def load(self, stored: Stored) -> None:
        """Take it over."""
        self.old = [Trace(one.arity) for one in self.old]  # an interrupt in `_swap` leaves one trace both old and new
        for at, old in enumerate(self.old):
            old.load({name: stored[f"{at} {name}"] for name in ("rows", "rounds", "weights")})


class Join(Keeping):
    """Rows that agree in pairs of columns, side by side; bilinear: (a b)' = a' I(b) + I(a) b' - a' b', with sums I."""

    word = "join"

    def __init__(self, dictionary: Dictionary, arities: tuple[int, int], on: Sequence[tuple[int, int]]) -> None:
        note = ", ".join(f"{left} = {right}" for left, right in on)
        super().__init__(dictionary, sum(arities), arities, note)
        self._columns = tuple(left for left, _ in on), tuple(right for _, right in on)
        self._keys = [np.array(columns, np.int64) for columns in self._columns]
        self.give(None)

    def give(self, columns: Sequence[int] | None) -> None:
        """Give some columns only, or all."""
        right = self.old[1].arity
        wanted = range(self.arity) if columns is None else columns
        turned = [(at + right) % self.arity for at in wanted]
        self._chosen = np.array(wanted, np.int64), np.array(turned, np.int64)
        self._nothing = ZSet.nothing(self.dictionary, len(wanted))

    def step(self, changes: Sequence[ZSet], number: int) -> ZSet:
        """Each change with everything on the other side; of the two changes with each other once.

        A round comes once in a moment, so what is new of it is this change, added up.
        """
        for side, change in enumerate(changes):
            if change.is_empty:
                continue
            mine, other = self.new[side], 1 - side
            places = mine.append(*change.given, number) if change.is_summed else mine.add_pieces(change.pieces, number)
            self._meet(places, side, self.old[other], number)
            self._meet(places, side, self.new[other], number)
        return self.due(number)

    def _meet(self, places: Array, side: int, trace: Trace, number: int) -> None:
        """Leave the pairs of a change and a trace for the rounds in which they meet."""
        if not len(trace):
            return
        mine, chosen = self.new[side], self._chosen[side]
        index, (state, room) = trace.index(self._columns[1 - side]), look_up(len(places))
        pieces: list[tuple[Array, Array, Array]] = []
        while state[AT] < len(places):
            rows, products = np.empty((room, len(chosen)), np.int32), np.empty(room, np.int64)
            rounds, room = np.empty(room, np.int32), more_room(room)
            found = meet(
                places, mine.table, mine.weights, self._keys[side], trace.table, trace.weights, index, number, chosen,
                state, rows, products, rounds,
            )  # fmt: skip
            if found < 0:  # as the kernel does, but exactly
                pieces, state[AT], state[LATEST] = [self._exactly(places, side, trace, number)], len(places), _NEVER
            elif found:
                pieces.append((rows[:found], products[:found], rounds[:found]))
        for piece in pieces:
            self._leave(*piece, number, is_now=state[LATEST] <= number)

    def _exactly(self, places: Array, side: int, trace: Trace, number: int) -> tuple[Array, Array, Array]:
        """The pairs of a change and a trace, where products are large."""
        mine = self.new[side]
        known = mine.rows(places)
        found, at = trace.find(known.take(self._columns[side], axis=1), self._columns[1 - side])
        rows = np.concatenate([known[at], trace.rows(found)], axis=1).take(self._chosen[side], axis=1)
        rounds = np.maximum(trace.rounds(found), number)
        return rows, product(mine.weights[places][at], trace.weights[found]), rounds

    def _leave(self, rows: Array, products: Array, rounds: Array, number: int, *, is_now: bool) -> None:
        """Leave some pairs for their rounds."""
        if is_now:
            self.later.setdefault(number, []).append(ZSet.loose(self.dictionary, rows, products))
            return
        for met in np.unique(rounds).tolist():
            chosen = rounds == met
            self.later.setdefault(met, []).append(ZSet.loose(self.dictionary, rows[chosen], products[chosen]))


class Distinct(Keeping):
    """Every row of positive weight once: not linear, but only rows that change can change their sign."""

    word = "distinct"

    def __init__(self, dictionary: Dictionary, arity: int) -> None:
        super().__init__(dictionary, arity, (arity,))

    def step(self, changes: Sequence[ZSet], number: int) -> ZSet:
        """The difference of signs: with and without this moment, up to this round and up to the one before."""
        [old], [new] = self.old, self.new
        waiting = self.due(number).given[0]
        places = new.add_pieces(changes[0].pieces, number)
        if len(old) and len(places):  # a row that waits is noted for all later rounds already
            self._look_again(new.rows(places), number)
        if len(waiting):
            places = np.union1d(places, new.add(waiting, np.zeros(len(waiting), np.int64), number))
        if not len(places):
            return self.nothing()
        rows, differences = np.empty((len(places), self.arity), np.int32), np.empty(len(places), np.int64)
        leading = tuple(range(self.arity))
        found = change_signs(
            places, new.table, new.weights, new.index(leading), old.table, old.weights,
            old.index(leading) if len(old) else 0, number, rows, differences,
        )  # fmt: skip
        if found < 0:
            return self._exactly(new.rows(places), number)
        return ZSet(self.dictionary, rows[:found], differences[:found], SUMMED)

    def _exactly(self, rows: Array, number: int) -> ZSet:
        """As the kernel does, where weights are large: in whole numbers without a bound."""
        sums = [[0, 0, 0, 0] for _ in rows]
        for kept, trace in enumerate((self.old[0], self.new[0])):
            found, at = trace.find(rows, tuple(range(self.arity)))
            for row, met, weight in zip(at.tolist(), trace.rounds(found).tolist(), trace.weights[found].tolist()):
                if met <= number:
                    sums[row][2 * kept + (met == number)] += weight
        differences = np.array(
            [
                (before + there + added + fresh > 0) - (before + there > 0) - ((before + added > 0) - (before > 0))
                for before, there, added, fresh in sums
            ],
            np.int64,
        )
        chosen = np.flatnonzero(differences)
        return ZSet(self.dictionary, rows[chosen], differences[chosen], SUMMED)

    def _look_again(self, touched: Array, number: int) -> None:
        """Rows that the moments before brought in later rounds may change their sign there."""
        places, _ = self.old[0].find(touched, tuple(range(self.arity)))
        rounds, known = self.old[0].rounds(places), self.old[0].rows(places)
        for later in np.unique(rounds[rounds > number]).tolist():
            rows = known[rounds == later]
            self.later.setdefault(later, []).append(ZSet.loose(self.dictionary, rows, np.ones(len(rows), np.int64)))

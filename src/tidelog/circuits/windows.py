"""Windows: the part of a stream that is recent.

What      : `LastMoments` keeps what came in the last few pushes, `TimeWindow` the rows whose time is close to the
            newest.
Idea      : what enters is passed on, and what falls out is taken back, so that everything behind a window is kept true
            by the same changes as without one. Rows wait by their time in sorted runs; the run with the oldest row is
            looked at first, so that a moment costs what enters and leaves.
Invariant : the sum of what a window has given is what is inside it now.
Never     : a clock; time is a column of the rows.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

import numpy as np

from tidelog.backends.local.constants.dictionary import Dictionary
from tidelog.backends.local.kernels.compiled import Array
from tidelog.circuits.operators import Delay, Operator, Stored
from tidelog.circuits.trace import Trace
from tidelog.circuits.zset import ZSet
from tidelog.errors import UsageError

_MOST_RUNS = 32
Run = tuple[float, int, Array, Array]
"""The least time of a run, its number, its times in order and its rows."""


class LastMoments(Delay):
    """What came in the last moments: a' less a' as it was that number of moments ago; linear."""

    word = "window"

    def step(self, changes: Sequence[ZSet], number: int) -> ZSet:
        """What comes, and what is taken back."""
        return changes[0] - super().step(changes, number)


class TimeWindow(Operator):
    """Rows whose time is more than the newest time less the width."""

    word = "window"

    def __init__(self, dictionary: Dictionary, arity: int, column: int, width: float) -> None:
        super().__init__(dictionary, arity, f"{width:g} of column {column}")
        if not width > 0:
            raise UsageError.of("E875", f"a window of width {width}", remedy="give a positive width")
        self._column, self._width = column, width
        self._inside = Trace(arity)
        self._runs: list[Run] = []
        self._newest, self._made = -np.inf, 0
        self._next: tuple[list[Run], float, ZSet] = ([], -np.inf, self.nothing())

    def step(self, changes: Sequence[ZSet], number: int) -> ZSet:  # noqa: ARG002
        """The rows of the change that are recent enough, less the rows that no longer are."""
        change = changes[0]
        times = self._times(change)
        newest = max([self._newest, *times.tolist()]) if len(times) < 64 else max(self._newest, float(times.max()))
        runs, gone = self._expired(newest - self._width)
        entering = change.where(times > newest - self._width)
        if len(entering):
            runs.append(self._run(self._times(entering), entering.rows))
        if len(runs) > _MOST_RUNS:  # the smaller half becomes one, so that a row is moved a few times at most
            runs.sort(key=lambda run: len(run[2]))
            small, runs = runs[: _MOST_RUNS // 2], runs[_MOST_RUNS // 2 :]
            times, rows = (np.concatenate([run[at] for run in small]) for at in (2, 3))
            runs.append(self._run(times, rows))
        heapq.heapify(runs)
        given = entering - gone
        self._next = runs, newest, given
        return given

    def _run(self, times: Array, rows: Array) -> Run:
        order = np.argsort(times, kind="stable")
        self._made += 1
        return float(times[order[0]]), self._made, times[order], rows[order]

    def _times(self, change: ZSet) -> Array:
        values = self.dictionary.decode(np.ascontiguousarray(change.rows[:, self._column]))
        if not all(type(value) in (int, float) for value in values):
            raise UsageError.of("E873", "the time of a row is no number", remedy="give the window a column of numbers")
        return np.array(values, np.float64)

    def _expired(self, bound: float) -> tuple[list[Run], ZSet]:
        """The runs that stay, and the rows inside whose time is not after the bound."""
        runs, parts = list(self._runs), [np.empty((0, self.arity), np.int32)]
        while runs and runs[0][0] <= bound:
            _, number, times, rows = heapq.heappop(runs)
            cut = int(np.searchsorted(times, bound, side="right"))
            parts.append(rows[:cut])
            if cut < len(times):
                heapq.heappush(runs, (float(times[cut]), number, times[cut:], rows[cut:]))
        leaving = np.unique(np.concatenate(parts), axis=0)
        return runs, ZSet.summed(self.dictionary, leaving, self._inside.sums(leaving)[0])

    def commit(self) -> None:
        """What entered is inside, what left is not."""
        given = self._next[2]
        self._inside.add(given.rows, given.weights)

    def take_back(self) -> None:
        """As before the moment."""
        given = self._next[2]
        self._inside.add(given.rows, -given.weights)

    def finish(self) -> None:
        """The newest time moves on."""
        self._runs, self._newest = self._next[0], self._next[1]
        self._next = (self._runs, self._newest, self.nothing())
        self._inside.compact()

    @property
    def nbytes(self) -> int:
        """The memory of what is inside."""
        return self._inside.nbytes + sum(times.nbytes + rows.nbytes for *_, times, rows in self._runs)

    def stored(self) -> Stored:
        """What is inside, and the newest time."""
        return {**self._inside.stored(), "newest": np.array([self._newest])}

    def load(self, stored: Stored) -> None:
        """Take it over."""
        self._inside.load(stored)
        self._newest = float(stored["newest"][0])
        inside = ZSet(self.dictionary, stored["rows"], stored["weights"])
        times = self._times(inside)
        self._runs = [self._run(times, inside.rows)] if len(times) else []

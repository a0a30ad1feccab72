"""One run of a program over driving rows.

What      : a `Segment` is a program for the join machine with the relations that it looks into; a `Pass` runs it, a
            table at a time.
Idea      : where a run is, is written in three small arrays (registers, cursors, state). So a pass can stop whenever a
            table is full, and a long one can be cut: the rest of its driving rows, or of the rows that it scans,
            becomes other passes, which several threads run at once.
Invariant : the tables of the parts, one after the other, are those of the whole.
Never     : no relation is looked into here: the caller has refreshed the segment.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field

import numpy as np

from tidelog.backends.local.joins import machine, single_join
from tidelog.backends.local.kernels.compiled import Array
from tidelog.backends.local.kernels.interpreting import bounded
from tidelog.backends.local.relations.relation import Relation
from tidelog.planning.plan import Compute, Step, Test


@dataclass(slots=True)
class Segment:
    """Steps for the machine, then arithmetic on what they give."""

    steps: list[Step] = field(default_factory=list)
    arithmetic: list[Test | Compute] = field(default_factory=list)
    loads: Array = field(default_factory=lambda: np.empty((0, 3), np.int64))
    code: Array = field(default_factory=lambda: np.empty(0, np.int64))
    starts: Array = field(default_factory=lambda: np.empty(0, np.int64))
    uses: list[tuple[int, Relation, tuple[int, ...]]] = field(default_factory=list)
    scans: list[tuple[int, Relation]] = field(default_factory=list)
    column: int = -1
    """The driving column of a program that is a single look-up (single_join.py); -1 if it is another one."""
    scratch: Array = field(default_factory=lambda: np.empty(single_join.SCRATCH, np.int64))
    epoch: int = -1

    @property
    def scanned(self) -> int:
        """How many rows the first step scans, if it scans all of them, whatever it finds; else 0."""
        if not len(self.starts) or self.code[machine.OPERATION] != machine.SCAN:
            return 0
        returns = [*self.code[self.starts + machine.BACK], self.code[self.starts[-1] + machine.AFTER]]
        return 0 if 1 in returns else int(self.code[machine.COUNT])


class Pass:
    """A program on its way through driving rows."""

    def __init__(
        self, segment: Segment, driving: Array, registers: Array, chosen: Array, limit: int, *, every: bool, skips: bool
    ) -> None:
        """`chosen` registers are written; `skips` says that the program leaves matches out unless asked for `every`."""
        self._segment, self.driving, self._registers, self._chosen = segment, driving, registers, chosen
        self._limit, self._cursors = limit, np.zeros(2 * len(segment.starts), np.int64)
        self._state = np.array(machine.START, np.int64)
        self._state[machine.EVERY] = every
        self._is_single = segment.column >= 0 and limit == machine.UNLIMITED and (every or not skips)
        self._scratch = segment.scratch

    @property
    def is_done(self) -> bool:
        """Whether all matches are written."""
        return bool(self._state[machine.POSITION] >= len(self.driving))

    @property
    def width(self) -> int:
        """The number of columns of its tables."""
        return len(self._chosen)

    def fill(self, table: Array, share: int = 1) -> Array:
        """Write matches until the table is full, or its share of fuel is used up; the rows that were written."""
        one = self._segment
        if self._is_single:
            written = single_join.run(
                self.driving, one.loads, one.column, one.code, 0, self._registers, self._cursors, self._state,
                bounded(machine.FUEL // share), self._chosen, table, self._scratch,
            )  # fmt: skip
        else:
            written = machine.run(
                self.driving, one.loads, one.code, one.starts, self._registers, self._cursors, self._state, self._limit,
                bounded(machine.FUEL // share), self._chosen, table,
            )  # fmt: skip
        return table[:written]

    def rest(self) -> Array:
        """Cut off the driving rows after the present one, for another pass."""
        begun = int(self._state[machine.POSITION]) + int(self._state[machine.DEPTH] >= 0)
        rest = self.driving[begun:]
        self.driving = self.driving[:begun]
        return rest

    def over(self, driving: Array) -> Pass:
        """A pass of the same program, from the start, over other driving rows; it can run beside this one."""
        other = copy(self)
        other.driving, other._registers = driving, self._registers.copy()
        other._cursors, other._scratch = np.zeros_like(self._cursors), np.empty_like(self._scratch)
        other._state = np.array(machine.START, np.int64)
        other._state[machine.EVERY] = self._state[machine.EVERY]
        return other

    def scan(self, first: int, last: int) -> Pass:
        """A pass of the same program, driven by its only row, whose first step scans the rows from first to last."""
        other = self.over(self.driving)
        other._state[machine.DEPTH] = 0
        other._cursors[0], other._cursors[len(self._segment.starts)] = first, last
        return other

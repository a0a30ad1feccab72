"""The heads of one plan, found by several threads.

What      : `heads_by` gives the tables of `Executable.heads`, each table made of those of many passes.
Idea      : joins read and never write, so they need no locks: the driving rows (or the rows that a plan scans) are cut
            into ranges, and every thread takes the next range that nobody has begun. A range is so long that its heads
            fill most of a table, judged by the ranges before it. If it fills more than its table, its pass goes on
            in the next turn, and what the passes behind it have found waits.
Invariant : the heads come in the order of one thread alone, whatever the number of threads and their speed.
Never     : nothing is stored while a pass runs; the caller stores one table before it asks for the next.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from functools import partial

import numpy as np

from tidelog.backends.local.joins.executable import CHUNK, Executable
from tidelog.backends.local.joins.passes import Pass
from tidelog.backends.local.kernels.compiled import Array
from tidelog.backends.local.kernels.workers import Workers

_PASSES = 4
"""Passes per thread between two tables: so nobody waits long for the slowest. They share the fuel of one run."""
_ROOM = CHUNK // 2
"""Rows of a pass's table. A thread fills up to four of them in one step: 13 ms at 100 ns for a row, of 20 allowed."""
_MOST_TABLES = 4
"""A pass whose heads wait for those of an earlier one makes no more tables than these meanwhile."""
_LEAST_RANGE = 64
_COST = 2
"""What a driving row costs, in rows that are stored."""


def heads_by(workers: Workers, executable: Executable, driving: Array) -> Iterator[Array]:
    """The heads of all instances, in tables; a head that several instances derive comes several times."""
    if workers.threads == 1 or not executable.is_simple:
        return executable.heads(driving)
    return _shared(workers, executable, driving)


def _shared(workers: Workers, executable: Executable, driving: Array) -> Iterator[Array]:
    """One pass begins; if it turns out to be long, others take over what it has not begun."""
    first, found = executable.pass_for_heads(driving), 0
    if len(driving) == 1 and workers.takes(executable.scanned):
        yield from _together(workers, executable, _Scan(first, executable.scanned), deque())
        return
    room = min(CHUNK, max(256, 4 * len(driving)))
    while not first.is_done:
        if len(driving) > 1 and workers.takes(max(_COST * len(driving), found)):
            rest = _Rows(first, first.rest())
            yield from _together(workers, executable, rest, deque([] if first.is_done else [_Begun(first)]))
            return
        executable.refresh()
        table = first.fill(np.empty((room, first.width), np.int32))
        found, room = found + len(table), CHUNK
        yield table


class _Begun:
    """A pass that has begun, and its tables."""

    def __init__(self, one: Pass) -> None:
        self.one = one
        self.tables: list[Array] = []
        self.found = 0

    def go(self, table: Array) -> None:
        """Make one more table."""
        self.tables.append(self.one.fill(table, _PASSES))
        self.found += len(self.tables[-1])


class _Rows:
    """Driving rows that no pass has begun."""

    def __init__(self, pattern: Pass, driving: Array) -> None:
        self._pattern, self._driving, self.left = pattern, driving, len(driving)

    def take(self, count: int) -> Pass | None:
        """A pass over the next rows, if there are any."""
        some, self._driving = self._driving[:count], self._driving[count:]
        self.left = len(self._driving)
        return self._pattern.over(some) if len(some) else None


class _Scan:
    """Scanned rows that no pass has begun."""

    def __init__(self, pattern: Pass, rows: int) -> None:
        self._pattern, self._rows, self.left = pattern, rows, rows

    def take(self, count: int) -> Pass | None:
        """A pass over the next rows, if there are any."""
        first, count = self._rows - self.left, min(count, self.left)
        self.left -= count
        return self._pattern.scan(first, first + count - 1) if count else None


def _together(workers: Workers, executable: Executable, ahead: _Rows | _Scan, begun: deque[_Begun]) -> Iterator[Array]:
    """The tables of all passes in their order: first of passes in `begun`, then of passes that `ahead` still makes."""
    spare: list[Array] = []
    taken, found, size, passes = 0, 0, max(_LEAST_RANGE, _ROOM // 4), _PASSES * workers.threads
    while True:
        size = min(size, max(_LEAST_RANGE, -(-ahead.left // passes)))
        while len(begun) < passes:
            following = ahead.take(size)
            if following is None:
                break
            begun.append(_Begun(following))
            taken += size
        if not begun:
            return
        executable.refresh()
        going = [one for one in begun if not one.one.is_done and len(one.tables) < _MOST_TABLES]
        workers.run([partial(one.go, _table(spare, one.one.width)) for one in going])
        tables = []
        while begun:
            tables += begun[0].tables
            begun[0].tables = []
            if not begun[0].one.is_done:
                break
            found += begun.popleft().found
        size = max(_LEAST_RANGE, min(_ROOM, taken * (_ROOM * 2 // 3) // max(found, 1)))
        yield tables[0] if len(tables) == 1 else np.concatenate(tables)
        spare += [_whole(table) for table in tables]


def _table(spare: list[Array], width: int) -> Array:
    return spare.pop() if spare else np.empty((_ROOM, width), np.int32)


def _whole(table: Array) -> Array:
    """The array that a table is the first rows of."""
    return table if table.base is None else table.base

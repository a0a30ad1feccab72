"""Plans that the same facts drive, run by one call of a kernel.

What      : packs the programs of several executables into common arrays; `matches` runs them one after the other over
            the same driving rows, `proved` asks which rows are the head of an instance of any of them.
Idea      : a small update meets a dozen rules, and most of them derive nothing. A kernel call for each of them would
            cost more than all the joining.
Invariant : a program gives the same matches in the same order as its executable. What does not fit into the table, or
            is still not done when the call has looked at many candidates, is left to the executable, from the start;
            so is arithmetic that the machine cannot do (fused.py).
Never     : no executable of several segments.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate, pairwise
from threading import RLock
from typing import NamedTuple

import numpy as np

from tidelog.backends.local.joins import machine
from tidelog.backends.local.joins.executable import Executable
from tidelog.backends.local.joins.fused import Fused, plain
from tidelog.backends.local.kernels.compiled import Array, Int, allocating, compiled
from tidelog.backends.local.kernels.interpreting import bounded
from tidelog.backends.local.relations.relation import Relation
from tidelog.planning.lowered import LoweredRule

MOST_DRIVING = 4096
"""With more driving rows the price of a call no longer matters, and a table of one program may be large."""
_TABLE = 1 << 16
_FUEL = 1 << 20
"""How many candidates all programs of a call may look at together before the budget is asked again."""
_LOADS, _CODE, _STARTS, _REGISTERS, _CHOSEN = 0, 2, 4, 6, 8
_ROOM = 2
"""For how many new constants there is room per driving fact and step that computes; if there are more, the rows are
left to the plain executables."""
UNFINISHED = -1
_STATE = len(machine.START)


@compiled
def _run_one(
    driving: Array,
    part: Array,
    arrays: tuple[Array, ...],
    chosen: Array,
    limit: Int,
    most: Int,
    table: Array,
    scratch: Array,
) -> tuple[Int, bool, Int]:
    """Run one program from the start: how many rows it wrote, whether it finished, how many candidates it looked at."""
    loads = arrays[0][part[_LOADS] : part[_LOADS + 1]]
    code = arrays[1][part[_CODE] : part[_CODE + 1]]
    steps = arrays[2][part[_STARTS] : part[_STARTS + 1]]
    registers = arrays[3][part[_REGISTERS] : part[_REGISTERS + 1]]
    state, cursors = scratch[:_STATE], scratch[_STATE:]
    for i in range(_STATE):
        state[i] = machine.START[i]
    written = machine.run(driving, loads, code, steps, registers, cursors, state, limit, most, chosen, table)
    return written, state[machine.POSITION] >= driving.shape[0], state[machine.LOOKED]


@allocating
def run_all(
    driving: Array, parts: Array, order: Array, arrays: tuple[Array, ...], counts: Array, table: Array, most: Int
) -> tuple[Int, Int]:
    """Run programs until the table is full, or about `most` candidates were looked at.

    Returns the number of entries written and of candidates; `counts` gets the number of rows by program, or UNFINISHED.
    """
    used, fuel, scratch = np.int64(0), np.int64(most), np.empty(_STATE + 2 * arrays[2].shape[0], np.int64)
    for i in range(order.shape[0]):
        part = parts[order[i]]
        chosen = arrays[4][part[_CHOSEN] : part[_CHOSEN + 1]]
        width = chosen.shape[0]
        room = (table.shape[0] - used) // width
        counts[i] = UNFINISHED
        if room > 0 and fuel > 0:
            own = table[used : used + room * width].reshape((room, width))
            written, is_done, looked = _run_one(driving, part, arrays, chosen, machine.UNLIMITED, fuel, own, scratch)
            fuel -= looked
            if is_done:
                counts[i] = written
                used += written * width
    return used, most - fuel


@allocating
def _prove_all(
    driving: Array, parts: Array, order: Array, arrays: tuple[Array, ...], counts: Array, looked: Array, proved: Array,
    most: Int,
) -> None:  # fmt: skip
    """Mark the driving rows that some program matches; counts the rows that each program was the first to match.

    `looked` gets the candidates that each program looked at, by which orders of joins can be compared.
    """
    chosen, fuel, scratch = np.zeros(1, np.int64), np.int64(most), np.empty(_STATE + 2 * arrays[2].shape[0], np.int64)
    table = np.empty((driving.shape[0], 1), np.int32)
    places = np.empty(driving.shape[0], np.int64)
    for i in range(order.shape[0]):
        waiting = np.empty_like(driving)
        left = 0
        for row in range(driving.shape[0]):
            if not proved[row]:
                waiting[left] = driving[row]
                places[left] = row
                left += 1
        counts[i] = 0
        if left == 0:
            continue
        if fuel <= 0:
            counts[i] = UNFINISHED
            continue
        written, is_done, looked[order[i]] = _run_one(
            waiting[:left], parts[order[i]], arrays, chosen, np.int64(1), fuel, table, scratch
        )
        fuel -= looked[order[i]]
        for at in range(written):
            proved[places[table[at, 0]]] = True
        counts[i] = written if is_done else UNFINISHED - written


class Programs(NamedTuple):
    """The programs of a bundle as kernels take them; `order` are those that may match."""

    parts: Array
    order: Array
    arrays: tuple[Array, ...]


class Matches(NamedTuple):
    """What a bundle derives from driving rows."""

    tables: list[tuple[LoweredRule, Array]]
    """Heads of one relation each, named by a rule that derives it."""
    hits: list[tuple[Executable, int]]
    """How many heads an executable derives."""
    unfinished: list[Executable]
    """Executables that have to run by themselves."""


class Proofs(NamedTuple):
    """What a bundle says about rows that may be heads of instances."""

    proved: Array
    """Which of the rows are heads of instances."""
    hits: list[tuple[Executable, int]]
    """By executable, how many rows it was the first to prove."""
    unfinished: list[Executable]
    """Executables that have to run by themselves over the rows that are not proved."""
    looked: Array
    """How many candidates each executable looked at."""


class Bundle:
    """Executables that the same facts drive."""

    def __init__(self, executables: Sequence[Executable]) -> None:
        self.executables = sorted(executables, key=lambda one: one.plan.rule.head.relation)
        programs = [executable.pack() for executable in self.executables]
        columns = list(zip(*programs))
        arrays = tuple(np.concatenate(column) for column in columns)
        places = [pairwise(accumulate(map(len, column), initial=0)) for column in columns]
        parts = np.array(list(zip(*places)), np.int64).reshape(len(programs), -1)
        for executable, part in zip(self.executables, parts.tolist()):
            executable.move_to(arrays[1][part[_CODE] : part[_CODE + 1]])
        self._programs = Programs(parts, np.empty(0, np.int64), arrays)
        self._relations = list({id(one): one for each in executables for one in each.relations}.values())
        self._scanning = [executable for executable in executables if executable.scans]
        self._fused = [executable for executable in executables if isinstance(executable, Fused)]
        self._dictionary, self._moved = self._fused[0].dictionary if self._fused else None, -1
        self.latch = RLock() if self._dictionary is None else self._dictionary.latch
        """Held from `ready` until the programs have run: arithmetic may add constants, and arrays must not move.

        If no program computes, it is a lock of this bundle alone.
        """
        self._empty: list[Relation] = []
        self._epoch = -1

    def matches(self, driving: Array, scratch: Array) -> Matches:
        """The heads that the executables derive; those of one relation come together, because storing has a price."""
        with self.latch:
            programs = self.ready(len(driving))
            counts = np.empty(len(programs.order), np.int64)
            run_all(driving, *programs, counts, scratch, bounded(_FUEL))
        found = Matches([], [], [])
        rule, start, used = None, 0, 0
        for number, count in zip(programs.order.tolist(), counts.tolist()):
            if count == 0:
                continue
            executable = self.executables[number]
            if count == UNFINISHED:
                found.unfinished.append(plain(executable))
                continue
            found.hits.append((executable, count))
            if rule is not None and rule.head.relation != executable.plan.rule.head.relation:
                found.tables.append((rule, _table(rule, scratch[start:used])))
                start = used
            rule = executable.plan.rule
            used += count * len(executable.plan.head)
        if rule is not None:
            found.tables.append((rule, _table(rule, scratch[start:used])))
        return found

    def proved(self, driving: Array) -> Proofs:
        """Which rows are the head of an instance of any executable."""
        proved, looked = np.zeros(len(driving), np.bool_), np.zeros(len(self.executables), np.int64)
        with self.latch:
            programs = self.ready(len(driving))
            counts = np.empty(len(programs.order), np.int64)
            _prove_all(driving, *programs, counts, looked, proved, bounded(_FUEL))
        hits, unfinished = [], []
        for number, count in zip(programs.order.tolist(), counts.tolist()):
            executable = self.executables[number]
            if count < 0:
                unfinished.append(plain(executable))
            if count not in (0, UNFINISHED):
                hits.append((executable, count if count > 0 else UNFINISHED - count))
        return Proofs(proved, hits, unfinished, looked)

    @cached_property
    def heads(self) -> frozenset[str]:
        """The relations whose facts are derived."""
        return frozenset(executable.plan.rule.head.relation for executable in self.executables)

    @cached_property
    def scans(self) -> frozenset[str]:
        """The relations that programs scan as a whole."""
        return frozenset(name for executable in self._scanning for name in executable.scans)

    @property
    def is_small(self) -> bool:
        """Whether all relations that the programs look into have few rows."""
        return max([relation.count for relation in self._relations], default=0) <= MOST_DRIVING

    def ready(self, driving: int) -> Programs:
        """Leave out what cannot match, because a relation is empty, and write current addresses into the programs.

        `driving` is about how many facts will drive them: the room for new constants grows with it.
        """
        epoch = 0
        for relation in self._relations:
            epoch += relation.epoch
        while epoch != self._epoch or any(relation.count for relation in self._empty):  # see `Executable.refresh`
            useful = [number for number, one in enumerate(self.executables) if not one.is_futile()]
            for number in useful:
                self.executables[number].refresh()
            self._programs = self._programs._replace(order=np.array(useful, np.int64))
            self._empty = [relation for relation in self._relations if not relation.count]
            self._epoch, epoch = epoch, sum(relation.epoch for relation in self._relations)
        if self._dictionary is not None:
            self._dictionary.reserve(_ROOM * sum(one.computes for one in self._fused) * driving)
            if self._moved != self._dictionary.moved:
                for fused in self._fused:
                    fused.note_constants()
                self._moved = self._dictionary.moved
        for executable in self._scanning:
            executable.note_sizes()
        return self._programs


def _table(rule: LoweredRule, entries: Array) -> Array:
    return entries.reshape(-1, len(rule.head.terms))


def scratch() -> Array:
    """A table that `matches` may write into; what it gives is valid until the next call."""
    return np.empty(_TABLE, np.int32)

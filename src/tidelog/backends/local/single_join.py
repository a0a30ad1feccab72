"""The join machine for the commonest plan: driving rows that are looked up in one index, and nothing else.

What      : does what `machine.run` does for a program of a single step that is a look-up by one column.
Idea      : closures, copies of relations and most rules of two atoms end up here, with about one match per driving
            row; then the general machine's bookkeeping costs more than its work. Look-ups of a block of driving rows
            are made one hop at a time, so that the memory accesses of a hop overlap instead of waiting in a line.
Invariant : same matches in the same order, and the same state between two calls, as `machine.run` without a limit.
Never     : no other step, no limit per driving row.
"""

from __future__ import annotations

import numpy as np

from tidelog.backends.local.compiled import Array, Int, compiled
from tidelog.backends.local.hashing import find_one, hash_one, home
from tidelog.backends.local.machine import (
    ACTIONS,
    ARITY,
    BIND,
    CARE,
    CHAIN_ONE,
    CHECK,
    DEPTH,
    DETAILS,
    FUEL,
    KEY_PAIRS,
    LINKS,
    MARKS,
    OPERATION,
    POSITION,
    ROOM,
    ROW_REGISTER,
    ROWS,
    SLOTS,
    WANT,
)  # fmt: skip
from tidelog.backends.local.memory import fetch16, fetch32, fetch64, load16, load32

_BLOCK = 64


def looked_up_column(loads: Array, code: Array, starts: Array) -> int:
    """The driving column by which the program's only step is looked up; -1 if the program is another one."""
    if len(starts) != 1 or code[starts[0] + OPERATION] != CHAIN_ONE:
        return -1
    for column, register, kind in loads.tolist():
        if kind == BIND and register == code[starts[0] + DETAILS + 1]:
            return int(column)
    return -1


@compiled
def _look_up(driving: Array, start: Int, column: Int, code: Array, at: Int, lasts: Array) -> None:
    """Find the last match of each row of a block, and send for its first match."""
    count = min(driving.shape[0] - start, lasts.shape[0])
    slots, room, links = code[at + SLOTS], code[at + ROOM], code[at + LINKS]
    for i in range(count):
        fetch64(slots, home(hash_one(driving[start + i, column]), room))
    for i in range(count):
        lasts[i] = find_one(slots, room, driving[start + i, column])
        if lasts[i] != -1:
            fetch32(links, lasts[i])
    for i in range(count):
        if lasts[i] != -1:
            row = load32(links, lasts[i])
            fetch16(code[at + MARKS], row)
            fetch32(code[at + ROWS], row * code[at + ARITY])


@compiled
def _load(driving: Array, position: Int, loads: Array, registers: Array) -> bool:
    """Fill registers from a driving row; False if it does not fit."""
    registers[0] = position
    for i in range(loads.shape[0]):
        value = driving[position, loads[i, 0]]
        if loads[i, 2] == CHECK and registers[loads[i, 1]] != value:
            return False
        registers[loads[i, 1]] = value
    return True


@compiled
def run(
    driving: Array,
    loads: Array,
    column: Int,
    code: Array,
    at: Int,
    registers: Array,
    cursors: Array,
    state: Array,
    chosen: Array,
    table: Array,
) -> Int:
    """Run until the driving rows are used up or the table is full; returns the number of rows written."""
    rows, arity, marks, links = code[at + ROWS], code[at + ARITY], code[at + MARKS], code[at + LINKS]
    care, want, row_register = code[at + CARE], code[at + WANT], code[at + ROW_REGISTER]
    count, actions = code[at + ACTIONS], code[at + DETAILS + 2 * code[at + KEY_PAIRS] :]
    room, width, fuel = table.shape[0], chosen.shape[0], FUEL
    lasts = np.empty(_BLOCK, np.int64)
    position, written, ahead = state[POSITION], np.int64(0), np.int64(-_BLOCK)
    row, last = (cursors[0], cursors[1]) if state[DEPTH] == 0 else (np.int64(-1), np.int64(-1))
    while written < room and fuel > 0:
        if row == -1:
            if position >= driving.shape[0]:
                break
            if position >= ahead + _BLOCK:
                _look_up(driving, position, column, code, at, lasts)
                ahead = position
            last = lasts[position - ahead]
            fuel -= 1
            if last == -1 or not _load(driving, position, loads, registers):
                position += 1
                continue
            row = load32(links, last)
        while row != -1 and written < room:
            fuel -= 1
            fits = load16(marks, row) & care == want
            for i in range(count if fits else 0):
                value = load32(rows, row * arity + actions[3 * i])
                if actions[3 * i + 2] == BIND:
                    registers[actions[3 * i + 1]] = value
                elif registers[actions[3 * i + 1]] != value:
                    fits = False
                    break
            if fits:
                registers[row_register] = row
                for i in range(width):
                    table[written, i] = registers[chosen[i]]
                written += 1
            row = np.int64(-1) if row == last else load32(links, row)
        if row == -1:
            position += 1
    state[POSITION], state[DEPTH] = position, -1 if row == -1 else 0
    cursors[0], cursors[1] = row, last
    return written

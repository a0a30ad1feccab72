"""The join machine for the commonest plan: driving rows that are looked up in one index, and nothing else.

What      : does what `machine.run` does for a program of a single step that is a look-up by one column.
Idea      : closures, copies of relations and most rules of two atoms end up here, with about one match per driving
            row; then the general machine's bookkeeping costs more than its work. So the work is done by the block, one
            hop at a time: look up a block of driving rows, list its matches as pairs of driving position and matched
            row, drop those that do not fit, write the rest column by column. The memory accesses of a hop overlap
            instead of waiting in a line, and a column costs one short loop.
Invariant : same matches in the same order, and the same state between two calls, as `machine.run` without a limit.
Never     : no other step, no limit per driving row.
"""

from __future__ import annotations

import numpy as np

from tidelog.backends.local.joins.machine import (
    ACTIONS,
    ARITY,
    BIND,
    CARE,
    CHAIN_ONE,
    CHECK,
    DEPTH,
    DETAILS,
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
from tidelog.backends.local.kernels.compiled import Array, Int, compiled
from tidelog.backends.local.kernels.hashing import find_one, hash_one, home
from tidelog.backends.local.kernels.memory import fetch16, fetch32, fetch64, load16, load32

_BLOCK = 64
_PAIRS = 256
SCRATCH = _BLOCK + 2 * _PAIRS
"""How many numbers of scratch space a run needs: the last matches of a block, then the pairs."""

_CONSTANT, _DRIVING, _MATCHED, _POSITION, _ROW = 0, 1, 2, 3, 4


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
    count = min(driving.shape[0] - start, _BLOCK)
    slots, room, links = code[at + SLOTS], code[at + ROOM], code[at + LINKS]
    marks, rows, arity = code[at + MARKS], code[at + ROWS], code[at + ARITY]
    for i in range(count):
        fetch64(slots, home(hash_one(np.int64(driving[start + i, column])), room))
    for i in range(count):
        lasts[i] = find_one(slots, room, np.int64(driving[start + i, column]))
        fetch32(links, max(lasts[i], 0))
    for i in range(count):
        if lasts[i] != -1:
            row = load32(links, lasts[i])
            fetch16(marks, row)
            fetch32(rows, row * arity)


@compiled
def _source(register: Int, loads: Array, code: Array, at: Int) -> tuple[Int, Int]:
    """Where the value of a register comes from: the kind of place, and its column.

    What a matched row binds counts before what a driving row holds, which may be an older value of the register.
    """
    if register == code[at + ROW_REGISTER]:
        return _ROW, 0
    actions = at + DETAILS + 2 * code[at + KEY_PAIRS]
    for i in range(code[at + ACTIONS]):
        if code[actions + 3 * i + 1] == register and code[actions + 3 * i + 2] == BIND:
            return _MATCHED, code[actions + 3 * i]
    for i in range(loads.shape[0]):
        if loads[i, 1] == register and loads[i, 2] == BIND:
            return _DRIVING, loads[i, 0]
    return (_POSITION, 0) if register == 0 else (_CONSTANT, register)


@compiled
def _value(
    kind: Int, column: Int, position: Int, row: Int, driving: Array, code: Array, at: Int, registers: Array
) -> Int:
    """The value that a register has for a pair."""
    if kind == _DRIVING:
        return np.int64(driving[position, column])
    if kind == _MATCHED:
        return load32(code[at + ROWS], row * code[at + ARITY] + column)
    if kind == _POSITION:
        return position
    return row if kind == _ROW else registers[column]


@compiled
def _keep(
    own: Int, register: Int, count: Int, pairs: Array, driving: Array, loads: Array, code: Array, at: Int,
    registers: Array, is_driving: bool,
) -> Int:  # fmt: skip
    """Drop the pairs in which a column of the driving or the matched row differs from a register; how many stay."""
    kind, column = _source(register, loads, code, at)
    kept = 0
    for i in range(count):
        position, row = pairs[2 * i], pairs[2 * i + 1]
        value = _value(_DRIVING if is_driving else _MATCHED, own, position, row, driving, code, at, registers)
        pairs[2 * kept], pairs[2 * kept + 1] = position, row
        kept += value == _value(kind, column, position, row, driving, code, at, registers)
    return kept


@compiled
def _fitting(count: Int, pairs: Array, driving: Array, loads: Array, code: Array, at: Int, registers: Array) -> Int:
    """Drop the pairs that do not agree with every check of the program; how many stay."""
    for i in range(loads.shape[0]):
        if loads[i, 2] == CHECK:
            count = _keep(loads[i, 0], loads[i, 1], count, pairs, driving, loads, code, at, registers, True)
    actions = at + DETAILS + 2 * code[at + KEY_PAIRS]
    for i in range(actions, actions + 3 * code[at + ACTIONS], 3):
        if code[i + 2] == CHECK:
            count = _keep(code[i], code[i + 1], count, pairs, driving, loads, code, at, registers, False)
    return count


@compiled
def _write(
    count: Int, pairs: Array, driving: Array, loads: Array, code: Array, at: Int, registers: Array, chosen: Array,
    table: Array, written: Int,
) -> None:  # fmt: skip
    """Write the chosen registers of all pairs, a column at a time."""
    rows, arity = code[at + ROWS], code[at + ARITY]
    for target in range(chosen.shape[0]):
        kind, column = _source(chosen[target], loads, code, at)
        if kind == _DRIVING:
            for i in range(count):
                table[written + i, target] = driving[pairs[2 * i], column]
        elif kind == _MATCHED:
            for i in range(count):
                table[written + i, target] = load32(rows, pairs[2 * i + 1] * arity + column)
        else:
            for i in range(count):
                table[written + i, target] = _value(
                    kind, column, pairs[2 * i], pairs[2 * i + 1], driving, code, at, registers
                )


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
    most: Int,
    chosen: Array,
    table: Array,
    scratch: Array,
) -> Int:
    """Run until the driving rows are used up or the table is full; returns the number of rows written.

    A run also stops after about `most` candidates, so that the budget can be asked. `scratch` has room for SCRATCH
    numbers.
    """
    marks, rows, arity, links = code[at + MARKS], code[at + ROWS], code[at + ARITY], code[at + LINKS]
    care, want = code[at + CARE], code[at + WANT]
    lasts, pairs = scratch[:_BLOCK], scratch[_BLOCK:]
    position, written, ahead, fuel = state[POSITION], np.int64(0), np.int64(-_BLOCK), np.int64(most)
    row, last = (cursors[0], cursors[1]) if state[DEPTH] == 0 else (np.int64(-1), np.int64(-1))
    while written < table.shape[0] and fuel > 0 and (row != -1 or position < driving.shape[0]):
        listed, most = np.int64(0), min(np.int64(_PAIRS), table.shape[0] - written)
        while listed < most:
            if row == -1:
                if position >= driving.shape[0]:
                    break
                if position >= ahead + _BLOCK:
                    _look_up(driving, position, column, code, at, lasts)
                    ahead = position
                last = lasts[position - ahead]
                fuel -= 1
                if last == -1:
                    position += 1
                    continue
                row = load32(links, last)
            while row != -1 and listed < most:
                fuel -= 1
                pairs[2 * listed], pairs[2 * listed + 1] = position, row
                listed += load16(marks, row) & care == want
                fetch32(rows, row * arity)
                row = np.int64(-1) if row == last else load32(links, row)
            position += row == -1
        listed = _fitting(listed, pairs, driving, loads, code, at, registers)
        _write(listed, pairs, driving, loads, code, at, registers, chosen, table, written)
        written += listed
    state[POSITION], state[DEPTH] = position, -1 if row == -1 else 0
    cursors[0], cursors[1] = row, last
    return written

"""The join machine: one compiled loop that runs any plan.

What      : given driving rows and a program (plain integers), enumerates the matches depth first and writes chosen
            registers of each match into a table.
Idea      : fused nested index loops with nothing materialised in between; because the program is data, adding a rule
            compiles nothing. When the table is full the machine stops and later resumes where it was.
Invariant : matches come in a fixed order, each once. Rows may be appended to relations and tables may grow between
            two calls: cursors are row numbers, and a ring is walked to what was its last row at the start.
Never     : no insertion of facts (relations/relation_kernels.py), no Python objects. Arithmetic only as far as
            constants/single_values.py can tell the result; where it cannot, the run is stuck, and says so.

A step is a block of integers: operation, address of the rows, arity, address of the marks, care, want, address of the
slots, room, address of the links, number of rows, row register (or -1), number of key pairs, number of actions, where
to go back to instead of trying other candidates of the step, where to go back to after a match (of the last step), then
the key pairs (column, register) and the actions (column, register, kind). Where to go back to is a depth plus 2, or 0
for the usual way; if `state` asks for every match, it is always the usual way. The details of arithmetic are a target
register, or the orders that are wanted (bit 0 less, 1 equal, 2 greater), two registers, the function, and addresses.
"""

from __future__ import annotations

import numpy as np

from tidelog.backends.local.constants.function_kernels import NO_ORDER
from tidelog.backends.local.constants.single_values import UNSURE, compared, computed
from tidelog.backends.local.kernels.compiled import Array, Int, compiled
from tidelog.backends.local.kernels.hashing import find_one, hash_more, home, row_of, tag_of
from tidelog.backends.local.kernels.memory import load16, load32, load64
from tidelog.backends.local.relations import row_table

SCAN, CHAIN_ONE, CHAIN_MORE, WHOLE = 0, 1, 2, 3
ABSENT_SCAN, ABSENT_ONE, ABSENT_MORE, ABSENT_WHOLE = 4, 5, 6, 7
EQUAL, DIFFERENT, COPY, COMPUTED, ORDERED = 8, 9, 10, 11, 12
TARGET, LEFT, RIGHT, FUNCTION, ARRAYS = 0, 1, 2, 3, 4
"""Where the details of arithmetic stand."""
FAILS, HOLDS, IS_STUCK = 0, 1, 2
(
    OPERATION, ROWS, ARITY, MARKS, CARE, WANT, SLOTS, ROOM, LINKS, COUNT, ROW_REGISTER, KEY_PAIRS, ACTIONS, BACK, AFTER,
    DETAILS,
) = range(16)  # fmt: skip
BIND, CHECK = 0, 1
POSITION, DEPTH, EMITTED, ENTERING, LOOKED, EVERY = 0, 1, 2, 3, 4, 5
START = (0, -1, 0, 0, 0, 0)
FUEL, UNLIMITED = 1 << 18, 1 << 62
"""How many candidates a run looks at before it stops, which takes 0.5 to 10 ms, and the limit of matches that means "no
limit"."""

_WORD = np.int64(0xFFFFFFFF)


@compiled
def _last(code: Array, at: Int, operation: Int, registers: Array) -> Int:
    """The last row of a step's candidates, or -1 if there is none."""
    if operation == SCAN:
        return code[at + COUNT] - 1
    details = at + DETAILS
    slots = code[at + SLOTS]
    room = code[at + ROOM]
    if operation == CHAIN_ONE:
        return find_one(slots, room, registers[code[details + 1]])
    if operation == WHOLE:
        return _whole(code, at, registers)
    pairs = code[at + KEY_PAIRS]
    h = np.uint64(0)
    for i in range(pairs):
        h = hash_more(h, registers[code[details + 2 * i + 1]])
    tag = tag_of(h)
    place = home(h, room)
    rows = code[at + ROWS]
    arity = code[at + ARITY]
    while True:
        slot = load64(slots, place)
        if slot == -1:
            return np.int64(-1)
        if slot >> 32 == tag:
            row = row_of(slot)
            is_same = True
            for i in range(pairs):
                if load32(rows, row * arity + code[details + 2 * i]) != registers[code[details + 2 * i + 1]]:
                    is_same = False
                    break
            if is_same:
                return row
        place = (place + 1) & room


@compiled
def _whole(code: Array, at: Int, registers: Array) -> Int:
    """The row whose every column is known, or -1; the slots are those of the relation's table of full rows."""
    details, arity = at + DETAILS, code[at + ARITY]
    if arity == 2:
        h = row_table.pair_hash(registers[code[details + 1]], registers[code[details + 3]])
    else:
        h = np.uint64(arity)
        for i in range(arity):
            h = row_table.extended(h, registers[code[details + 2 * i + 1]])
    room = np.uint64(code[at + ROOM])
    place, tag = np.int64(row_table.place_of(h, room)), np.int64(row_table.tag_of(h, room))
    while True:
        slot = load32(code[at + SLOTS], place) & _WORD
        if slot == 0:
            return np.int64(-1)
        if slot & ~code[at + ROOM] == tag:
            row = (slot & code[at + ROOM]) - 1
            is_same = True
            for i in range(arity):
                if load32(code[at + ROWS], row * arity + i) != registers[code[details + 2 * i + 1]]:
                    is_same = False
                    break
            if is_same:
                return row
        place = (place + 1) & code[at + ROOM]


@compiled
def _first(code: Array, at: Int, operation: Int, last: Int) -> Int:
    """The first of a step's candidates, given the last one."""
    if last == -1 or operation == WHOLE:
        return last
    if operation == SCAN:
        return np.int64(0)
    return load32(code[at + LINKS], last)


@compiled
def _next(code: Array, at: Int, operation: Int, row: Int, last: Int) -> Int:
    """The candidate after a row, or -1."""
    if row == last:
        return np.int64(-1)
    if operation == SCAN:
        return row + 1
    return load32(code[at + LINKS], row)


@compiled
def _fits(code: Array, at: Int, row: Int, registers: Array) -> bool:
    """Whether a candidate is in the step's view and agrees with the registers; fills the registers it binds."""
    if load16(code[at + MARKS], row) & code[at + CARE] != code[at + WANT]:
        return False
    actions = at + DETAILS + 2 * code[at + KEY_PAIRS]
    base = row * code[at + ARITY]
    rows = code[at + ROWS]
    for i in range(code[at + ACTIONS]):
        value = load32(rows, base + code[actions + 3 * i])
        register = code[actions + 3 * i + 1]
        if code[actions + 3 * i + 2] == BIND:
            registers[register] = value
        elif registers[register] != value:
            return False
    if code[at + ROW_REGISTER] >= 0:
        registers[code[at + ROW_REGISTER]] = row
    return True


@compiled
def _calculates(code: Array, at: Int, operation: Int, registers: Array) -> Int:
    """As `_holds`, for arithmetic and order."""
    details = at + DETAILS
    left, right = registers[code[details + LEFT]], registers[code[details + RIGHT]]
    if operation == COMPUTED:
        found = computed(code[details + FUNCTION], left, right, code, details + ARRAYS)
        if found == UNSURE:
            return np.int64(IS_STUCK)
        registers[code[details + TARGET]] = found
        return np.int64(HOLDS)
    found = compared(left, right, code, details + ARRAYS)
    return np.int64(IS_STUCK) if found == NO_ORDER else code[details + TARGET] >> (found + 1) & 1


@compiled
def _holds(code: Array, at: Int, registers: Array) -> Int:
    """Whether a step without alternatives holds: a comparison of registers, a copy, arithmetic, or an absence."""
    details, operation = at + DETAILS, code[at + OPERATION]
    if operation >= COMPUTED:
        return _calculates(code, at, operation, registers)
    if operation == EQUAL:
        return np.int64(registers[code[details]] == registers[code[details + 1]])
    if operation == DIFFERENT:
        return np.int64(registers[code[details]] != registers[code[details + 1]])
    if operation == COPY:
        registers[code[details]] = registers[code[details + 1]]
        return np.int64(HOLDS)
    last = _last(code, at, operation - ABSENT_SCAN, registers)
    row = _first(code, at, operation - ABSENT_SCAN, last)
    while row != -1:
        if _fits(code, at, row, registers):
            return np.int64(FAILS)
        row = _next(code, at, operation - ABSENT_SCAN, row, last)
    return np.int64(HOLDS)


@compiled
def _load(driving: Array, position: Int, loads: Array, registers: Array) -> bool:
    """Fill registers from a driving row; False if it does not fit."""
    registers[0] = position
    for i in range(loads.shape[0]):
        value = driving[position, loads[i, 0]]
        if loads[i, 2] == BIND:
            registers[loads[i, 1]] = value
        elif registers[loads[i, 1]] != value:
            return False
    return True


@compiled
def _write(registers: Array, chosen: Array, table: Array, at: Int) -> None:
    """Write the chosen registers as one row."""
    for i in range(chosen.shape[0]):
        table[at, i] = registers[chosen[i]]


@compiled
def _seek(code: Array, at: Int, operation: Int, row: Int, last: Int, registers: Array) -> tuple[Int, Int]:
    """The next candidate from `row` on that fits, or -1, and how many were looked at."""
    looked = 0
    while row != -1:
        looked += 1
        if _fits(code, at, row, registers):
            break
        row = _next(code, at, operation, row, last)
    return row, looked


@compiled
def _drain(
    code: Array,
    at: Int,
    operation: Int,
    row: Int,
    last: Int,
    registers: Array,
    chosen: Array,
    table: Array,
    written: Int,
    most: Int,
) -> tuple[Int, Int, Int]:
    """Write a match for every candidate of the last step from `row` on, until the table has `most` rows.

    Returns the candidate to go on with, or -1, the number of rows written in all, and how many were looked at. The
    step's numbers are read once, because this loop is where the time goes.
    """
    rows, arity, marks, links = code[at + ROWS], code[at + ARITY], code[at + MARKS], code[at + LINKS]
    care, want, row_register = code[at + CARE], code[at + WANT], code[at + ROW_REGISTER]
    count = code[at + ACTIONS]
    actions = code[at + DETAILS + 2 * code[at + KEY_PAIRS] :]
    looked = 0
    while row != -1 and written < most:
        looked += 1
        fits = load16(marks, row) & care == want
        if fits:
            for i in range(count):
                value = load32(rows, row * arity + actions[3 * i])
                if actions[3 * i + 2] == BIND:
                    registers[actions[3 * i + 1]] = value
                elif registers[actions[3 * i + 1]] != value:
                    fits = False
                    break
        if fits:
            registers[row_register] = row
            _write(registers, chosen, table, written)
            written += 1
        if row == last:
            row = np.int64(-1)
        elif operation == SCAN:
            row += 1
        else:
            row = load32(links, row)
    return row, written, looked


@compiled
def run(
    driving: Array, loads: Array, code: Array, starts: Array, registers: Array, cursors: Array, state: Array,
    limit: Int, most: Int, chosen: Array, table: Array,
) -> Int:  # fmt: skip
    """Run until the driving rows are used up or the table is full; returns the number of rows written.

    `state` holds the driving position, the depth (-1 between driving rows), the matches written for this driving row,
    whether the step at that depth begins, how many candidates were looked at, and whether every match is asked for,
    also those that differ in nothing that the head keeps; the run is done when the position is the number of driving
    rows. At most `limit` matches are written per driving row. A run also stops after about `most` candidates, so that
    the budget can be asked, and where it is stuck. `cursors` has two entries per step.
    """
    steps, room = starts.shape[0], table.shape[0]
    position, depth, emitted, entering = state[POSITION], state[DEPTH], state[EMITTED], state[ENTERING] != 0
    written, fuel, resume, is_sparing = np.int64(0), np.int64(most), np.int64(steps - 1), state[EVERY] == 0
    if is_sparing and steps > 0 and code[starts[steps - 1] + AFTER] > 0:
        resume = code[starts[steps - 1] + AFTER] - 2
    while fuel > 0 and written < room:
        fuel -= 1
        if depth < 0:
            while position < driving.shape[0] and not _load(driving, position, loads, registers):
                position += 1
            if position >= driving.shape[0]:
                break
            entering, depth, emitted = True, np.int64(0), np.int64(0)
        elif depth == steps:
            # Only a plan whose last step has no alternatives comes here; others write in `_drain`.
            _write(registers, chosen, table, written)
            written += 1
            emitted += 1
            entering = False
            depth = resume if emitted < limit else np.int64(-1)
        elif is_sparing and not entering and code[starts[depth] + BACK] > 0:
            depth = code[starts[depth] + BACK] - 2
        elif code[starts[depth] + OPERATION] >= ABSENT_SCAN:
            verdict = _holds(code, starts[depth], registers) if entering else np.int64(FAILS)
            if verdict == IS_STUCK:
                break
            entering, depth = verdict == HOLDS, depth + (1 if verdict == HOLDS else -1)
        else:
            at, operation = starts[depth], code[starts[depth] + OPERATION]
            if entering:
                cursors[steps + depth] = _last(code, at, operation, registers)
                cursors[depth] = _first(code, at, operation, cursors[steps + depth])
            row, last, looked = cursors[depth], cursors[steps + depth], 0
            entering = False
            if row == -1:
                depth -= 1
            elif depth == steps - 1:
                before, end = written, min(room, written + (limit - emitted if resume == depth else np.int64(1)))
                row, written, looked = _drain(code, at, operation, row, last, registers, chosen, table, written, end)
                emitted += written - before
                cursors[depth] = row
                if emitted >= limit:
                    depth = np.int64(-1)
                elif written > before and resume < depth:
                    depth = resume
                elif row == -1:
                    depth -= 1
            else:
                row, looked = _seek(code, at, operation, row, last, registers)
                cursors[depth] = np.int64(-1) if row == -1 else _next(code, at, operation, row, last)
                entering = row != -1
                depth += 1 if entering else -1
            fuel -= looked
        if depth < 0:
            position += 1
    state[POSITION], state[DEPTH], state[EMITTED], state[ENTERING] = position, depth, emitted, entering
    state[LOOKED] += most - fuel
    return written

"""Best values of groups whose members have changed, in one call of a kernel.

What      : `best_of` finds for the groups of some changed members the least or greatest member, and compares it with
            the stored value of the group: best values that come and best values that go.
Idea      : where members only came, the best of these and the stored value is the best of all; any other group is
            read, along its chain in the index. A recursion asks this in every round, often for a few members.
Invariant : the results are those of aggregates.py, which is used where this module declines: groups without columns,
            and values whose order language/values.py has to decide, or that have no order.
Never     : no marks are changed here.
"""

from __future__ import annotations

import numpy as np

from tidelog.backends.local.constants.dictionary import Dictionary
from tidelog.backends.local.constants.dictionary_kernels import KIND_INT
from tidelog.backends.local.constants.function_kernels import EQUAL, GREATER, LESS, NO_ORDER, order
from tidelog.backends.local.kernels.compiled import Array, Int, compiled
from tidelog.backends.local.kernels.hashing import find_leading, hash_more, home
from tidelog.backends.local.kernels.memory import load32, load64
from tidelog.backends.local.relations.facts import LocalFacts
from tidelog.backends.local.relations.relation import Relation
from tidelog.planning.lowered import GroupRule
from tidelog.planning.views import ANY, NO_MARKS, Mark, View

_NONE, _UNSURE = np.int64(-1), np.int64(-2)
_NOW = int(Mark.NOW)
_LINKS = 2


@compiled
def better(one: Int, other: Int, wanted: Int, constants: tuple[Array, ...]) -> Int:
    """The better of two constants, of which one may be _NONE; of an int and an equal float the int; or _UNSURE."""
    if one < 0 or other < 0:
        return max(one, other) if min(one, other) == _NONE else _UNSURE
    kinds, payloads, heap, offsets = constants
    found = order(one, other, kinds, payloads, heap, offsets)
    if found == NO_ORDER:
        return _UNSURE
    return one if found == wanted or (found == EQUAL and kinds[one] == KIND_INT) else other


@compiled
def number_rows(chosen: Array, rows: Array, width: Int, slots: Array, firsts: Array, numbers: Array) -> Int:
    """Number chosen rows as they come, by their leading columns; `firsts` gets a row of each. Slots begin as -1."""
    count, room = np.int64(0), np.int64(slots.shape[0] - 1)
    for i in range(chosen.shape[0]):
        row, h = np.int64(chosen[i]), np.uint64(0)
        for column in range(width):
            h = hash_more(h, np.int64(rows[row, column]))
        place = home(h, room)
        while True:
            number = np.int64(slots[place])
            if number == -1:
                slots[place] = number = count
                firsts[count] = row
                count += 1
                break
            is_same = True
            for column in range(width):
                is_same &= rows[firsts[number], column] == rows[row, column]
            if is_same:
                break
            place = (place + 1) & room
        numbers[i] = number
    return count


@compiled
def best_of_groups(
    changed: Array, rows: Array, marks: Array, index: Int, results: Array, result_marks: Array, result_index: Int,
    how: tuple[Int, ...], constants: tuple[Array, ...], firsts: Array, numbers: Array, best: Array, table: Array,
    gone: Array,
) -> tuple[Int, Int]:  # fmt: skip
    """Write what comes into `table`, and the rows of what goes into `gone`; how many there are, or _UNSURE.

    `how` are the number of groups, the wanted order, and care and want of the view of results. `best` begins as _NONE.
    """
    groups, wanted, care, want = how
    arity, last, width = rows.shape[1], rows.shape[1] - 1, results.shape[1] - 1
    for i in range(changed.shape[0]):
        row, group = np.int64(changed[i]), numbers[i]
        if not marks[row] & _NOW:
            best[group] = _UNSURE  # it has to be read
        elif best[group] != _UNSURE:
            best[group] = better(np.int64(rows[row, last]), best[group], wanted, constants)
    came, went = np.int64(0), np.int64(0)
    for group in range(groups):
        first, before = np.int64(firsts[group]), _NONE
        end = find_leading(result_index, results.ctypes.data, width + 1, rows.ctypes.data, arity, first)
        row = _NONE if end == -1 else load32(load64(result_index, _LINKS), end)
        while row != -1:
            if result_marks[row] & care == want:
                before = row
            row = _NONE if row == end else load32(load64(result_index, _LINKS), row)
        known = _NONE if before == -1 else np.int64(results[before, width])
        if best[group] == _UNSURE or before == -1:
            found = _NONE
            end = find_leading(index, rows.ctypes.data, arity, rows.ctypes.data, arity, first)
            row = load32(load64(index, _LINKS), end)
            while row != -1:
                if marks[row] & _NOW:
                    found = better(np.int64(rows[row, last]), found, wanted, constants)
                row = _NONE if row == end else load32(load64(index, _LINKS), row)
        else:
            found = better(best[group], known, wanted, constants)
        if found == _UNSURE:
            return _UNSURE, _UNSURE
        if found == known:
            continue
        if found != -1:
            for column in range(width):
                table[came, column] = rows[first, column]
            table[came, width] = found
            came += 1
        if before != -1:
            gone[went] = before
            went += 1
    return came, went


def best_of(
    rule: GroupRule, changed: Array, body: Relation, result: Relation, against: View, dictionary: Dictionary
) -> tuple[LocalFacts, LocalFacts, int] | None:
    """The facts that come and go with changed members, and the number of groups; None if aggregates.py has to do it."""
    size, d = len(changed), dictionary
    if not rule.group:
        return None
    columns, epoch = tuple(range(rule.group)), -1
    while epoch != body.epoch + result.epoch:  # to make an index may take a pause, in which arrays move
        epoch = body.epoch + result.epoch
        index, result_index = body.index(columns), result.index(columns)
    firsts, numbers = np.empty(size, np.int32), np.empty(size, np.int32)
    groups = number_rows(changed, body.rows, rule.group, np.full(slots_for(size), -1, np.int32), firsts, numbers)
    table, gone = np.empty((groups, rule.group + 1), np.int32), np.empty(groups, np.int32)
    wanted = LESS if rule.function == "min" else GREATER
    came, went = best_of_groups(
        changed, body.rows, body.marks, index.head.ctypes.data, result.rows, result.marks,
        result_index.head.ctypes.data, (groups, wanted, against.care, against.want),
        (d.kinds, d.payloads, d.heap, d.offsets), firsts, numbers, np.full(groups, _NONE), table, gone,
    )  # fmt: skip
    if came < 0:
        return None
    come = result.store(table[:came], ANY, NO_MARKS)
    return LocalFacts({result.name: come}), LocalFacts({result.name: gone[:went]}), groups


def slots_for(size: int) -> int:
    """How many slots `number_rows` wants: a power of two, of which as many groups take at most half."""
    return 1 << max(2 * size - 1, 15).bit_length()

"""What is done to traces and their weights, compiled.

What      : adding a change to the rows that are kept, putting rows side by side that meet in a join, adding up what
            rows have in the rounds of a recursion, and telling which of them change their sign.
Idea      : one call does one step of an operator: what is kept is small next to what a call from Python costs. A change
            is given as rows with weights, any row any number of times: looking for its rows finds equal ones, and
            adding up at their places is the sum of Z-sets, without a sort.
Invariant : no sum of a place and no product leaves 64 bits: where one might, a kernel says so. The last column of what
            is kept is its round; rows that differ in nothing else are a ring of the leading index.
Never     : no room is made here (trace.py).
"""

from __future__ import annotations

import numpy as np

from tidelog.backends.local.kernels.compiled import Array, Int, compiled
from tidelog.backends.local.kernels.hashing import (
    COLUMNS,
    LINKS,
    ROOM,
    SLOTS,
    WIDTH,
    find_leading,
    find_one,
    hash_more,
    hash_one,
    home,
    link,
    link_all,
    row_of,
    tag_of,
)
from tidelog.backends.local.kernels.memory import fetch64, load32, load64

COUNT, ALIVE = range(2)
"""Places in the counters of a trace: rows, and weights that are not zero."""
AT, PLACE, LATEST = range(3)
"""Places in the state of a look-up that stops when there is no more room: the key, the row, the latest round."""
_GREATEST, _LEAST = np.int64(2**63 - 1), np.int64(-(2**63))
_SURE = 2.0**62
_BLOCK = 64


@compiled
def _place_of(index: Int, table: Array, given: Int, at: Int, number: Int) -> Int:
    """Where a given row is kept with a round, or -1. The round that came last is looked at first."""
    last = table.shape[1] - 1
    end = find_leading(index, np.int64(table.ctypes.data), last + 1, given, last, at)
    place = end
    while place != -1:
        if table[place, last] == number:
            return place
        place = np.int64(load32(load64(index, LINKS), place))
        if place == end:
            break
    return np.int64(-1)


@compiled
def _fetch(index: Int, given: Array, start: Int, stop: Int) -> None:
    """Send for the slots of some rows, so that these accesses overlap."""
    slots, room, width = load64(index, SLOTS), load64(index, ROOM), given.shape[1]
    for at in range(start, stop):
        if width == 1:
            h = hash_one(np.int64(given[at, 0]))
        else:
            h = np.uint64(0)
            for column in range(width):
                h = hash_more(h, np.int64(given[at, column]))
        fetch64(slots, home(h, room))


@compiled
def absorb(
    given: Array,
    more: Array,
    rounds: Array,
    table: Array,
    weights: Array,
    counters: Array,
    heads: Array,
    is_touched: Array,
    touched: Array,
) -> Int:
    """Add rows with weights to those that are kept; the places that are not touched yet go into `touched`.

    `rounds` has one for each row, or one for all. The first of the heads is that of the leading index. The answer is
    how many places are in `touched`, or -1 - i if the i-th sum would leave 64 bits: it and what follows is not added.
    """
    last, index, found = table.shape[1] - 1, heads[0], 0
    several = rounds.shape[0] > 1
    for start in range(0, given.shape[0], _BLOCK):
        stop, first = min(start + _BLOCK, given.shape[0]), counters[COUNT]
        _fetch(index, given, start, stop)
        for at in range(start, stop):
            number = rounds[at] if several else rounds[0]
            place = _place_of(index, table, np.int64(given.ctypes.data), at, number)
            if place == -1:
                place = np.int64(counters[COUNT])
                counters[COUNT] += 1
                for column in range(last):
                    table[place, column] = given[at, column]
                table[place, last] = number
                weights[place], is_touched[place] = 0, False
                link(index, np.int64(table.ctypes.data), last + 1, place)
            before, change = weights[place], more[at]
            if (before > _GREATEST - change) if change > 0 else (before < _LEAST - change):
                for i in range(1, heads.shape[0]):
                    link_all(heads[i], np.int64(table.ctypes.data), last + 1, first, counters[COUNT])
                return np.int64(-1 - at)
            weights[place] = before + change
            counters[ALIVE] += np.int64(before + change != 0) - np.int64(before != 0)
            if not is_touched[place]:
                is_touched[place] = True
                touched[found] = place
                found += 1
        for i in range(1, heads.shape[0]):
            link_all(heads[i], np.int64(table.ctypes.data), last + 1, first, counters[COUNT])
    return np.int64(found)


@compiled
def withdraw(
    given: Array, more: Array, rounds: Array, table: Array, weights: Array, counters: Array, index: Int
) -> None:
    """Take back what was absorbed."""
    for at in range(given.shape[0]):
        number = rounds[at] if rounds.shape[0] > 1 else rounds[0]
        place = _place_of(index, table, np.int64(given.ctypes.data), at, number)
        before = weights[place]
        weights[place] = before - more[at]
        counters[ALIVE] += np.int64(weights[place] != 0) - np.int64(before != 0)


@compiled
def append(given: Array, more: Array, number: Int, table: Array, weights: Array, counters: Array, heads: Array) -> None:
    """Keep distinct rows with weights that are not zero, none of which is kept with this round."""
    first, last = counters[COUNT], table.shape[1] - 1
    for at in range(given.shape[0]):
        for column in range(last):
            table[first + at, column] = given[at, column]
        table[first + at, last] = number
        weights[first + at] = more[at]
    counters[COUNT] += given.shape[0]
    counters[ALIVE] += given.shape[0]
    for i in range(heads.shape[0]):
        link_all(heads[i], np.int64(table.ctypes.data), last + 1, first, counters[COUNT])


@compiled
def _find_key(index: Int, rows: Int, arity: Int, table: Int, width: Int, at: Int, columns: Array) -> Int:
    """The last row that is kept with the values that a row of a table has in some columns, or -1."""
    slots, room, keys = load64(index, SLOTS), load64(index, ROOM), load64(index, WIDTH)
    if keys == 1:
        return find_one(slots, room, load32(table, at * width + columns[0]))
    h = np.uint64(0)
    for i in range(keys):
        h = hash_more(h, load32(table, at * width + columns[i]))
    tag, place = tag_of(h), home(h, room)
    while True:
        slot = load64(slots, place)
        if slot == -1:
            return np.int64(-1)
        if slot >> 32 == tag:
            is_same, kept = True, row_of(slot) * arity
            for i in range(keys):
                mine = load32(table, at * width + columns[i])
                is_same &= load32(rows, kept + load64(index, COLUMNS + i)) == mine
            if is_same:
                return row_of(slot)
        place = (place + 1) & room


@compiled
def pairs(keys: Array, columns: Array, table: Array, index: Int, state: Array, places: Array, at: Array) -> Int:
    """The places of the rows that are kept with some keys, and the number of the key of each; how many that are."""
    links, found, last = load64(index, LINKS), 0, state[PLACE]
    for key in range(state[AT], keys.shape[0]):
        end = _find_key(
            index, np.int64(table.ctypes.data), table.shape[1], np.int64(keys.ctypes.data), keys.shape[1], key, columns
        )
        one = end if last == -1 else last
        while one != -1:
            if found == places.shape[0]:
                state[AT], state[PLACE] = key, one
                return np.int64(found)
            one = np.int64(load32(links, one))
            places[found], at[found] = one, key
            found += 1
            if one == end:
                break
        last = np.int64(-1)
    state[AT] = keys.shape[0]
    return np.int64(found)


@compiled
def meet(
    places: Array,
    mine: Array,
    my_weights: Array,
    columns: Array,
    table: Array,
    weights: Array,
    index: Int,
    number: Int,
    chosen: Array,
    state: Array,
    out: Array,
    products: Array,
    rounds: Array,
) -> Int:
    """Put pairs of rows side by side: those at some places, and those of another trace that agree in key columns.

    Columns are chosen from mine, the round excluded, and then from theirs. A pair gets the product of both weights,
    and the later of both rounds; pairs of weight zero are left out. How many there are is returned, or -1 if a product
    may leave 64 bits.
    """
    width, arity = mine.shape[1], table.shape[1]
    links, found, last = load64(index, LINKS), 0, state[PLACE]
    for at in range(state[AT], places.shape[0]):
        row = places[at]
        weight = my_weights[row]
        end = np.int64(-1)
        if weight != 0:
            mine_at, table_at = np.int64(mine.ctypes.data), np.int64(table.ctypes.data)
            end = _find_key(index, table_at, arity, mine_at, width, np.int64(row), columns)
        one = end if last == -1 else last
        while one != -1:
            if found == out.shape[0]:
                state[AT], state[PLACE] = at, one
                return np.int64(found)
            one = np.int64(load32(links, one))
            other = weights[one]
            if other != 0:
                if abs(np.float64(weight) * np.float64(other)) >= _SURE:
                    return np.int64(-1)
                for column in range(chosen.shape[0]):
                    source = chosen[column]
                    out[found, column] = mine[row, source] if source < width - 1 else table[one, source - width + 1]
                products[found] = weight * other
                rounds[found] = max(np.int64(table[one, arity - 1]), np.int64(number))
                state[LATEST] = max(state[LATEST], np.int64(rounds[found]))
                found += 1
            if one == end:
                break
        last = np.int64(-1)
    state[AT] = places.shape[0]
    return np.int64(found)


@compiled
def sum_rounds(
    given: Array, index: Int, table: Array, weights: Array, number: Int, before: Array, there: Array
) -> None:
    """Add up what some rows have in earlier rounds, and in one."""
    last, links = table.shape[1] - 1, load64(index, LINKS)
    for at in range(before.shape[0]):
        end = find_leading(index, np.int64(table.ctypes.data), last + 1, np.int64(given.ctypes.data), last, at)
        place = end
        while place != -1:
            place = np.int64(load32(links, place))
            if table[place, last] < number:
                before[at] += weights[place]
            elif table[place, last] == number:
                there[at] += weights[place]
            if place == end:
                break


@compiled
def change_signs(
    places: Array,
    table: Array,
    weights: Array,
    index: Int,
    old: Array,
    old_weights: Array,
    old_index: Int,
    number: Int,
    out: Array,
    differences: Array,
) -> Int:
    """Which of the rows at some places come or go in a round: the difference of signs with and without this moment,
    up to this round and up to the one before. The old trace has no index if it is empty.
    """
    last, found = table.shape[1] - 1, 0
    for i in range(places.shape[0]):
        before, there, added, fresh = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
        place = end = np.int64(places[i])
        while True:
            place = np.int64(load32(load64(index, LINKS), place))
            if table[place, last] < number:
                added += weights[place]
            elif table[place, last] == number:
                fresh += weights[place]
            if place == end:
                break
        if old_index != 0:
            rows, given = np.int64(old.ctypes.data), np.int64(table.ctypes.data)
            place = end = find_leading(old_index, rows, last + 1, given, last + 1, end)
            while place != -1:
                place = np.int64(load32(load64(old_index, LINKS), place))
                if old[place, last] < number:
                    before += old_weights[place]
                elif old[place, last] == number:
                    there += old_weights[place]
                if place == end:
                    break
        now = np.int64(before + there + added + fresh > 0) - np.int64(before + there > 0)
        difference = now - (np.int64(before + added > 0) - np.int64(before > 0))
        if difference != 0:
            for column in range(last):
                out[found, column] = table[places[i], column]
            differences[found] = difference
            found += 1
    return np.int64(found)

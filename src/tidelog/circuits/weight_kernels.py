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
    KEYS,
    LINKS,
    ROOM,
    SLOTS,
    WIDTH,
    find_leading,
    find_one,
    hash_more,
    hash_one,
    home,
    link_all,
    row_of,
    tag_of,
)
from tidelog.backends.local.kernels.memory import fetch32, fetch64, load32, load64, store32, store64

COUNT, ALIVE, NEWEST = range(3)
"""Places in the counters of a trace: rows, weights that are not zero, and the newest round as long as rounds rise."""
MIXED = np.int64(2**62)
"""The newest round of a trace in which a round came after a later one."""
AT, PLACE, LATEST = range(3)
"""Places in the state of a look-up that stops when there is no more room: the key, the row, the latest round."""
_GREATEST, _LEAST = np.int64(2**63 - 1), np.int64(-(2**63))
_SURE = 2.0**62
BLOCK = 64


@compiled
def _place_of(index: Int, rows: Int, width: Int, given: Int, at: Int, number: Int) -> Int:
    """Where a given row is kept with a round, or -1. What is kept and what is given are addresses."""
    end = find_leading(index, rows, width, given, width - 1, at)
    return _of_round(rows, width, load64(index, LINKS), end, number) if end != -1 else np.int64(-1)


@compiled
def _of_round(rows: Int, width: Int, links: Int, end: Int, number: Int) -> Int:
    """The row of a ring that has a round, or -1. The one that came last is looked at first."""
    place = end
    while True:
        if load32(rows, place * width + width - 1) == number:
            return place
        place = load32(links, place)
        if place == end:
            return np.int64(-1)


@compiled
def _fetch(index: Int, given: Int, last: Int, start: Int, stop: Int, rows: Int, sums: Int, hashes: Int) -> None:
    """Hash some rows, and send for their slots, and then for what these point at, so that these accesses overlap."""
    slots, room = load64(index, SLOTS), load64(index, ROOM)
    for at in range(start, stop):
        if last == 1:
            h = hash_one(load32(given, at))
        else:
            h = np.uint64(0)
            for column in range(last):
                h = hash_more(h, load32(given, at * last + column))
        store64(hashes, at - start, np.int64(h))
        fetch64(slots, home(h, room))
    for at in range(stop - start):
        slot = load64(slots, home(np.uint64(load64(hashes, at)), room))
        if slot != -1:
            fetch32(rows, row_of(slot) * (last + 1))
            fetch64(sums, row_of(slot))


@compiled
def _kept(index: Int, rows: Int, given: Int, last: Int, at: Int, h: np.uint64, number: Int, fresh: Int) -> Int:
    """Where a given row is kept with a round: if nowhere so far, it is written and linked at a fresh place.

    The number is -1 - round if rounds have only risen: then what is kept with it is at the end of its ring.
    """
    slots, room, width = load64(index, SLOTS), load64(index, ROOM), last + 1
    is_newest = number < 0
    number = -1 - number if is_newest else number
    tag = load32(given, at) if last == 1 else tag_of(h)
    here = home(h, room)
    slot = load64(slots, here)
    while slot != -1:
        if slot >> 32 == tag:
            is_same, place = True, row_of(slot) * width
            for column in range(last):
                is_same &= load32(rows, place + column) == load32(given, at * last + column)
            if is_same:
                break
        here = (here + 1) & room
        slot = load64(slots, here)
    links = load64(index, LINKS)
    if slot != -1:
        end = row_of(slot)
        if load32(rows, end * width + last) == number:
            return end
        if not is_newest:
            place = _of_round(rows, width, links, end, number)
            if place != -1:
                return place
        store32(links, fresh, load32(links, end))
        store32(links, end, fresh)
    else:
        store64(index, KEYS, load64(index, KEYS) + 1)
        store32(links, fresh, fresh)
    store64(slots, here, tag << 32 | fresh)
    for column in range(last):
        store32(rows, fresh * width + column, load32(given, at * last + column))
    store32(rows, fresh * width + last, number)
    return fresh


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
    known: Int,
    hashes: Array,
) -> Int:
    """Add rows with weights to those that are kept; of the first `known` places those that are not touched yet go into
    `touched`.

    `rounds` has one for each row, or one for all. The first of the heads is that of the leading index. The answer is
    how many places are in `touched`, or -1 - i if the i-th sum would leave 64 bits: it and what follows is not added.
    """
    last, index, several = table.shape[1] - 1, heads[0], rounds.shape[0] > 1
    rows, new, words = np.int64(table.ctypes.data), np.int64(given.ctypes.data), np.int64(hashes.ctypes.data)
    sums, count, alive, newest = np.int64(weights.ctypes.data), counters[COUNT], counters[ALIVE], counters[NEWEST]
    found, failed = np.int64(0), np.int64(0)
    for start in range(0, given.shape[0], BLOCK):
        stop, first = min(start + BLOCK, given.shape[0]), count
        _fetch(index, new, last, start, stop, rows, sums, words)
        for at in range(start, stop):
            number = np.int64(rounds[at if several else 0])
            newest = number if number >= newest else MIXED
            h = np.uint64(load64(words, at - start))
            place = _kept(index, rows, new, last, at, h, -1 - number if newest == number else number, count)
            before, change = np.int64(0), load64(np.int64(more.ctypes.data), at)
            if place == count:
                count += 1
                store64(sums, place, before)
            else:
                before = load64(sums, place)
            if (before > _GREATEST - change) if change > 0 else (before < _LEAST - change):
                failed = np.int64(-1 - at)
                break
            store64(sums, place, before + change)
            alive += np.int64(before + change != 0) - np.int64(before != 0)
            if place < known and not is_touched[place]:
                is_touched[place] = True
                touched[found] = place
                found += 1
        for i in range(1, heads.shape[0]):
            link_all(heads[i], rows, last + 1, first, count)
        if failed != 0:
            break
    counters[COUNT], counters[ALIVE], counters[NEWEST] = count, alive, newest
    return failed if failed != 0 else found


@compiled
def withdraw(
    given: Array, more: Array, rounds: Array, table: Array, weights: Array, counters: Array, index: Int
) -> None:
    """Take back what was absorbed."""
    rows = np.int64(table.ctypes.data)
    for at in range(given.shape[0]):
        number = rounds[at] if rounds.shape[0] > 1 else rounds[0]
        place = _place_of(index, rows, table.shape[1], np.int64(given.ctypes.data), at, np.int64(number))
        before = weights[place]
        weights[place] = before - more[at]
        counters[ALIVE] += np.int64(weights[place] != 0) - np.int64(before != 0)


@compiled
def append(given: Array, more: Array, number: Int, table: Array, weights: Array, counters: Array, heads: Array) -> None:
    """Keep distinct rows with weights that are not zero, none of which is kept with this round."""
    first, last = counters[COUNT], table.shape[1] - 1
    counters[NEWEST] = number if number >= counters[NEWEST] else MIXED
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
    up to this round and up to the one before. The old trace has no index if it is empty. How many they are is returned,
    or -1 if weights of several rounds together may leave 64 bits.
    """
    last, found = table.shape[1] - 1, 0
    for i in range(places.shape[0]):
        before, there, added, fresh = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
        heavy = 0.0
        place = end = np.int64(places[i])
        while True:
            place = np.int64(load32(load64(index, LINKS), place))
            heavy += abs(np.float64(weights[place]))
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
                heavy += abs(np.float64(old_weights[place]))
                if old[place, last] < number:
                    before += old_weights[place]
                elif old[place, last] == number:
                    there += old_weights[place]
                if place == end:
                    break
        if heavy >= _SURE:
            return np.int64(-1)
        now = np.int64(before + there + added + fresh > 0) - np.int64(before + there > 0)
        difference = now - (np.int64(before + added > 0) - np.int64(before > 0))
        if difference != 0:
            for column in range(last):
                out[found, column] = table[places[i], column]
            differences[found] = difference
            found += 1
    return np.int64(found)

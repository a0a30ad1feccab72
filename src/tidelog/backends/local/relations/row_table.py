"""The hash table over the full rows of a relation, compiled.

What      : finds the row equal to a given one; enters new rows.
Idea      : a slot has 32 bits. An empty slot is 0. In a table of 2^k slots the lower k bits are the row number plus
            one; the upper bits are a part of the row's hash. Most rows that differ are told apart by these upper bits,
            without reading the row; where they agree, the rows are compared. So the table is small, and to find that a
            row is not there yet, the common case while a large result grows, takes one memory access. Rows are looked
            up in blocks: first the slots of the block are prefetched, then the rows that the slots name, so that the
            accesses overlap. A row of two columns, the commonest in large results, is handled as one 64-bit word.
Invariant : at most 3/4 of the slots are used, and so every row number plus one is less than their number.
Never     : no growth here: relation.py makes room before it calls.
"""

from __future__ import annotations

import numpy as np

from tidelog.backends.local.kernels.compiled import Array, Int, compiled, woven
from tidelog.backends.local.kernels.hashing import spread
from tidelog.backends.local.kernels.memory import fetch32, fetch64, load32, load64, store64

BLOCK = 64
"""How many rows are looked up together."""

_ONE, _HALF = np.uint64(1), np.uint64(32)
_EMPTY, _FIRST = np.uint32(0), np.uint32(1)


@compiled
def extended(h: np.uint64, value: Int) -> np.uint64:
    """The hash of a row of three columns or more, so far, with one more column."""
    return spread(h ^ np.uint64(value))


@compiled
def word_hash(word: np.uint64) -> np.uint64:
    """The hash of a row of two columns, read from memory as one word."""
    return spread(word + _ONE)


@compiled
def pair_hash(first: Int, second: Int) -> np.uint64:
    """The hash of a row of two columns."""
    return word_hash(np.uint64(second) << _HALF | np.uint64(first))


@compiled
def row_hash(table: Array, at: Int) -> np.uint64:
    """The hash of a row of any table."""
    arity = table.shape[1]
    if arity == 2:
        return pair_hash(table[at, 0], table[at, 1])
    h = np.uint64(arity)
    for column in range(arity):
        h = extended(h, table[at, column])
    return h


@woven
def hash_at(table: Int, arity: Int, at: Int) -> np.uint64:
    """The hash of a row of a table that is given by its address; `row_hash` of the same row."""
    if arity == 2:
        return word_hash(np.uint64(load64(table, at)))
    h = np.uint64(arity)
    for column in range(arity):
        h = extended(h, load32(table, at * arity + column))
    return h


@compiled
def place_of(h: np.uint64, room: np.uint64) -> np.uint64:
    """The slot where the search for a hash begins."""
    return h >> _HALF & room


@compiled
def tag_of(h: np.uint64, room: np.uint64) -> np.uint32:
    """The bits of a hash that a slot keeps."""
    return np.uint32(h) & ~np.uint32(room)


@compiled
def fetch_rows(table: Array, start: Int, stop: Int, rows: Array, slots: Array, ahead: Array) -> None:
    """Compute the hashes of some rows and send for their slots and for the rows that those slots name."""
    room = np.uint64(slots.shape[0] - 1)
    low, arity = np.uint32(room), rows.shape[1]
    for at in range(start, stop):
        h = row_hash(table, at)
        ahead[at - start] = h
        fetch32(slots.ctypes.data, np.int64(place_of(h, room)))
    for i in range(stop - start):
        slot = slots[place_of(ahead[i], room)]
        if slot != _EMPTY:
            fetch32(rows.ctypes.data, np.int64((slot & low) - _FIRST) * arity)


@compiled
def is_same(table: Array, at: Int, rows: Array, row: Int) -> bool:
    """Whether two rows of two tables are equal."""
    if rows.shape[1] == 2:
        return bool(rows[row, 0] == table[at, 0] and rows[row, 1] == table[at, 1])
    for column in range(rows.shape[1]):  # noqa: SIM110 - a generator does not compile
        if rows[row, column] != table[at, column]:
            return False
    return True


@woven
def is_equal(table: Int, at: Int, rows: Int, row: Int, arity: Int) -> bool:
    """As `is_same`, for rows as wide as each other in tables that are given by their addresses."""
    if arity == 2:
        return bool(load64(table, at) == load64(rows, row))
    for column in range(arity):  # noqa: SIM110 - a generator does not compile
        if load32(table, at * arity + column) != load32(rows, row * arity + column):
            return False
    return True


@compiled
def probe(table: Array, at: Int, h: np.uint64, rows: Array, slots: Array) -> Int:
    """The stored row equal to `table[at]`, whose hash is `h`; or -1 - the free slot for it."""
    room = np.uint64(slots.shape[0] - 1)
    low = np.uint32(room)
    place, tag = place_of(h, room), tag_of(h, room)
    while True:
        slot = slots[place]
        if slot == _EMPTY:
            return -1 - np.int64(place)
        if slot & ~low == tag:
            row = np.int64((slot & low) - _FIRST)
            if is_same(table, at, rows, row):
                return row
        place = (place + _ONE) & room


@compiled
def enter(slots: Array, place: Int, h: np.uint64, row: Int) -> None:
    """Enter a row at a free slot."""
    slots[np.uint64(place)] = tag_of(h, np.uint64(slots.shape[0] - 1)) | np.uint32(row + 1)


@compiled
def append_rows(table: Array, rows: Array, slots: Array, count: Int, ahead: Array) -> Int:
    """Append and enter the rows of a table that are not among the `count` stored ones; how many there are then."""
    for start in range(0, table.shape[0], BLOCK):
        stop = min(start + BLOCK, table.shape[0])
        fetch_rows(table, start, stop, rows, slots, ahead)
        for at in range(start, stop):
            place = -1 - probe(table, at, ahead[at - start], rows, slots)
            if place >= 0:
                for column in range(rows.shape[1]):
                    rows[count, column] = table[at, column]
                enter(slots, place, ahead[at - start], count)
                count += 1
    return count


@compiled
def append_pairs(table: Int, size: Int, rows: Int, slots: Array, count: Int, ahead: Array) -> Int:
    """As `append_rows`, for rows of two columns; `table` and `rows` are addresses."""
    room = np.uint64(slots.shape[0] - 1)
    low = np.int64(room)
    for start in range(0, size, BLOCK):
        stop = min(start + BLOCK, size)
        for at in range(start, stop):
            h = word_hash(np.uint64(load64(table, at)))
            ahead[np.uint64(at - start)] = h
            fetch32(slots.ctypes.data, np.int64(place_of(h, room)))
        for i in range(np.uint64(stop - start)):
            slot = slots[place_of(ahead[i], room)]
            if slot != _EMPTY and (slot ^ tag_of(ahead[i], room)) & ~np.uint32(low) == _EMPTY:
                fetch64(rows, (np.int64(slot) & low) - 1)
        for at in range(start, stop):
            h, word = ahead[np.uint64(at - start)], load64(table, at)
            place, tag = place_of(h, room), tag_of(h, room)
            slot = slots[place]
            while slot != _EMPTY:
                if (slot ^ tag) & ~np.uint32(low) == _EMPTY and load64(rows, (np.int64(slot) & low) - 1) == word:
                    break
                place = (place + _ONE) & room
                slot = slots[place]
            if slot == _EMPTY:
                store64(rows, count, word)
                count += 1
                slots[place] = tag | np.uint32(count)
    return count


@compiled
def enter_all(rows: Array, first: Int, last: Int, slots: Array, ahead: Array) -> None:
    """Enter a range of the rows of a relation, known to be distinct, into a table that has none of them."""
    room = np.uint64(slots.shape[0] - 1)
    for start in range(first, last, BLOCK):
        count = min(BLOCK, last - start)
        for i in range(np.uint64(count)):
            h = row_hash(rows, np.uint64(start) + i)
            ahead[i] = h
            fetch32(slots.ctypes.data, np.int64(place_of(h, room)))
        for i in range(np.uint64(count)):
            place = place_of(ahead[i], room)
            while slots[place] != _EMPTY:
                place = (place + _ONE) & room
            slots[place] = tag_of(ahead[i], room) | np.uint32(np.uint64(start) + i + _ONE)

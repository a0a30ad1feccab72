"""Hash tables over rows of integers.

What      : compiled look-up and insertion for open-addressing tables whose slots hold `tag << 32 | row`.
Idea      : the tag is the key itself when the key is one column (no second look), and 31 bits of its hash otherwise
            (the row then confirms). A table has one slot per distinct key; rows with the same key form a ring through
            `links`, in the order in which they were stored. A slot points at the last row of its ring, whose link is
            the first. So a table can grow, and rings can get longer, while a join walks through a ring.
Invariant : at most 5/8 of the slots are used; -1 marks an empty slot.
Never     : no marks and no views here.

An index is described by an int64 array: the address of its slots, their number less one (`room`), the address of its
links, the number of distinct keys, the number of key columns, and the key columns.
"""

from __future__ import annotations

import numpy as np

from tidelog.backends.local.kernels.compiled import Array, Int, compiled
from tidelog.backends.local.kernels.memory import fetch64, load32, load64, store32, store64

SLOTS, ROOM, LINKS, KEYS, WIDTH, COLUMNS = 0, 1, 2, 3, 4, 5

_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_STIR = np.uint64(0xD6E8FEB86659FD93)
_HALF = np.uint64(32)
_FOLD = np.uint64(29)
_TAG = np.uint64(33)
_HOME = np.uint64(8)
_ROW = np.int64(0xFFFFFFFF)
_BLOCK = 64


@compiled
def spread(word: np.uint64) -> np.uint64:
    """A one-to-one map of 64-bit words that leaves 0 where it is and scatters everything else."""
    word *= _SPREAD
    word ^= word >> _HALF
    word *= _STIR
    return word ^ (word >> _FOLD)


@compiled
def hash_one(key: Int) -> np.uint64:
    """The hash of a one-column key."""
    h = np.uint64(key) * _SPREAD
    h ^= h >> _HALF
    return h * _STIR


@compiled
def hash_more(seed: np.uint64, key: Int) -> np.uint64:
    """The hash of a key, extended by one more column."""
    h = (seed ^ np.uint64(key)) * _SPREAD
    return h ^ (h >> _FOLD)


@compiled
def home(h: np.uint64, room: Int) -> Int:
    """The slot where the search for a hash begins."""
    return np.int64((h >> _HOME) & np.uint64(room))


@compiled
def tag_of(h: np.uint64) -> Int:
    """The bits of a hash that a slot keeps."""
    return np.int64(h >> _TAG)


@compiled
def row_of(slot: Int) -> Int:
    """The row that a slot points at."""
    return slot & _ROW


@compiled
def row_hash(rows: Int, arity: Int, row: Int, index: Int) -> np.uint64:
    """The hash of the key columns of a stored row; `rows` and `index` are addresses."""
    width = load64(index, WIDTH)
    h = np.uint64(0)
    for i in range(width):
        h = hash_more(h, load32(rows, row * arity + load64(index, COLUMNS + i)))
    return h


@compiled
def same_key(rows: Int, arity: Int, one: Int, other: Int, index: Int) -> bool:
    """Whether two stored rows agree on the key columns."""
    for i in range(load64(index, WIDTH)):
        column = load64(index, COLUMNS + i)
        if load32(rows, one * arity + column) != load32(rows, other * arity + column):
            return False
    return True


@compiled
def find_one(slots: Int, room: Int, key: Int) -> Int:
    """The last row with a one-column key, or -1."""
    place = home(hash_one(key), room)
    while True:
        slot = load64(slots, place)
        if slot == -1:
            return np.int64(-1)
        if slot >> 32 == key:
            return row_of(slot)
        place = (place + 1) & room


@compiled
def find_leading(index: Int, rows: Int, arity: Int, table: Int, width: Int, at: Int) -> Int:
    """The last row whose leading columns, which the index is on, are those of a row of a table; or -1.

    `index`, `rows` and `table` are addresses; `width` is the number of columns of the table.
    """
    slots, room, keys = load64(index, SLOTS), load64(index, ROOM), load64(index, WIDTH)
    if keys == 1:
        return find_one(slots, room, load32(table, at * width))
    h = np.uint64(0)
    for i in range(keys):
        h = hash_more(h, load32(table, at * width + i))
    tag, place = tag_of(h), home(h, room)
    while True:
        slot = load64(slots, place)
        if slot == -1:
            return np.int64(-1)
        if slot >> 32 == tag:
            is_same = True
            for i in range(keys):
                is_same &= load32(rows, row_of(slot) * arity + i) == load32(table, at * width + i)
            if is_same:
                return row_of(slot)
        place = (place + 1) & room


@compiled
def link(index: Int, rows: Int, arity: Int, row: Int) -> None:
    """Put a stored row into an index, at the end of its chain."""
    slots, room, links = load64(index, SLOTS), load64(index, ROOM), load64(index, LINKS)
    is_single = load64(index, WIDTH) == 1
    if is_single:
        tag = load32(rows, row * arity + load64(index, COLUMNS))
        place = home(hash_one(tag), room)
    else:
        h = row_hash(rows, arity, row, index)
        tag = tag_of(h)
        place = home(h, room)
    while True:
        slot = load64(slots, place)
        if slot == -1:
            store64(index, KEYS, load64(index, KEYS) + 1)
            store64(slots, place, tag << 32 | row)
            store32(links, row, row)
            return
        if slot >> 32 == tag and (is_single or same_key(rows, arity, row_of(slot), row, index)):
            store64(slots, place, tag << 32 | row)
            store32(links, row, load32(links, row_of(slot)))
            store32(links, row_of(slot), row)
            return
        place = (place + 1) & room


@compiled
def link_all(index: Int, rows: Int, arity: Int, start: Int, stop: Int) -> None:
    """Put a range of stored rows into an index; slots are sent for by the block, so that these accesses overlap."""
    slots, room, width = load64(index, SLOTS), load64(index, ROOM), load64(index, WIDTH)
    column = load64(index, COLUMNS)
    for first in range(start, stop, _BLOCK):
        last = min(first + _BLOCK, stop)
        for row in range(first, last):
            h = hash_one(load32(rows, row * arity + column)) if width == 1 else row_hash(rows, arity, row, index)
            fetch64(slots, home(h, room))
        for row in range(first, last):
            link(index, rows, arity, row)


@compiled
def rehash(old: Array, slots: Array, rows: Int, arity: Int, index: Int) -> None:
    """Move the slots of an index into a larger, empty table; chains stay as they are."""
    room = slots.shape[0] - 1
    is_single = load64(index, WIDTH) == 1
    for i in range(old.shape[0]):
        slot = old[i]
        if slot == -1:
            continue
        h = hash_one(slot >> 32) if is_single else row_hash(rows, arity, row_of(slot), index)
        place = home(h, room)
        while slots[place] != -1:
            place = (place + 1) & room
        slots[place] = slot

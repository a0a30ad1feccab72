"""New rows entered into a relation by several threads, compiled.

What      : stores the rows of a table that are not stored yet; those that are stored are passed over. This is the bulk
            of most work; where stored rows are collected, too, parts.py does it.
Idea      : every thread owns a range of slots and looks at the rows whose search begins there, as in parts.py. It lists
            the rows that are new, with their slots, in memory of its own, so that no two threads write one line of the
            cache. A new row holds its slot under a number for the time being, by its position in the table. When
            everybody is done, the table is written by pieces: the lists say which of its rows are new, so where each
            of them goes, and the slots get the final numbers. Where all rows are new, both numbers are the same.
Invariant : rows, marks, journal and what is found are the same, in the same order, as with one thread. No counter
            changes here.
Never     : no growth, no indexes, no choice between one thread and several (relation.py).
"""

from __future__ import annotations

from functools import partial

import numpy as np

from tidelog.backends.local.kernels.compiled import Array, Int, compiled
from tidelog.backends.local.kernels.memory import fetch32, fetch64, load32, load64, store32, store64
from tidelog.backends.local.kernels.workers import Workers, ranges
from tidelog.backends.local.relations.parts import Stored
from tidelog.backends.local.relations.relation_kernels import TOUCHED
from tidelog.backends.local.relations.row_table import BLOCK, hash_at, is_equal, place_of, tag_of

_PIECE_BITS = 15
_PIECE = 1 << _PIECE_BITS
"""The rows of a table are written by pieces of this number of rows."""
_AHEAD = 32
_EMPTY, _ONE = np.uint32(0), np.uint64(1)


@compiled
def _claim(
    table: Int, size: Int, arity: Int, rows: Int, base: Int, slots: Array, first: Int, last: Int, listed: Array,
    places: Array, late: Array, picked: Array, ahead: Array,
) -> tuple[Int, Int]:  # fmt: skip
    """List the new ones of the rows whose search begins in a range of slots; how many are new, and how many late."""
    room = np.uint64(slots.shape[0] - 1)
    low, end, begin, length = np.int64(room), np.uint64(last) & room, np.uint64(first), np.uint64(last - first)
    count, new, waiting = np.uint64(0), np.uint64(0), np.uint64(0)
    for at in range(size):
        h = hash_at(table, arity, at)
        picked[count] = at
        ahead[count] = h
        count += np.uint64(place_of(h, room) - begin < length)
        if count < np.uint64(BLOCK) and at < size - 1:
            continue
        for i in range(count):
            fetch32(slots.ctypes.data, np.int64(place_of(ahead[i], room)))
        for i in range(count):
            slot = slots[place_of(ahead[i], room)]
            if slot != _EMPTY and (slot ^ tag_of(ahead[i], room)) & ~np.uint32(low) == _EMPTY:
                fetch32(rows, ((np.int64(slot) & low) - 1) * arity)
        for i in range(count):
            mine, h = picked[i], ahead[i]
            place, tag = place_of(h, room), tag_of(h, room)
            slot, is_late = slots[place], False
            while slot != _EMPTY:
                if (slot ^ tag) & ~np.uint32(low) == _EMPTY:
                    row = (np.int64(slot) & low) - 1
                    if is_equal(table, mine, rows if row < base else table - 4 * arity * base, row, arity):
                        break
                place = (place + _ONE) & room
                slot = slots[place]
                if place == end:
                    is_late = True
                    break
            if is_late:
                late[waiting] = mine
                waiting += _ONE
            elif slot == _EMPTY:
                slots[place] = tag | np.uint32(base + mine + 1)
                listed[new], places[new] = mine, place
                new += _ONE
        count = np.uint64(0)
    return np.int64(new), np.int64(waiting)


@compiled
def _claim_late(
    late: Array, table: Int, arity: Int, rows: Int, base: Int, slots: Array, listed: Array, places: Array
) -> Int:  # fmt: skip
    """The same for rows whose search has left its range, when nobody else is at work; how many are new."""
    room, new = np.uint64(slots.shape[0] - 1), np.int64(0)
    low = np.int64(room)
    for i in range(late.shape[0]):
        at = np.int64(late[i])
        h = hash_at(table, arity, at)
        place, tag = place_of(h, room), tag_of(h, room)
        slot = slots[place]
        while slot != _EMPTY:
            row = (np.int64(slot) & low) - 1
            if is_equal(table, at, rows if row < base else table - 4 * arity * base, row, arity):
                break
            place = (place + _ONE) & room
            slot = slots[place]
        if slot == _EMPTY:
            slots[place] = tag | np.uint32(base + at + 1)
            listed[new], places[new] = at, place
            new += 1
    return new


@compiled
def _copy(table: Int, at: Int, rows: Int, row: Int, arity: Int) -> None:
    if arity == 2:
        store64(rows, row, load64(table, at))
    else:
        for column in range(arity):
            store32(rows, row * arity + column, load32(table, at * arity + column))


@compiled
def _write(table: Int, start: Int, arity: Int, rows: Int, base: Int, row: Int, after: Int, ranks: Array) -> None:
    """Write the new rows of a piece of the table, which get the numbers from `row` to `after`.

    `ranks` has 1 for each row of the piece that is new, and gets their new numbers less `base`.
    """
    i = np.uint64(0)
    while row < after:  # the place behind belongs to the next piece, and perhaps to another thread
        is_new = ranks[i]
        ranks[i] = row - base
        _copy(table, start + np.int64(i), rows, row, arity)
        row += is_new
        i += _ONE


@compiled
def _list(row: Int, after: Int, base: Int, marks: Array, add: Int, journal: Array, found: Array) -> None:
    """Mark rows, and list them in the journal and among those found, behind the entries for the row `base`."""
    for one in range(np.uint64(row), np.uint64(after)):
        marks[one] = np.uint16(add) | TOUCHED
    for one in range(np.uint64(row - base), np.uint64(after - base)):
        journal[one] = found[one] = np.int64(one) + base


@compiled
def _tell(listed: Array, start: Int, ranks: Array) -> None:
    """Note which rows of a piece are new."""
    for i in range(listed.shape[0]):
        ranks[np.uint64(listed[np.uint64(i)] - start)] = 1


@compiled
def _number(listed: Array, places: Array, start: Int, ranks: Array, base: Int, slots: Array) -> None:
    """Give the slots of new rows their final numbers."""
    low, size = np.uint32(slots.shape[0] - 1), np.uint64(listed.shape[0])
    for i in range(size):
        if i + np.uint64(_AHEAD) < size:
            fetch64(slots.ctypes.data, np.int64(places[i + np.uint64(_AHEAD)]) >> 1)
        place = np.uint64(places[i])
        row = base + ranks[np.uint64(listed[i] - start)]
        slots[place] = (slots[place] & ~low) | np.uint32(row + 1)


def store_new_rows(
    workers: Workers, table: Array, rows: Array, base: int, marks: Array, slots: Array, journal: Array, add: int
) -> Stored:
    """Store the new rows of a table behind the first `base` ones, with the marks `add`.

    `journal` begins behind its entries. The table is in one piece of memory, its rows as wide as those stored.
    """
    size, arity, addresses = len(table), rows.shape[1], (table.ctypes.data, rows.ctypes.data)
    own, pieces = ranges(len(slots), workers.threads), -(-size // _PIECE)
    listed, lates = ([np.empty(size, np.int32) for _ in range(len(own) + 1)] for _ in range(2))
    places = [np.empty(size, np.uint32) for _ in listed]

    def claim(part: int) -> tuple[int, int]:
        picked, ahead = np.empty(BLOCK, np.int64), np.empty(BLOCK, np.uint64)
        return _claim(
            addresses[0], size, arity, addresses[1], base, slots, *own[part], listed[part], places[part], lates[part],
            picked, ahead,
        )  # fmt: skip

    new, waiting = (list(some) for some in zip(*workers.run([partial(claim, part) for part in range(len(own))])))
    late = np.sort(np.concatenate([some[:count] for some, count in zip(lates, waiting)]))
    new.append(_claim_late(late, addresses[0], arity, addresses[1], base, slots, listed[-1], places[-1]))
    starts = np.minimum(_PIECE * np.arange(pieces + 1), size)
    bounds = np.array([some[:count].searchsorted(starts) for some, count in zip(listed, new)])
    firsts = bounds.sum(axis=0).tolist()
    found = np.empty(firsts[-1], np.int32)

    def write(first: int, last: int) -> None:
        ranks = np.empty(_PIECE, np.int32)
        for piece in range(first, last):
            start, stop, row, after = int(starts[piece]), int(starts[piece + 1]), firsts[piece], firsts[piece + 1]
            _list(base + row, base + after, base, marks, add, journal, found)
            if after - row == stop - start:
                rows[base + row : base + after] = table[start:stop]
                if row == start:
                    continue
                ranks[: stop - start] = np.arange(row, after)
            else:
                ranks[:] = 0
                for part, some in enumerate(listed):
                    _tell(some[bounds[part, piece] : bounds[part, piece + 1]], start, ranks)
                _write(addresses[0], start, arity, addresses[1], base, base + row, base + after, ranks)
            for part, some in enumerate(listed):
                mine = slice(*bounds[part, piece : piece + 2])
                _number(some[mine], places[part][mine], start, ranks, base, slots)

    workers.run([partial(write, *share) for share in ranges(pieces, min(workers.threads, pieces))])
    return Stored(found, len(found), len(found))

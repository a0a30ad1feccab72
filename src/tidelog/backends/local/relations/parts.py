"""Rows entered into a relation by several threads, compiled.

What      : stores the rows of a table as relation_kernels.py does, fills the table of full rows, and links rows into an
            index, each in parts: every thread owns a range of slots, and nobody else writes there.
Idea      : all threads look at all rows, hash them, and pick those whose search begins in their own range. A hash costs
            2 ns and a look-up 20 ns, so that looking at all of them is cheaper than handing rows around. A row that is
            new gets a number for the time being, behind the stored rows, by its position in the table. When everybody
            is done, every thread knows how many new rows stand before its own piece of the table, and writes them to
            where one thread alone would have written them. A search that leaves its range waits until all are done.
Invariant : rows, marks, journal, rings and everything that is collected are the same, in the same order, as with one
            thread. Until the last step no counter changes, so that an interrupt leaves nothing but a table that has to
            be filled again.
Never     : no growth here, and no choice between one thread and several (relation.py).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from tidelog.backends.local.kernels import hashing
from tidelog.backends.local.kernels.compiled import Array, Int, compiled
from tidelog.backends.local.kernels.memory import fetch32, fetch64, load32, load64, store32, store64
from tidelog.backends.local.kernels.workers import Workers, ranges
from tidelog.backends.local.relations.relation_kernels import COUNT, JOURNALLED, TOUCHED
from tidelog.backends.local.relations.row_table import BLOCK, hash_at, is_equal, place_of, row_hash, tag_of

_PIECE_BITS = 14
_PIECE = 1 << _PIECE_BITS
"""The rows of a table are written by pieces of this number of rows."""
_MOST = 1 << 21
"""A larger table is stored in parts of this number of rows, because what becomes of a row takes memory meanwhile."""
_NEW, _KNOWN, _TOUCHED = 1, 2, 3
"""What becomes of a row: it is new; it is stored and collected; so it is, and is in the journal already."""
_LATE = -1
_CARE, _WANT, _ADD, _IS_OPEN = 0, 1, 2, 3
_AHEAD = 32
_EMPTY, _ONE = np.uint32(0), np.uint64(1)


@compiled
def _outcome(
    table: Int, at: Int, h: np.uint64, arity: Int, rows: Int, base: Int, marks: Array, slots: Array, end: np.uint64,
    how: Array,
) -> Int:  # fmt: skip
    """What becomes of a row, with the slot or the stored row; _LATE if the search comes to the slot `end`.

    A row that is new gets its slot, if it is to be stored. `how` is told in `store_rows`.
    """
    room = np.uint64(slots.shape[0] - 1)
    low = np.int64(room)
    place, tag = place_of(h, room), tag_of(h, room)
    slot = slots[place]
    while slot != _EMPTY:
        if (slot ^ tag) & ~np.uint32(low) == _EMPTY:
            row = (np.int64(slot) & low) - 1
            if is_equal(table, at, rows if row < base else table - 4 * arity * base, row, arity):
                mark = marks[np.uint64(row)]
                if row >= base or mark & how[_CARE] != how[_WANT]:
                    return np.int64(0)
                marks[np.uint64(row)] = mark | np.uint16(how[_ADD]) | TOUCHED
                return row << 2 | (_TOUCHED if mark & TOUCHED else _KNOWN)
        place = (place + _ONE) & room
        if place == end:
            return np.int64(_LATE)
        slot = slots[place]
    if not how[_IS_OPEN]:
        return np.int64(0)
    slots[place] = tag | np.uint32(base + at + 1)
    return np.int64(place) << 2 | _NEW


@compiled
def _claim(
    table: Int, size: Int, arity: Int, rows: Int, base: Int, marks: Array, slots: Array, first: Int, last: Int,
    how: Array, outcomes: Array, tallies: Array, late: Array, picked: Array, ahead: Array,
) -> Int:  # fmt: skip
    """Find out what becomes of the rows whose search begins in a range of slots; the number of those that are late."""
    room = np.uint64(slots.shape[0] - 1)
    low, end, begin, length = np.int64(room), np.uint64(last) & room, np.uint64(first), np.uint64(last - first)
    count, waiting = np.uint64(0), np.uint64(0)
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
            mine = picked[i]
            outcome = _outcome(table, mine, ahead[i], arity, rows, base, marks, slots, end, how)
            if outcome == _LATE:
                late[waiting] = mine
                waiting += _ONE
            else:
                outcomes[np.uint64(mine)] = outcome
                tallies[np.uint64(mine >> _PIECE_BITS), np.uint64(outcome & 3)] += 1
        count = np.uint64(0)
    return np.int64(waiting)


@compiled
def _claim_late(
    late: Array, table: Int, arity: Int, rows: Int, base: Int, marks: Array, slots: Array, how: Array, outcomes: Array,
    tallies: Array,
) -> None:  # fmt: skip
    """The same for rows whose search has left its range, when nobody else is at work."""
    for i in range(late.shape[0]):
        at, everywhere = np.int64(late[i]), np.uint64(slots.shape[0])
        h = hash_at(table, arity, at)
        outcomes[at] = _outcome(table, at, h, arity, rows, base, marks, slots, everywhere, how)
        tallies[at >> _PIECE_BITS, outcomes[at] & 3] += 1


@compiled
def _write(
    table: Array, start: Int, stop: Int, outcomes: Array, rows: Array, row: Int, marks: Array, slots: Array, add: Int,
    journal: Array, entry: Int, found: Array, hit: Int,
) -> None:  # fmt: skip
    """Write the new rows of a piece of the table, from row number `row` on, and list what is journalled and found."""
    low = np.uint32(slots.shape[0] - 1)
    for at in range(start, stop):
        if at + _AHEAD < stop and outcomes[at + _AHEAD] & 3 == _NEW:
            fetch32(slots.ctypes.data, outcomes[at + _AHEAD] >> 2)
        kind, which = outcomes[at] & 3, outcomes[at] >> 2
        if kind == 0:
            continue
        if kind == _NEW:
            for column in range(rows.shape[1]):
                rows[row, column] = table[at, column]
            marks[row] = np.uint16(add) | TOUCHED
            slots[which] = (slots[which] & ~low) | np.uint32(row + 1)
            which = row
            row += 1
        if kind != _TOUCHED:
            journal[entry] = which
            entry += 1
        found[hit] = which
        hit += 1


@compiled
def count_rows(counters: Array, new: Int, journalled: Int) -> None:
    """The rows that were written are stored, and the entries of the journal are entries, in one call."""
    counters[COUNT] += new
    counters[JOURNALLED] += journalled


class Stored(NamedTuple):
    """What is written and not counted yet."""

    found: Array
    new: int
    journalled: int


def store_rows(
    workers: Workers, table: Array, rows: Array, base: int, marks: Array, slots: Array, journal: Array, entries: int,
    care: int, want: int, add: int,
) -> Stored:  # fmt: skip
    """Store the rows of a table behind the first `base` ones, and the journal's entries behind the first `entries`.

    A stored row is collected if `marks & care == want`, and gets the marks `add`, with which it is not collected again.
    If marks are wanted, rows that are not stored are passed over.
    """
    how, several = np.array([care, want, add, want == 0], np.int64), list[Stored]()
    for start in range(0, len(table), _MOST):
        arrays = table[start : start + _MOST], rows, base, marks, slots, journal, entries
        several.append(_store_some(workers, *arrays, how))
        base, entries = base + several[-1].new, entries + several[-1].journalled
    found, new, journalled = zip(*several)
    return Stored(np.concatenate(found), sum(new), sum(journalled))


def _store_some(
    workers: Workers, table: Array, rows: Array, base: int, marks: Array, slots: Array, journal: Array, entries: int,
    how: Array,
) -> Stored:  # fmt: skip
    """The same for a table that is not too large."""
    size, pieces = len(table), -(-len(table) // _PIECE)
    arity, addresses = rows.shape[1], (table.ctypes.data, rows.ctypes.data)
    own = ranges(len(slots), workers.threads)
    outcomes, tallies = np.empty(size, np.int64), np.zeros((len(own), pieces, 4), np.int64)
    lates = [np.empty(size, np.int32) for _ in own]

    def claim(part: int) -> int:
        picked, ahead = np.empty(BLOCK, np.int64), np.empty(BLOCK, np.uint64)
        arrays = how, outcomes, tallies[part], lates[part], picked, ahead
        return int(_claim(addresses[0], size, arity, addresses[1], base, marks, slots, *own[part], *arrays))

    waiting = workers.run([partial(claim, part) for part in range(len(own))])
    if any(waiting):
        late = np.sort(np.concatenate([some[:count] for some, count in zip(lates, waiting)]))
        _claim_late(late, addresses[0], arity, addresses[1], base, marks, slots, how, outcomes, tallies[0])
    counts = tallies.sum(axis=0)
    new, hits = counts[:, _NEW], counts[:, _NEW] + counts[:, _KNOWN] + counts[:, _TOUCHED]
    listed = new + counts[:, _KNOWN]
    found = np.empty(int(hits.sum()), np.int32)
    firsts = np.column_stack([np.cumsum(some) - some for some in (new, listed, hits)]).tolist()

    def write(start: int, stop: int) -> None:
        row, entry, hit = firsts[start]
        _write(
            table, start * _PIECE, min(stop * _PIECE, size), outcomes, rows, base + row, marks, slots, how[_ADD],
            journal, entries + entry, found, hit,
        )  # fmt: skip

    workers.run(_shared(write, pieces, workers.threads))
    return Stored(found, int(new.sum()), int(listed.sum()))


@compiled
def _enter(
    rows: Int, arity: Int, start: Int, stop: Int, slots: Array, first: Int, last: Int, late: Array, picked: Array,
    ahead: Array,
) -> Int:  # fmt: skip
    """Enter the rows of a range whose search begins in a range of slots; the number of those that are late."""
    room = np.uint64(slots.shape[0] - 1)
    end, begin, length = np.uint64(last) & room, np.uint64(first), np.uint64(last - first)
    count, waiting = np.uint64(0), np.uint64(0)
    for row in range(start, stop):
        h = hash_at(rows, arity, row)
        picked[count] = row
        ahead[count] = h
        count += np.uint64(place_of(h, room) - begin < length)
        if count < np.uint64(BLOCK) and row < stop - 1:
            continue
        for i in range(count):
            fetch32(slots.ctypes.data, np.int64(place_of(ahead[i], room)))
        for i in range(count):
            slot, is_late = place_of(ahead[i], room), False
            while slots[slot] != _EMPTY and not is_late:
                slot = (slot + _ONE) & room
                is_late = slot == end
            if is_late:
                late[waiting] = picked[i]
                waiting += _ONE
            else:
                slots[slot] = tag_of(ahead[i], room) | np.uint32(picked[i] + 1)
        count = np.uint64(0)
    return np.int64(waiting)


@compiled
def _enter_late(late: Array, rows: Array, slots: Array) -> None:
    room = np.uint64(slots.shape[0] - 1)
    for i in range(late.shape[0]):
        h = row_hash(rows, late[i])
        slot = place_of(h, room)
        while slots[slot] != _EMPTY:
            slot = (slot + _ONE) & room
        slots[slot] = tag_of(h, room) | np.uint32(late[i] + 1)


def enter_rows(workers: Workers, rows: Array, start: int, stop: int, slots: Array) -> None:
    """Enter a range of the rows of a relation, known to be distinct, into a table that has none of them."""
    own = ranges(len(slots), workers.threads)
    lates = [np.empty(stop - start, np.int32) for _ in own]

    def enter(part: int) -> int:
        picked, ahead = np.empty(BLOCK, np.int64), np.empty(BLOCK, np.uint64)
        arrays = lates[part], picked, ahead
        return int(_enter(rows.ctypes.data, rows.shape[1], start, stop, slots, *own[part], *arrays))

    waiting = workers.run([partial(enter, part) for part in range(len(own))])
    for some, count in zip(lates, waiting):
        _enter_late(some[:count], rows, slots)


@compiled
def _link(
    index: Int, rows: Int, arity: Int, start: Int, stop: Int, first: Int, last: Int, late: Array, picked: Array,
    ahead: Array,
) -> tuple[Int, Int]:  # fmt: skip
    """Link rows whose search begins in a range of slots; the numbers of new keys, and of rows that are late."""
    slots, room, links = load64(index, hashing.SLOTS), load64(index, hashing.ROOM), load64(index, hashing.LINKS)
    is_single, column = load64(index, hashing.WIDTH) == 1, load64(index, hashing.COLUMNS)
    end, count, keys, waiting = last & room, np.int64(0), np.int64(0), np.int64(0)
    for row in range(start, stop):
        if is_single:
            h = hashing.hash_one(load32(rows, row * arity + column))
        else:
            h = hashing.row_hash(rows, arity, row, index)
        place = hashing.home(h, room)
        picked[count] = row
        ahead[count] = h
        count += np.int64(place >= first) & np.int64(place < last)
        if count < BLOCK and row < stop - 1:
            continue
        for i in range(count):
            fetch64(slots, hashing.home(ahead[i], room))
        for i in range(count):
            mine, place = picked[i], hashing.home(ahead[i], room)
            tag = load32(rows, mine * arity + column) if is_single else hashing.tag_of(ahead[i])
            while True:
                slot = load64(slots, place)
                if slot == -1:
                    keys += 1
                    store64(slots, place, tag << 32 | mine)
                    store32(links, mine, mine)
                    break
                known = hashing.row_of(slot)
                if slot >> 32 == tag and (is_single or hashing.same_key(rows, arity, known, mine, index)):
                    store64(slots, place, tag << 32 | mine)
                    store32(links, mine, load32(links, known))
                    store32(links, known, mine)
                    break
                place = (place + 1) & room
                if place == end:
                    late[waiting] = mine
                    waiting += 1
                    break
        count = np.int64(0)
    return keys, waiting


@compiled
def _link_late(index: Int, rows: Int, arity: Int, late: Array, keys: Int) -> None:
    for i in range(late.shape[0]):
        hashing.link(index, rows, arity, np.int64(late[i]))
    store64(index, hashing.KEYS, load64(index, hashing.KEYS) + keys)


def link_rows(workers: Workers, heads: Array, rows: Array, start: int, stop: int) -> None:
    """Link a range of stored rows into indexes, given by the addresses of their heads, by all the workers."""
    address, arity, parts = rows.ctypes.data, rows.shape[1], -(-workers.threads // max(len(heads), 1))
    lates, tasks = [], []
    if workers.threads == 1:
        for head in heads.tolist():
            hashing.link_all(head, address, arity, start, stop)
        return

    def link(head: int, first: int, last: int, late: Array) -> tuple[int, int]:
        picked, ahead = np.empty(BLOCK, np.int64), np.empty(BLOCK, np.uint64)
        keys, waiting = _link(head, address, arity, start, stop, first, last, late, picked, ahead)
        return int(keys), int(waiting)

    for head in heads.tolist():
        for first, last in ranges(_room(head) + 1, parts):
            lates.append((head, np.empty(stop - start, np.int32)))
            tasks.append(partial(link, head, first, last, lates[-1][1]))
    for (head, late), (keys, waiting) in zip(lates, workers.run(tasks)):
        _link_late(head, address, arity, late[:waiting], keys)


@compiled
def _room(index: Int) -> Int:
    return load64(index, hashing.ROOM)


def _shared(work: Callable[[int, int], None], pieces: int, threads: int) -> list[Callable[[], None]]:
    """The work on all pieces as one task per thread."""
    return [partial(work, *some) for some in ranges(pieces, min(threads, pieces))]

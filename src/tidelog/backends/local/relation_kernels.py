"""What is done to the rows and marks of one relation, compiled.

What      : finding and storing rows, giving and taking marks, collecting rows by view.
Idea      : a relation's full rows are themselves the keys of a hash table, so every row is stored once; marks tell in
            which sets it is, and a stored row without marks is simply in none. The table holds a 64-bit tag per row,
            which for one and two columns is the row itself in disguise, so that a known row costs one memory access.
Invariant : every row whose marks change inside a transaction is in the journal once (mark TOUCHED).
Never     : no growth here: relation.py makes room before it calls.
"""

from __future__ import annotations

import numpy as np

from tidelog.backends.local.compiled import Array, Int, compiled, woven
from tidelog.backends.local.hashing import link, spread
from tidelog.backends.local.memory import fetch32, fetch64

TOUCHED = np.uint16(1 << 13)
COUNT, JOURNALLED = 0, 1

_EMPTY, _ONE, _HALF = np.uint64(0), np.uint64(1), np.uint64(32)
_BLOCK = 64


@compiled
def row_tag(table: Array, at: Int) -> np.uint64:
    """64 bits that stand for a row, never 0. For rows of one or two columns different rows have different tags."""
    arity = table.shape[1]
    if arity <= 2:
        packed = np.uint64(table[at, 0])
        if arity == 2:
            packed = packed << _HALF | np.uint64(table[at, 1])
        return spread(packed + _ONE)
    h = np.uint64(arity)
    for column in range(arity):
        h = spread(h ^ np.uint64(table[at, column]))
    return h if h != _EMPTY else _ONE


@compiled
def _probe(table: Array, at: Int, tag: np.uint64, rows: Array, tags: Array, holders: Array) -> Int:
    """The slot of the stored row equal to `table[at]`, or, less the size of the table, the free slot for it."""
    arity = rows.shape[1]
    room = tags.shape[0] - 1
    place = np.int64(tag & np.uint64(room))
    while tags[place] != _EMPTY:
        if tags[place] == tag and (arity <= 2 or _is_same(table, at, rows, holders[place])):
            return place
        place = (place + 1) & room
    return place - tags.shape[0]


@compiled
def _fetch(table: Array, start: Int, stop: Int, tags: Array, holders: Array, ahead: Array) -> None:
    """Compute the tags of some rows and send for their slots, so that the memory is there when they are probed."""
    room = np.uint64(tags.shape[0] - 1)
    for at in range(start, stop):
        tag = row_tag(table, at)
        ahead[at - start] = tag
        fetch64(tags.ctypes.data, np.int64(tag & room))
        fetch32(holders.ctypes.data, np.int64(tag & room))


@compiled
def _is_same(table: Array, at: Int, rows: Array, row: Int) -> bool:
    for column in range(rows.shape[1]):  # noqa: SIM110 - a generator does not compile
        if rows[row, column] != table[at, column]:
            return False
    return True


@woven
def _append(
    table: Array, at: Int, tag: np.uint64, place: Int, rows: Array, marks: Array, tags: Array, holders: Array,
    indexes: Array, counters: Array,
) -> Int:  # fmt: skip
    """Store a row of a table as a new one, without marks."""
    row = counters[COUNT]
    counters[COUNT] += 1
    for column in range(rows.shape[1]):
        rows[row, column] = table[at, column]
    marks[row] = 0
    tags[place] = tag
    holders[place] = row
    for i in range(indexes.shape[0]):
        link(indexes[i], rows.ctypes.data, rows.shape[1], row)
    return row


@woven
def _collect(
    row: Int, marks: Array, counters: Array, journal: Array, care: Int, want: Int, add: Int, found: Array, hits: Int
) -> Int:
    """Collect a row if it is in the view, giving it marks; returns how many are collected then."""
    if marks[row] & care != want:
        return hits
    if add != 0:
        if not marks[row] & TOUCHED:
            journal[counters[JOURNALLED]] = row
            counters[JOURNALLED] += 1
        marks[row] |= np.uint16(add) | TOUCHED
    found[hits] = row
    return hits + 1


@compiled
def store_rows(
    table: Array,
    rows: Array,
    marks: Array,
    tags: Array,
    holders: Array,
    indexes: Array,
    counters: Array,
    journal: Array,
    care: Int,
    want: Int,
    add: Int,
    only_new: bool,
    found: Array,
) -> Int:
    """Store the rows of a table and collect those in a view that are not collected yet.

    A row is in the view if `marks & care == want`; it then gets the marks `add`, is journalled and collected in
    `found`. With `add` = 0 a row that occurs twice is collected twice. With `only_new` no row that is stored already
    is in the view, which saves the look at its marks. Returns how many rows are collected.
    """
    hits = np.int64(0)
    ahead = np.empty(_BLOCK, np.uint64)
    for at in range(table.shape[0]):
        if at % _BLOCK == 0:
            _fetch(table, at, min(at + _BLOCK, table.shape[0]), tags, holders, ahead)
        tag = ahead[at % _BLOCK]
        place = _probe(table, at, tag, rows, tags, holders)
        if place < 0:
            place += tags.shape[0]
            row = _append(table, at, tag, place, rows, marks, tags, holders, indexes, counters)
        elif only_new:
            continue
        else:
            row = np.int64(holders[place])
        hits = _collect(row, marks, counters, journal, care, want, add, found, hits)
    return hits


@compiled
def find_rows(
    table: Array,
    rows: Array,
    marks: Array,
    tags: Array,
    holders: Array,
    counters: Array,
    journal: Array,
    care: Int,
    want: Int,
    add: Int,
    found: Array,
) -> Int:
    """As `store_rows`, but rows that are not stored are passed over."""
    hits = np.int64(0)
    for at in range(table.shape[0]):
        place = _probe(table, at, row_tag(table, at), rows, tags, holders)
        if place >= 0:
            hits = _collect(np.int64(holders[place]), marks, counters, journal, care, want, add, found, hits)
    return hits


@compiled
def collect_rows(
    chosen: Array, marks: Array, counters: Array, journal: Array, care: Int, want: Int, add: Int, found: Array
) -> Int:
    """Collect those of the chosen rows that are in a view, giving them marks."""
    hits = np.int64(0)
    for i in range(chosen.shape[0]):
        hits = _collect(np.int64(chosen[i]), marks, counters, journal, care, want, add, found, hits)
    return hits


@compiled
def mark_rows(chosen: Array, marks: Array, counters: Array, journal: Array, add: Int, remove: Int) -> None:
    """Give and take marks."""
    keep = np.uint16(~remove & 0xFFFF)
    for i in range(chosen.shape[0]):
        row = chosen[i]
        if not marks[row] & TOUCHED:
            journal[counters[JOURNALLED]] = row
            counters[JOURNALLED] += 1
        marks[row] = (marks[row] & keep) | np.uint16(add) | TOUCHED


@compiled
def select_rows(marks: Array, size: Int, care: Int, want: Int, found: Array) -> Int:
    """All rows in a view."""
    hits = 0
    for row in range(size):
        if marks[row] & care == want:
            found[hits] = row
            hits += 1
    return hits


@compiled
def settle_rows(journal: Array, size: Int, marks: Array, copied: Int, shift: Int, kept: Int) -> tuple[Int, Int]:
    """End a transaction for the journalled rows.

    The marks `copied` (NOW and EXPLICIT, or OLD and WAS_EXPLICIT) are copied `shift` places down (commit) or up
    (rollback, negative); of the others only `kept` stay. Returns how many rows came alive and how many died.
    """
    born = 0
    died = 0
    for i in range(size):
        row = journal[i]
        before = marks[row]
        base = before & np.uint16(copied)
        copy = base >> np.uint16(shift) if shift > 0 else base << np.uint16(-shift)
        after = base | copy | (before & np.uint16(kept))
        marks[row] = after
        was, now = before & np.uint16(1), after & np.uint16(1)
        born += now > was
        died += was > now
    return born, died


@compiled
def fill_tags(rows: Array, size: Int, tags: Array, holders: Array) -> None:
    """Enter the first rows of a relation, known to be distinct, into an empty table."""
    room = tags.shape[0] - 1
    for row in range(size):
        tag = row_tag(rows, row)
        place = np.int64(tag & np.uint64(room))
        while tags[place] != _EMPTY:
            place = (place + 1) & room
        tags[place] = tag
        holders[place] = row


@compiled
def move_tags(old_tags: Array, old_holders: Array, tags: Array, holders: Array) -> None:
    """Enter everything of one table into a larger, empty one."""
    room = tags.shape[0] - 1
    for i in range(old_tags.shape[0]):
        if old_tags[i] != _EMPTY:
            place = np.int64(old_tags[i] & np.uint64(room))
            while tags[place] != _EMPTY:
                place = (place + 1) & room
            tags[place] = old_tags[i]
            holders[place] = old_holders[i]


@compiled
def compact_rows(rows: Array, marks: Array, size: Int, alive: Array) -> Int:
    """Move the rows that carry marks to the front, in order; `alive[i]` is where row i goes, or -1."""
    count = 0
    for row in range(size):
        if marks[row] == 0:
            alive[row] = -1
            continue
        alive[row] = count
        if row != count:
            for column in range(rows.shape[1]):
                rows[count, column] = rows[row, column]
            marks[count] = marks[row]
        count += 1
    return count

"""What is done to the rows and marks of one relation, compiled.

What      : finding and storing rows, giving and taking marks, collecting rows by view.
Idea      : a relation's full rows are themselves the keys of a hash table, so every row is stored once; marks tell in
            which sets it is, and a stored row without marks is simply in none.
Invariant : every row whose marks change inside a transaction is in the journal once (mark TOUCHED).
Never     : no growth here: relation.py makes room before it calls.
"""

from __future__ import annotations

import numpy as np

from tidelog.backends.local.compiled import Array, Int, compiled
from tidelog.backends.local.hashing import hash_more, home, link, row_of, tag_of

TOUCHED = np.uint16(1 << 13)
COUNT, JOURNALLED = 0, 1


@compiled
def _probe(table: Array, at: Int, rows: Array, slots: Array) -> tuple[Int, Int, Int]:
    """The stored row equal to `table[at]` or -1, the slot where it is or would go, and the tag."""
    arity = rows.shape[1]
    h = np.uint64(0)
    for column in range(arity):
        h = hash_more(h, table[at, column])
    tag = tag_of(h)
    room = slots.shape[0] - 1
    place = home(h, room)
    while True:
        slot = slots[place]
        if slot == -1:
            return np.int64(-1), place, tag
        if slot >> 32 == tag:
            row = row_of(slot)
            is_same = True
            for column in range(arity):
                if rows[row, column] != table[at, column]:
                    is_same = False
                    break
            if is_same:
                return row, place, tag
        place = (place + 1) & room


@compiled
def store_rows(
    table: Array,
    size: Int,
    rows: Array,
    marks: Array,
    slots: Array,
    indexes: Array,
    counters: Array,
    journal: Array,
    care: Int,
    want: Int,
    add: Int,
    found: Array,
) -> Int:
    """Store the first `size` rows of a table and collect those in a view that are not collected yet.

    A row is in the view if `marks & care == want`; it then gets the marks `add`, is journalled and collected in
    `found`. With `add` = 0 a row that occurs twice is collected twice. Returns how many rows are collected.
    """
    arity = rows.shape[1]
    hits = 0
    for at in range(size):
        row, place, tag = _probe(table, at, rows, slots)
        if row == -1:
            row = counters[COUNT]
            counters[COUNT] += 1
            for column in range(arity):
                rows[row, column] = table[at, column]
            marks[row] = 0
            slots[place] = tag << 32 | row
            for i in range(indexes.shape[0]):
                link(indexes[i], rows.ctypes.data, arity, row)
        if marks[row] & care == want:
            if add != 0:
                if not marks[row] & TOUCHED:
                    journal[counters[JOURNALLED]] = row
                    counters[JOURNALLED] += 1
                marks[row] |= np.uint16(add) | TOUCHED
            found[hits] = row
            hits += 1
    return hits


@compiled
def find_rows(
    table: Array,
    size: Int,
    rows: Array,
    marks: Array,
    slots: Array,
    counters: Array,
    journal: Array,
    care: Int,
    want: Int,
    add: Int,
    found: Array,
) -> Int:
    """As `store_rows`, but rows that are not stored are passed over."""
    hits = 0
    for at in range(size):
        row, _, _ = _probe(table, at, rows, slots)
        if row != -1 and marks[row] & care == want:
            if add != 0:
                if not marks[row] & TOUCHED:
                    journal[counters[JOURNALLED]] = row
                    counters[JOURNALLED] += 1
                marks[row] |= np.uint16(add) | TOUCHED
            found[hits] = row
            hits += 1
    return hits


@compiled
def collect_rows(
    chosen: Array, marks: Array, counters: Array, journal: Array, care: Int, want: Int, add: Int, found: Array
) -> Int:
    """Collect those of the chosen rows that are in a view, giving them marks."""
    hits = 0
    for i in range(chosen.shape[0]):
        row = chosen[i]
        if marks[row] & care == want:
            if add != 0:
                if not marks[row] & TOUCHED:
                    journal[counters[JOURNALLED]] = row
                    counters[JOURNALLED] += 1
                marks[row] |= np.uint16(add) | TOUCHED
            found[hits] = row
            hits += 1
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
def settle_rows(
    journal: Array, size: Int, marks: Array, copied: Int, shift: Int, kept: Int
) -> tuple[Int, Int]:
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
def fill_slots(rows: Array, size: Int, slots: Array) -> None:
    """Enter the first rows of a relation, known to be distinct, into an empty table."""
    arity = rows.shape[1]
    room = slots.shape[0] - 1
    for row in range(size):
        h = np.uint64(0)
        for column in range(arity):
            h = hash_more(h, rows[row, column])
        place = home(h, room)
        while slots[place] != -1:
            place = (place + 1) & room
        slots[place] = tag_of(h) << 32 | row


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


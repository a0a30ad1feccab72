"""What is done to the rows and marks of one relation, compiled.

What      : finding and storing rows, giving and taking marks, collecting rows by view.
Idea      : a relation's full rows are themselves the keys of a hash table (row_table.py), so every row is stored once;
            marks tell in which sets it is; a stored row without marks is in no set.
Invariant : every row whose marks change inside a transaction is in the journal once (mark TOUCHED).
Never     : no growth here: relation.py makes room before it calls.
"""

from __future__ import annotations

import numpy as np

from tidelog.backends.local.kernels.compiled import Array, Int, compiled, woven
from tidelog.backends.local.kernels.hashing import link_all
from tidelog.backends.local.relations.row_table import BLOCK, append_pairs, append_rows, enter, fetch_rows, probe

TOUCHED, TURNED = np.uint16(1 << 13), np.uint16(1 << 15)
_OLD, _WAS_EXPLICIT, _BEFORE = np.uint16(1), np.uint16(4), np.uint16(5)
_UNTURNED = np.uint16(0xFFFF & ~(1 << 15 | 4))
COUNT, JOURNALLED, ALIVE, COUNTERS = range(4)
"""Places in a relation's counters: stored rows, rows in the journal, facts as of the last commit."""
_FEW = 4
"""If more than one in this many rows is journalled, a transaction ends for all rows: 1 ns each, by the journal 10."""


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
    slots: Array,
    indexes: Array,
    counters: Array,
    journal: Array,
    care: Int,
    want: Int,
    add: Int,
    found: Array,
    ahead: Array,
) -> Int:
    """Store the rows of a table and collect those in a view that are not collected yet.

    A row is in the view if `marks & care == want`; it then gets the marks `add`, is journalled and collected in
    `found`. With `add` = 0 a row that occurs twice is collected twice. `ahead` is scratch space for BLOCK hashes.
    Returns how many rows are collected.
    """
    hits = np.int64(0)
    for start in range(0, table.shape[0], BLOCK):
        stop = min(start + BLOCK, table.shape[0])
        first = counters[COUNT]
        fetch_rows(table, start, stop, rows, slots, ahead)
        for at in range(start, stop):
            row = probe(table, at, ahead[at - start], rows, slots)
            if row < 0:
                place, row = -1 - row, counters[COUNT]
                counters[COUNT] += 1
                for column in range(rows.shape[1]):
                    rows[row, column] = table[at, column]
                marks[row] = 0
                enter(slots, place, ahead[at - start], row)
            hits = _collect(row, marks, counters, journal, care, want, add, found, hits)
        for i in range(indexes.shape[0]):
            link_all(indexes[i], np.int64(rows.ctypes.data), rows.shape[1], first, counters[COUNT])
    return hits


@compiled
def store_new_rows(
    table: Array,
    rows: Array,
    marks: Array,
    slots: Array,
    indexes: Array,
    counters: Array,
    journal: Array,
    add: Int,
    found: Array,
    ahead: Array,
) -> Int:
    """As `store_rows`, with marks to add, where no row that is stored already is in the view: the bulk of most work."""
    first, arity = counters[COUNT], rows.shape[1]
    size = rows.itemsize
    if arity == 2 and table.itemsize == size and table.strides[0] == 2 * size and table.strides[1] == size:
        count = append_pairs(table.ctypes.data, table.shape[0], rows.ctypes.data, slots, first, ahead)
    else:
        count = append_rows(table, rows, slots, first, ahead)
    for i in range(indexes.shape[0]):
        link_all(indexes[i], np.int64(rows.ctypes.data), arity, first, count)
    start = counters[JOURNALLED]
    for i in range(count - first):
        marks[first + i] = np.uint16(add) | TOUCHED
        journal[start + i] = found[i] = first + i
    counters[COUNT] = count
    counters[JOURNALLED] += count - first
    return count - first


@compiled
def append_rows_behind(size: Int, marks: Array, counters: Array, journal: Array, add: Int) -> None:
    """Store the rows that stand behind the stored ones, known to be new, without entering them anywhere."""
    first, start = counters[COUNT], counters[JOURNALLED]
    for i in range(size):
        marks[first + i] = np.uint16(add) | TOUCHED
        journal[start + i] = first + i
    counters[COUNT] += size
    counters[JOURNALLED] += size


@compiled
def find_rows(
    table: Array,
    rows: Array,
    marks: Array,
    slots: Array,
    counters: Array,
    journal: Array,
    care: Int,
    want: Int,
    add: Int,
    found: Array,
    ahead: Array,
) -> Int:
    """As `store_rows`, but rows that are not stored are passed over."""
    hits = np.int64(0)
    for start in range(0, table.shape[0], BLOCK):
        stop = min(start + BLOCK, table.shape[0])
        fetch_rows(table, start, stop, rows, slots, ahead)
        for at in range(start, stop):
            row = probe(table, at, ahead[at - start], rows, slots)
            if row >= 0:
                hits = _collect(row, marks, counters, journal, care, want, add, found, hits)
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
def select_rows(marks: Array, start: Int, stop: Int, care: Int, want: Int, found: Array, hits: Int) -> Int:
    """Add the rows of a range that are in a view to those found before; how many there are then."""
    for row in range(start, stop):
        if marks[row] & care == want:
            found[hits] = row
            hits += 1
    return hits


@compiled
def settle_rows(journal: Array, counters: Array, marks: Array, copied: Int, shift: Int, kept: Int) -> None:
    """End a transaction for the journalled rows, all in one call, so that it is done or not done.

    The marks `copied` (NOW and EXPLICIT, or OLD and WAS_EXPLICIT) are copied `shift` places down (commit) or up
    (rollback, negative); of the others only `kept` stay. Counts the facts that are alive, and empties the journal.
    If many rows are journalled, all are visited, in their order, which is faster; to the others nothing happens, as
    they carry the marks of a transaction that has ended.
    """
    alive, is_whole = counters[ALIVE], counters[JOURNALLED] * _FEW > counters[COUNT]
    for i in range(counters[COUNT] if is_whole else counters[JOURNALLED]):
        row = np.int64(i) if is_whole else np.int64(journal[i])
        before = marks[row]
        base = before & np.uint16(copied)
        copy = base >> np.uint16(shift) if shift > 0 else base << np.uint16(-shift)
        after = base | copy | (before & np.uint16(kept))
        marks[row] = after
        was, now = before & np.uint16(1), after & np.uint16(1)
        alive += np.int64(now > was) - np.int64(was > now)
    counters[ALIVE] = alive
    counters[JOURNALLED] = 0


def are_many(counters: Array) -> bool:
    """Whether a pass over all rows, in their order, is faster than one over those that are journalled."""
    return bool(counters[JOURNALLED] * _FEW > counters[COUNT])


@woven
def _give_back(own: Array, kept: Array, is_whole: Int, marks: Array, counters: Array, journal: Array) -> None:
    """Give rows the marks that they had, and put them into the empty journal."""
    if is_whole:
        for row in range(kept.shape[0]):
            marks[row] = kept[row]
    else:
        for i in range(own.shape[0]):
            marks[own[i]] = kept[i]
    for i in range(own.shape[0]):
        journal[i] = own[i]
    counters[JOURNALLED] = own.shape[0]


@compiled
def resume_rows(own: Array, kept: Array, is_whole: Int, marks: Array, counters: Array, journal: Array) -> None:
    """Let an open transaction go on, in which no row has changed since; as `turn_rows`."""
    _give_back(own, kept, is_whole, marks, counters, journal)


@compiled
def turn_rows(
    own: Array,
    kept: Array,
    is_whole: Int,
    rows: Array,
    before: Array,
    after: Array,
    marks: Array,
    counters: Array,
    journal: Array,
) -> None:
    """Let an open transaction go on as before, although rows were changed by another one, which has ended.

    The open one has marked its `own` rows. `kept` are their marks, or if it `is_whole` those of all rows that there
    were. `before` and `after` are the marks of `rows` before the other one ended and after it. Rows that the open one
    has not marked get back what they were; where the last version is other than OLD says they are TURNED. All in one
    call, because in between a rollback would be wrong.
    """
    _give_back(own, kept, is_whole, marks, counters, journal)
    for i in range(rows.shape[0]):
        found = marks[rows[i]]
        if not found & TOUCHED:
            was = before[i] & _BEFORE
            found = was | (was << np.uint16(1)) | TOUCHED
            journal[counters[JOURNALLED]] = rows[i]
            counters[JOURNALLED] += 1
        turned = ((found ^ after[i]) & _OLD) << np.uint16(15)
        marks[rows[i]] = (found & _UNTURNED) | (after[i] & _WAS_EXPLICIT) | turned


@compiled
def straighten_rows(journal: Array, counters: Array, marks: Array) -> None:
    """Let OLD say what the last version is; no row is TURNED afterwards. If many are journalled, all are visited."""
    is_whole = counters[JOURNALLED] * _FEW > counters[COUNT]
    for i in range(counters[COUNT] if is_whole else counters[JOURNALLED]):
        row = np.int64(i) if is_whole else np.int64(journal[i])
        found = marks[row]
        if found & TURNED:
            marks[row] = (found ^ _OLD) & ~TURNED


@compiled
def rebase_rows(rows: Array, marks: Array, keep: Int) -> None:
    """Let OLD be what NOW is, and TURNED say where the last version is other; of the other marks some are kept."""
    for i in range(rows.shape[0]):
        found = marks[rows[i]]
        last, now = (found ^ (found >> np.uint16(15))) & _OLD, (found >> np.uint16(1)) & _OLD
        marks[rows[i]] = (found & np.uint16(keep)) | now | ((last ^ now) << np.uint16(15))


@compiled
def bring_back_rows(start: Int, stop: Int, is_whole: Int, journal: Array, marks: Array, keep: Int) -> None:
    """Let NOW be what OLD is, in a range of the journal, or of all rows; of the other marks some are kept."""
    for i in range(start, stop):
        row = np.int64(i) if is_whole else np.int64(journal[i])
        found = marks[row]
        if found & TOUCHED:
            marks[row] = (found & np.uint16(keep)) | ((found & _OLD) << np.uint16(1))


@compiled
def compact_rows(rows: Array, marks: Array, start: Int, stop: Int, alive: Array, count: Int) -> Int:
    """Move the rows of a range that carry marks behind the first `count`, in order; how many there are then.

    `alive[i]` is where row i goes, or -1.
    """
    for row in range(start, stop):
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

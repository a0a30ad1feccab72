"""Questions about the rows of relations, asked once and without a plan.

What      : the rows with given values in given columns, rows made distinct, rows that a relation lacks.
Idea      : a look-up by an index is a program of one step for the join machine; what has no index is one pass.
Invariant : nothing is changed, but an index may be made.
Never     : no rules; joins are plans (executable.py).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tidelog.backends.local.joins import machine
from tidelog.backends.local.kernels.compiled import Array
from tidelog.backends.local.kernels.interpreting import bounded
from tidelog.backends.local.relations.facts import distinct
from tidelog.backends.local.relations.relation import Relation
from tidelog.planning.plan import Column, Ignore
from tidelog.planning.views import View

_CHUNK = 1 << 16
_WORD = 0xFFFFFFFF
_ONLY = np.zeros(1, np.int64)
"""Where the one step of the program starts."""


def first_of_each(table: Array, columns: Sequence[Column]) -> Array:
    """Positions of driving facts of a negated atom, one per combination of the columns that matter.

    In `!p(x, y)` with a `y` that occurs nowhere else, the facts p(1, 2) and p(1, 3) block the same instances: one of
    them is enough.
    """
    kept = [at for at, column in enumerate(columns) if not isinstance(column, Ignore)]
    if len(kept) == len(columns) or len(table) < 2:
        return np.arange(len(table))
    if not kept:
        return np.zeros(1, np.int64)
    order = np.lexsort(table[:, kept].T[::-1])
    ordered = table[order][:, kept]
    changes = np.any(ordered[1:] != ordered[:-1], axis=1)
    return np.asarray(order[np.concatenate([[True], changes])])


def distinct_rows(table: Array) -> Array:
    """The distinct rows of a table, ordered."""
    if len(table) < 2:
        return np.ascontiguousarray(table)
    if not table.shape[1]:
        return table[:1]
    if table.shape[1] == 1:
        return distinct(table[:, 0])[:, None]
    if table.shape[1] == 2 and table.dtype == np.int32:  # as one word: one sort instead of two
        packed = distinct(table[:, 0].astype(np.int64) << 32 | table[:, 1].astype(np.int64) & _WORD)
        return np.column_stack([packed >> 32, packed & _WORD]).astype(np.int32)
    ordered = table[np.lexsort(table.T[::-1])]
    keep = np.empty(len(ordered), np.bool_)
    keep[0] = True
    np.any(ordered[1:] != ordered[:-1], axis=1, out=keep[1:])
    return np.ascontiguousarray(ordered[keep])


def matching(relation: Relation, columns: tuple[int, ...], key: Array, view: View) -> Array:
    """The rows in the view whose given columns have the given values; readers of other threads hold the latch.

    A look-up where an index is there or the whole row is known, else one pass: a question asked once builds no index.
    """
    if not columns:
        return relation.select(view)
    if len(columns) == relation.rows.shape[1]:
        return relation.find_beside(np.ascontiguousarray(key[None, :]), view)
    if relation.has_index(columns):
        return lookup(relation, np.ascontiguousarray(key[None, :]), view, columns)[0]
    chosen = np.flatnonzero(np.all(relation.rows[: relation.count, columns] == key, axis=1)).astype(np.int32)
    return relation.restrict(chosen, view)


def rows_not_in(rows: Array, relation: Relation | None, view: View) -> Array:
    """Those of the rows, distinct ones, that a relation does not have in the view."""
    if relation is None or not len(rows):
        return rows
    known = relation.rows[relation.find(np.ascontiguousarray(rows), view)]
    if len(known) == len(rows):
        return rows[:0]
    together = np.concatenate([rows, known])
    order = np.lexsort(together.T[::-1])
    ordered = together[order]
    is_pair = np.all(ordered[1:] == ordered[:-1], axis=1)
    single = np.ones(len(ordered), np.bool_)
    single[1:] &= ~is_pair
    single[:-1] &= ~is_pair
    return ordered[single]


def lookup(
    relation: Relation, groups: Array, view: View, columns: tuple[int, ...] | None = None
) -> tuple[Array, Array]:
    """The rows of the groups in the view, and the number of the group of each; groups are the leading columns."""
    width = groups.shape[1]
    if not width:
        rows = relation.select(view) if len(groups) else np.empty(0, np.int32)
        return rows, np.zeros(len(rows), np.int32)
    columns = columns or tuple(range(width))
    code = [0] * machine.DETAILS
    for number, column in enumerate(columns):
        code.extend((column, 1 + number))
    program = np.array(code, np.int64)
    index = relation.index(columns)
    program[machine.OPERATION] = machine.CHAIN_ONE if width == 1 else machine.CHAIN_MORE
    program[machine.ROWS], program[machine.ARITY] = relation.rows.ctypes.data, relation.rows.shape[1]
    program[machine.MARKS] = relation.marks.ctypes.data
    program[machine.CARE], program[machine.WANT] = view.care, view.want
    program[machine.SLOTS], program[machine.ROOM] = index.slots.ctypes.data, len(index.slots) - 1
    program[machine.LINKS] = index.links.ctypes.data
    program[machine.ROW_REGISTER], program[machine.KEY_PAIRS] = 1 + width, width
    loads = np.array([(column, 1 + column, machine.BIND) for column in range(width)], np.int64)
    registers, cursors = np.zeros(2 + width, np.int64), np.zeros(2, np.int64)
    state = np.array(machine.START, np.int64)
    chosen, pieces, room = np.array([0, 1 + width], np.int64), list[Array](), min(_CHUNK, 256 + 4 * len(groups))
    while state[machine.POSITION] < len(groups):
        table, room = np.empty((room, 2), np.int32), _CHUNK
        written = machine.run(
            groups,
            loads,
            program,
            _ONLY,
            registers,
            cursors,
            state,
            machine.UNLIMITED,
            bounded(machine.FUEL),
            chosen,
            table,
        )
        pieces.append(table[:written])
    found = pieces[0] if len(pieces) == 1 else np.concatenate([np.empty((0, 2), np.int32), *pieces])
    return np.ascontiguousarray(found[:, 1]), np.ascontiguousarray(found[:, 0])

"""Aggregates over groups, and driving facts made distinct.

What      : recomputes the groups that a change touches, and nothing else.
Idea      : the groups of the changed body facts drive a look-up of their members in the version NOW; the results are
            compared with the aggregate facts of the version OLD.
Invariant : a group without members has no aggregate fact (`count` and `sum` over nothing are rules of their own).
Never     : no marks are changed here.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tidelog.backends.local import functions, machine
from tidelog.backends.local.compiled import Array
from tidelog.backends.local.dictionary import Dictionary
from tidelog.backends.local.relation import Relation
from tidelog.planning.lowered import GroupRule
from tidelog.planning.plan import Column, Ignore
from tidelog.planning.views import ANY, NOW, OLD, Mark, View

_CHUNK = 1 << 16


def regroup(
    rule: GroupRule, body: Relation, changed: Array, result: Relation, dictionary: Dictionary
) -> tuple[Array, Array, int]:
    """The rows of the result relation to insert and to delete, and the number of groups looked at."""
    groups = distinct_rows(body.rows[changed][:, : rule.group])
    value = body.arity - 1
    members = _members(body, groups, NOW, value)
    occupied, starts = _runs(members[:, 0])
    ids = functions.aggregate(dictionary, rule.function, np.ascontiguousarray(members[:, 1]), starts)
    has_result = ids >= 0
    facts = np.column_stack([groups[occupied[has_result]], ids[has_result]]).astype(np.int32)
    fresh = result.store(np.ascontiguousarray(facts), ANY, Mark(0))
    previous = _rows(result, groups, OLD)
    return np.setdiff1d(fresh, previous), np.setdiff1d(previous, fresh), len(groups)


def distinct_on(table: Array, columns: Sequence[Column]) -> Array:
    """Driving facts of a negated atom, one per combination of the columns that matter.

    Several facts can block the same instances where the atom has variables of its own.
    """
    if not any(isinstance(column, Ignore) for column in columns):
        return table
    kept = [at for at, column in enumerate(columns) if not isinstance(column, Ignore)]
    shown = np.zeros_like(table)
    shown[:, kept] = table[:, kept]
    return distinct_rows(shown)


def distinct_rows(table: Array) -> Array:
    """The distinct rows of a table, ordered."""
    if len(table) < 2:
        return np.ascontiguousarray(table)
    if not table.shape[1]:
        return table[:1]
    ordered = table[np.lexsort(table.T[::-1])]
    keep = np.empty(len(ordered), np.bool_)
    keep[0] = True
    np.any(ordered[1:] != ordered[:-1], axis=1, out=keep[1:])
    return np.ascontiguousarray(ordered[keep])


def _runs(positions: Array) -> tuple[Array, Array]:
    """The distinct values of an ordered array and where each begins."""
    if not len(positions):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    starts = np.flatnonzero(np.concatenate([[True], positions[1:] != positions[:-1]]))
    return positions[starts], starts


def _members(relation: Relation, groups: Array, view: View, value: int) -> Array:
    """For every fact of the groups in the view the number of its group and one of its values, ordered by group."""
    rows, owners = _lookup(relation, groups, view)
    return np.column_stack([owners, relation.rows[rows, value]])


def _rows(relation: Relation, groups: Array, view: View) -> Array:
    return _lookup(relation, groups, view)[0]


def _lookup(relation: Relation, groups: Array, view: View) -> tuple[Array, Array]:
    """The rows of the groups in the view, and the number of the group of each."""
    width = groups.shape[1]
    if not width:
        rows = relation.select(view) if len(groups) else np.empty(0, np.int32)
        return rows, np.zeros(len(rows), np.int32)
    code = [0] * machine.DETAILS
    for column in range(width):
        code.extend((column, 1 + column))
    program = np.array(code, np.int64)
    index = relation.index(tuple(range(width)))
    program[machine.OPERATION] = machine.CHAIN_ONE if width == 1 else machine.CHAIN_MORE
    program[machine.ROWS], program[machine.ARITY] = relation.rows.ctypes.data, relation.rows.shape[1]
    program[machine.MARKS] = relation.marks.ctypes.data
    program[machine.CARE], program[machine.WANT] = view.care, int(view.inside)
    program[machine.SLOTS], program[machine.ROOM] = index.slots.ctypes.data, len(index.slots) - 1
    program[machine.LINKS] = index.links.ctypes.data
    program[machine.ROW_REGISTER], program[machine.KEY_PAIRS] = 1 + width, width
    loads = np.array([(column, 1 + column, machine.BIND) for column in range(width)], np.int64)
    registers, cursors = np.zeros(2 + width, np.int64), np.zeros(2, np.int64)
    state = np.array([0, -1, 0, 0], np.int64)
    chosen, pieces = np.array([0, 1 + width], np.int64), [np.empty((0, 2), np.int32)]
    while state[machine.POSITION] < len(groups):
        table = np.empty((_CHUNK, 2), np.int32)
        written = machine.run(
            groups, loads, program, np.zeros(1, np.int64), registers, cursors, state, 1 << 62, chosen, table
        )
        pieces.append(table[:written])
    found = np.concatenate(pieces)
    return np.ascontiguousarray(found[:, 1]), np.ascontiguousarray(found[:, 0])

"""Aggregates over groups.

What      : recomputes the groups that a change touches, and nothing else.
Idea      : the groups of the changed body facts drive a look-up of their members in the version NOW; the results are
            compared with the aggregate facts of the version OLD.
Invariant : a group without members has no aggregate fact (`count` and `sum` over nothing are rules of their own). One
            whose members have no aggregate is a fact of the relation of such groups, and of no other.
Never     : no marks are changed here.
"""

from __future__ import annotations

import numpy as np

from tidelog.backends.local.constants import functions
from tidelog.backends.local.constants.dictionary import Dictionary
from tidelog.backends.local.joins.row_lookups import distinct_rows, lookup
from tidelog.backends.local.joins.runner import with_columns
from tidelog.backends.local.kernels.compiled import Array
from tidelog.backends.local.relations.relation import Relation
from tidelog.planning.lowered import GroupRule
from tidelog.planning.views import ANY, NO_MARKS, NOW, OLD, View

Rows = dict[str, Array]
"""Rows by relation."""


def regroup(
    rule: GroupRule, body: Relation, changed: Array, result: Relation, lacking: Relation, dictionary: Dictionary
) -> tuple[Rows, Rows, int]:
    """The rows to insert and to delete, of results and of groups without one, and the number of groups looked at."""
    groups = distinct_rows(body.rows[changed][:, : rule.group])
    value = body.arity - 1
    members = _members(body, groups, NOW, value)
    occupied, starts = _runs(members[:, 0])
    ids = functions.aggregate(dictionary, rule.function, np.ascontiguousarray(members[:, 1]), starts)
    has_value = ids != functions.NO_VALUE
    facts = np.column_stack([groups[occupied[has_value]], ids[has_value]]).astype(np.int32)
    fresh = result.store(np.ascontiguousarray(facts), ANY, NO_MARKS)
    previous = lookup(result, groups, OLD)[0]
    lost = lacking.store(with_columns(groups[occupied[~has_value]]), ANY, NO_MARKS)
    lost_before = lacking.find(with_columns(groups), OLD)
    insert = {rule.relation: np.setdiff1d(fresh, previous), rule.lacking: np.setdiff1d(lost, lost_before)}
    delete = {rule.relation: np.setdiff1d(previous, fresh), rule.lacking: np.setdiff1d(lost_before, lost)}
    return insert, delete, len(groups)


def _runs(positions: Array) -> tuple[Array, Array]:
    """The distinct values of an ordered array and where each begins."""
    if not len(positions):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    starts = np.flatnonzero(np.concatenate([[True], positions[1:] != positions[:-1]]))
    return positions[starts], starts


def _members(relation: Relation, groups: Array, view: View, value: int) -> Array:
    """For every fact of the groups in the view the number of its group and one of its values, ordered by group."""
    rows, owners = lookup(relation, groups, view)
    return np.column_stack([owners, relation.rows[rows, value]])

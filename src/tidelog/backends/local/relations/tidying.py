"""A relation without its dead rows.

What      : `tidied` makes the arrays of a relation anew, with the rows that carry marks and no others.
Idea      : a deleted row stays where it is, until most rows are dead. Then everything is built aside, in steps, and the
            relation puts it in its place at once (relation.py).
Invariant : the order of rows is kept. Nothing of the relation is changed here, so that it can be given up at any step.
Never     : no transaction is open, or it is about to end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from tidelog.backends.local.kernels.compiled import Array
from tidelog.backends.local.kernels.workers import ALONE, Workers
from tidelog.backends.local.relations import relation_kernels
from tidelog.backends.local.relations.full_table import filled
from tidelog.backends.local.relations.growth import LEAST_ROWS
from tidelog.backends.local.relations.index import Index
from tidelog.backends.local.relations.steps import ranges


def tidied(
    rows: Array,
    marks: Array,
    counters: Array,
    indexed: Iterable[tuple[int, ...]],
    pause: Callable[[], None],
    workers: Workers = ALONE,
) -> tuple[dict[str, object], Array]:
    """The arrays by the names of their attributes, and for each old row its new place, or -1."""
    size, alive = int(counters[relation_kernels.COUNT]), int(counters[relation_kernels.ALIVE])
    places, rows, marks, count = np.empty(size, np.int32), rows[:size].copy(), marks[:size].copy(), 0
    for start, stop in ranges(size):
        count = relation_kernels.compact_rows(rows, marks, start, stop, places, count)
        pause()
    rows, marks = rows[: max(count, LEAST_ROWS)].copy(), marks[: max(count, LEAST_ROWS)].copy()
    counters = counters.copy()
    counters[relation_kernels.COUNT] = count
    arrays: dict[str, object] = {
        "rows": rows,
        "marks": marks,
        "_slots": filled(rows, count, count, pause, workers),
        "_is_behind": False,
        "_indexes": {columns: Index(columns, rows, count, len(marks), pause, workers) for columns in indexed},
        "_counters": counters,
        "_journal": np.empty(LEAST_ROWS, np.int32),
        "_settled": count,
        "_has_bare_rows": count != alive,
    }
    return arrays, places

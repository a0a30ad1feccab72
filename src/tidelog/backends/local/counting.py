"""Derivation counts of facts.

What      : how many rule instances derive a fact, kept beside the marks of a relation once a strategy counts.
Invariant : counts never go below zero and never overflow; both raise.
Never     : no decision what a count means.
"""

from __future__ import annotations

import numpy as np

from tidelog.backends.local.compiled import Array, Int, compiled
from tidelog.backends.local.facts import distinct
from tidelog.backends.local.relation import Relation
from tidelog.errors import LawError

_NEGATIVE, _OVERFLOW = 1, 2
_GREATEST = np.int64(2**62)


@compiled
def _add(counts: Array, rows: Array, sign: Int) -> Int:
    wrong = 0
    for i in range(rows.shape[0]):
        counts[rows[i]] += sign
        if counts[rows[i]] < 0:
            wrong |= _NEGATIVE
        if counts[rows[i]] > _GREATEST:
            wrong |= _OVERFLOW
    return wrong


def add(relation: Relation, rows: Array, sign: int) -> Array:
    """Add to the count of each row, once per occurrence; returns the distinct rows."""
    relation.counts = counts = _covering(relation)
    wrong = _add(counts, rows, sign)
    if wrong & _NEGATIVE:
        raise LawError.of("E902", f"a fact of {relation.name} has fewer derivations than none", remedy="report this")
    if wrong & _OVERFLOW:
        raise LawError.of("E903", f"the derivation count of a fact of {relation.name} overflows", remedy="use dred or bf")
    return distinct(rows)


def zero(relation: Relation, rows: Array) -> Array:
    """Those of the rows whose count is zero."""
    counts = _covering(relation)
    return rows[counts[rows] == 0]


def _covering(relation: Relation) -> Array:
    """The counts, long enough for every row."""
    counts = relation.counts if relation.counts is not None else np.zeros(0, np.int64)
    if len(counts) < relation.count:
        longer = np.zeros(len(relation.marks), np.int64)
        longer[: len(counts)] = counts
        return longer
    return counts

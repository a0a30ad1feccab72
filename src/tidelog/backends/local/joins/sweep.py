"""Small rounds, one after the other, in one kernel call.

What      : drives a bundle with facts of a relation whose heads are facts of the same relation, stores or finds the
            heads, passes marks on, and goes on with the heads that were found.
Idea      : an update that reaches a few facts through many rounds spends its time between kernels; here it stays
            inside one. See maintenance/rounds.py for what a round is.
Invariant : a round is done wholly or not at all. (Only the marks of its driving facts may be set already; setting them
            again changes nothing.) Arrays never grow here; a round that needs more room is left to the caller.
Never     : no bundle that scans the relation as a whole, because it grows meanwhile.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tidelog.backends.local.joins.bundle import MOST_DRIVING, UNFINISHED, Bundle, run_all
from tidelog.backends.local.kernels.compiled import Array, Int, allocating
from tidelog.backends.local.kernels.interpreting import bounded
from tidelog.backends.local.relations import relation_kernels
from tidelog.backends.local.relations.relation import Relation
from tidelog.maintenance.store import Passing
from tidelog.planning.views import Mark, View

_MOST_FOUND, _LEAST_ROOM = 1 << 13, 1 << 4
_FUEL = 1 << 16
"""How many candidates a call looks at before it returns, so that the budget can be asked."""
_NOW = int(Mark.NOW)
_CARE, _WANT, _FOUND, _ADD, _REMOVE, _AFTER, _IS_OPEN = range(7)


@allocating
def _sweep(
    reached: Array, count: Int, room: Int, parts: Array, order: Array, arrays: tuple[Array, ...], totals: Array,
    table: Array, lent: tuple[Array, ...], how: Array, most: Int,
) -> tuple[Int, Int, Int]:  # fmt: skip
    """Run rounds, beginning with the first `count` facts of `reached`; the heads of each round are added there.

    Returns how many rounds were done, and the first and last position in `reached` of the facts that drive the next.
    """
    rows, marks, slots, indexes, counters, journal, ahead = lent
    start, stop, rounds, fuel = np.int64(0), np.int64(count), np.int64(0), np.int64(most)
    counts = np.empty(order.shape[0], np.int64)
    while start < stop and stop - start <= MOST_DRIVING and fuel > 0:
        driving = np.empty((stop - start, rows.shape[1]), np.int32)
        for i in range(stop - start):
            for column in range(rows.shape[1]):
                driving[i, column] = rows[reached[start + i], column]
        going = reached[start:stop]
        relation_kernels.mark_rows(going, marks, counters, journal, how[_ADD], how[_REMOVE])
        used, looked = run_all(driving, parts, order, arrays, counts, table, fuel)
        fuel -= looked
        heads = table[:used].reshape((used // rows.shape[1], rows.shape[1]))
        room -= heads.shape[0]
        if room < 0 or np.any(counts == UNFINISHED):
            break
        if how[_IS_OPEN]:
            found = relation_kernels.store_rows(
                heads, rows, marks, slots, indexes, counters, journal, how[_CARE], how[_WANT], how[_FOUND],
                reached[stop:], ahead,
            )  # fmt: skip
        else:
            found = relation_kernels.find_rows(
                heads, rows, marks, slots, counters, journal, how[_CARE], how[_WANT], how[_FOUND], reached[stop:], ahead
            )
        relation_kernels.mark_rows(going, marks, counters, journal, np.int64(0), how[_AFTER])
        for i in range(order.shape[0]):
            totals[i] += counts[i]
        start, stop = stop, stop + found
        rounds += 1
    return rounds, start, stop


class Swept(NamedTuple):
    """What some rounds gave."""

    found: Array
    driving: Array
    rounds: int
    hits: list[tuple[str, int]]
    """How many instances a rule had, by its key."""


def sweep(bundle: Bundle, relation: Relation, driving: Array, heads: View, passing: Passing, table: Array) -> Swept:
    """As many rounds as fit into one kernel call, perhaps not even one."""
    count, room = len(driving), min(_MOST_FOUND, max(_LEAST_ROOM, relation.count))
    with bundle.latch, relation.latch:
        epoch = -1
        while epoch != relation.epoch:
            epoch = relation.epoch
            lent = relation.lend(count, room, heads, baring=not passing.numbers[1] & _NOW)
            programs = bundle.ready(room)  # may make indexes, which are lent with everything else
        reached = np.empty(count + room, np.int32)
        reached[:count] = driving
        totals = np.zeros(len(programs.order), np.int64)
        how = np.array((heads.care, heads.want, *passing.numbers, heads.want == 0), np.int64)
        rounds, start, stop = _sweep(reached, count, room, *programs, totals, table, lent, how, bounded(_FUEL))
    counted = zip(programs.order.tolist(), totals.tolist())
    hits = [(bundle.executables[at].plan.rule.key, hit) for at, hit in counted if hit]
    return Swept(reached[count:stop], reached[start:stop], rounds, hits)

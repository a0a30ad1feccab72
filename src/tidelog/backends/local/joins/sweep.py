"""Small rounds, one after the other, in one kernel call.

What      : drives the rules of a stage with facts of up to four relations, stores or finds the heads, passes marks on,
            and goes on with the heads that were found.
Idea      : an update that reaches a few facts through many rounds spends its time between kernels; here it stays
            inside one. See maintenance/rounds.py for what a round is. The programs of all relations are in one bundle,
            and each relation has an order of its own: those that its facts drive.
Invariant : a round is done wholly or not at all. (Only the marks of its driving facts may be set already; setting them
            again changes nothing.) Arrays never grow here; a round that needs more room is left to the caller.
Never     : no bundle that scans one of the relations as a whole, because they grow meanwhile; no relation without rows,
            because a bundle leaves out what looks into one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from tidelog.backends.local.joins.bundle import MOST_DRIVING, UNFINISHED, Bundle, run_all
from tidelog.backends.local.kernels.compiled import Array, Int, allocating
from tidelog.backends.local.kernels.interpreting import bounded
from tidelog.backends.local.relations import relation_kernels
from tidelog.backends.local.relations.facts import LocalFacts
from tidelog.backends.local.relations.relation import Relation
from tidelog.maintenance.store import Passing
from tidelog.planning.views import Mark, View

MOST_RELATIONS = 4
"""Kernels are compiled for one relation and for four; a stage of two lends one of them three times."""
_MOST_FOUND, _LEAST_ROOM = 1 << 13, 1 << 4
_FUEL = 1 << 16
"""How many candidates a call looks at before it returns, so that the budget can be asked."""
_NOW = int(Mark.NOW)
_CARE, _WANT, _FOUND, _ADD, _REMOVE, _AFTER, _IS_OPEN = range(7)
_FIRST, _START, _STOP, _END, _ORDER = range(5)
"""By relation: where its facts begin in `reached`, which of them drive, where its room ends, and where its part of the
order of programs begins."""


@allocating
def _sweep(
    reached: Array, places: Array, parts: Array, order: Array, heads: Array, arrays: tuple[Array, ...], totals: Array,
    table: Array, lent: tuple[tuple[Array, ...], ...], how: Array, most: Int,
) -> Int:  # fmt: skip
    """Run rounds, beginning with the facts between _START and _STOP of each relation; how many were done.

    The heads of a round are added to `reached` behind those that drive; `heads` is the relation of each program.
    """
    rounds, fuel, relations = np.int64(0), np.int64(most), places.shape[0] - 1
    counts, fresh = np.zeros(order.shape[0], np.int64), np.empty(relations, np.int64)
    while fuel > 0:
        size = (places[:relations, _STOP] - places[:relations, _START]).sum()
        if size == 0 or size > MOST_DRIVING:
            break
        for one in range(relations):
            home, going = lent[one], reached[places[one, _START] : places[one, _STOP]]
            relation_kernels.mark_rows(going, home[1], home[4], home[5], how[_ADD], how[_REMOVE])
            fresh[one] = places[one, _STOP]
        used = np.int64(0)
        for one in range(relations):
            own = order[places[one, _ORDER] : places[one + 1, _ORDER]]
            found = counts[places[one, _ORDER] : places[one + 1, _ORDER]]
            going = reached[places[one, _START] : places[one, _STOP]]
            if own.shape[0] == 0 or going.shape[0] == 0:
                found[:] = 0
                continue
            rows = lent[one][0]
            driving = np.empty((going.shape[0], rows.shape[1]), np.int32)
            for i in range(going.shape[0]):
                for column in range(rows.shape[1]):
                    driving[i, column] = rows[going[i], column]
            written, looked = run_all(driving, parts, own, arrays, found, table[used:], fuel)
            used, fuel = used + written, fuel - looked
        for at in range(order.shape[0]):
            fresh[heads[order[at]]] += counts[at]
        if np.any(counts == UNFINISHED) or np.any(fresh > places[:relations, _END]):
            break
        used = np.int64(0)
        for one in range(relations):
            fresh[one] = places[one, _STOP]
        for at in range(order.shape[0]):
            one = heads[order[at]]
            rows, marks, slots, indexes, counters, journal, ahead = lent[one]
            some = table[used : used + counts[at] * rows.shape[1]].reshape((counts[at], rows.shape[1]))
            used += counts[at] * rows.shape[1]
            if how[_IS_OPEN]:
                fresh[one] += relation_kernels.store_rows(
                    some, rows, marks, slots, indexes, counters, journal, how[_CARE], how[_WANT], how[_FOUND],
                    reached[fresh[one] :], ahead,
                )  # fmt: skip
            else:
                fresh[one] += relation_kernels.find_rows(
                    some, rows, marks, slots, counters, journal, how[_CARE], how[_WANT], how[_FOUND],
                    reached[fresh[one] :], ahead,
                )  # fmt: skip
            totals[at] += counts[at]
        for one in range(relations):
            home, going = lent[one], reached[places[one, _START] : places[one, _STOP]]
            relation_kernels.mark_rows(going, home[1], home[4], home[5], np.int64(0), how[_AFTER])
            places[one, _START], places[one, _STOP] = places[one, _STOP], fresh[one]
        rounds += 1
    return rounds


class Relay:
    """The relations between which facts of a stage pass marks on, and the programs that they drive."""

    def __init__(self, relations: Sequence[Relation], bundle: Bundle) -> None:
        self.relations, self.bundle = relations, bundle
        numbers = {one.name: number for number, one in enumerate(relations)}
        self.heads = np.array([numbers[one.plan.rule.head.relation] for one in bundle.executables], np.int64)
        """The relation of each program's heads, by number."""
        self._drivers = [numbers[one.plan.relation or ""] for one in bundle.executables]
        self._useful, self._ordered = np.empty(0, np.int64), (np.empty(0, np.int64), [0] * (len(relations) + 1))

    def ordered(self, useful: Array) -> tuple[Array, list[int]]:
        """Some programs by the relation that drives them, and where those of each relation begin."""
        if useful is not self._useful:
            drivers = self._drivers
            order = sorted(useful.tolist(), key=lambda at: (drivers[at], at))
            bounds = [sum(drivers[at] < number for at in order) for number in range(len(self.relations) + 1)]
            self._useful, self._ordered = useful, (np.array(order, np.int64), bounds)
        return self._ordered


class Swept(NamedTuple):
    """What some rounds gave."""

    found: LocalFacts
    driving: LocalFacts
    rounds: int
    hits: list[tuple[str, int]]
    """How many instances a rule had, by its key."""


def sweep(relay: Relay, driving: Mapping[str, Array], heads: View, passing: Passing, table: Array) -> Swept:
    """As many rounds as fit into one kernel call, perhaps not even one."""
    relations, bundle = relay.relations, relay.bundle
    rooms = [min(_MOST_FOUND, max(_LEAST_ROOM, one.count)) for one in relations]
    sizes, baring = [len(driving.get(one.name, ())) for one in relations], not passing.numbers[1] & _NOW
    with bundle.latch, relations[0].latch:
        epochs = None
        while epochs != [one.epoch for one in relations]:
            given = zip(relations, sizes, rooms)
            lent = tuple([one.lend(size, room, heads, baring=baring) for one, size, room in given])
            epochs = [one.epoch for one in relations]
            programs = bundle.ready(sum(rooms))  # may make indexes, which are lent with everything else
        order, bounds = relay.ordered(programs.order)
        reached, places = _placed(relations, driving, rooms, bounds)
        totals = np.zeros(len(order), np.int64)
        how = np.array((heads.care, heads.want, *passing.numbers, heads.want == 0), np.int64)
        if len(lent) > 1:
            lent += lent[:1] * (MOST_RELATIONS - len(lent))
        rounds = _sweep(
            reached, places, programs.parts, order, relay.heads, programs.arrays, totals, table, lent, how,
            bounded(_FUEL),
        )  # fmt: skip
    hits = [(bundle.executables[at].plan.rule.key, hit) for at, hit in zip(order.tolist(), totals.tolist()) if hit]
    found, left = {}, {}
    for one, size, (first, start, stop, _, _) in zip(relations, sizes, places.tolist()):
        found[one.name], left[one.name] = reached[first + size : stop], reached[start:stop]
    return Swept(LocalFacts(found), LocalFacts(left), rounds, hits)


def _placed(
    relations: Sequence[Relation], driving: Mapping[str, Array], rooms: Sequence[int], bounds: Sequence[int]
) -> tuple[Array, Array]:
    """The driving facts with room behind those of each relation, and where everything is."""
    places, first = [], 0
    for one, room, order in zip(relations, rooms, bounds):
        stop = first + len(driving.get(one.name, ()))
        places.append((first, first, stop, stop + room, order))
        first = stop + room
    reached = np.empty(first, np.int32)
    for one, (begin, _, stop, _, _) in zip(relations, places):
        if stop > begin:
            reached[begin:stop] = driving[one.name]
    return reached, np.array([*places, (first, first, first, first, bounds[-1])], np.int64)

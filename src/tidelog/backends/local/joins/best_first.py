"""Best values from the best to the next best.

What      : `BestFirst` finds the final values of a recursion through `min` or `max` after some values got better:
            shortest paths, if its steps are the edges of a graph.
Idea      : a group whose value is the best of those that wait can hardly get a better one, so its steps are taken
            first, and every group is visited about once. Rounds visit a group whenever its value gets better, and
            every round has the price of its calls.
Source    : Dijkstra 1959; a group that gets a better value all the same (a negative weight) waits again.
Invariant : every value found is one that steps lead to from a value that is there. So a caller who derives everything
            from the values found has what rounds would have come to. Nothing is found (None) where values are no
            numbers of one kind, leave 62 bits or are not finite, or where they still get better after a time that
            graphs without negative weights do not take: then rounds have to find out.
Never     : no rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from tidelog.backends.local.constants.dictionary import Dictionary
from tidelog.backends.local.constants.dictionary_kernels import KIND_FLOAT, KIND_INT
from tidelog.backends.local.constants.function_kernels import as_float
from tidelog.backends.local.joins.best_members import number_rows, slots_for
from tidelog.backends.local.joins.bundle import MOST_DRIVING
from tidelog.backends.local.joins.preparation import Preparation
from tidelog.backends.local.joins.runner import Runner
from tidelog.backends.local.kernels.compiled import Array, Int, allocating, compiled
from tidelog.backends.local.relations.facts import LocalFacts
from tidelog.backends.local.relations.relation import Relation
from tidelog.maintenance.versions import NEW_VERSION
from tidelog.planning.lowered import Stage
from tidelog.planning.plan import Driver
from tidelog.planning.value_steps import FROM, ValueSteps
from tidelog.planning.views import ANY, NO_MARKS, Matching, View

_PATIENCE = 16
"""How many times the number of steps may be taken: without negative weights each is taken once."""
_MOST_INT, _MOST_FLOAT = np.int64(2**62), np.float64(1e308)
_LARGE = 2.0**62
_DENSE = 16
"""Keys are numbered by a table of all constants if there are at most this number of constants for each."""


@compiled
def rise(heap: Array, places: Array, values: Array, at: Int) -> None:
    """Move a waiting node towards the top until the one above it is no worse."""
    node = heap[at]
    while at > 0:
        above = (at - 1) >> 1
        other = heap[above]
        if values[other] <= values[node]:
            break
        heap[at] = other
        places[other] = at
        at = above
    heap[at] = node
    places[node] = at


@compiled
def sink(heap: Array, places: Array, values: Array, size: Int) -> None:
    """Move the node at the top down until those below it are no better."""
    at, node = 0, heap[0]
    while True:
        below = 2 * at + 1
        if below >= size:
            break
        if below + 1 < size and values[heap[below + 1]] < values[heap[below]]:
            below += 1
        other = heap[below]
        if values[node] <= values[other]:
            break
        heap[at] = other
        places[other] = at
        at = below
    heap[at] = node
    places[node] = at


@compiled
def arrange(sources: Array, targets: Array, weights: Array, starts: Array, ends: Array, lengths: Array) -> None:
    """Steps by their source: those of node n come to stand from starts[n] to starts[n + 1], which begins as zeros."""
    for step in range(sources.shape[0]):
        starts[sources[step] + 1] += 1
    for node in range(1, starts.shape[0]):
        starts[node] += starts[node - 1]
    for step in range(sources.shape[0] - 1, -1, -1):
        node = sources[step] + 1
        starts[node] -= 1
        ends[starts[node]], lengths[starts[node]] = targets[step], weights[step]
    for node in range(starts.shape[0] - 1):
        starts[node] = starts[node + 1]
    starts[starts.shape[0] - 1] = sources.shape[0]


@compiled
def walk(
    starts: Array,
    targets: Array,
    weights: Array,
    values: Array,
    is_known: Array,
    waiting: Array,
    most: Array,
    patience: Int,
    heap: Array,
    places: Array,
) -> bool:
    """Take steps from the waiting nodes until no value gets less; False if a value leaves its bounds, or too many."""
    size = np.int64(0)
    for position in range(waiting.shape[0]):
        node = np.int64(waiting[position])
        if places[node] < 0:
            heap[size] = node
            rise(heap, places, values, size)
            size += 1
    while size > 0:
        node = np.int64(heap[0])
        places[node] = -1
        size -= 1
        if size > 0:
            heap[0] = heap[size]
            sink(heap, places, values, size)
        patience -= starts[node + 1] - starts[node]
        if patience < 0:
            return False
        for step in range(starts[node], starts[node + 1]):
            target = np.int64(targets[step])
            value = values[node] + weights[step]
            if not (-most[0] <= value <= most[0]):
                return False
            if is_known[target] and values[target] <= value:
                continue
            values[target], is_known[target] = value, True
            at = np.int64(places[target])
            if at < 0:
                at = size
                heap[size] = target
                size += 1
            rise(heap, places, values, at)
    return True


@allocating
def come_to_rest(
    sources: Array, targets: Array, weights: Array, owners: Array, given: Array, waiting: Array, size: Int, most: Array,
    changed: Array, found: Array, gone: Array,
) -> tuple[Int, Int]:  # fmt: skip
    """Walk from the waiting nodes; `owners` are the nodes that have a value, which is `given`.

    Nodes with another value than before go into `changed`, with their values in `found`; the positions of those that
    were given go into `gone`. The numbers of both are returned; -1 where values did not come to rest.
    """
    starts, ends, lengths = np.zeros(size + 1, np.int64), np.empty_like(targets), np.empty_like(weights)
    arrange(sources, targets, weights, starts, ends, lengths)
    values, is_known = np.zeros(size, given.dtype), np.zeros(size, np.bool_)
    for i in range(owners.shape[0]):
        values[owners[i]], is_known[owners[i]] = given[i], True
    before, was_known = values.copy(), is_known.copy()
    heap, places, patience = np.empty(size, np.int64), np.full(size, -1, np.int64), _PATIENCE * weights.shape[0] + size
    if not walk(starts, ends, lengths, values, is_known, waiting, most, patience, heap, places):
        return np.int64(-1), np.int64(-1)
    came, went = np.int64(0), np.int64(0)
    for node in range(size):
        if is_known[node] and not (was_known[node] and values[node] == before[node]):
            changed[came], found[came] = node, values[node]
            came += 1
    for i in range(owners.shape[0]):
        if values[owners[i]] != given[i]:
            gone[went] = i
            went += 1
    return came, went


@compiled
def as_numbers(ids: Array, kinds: Array, payloads: Array, kind: Int, numbers: Array) -> bool:
    """The payloads of constants; False if one is of another kind, or too large for a quick sum."""
    for i in range(ids.shape[0]):
        payload = payloads[ids[i]]
        size = abs(as_float(payload)) if kind == KIND_FLOAT else abs(np.float64(payload))
        if kinds[ids[i]] != kind or not size < _LARGE:
            return False
        numbers[i] = payload
    return True


class BestFirst:
    """Best values of one store."""

    def __init__(
        self,
        preparation: Callable[[Stage], Preparation],
        runner: Runner,
        relations: Mapping[str, Relation],
        dictionary: Dictionary,
    ) -> None:
        self._preparation, self._runner, self._relations, self._dictionary = preparation, runner, relations, dictionary

    def improved(
        self, steps: ValueSteps, better: LocalFacts, current: View, within: LocalFacts
    ) -> tuple[LocalFacts, LocalFacts] | None:
        """What best values come to: everywhere, or in the groups of some facts; see the protocol."""
        best, new = self._relations[steps.group.relation], better.parts[steps.group.relation]
        if within:
            tables, rows = self._inside(steps, best.rows.take(within.parts[best.name], axis=0)), np.sort(new)
        else:
            tables, rows = self._runner.tables(self._preparation(steps.stage), NEW_VERSION), best.select(current)
        if tables is None:
            return None
        return self._walked(steps, tables, best, new, rows)

    def _driven(self, prepared: Preparation, matching: Matching, keys: Array) -> list[Array] | None:
        """The facts of each rule of steps that begin with given groups; None if they are too many for one call."""
        crew = prepared.crew(FROM, Driver.LITERAL, matching)
        if crew.bundle is None or crew.others or not keys.shape[1] or len(keys) > MOST_DRIVING:
            return None
        self._runner.ask_budget()
        matches = crew.bundle.matches(keys, self._runner.scratch)
        if matches.unfinished:
            return None
        found = {rule.head.relation: table.copy() for rule, table in matches.tables}
        rules = ((rule.head.relation, len(rule.head.terms)) for rule in prepared.stage.rules)
        return [found.get(name, np.empty((0, width), np.int32)) for name, width in rules]

    def _inside(self, steps: ValueSteps, lost: Array) -> list[Array] | None:
        """The steps from the groups of lost values to others of them; None if a sum with any lost value may overflow.

        Then a group elsewhere may get a better value because this one is lost.
        """
        width, count, kind = steps.group.group, len(lost), int(self._dictionary.kinds[lost[0, -1]])
        region = np.ascontiguousarray(lost[:, :-1])
        tables = self._driven(self._preparation(steps.onward), NEW_VERSION, region)
        if tables is None or self._numbers(lost[:, -1], kind, 1) is None:
            return None
        found = list[Array]()
        for table, sign in zip(tables, steps.signs):
            if sign and self._numbers(table[:, -1], kind, 1) is None:
                return None
            numbers = _numbered(np.concatenate([region, table[:, width : 2 * width]]), None)[1]
            found.append(table[numbers[count:] <= numbers[:count].max()])  # the groups of the region come first
        return found

    def _walked(
        self, steps: ValueSteps, tables: Sequence[Array], best: Relation, better: Array, rows: Array
    ) -> tuple[LocalFacts, LocalFacts] | None:
        """What the values of some rows come to; the tables hold the facts of each step's rule."""
        held, width, edges = best.rows.take(rows, axis=0), steps.group.group, sum(map(len, tables))
        sense = 1 if steps.group.function == "min" else -1
        kind = int(self._dictionary.kinds[held[0, -1]]) if len(held) else -1
        given = self._numbers(held[:, -1], kind, sense)
        if given is None:
            return None
        weights = list[Array]()
        for table, sign in zip(tables, steps.signs):
            some = self._numbers(table[:, -1], kind, sense * sign) if sign else np.zeros(len(table), given.dtype)
            if some is None:
                return None
            weights.append(some)
        parts = [table[:, at : at + width] for at in (0, width) for table in tables]
        keys, inverse = _numbered(np.concatenate([*parts, held[:, :width]]), self._dictionary)
        sources, targets, owners = inverse[:edges], inverse[edges : 2 * edges], inverse[2 * edges :]
        most = np.array([_MOST_FLOAT if kind == KIND_FLOAT else _MOST_INT])
        waiting, added = owners[np.searchsorted(rows, better)], np.concatenate(weights)
        changed, found, gone = np.empty(len(keys), np.int64), np.empty(len(keys), given.dtype), np.empty_like(owners)
        came, went = come_to_rest(
            sources, targets, added, owners, given, waiting, len(keys), most, changed, found, gone,
        )  # fmt: skip
        if came < 0:
            return None
        facts = np.empty((came, width + 1), np.int32)
        facts[:, :-1] = keys[changed[:came]]
        payloads = (sense * found[:came] + 0).view(np.int64)
        facts[:, -1] = self._dictionary.encode_scalars(np.array([kind], np.int8), payloads)
        stored = best.store(facts, ANY, NO_MARKS)
        return LocalFacts({best.name: stored}), LocalFacts({best.name: rows[gone[:went]]})

    def _numbers(self, ids: Array, kind: int, sign: int) -> Array | None:
        """Constants as numbers, with a sign; None if they are no numbers of that kind, or too large."""
        numbers, d = np.empty(len(ids), np.int64), self._dictionary
        if kind not in (KIND_INT, KIND_FLOAT):
            return None
        if not as_numbers(np.ascontiguousarray(ids), d.kinds, d.payloads, kind, numbers):
            return None
        found = numbers.view(np.float64) if kind == KIND_FLOAT else numbers
        return found if sign > 0 else -found


def _numbered(keys: Array, dictionary: Dictionary | None) -> tuple[Array, Array]:
    """The distinct keys, and for each key its number; many keys of one column by a table of all constants."""
    size = len(keys)
    if not keys.shape[1]:
        return keys[:1], np.zeros(size, np.int64)
    if dictionary is None or keys.shape[1] > 1 or len(dictionary.kinds) > _DENSE * size:
        firsts, numbers = np.empty(size, np.int32), np.empty(size, np.int64)
        slots = np.full(slots_for(size), -1, np.int32)
        count = number_rows(np.arange(size, dtype=np.int32), keys, keys.shape[1], slots, firsts, numbers)
        return keys[firsts[:count]], numbers
    is_there = np.zeros(len(dictionary.kinds), np.bool_)
    is_there[keys[:, 0]] = True
    found = np.flatnonzero(is_there)
    number = np.empty(len(is_there), np.int64)
    number[found] = np.arange(len(found))
    return found.astype(np.int32)[:, None], number[keys[:, 0]]

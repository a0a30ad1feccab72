"""Best values from the best to the next best.

What      : `BestFirst` finds what the values of a recursion through `min` or `max` come to, given some that are new:
            shortest paths, if its steps are the edges of a graph; and which values stand on some that are lost.
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
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from tidelog.backends.local.constants import functions
from tidelog.backends.local.constants.dictionary import Dictionary
from tidelog.backends.local.constants.dictionary_kernels import KIND_FLOAT, KIND_INT
from tidelog.backends.local.joins.bundle import MOST_DRIVING
from tidelog.backends.local.joins.preparation import Preparation
from tidelog.backends.local.joins.runner import Runner
from tidelog.backends.local.kernels.compiled import Array, Int, compiled
from tidelog.backends.local.relations.facts import LocalFacts
from tidelog.backends.local.relations.relation import Relation
from tidelog.maintenance.versions import NEW_VERSION
from tidelog.planning.lowered import Stage
from tidelog.planning.plan import Driver
from tidelog.planning.value_steps import FROM, ValueSteps
from tidelog.planning.views import ANY, KEPT, NO_MARKS, NOW, OLD, Mark, Matching, View

_PATIENCE = 16
"""How many times the number of steps may be taken: without negative weights each is taken once."""
_MOST_INT, _MOST_FLOAT = np.int64(2**62), np.float64(1e308)
_NO_ROWS = np.empty(0, np.int32)
_DENSE = 16
"""Keys are numbered by a table of all constants if these are at most so many times as many."""


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


class _Graph(NamedTuple):
    """Groups as nodes: their keys by number, the number of each step's source and target, and of each value's group."""

    keys: Array
    sources: Array
    targets: Array
    owners: Array


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
            region = best.rows.take(within.parts[best.name], axis=0)[:, :-1]
            tables, rows = self._inside(steps, region), np.sort(new)
        else:
            tables, rows = self._runner.tables(self._preparation(steps.stage), NEW_VERSION), best.select(current)
        if tables is None:
            return None
        return self._walked(steps, tables, best, new, rows)

    def standing(self, steps: ValueSteps, lost: LocalFacts, heads: View, add: Mark) -> LocalFacts | None:
        """What stands on lost best values, level by level; see the protocol."""
        best, found, matching = self._relations[steps.group.relation], list[Array](), _standing(heads)
        if steps.standing is None:
            return None
        keys = best.rows.take(lost.parts[best.name], axis=0)[:, :-1]
        while len(keys):
            tables = self._driven(self._preparation(steps.standing), matching, keys)
            facts = None if tables is None else self._held_up(steps, tables)
            if facts is None:
                best.mark(np.concatenate([*found, _NO_ROWS]), NO_MARKS, add)
                return None
            found.append(best.store(facts, heads, add))
            keys = best.rows.take(found[-1], axis=0)[:, :-1]
        return LocalFacts({best.name: np.concatenate([*found, _NO_ROWS])})

    def _driven(self, prepared: Preparation, matching: Matching, keys: Array) -> list[Array] | None:
        """The facts of each rule of steps that begin with given groups; None if they are too many for one call."""
        crew = prepared.crew(FROM, Driver.LITERAL, matching)
        if crew.bundle is None or crew.others or not keys.shape[1] or len(keys) > MOST_DRIVING:
            return None
        self._runner.ask_budget()
        matches = crew.bundle.matches(np.ascontiguousarray(keys), self._runner.scratch)
        if matches.unfinished:
            return None
        found = {rule.head.relation: table.copy() for rule, table in matches.tables}
        rules = ((rule.head.relation, len(rule.head.terms)) for rule in prepared.stage.rules)
        return [found.get(name, np.empty((0, width), np.int32)) for name, width in rules]

    def _inside(self, steps: ValueSteps, region: Array) -> list[Array] | None:
        """The steps from some groups to others of them."""
        tables, width = self._driven(self._preparation(steps.onward), NEW_VERSION, region), steps.group.group
        if tables is None:
            return None
        known = set(map(tuple, region.tolist()))
        are_inside = ([tuple(key) in known for key in table[:, width : 2 * width].tolist()] for table in tables)
        return [table[np.array(inside, np.bool_)] for table, inside in zip(tables, are_inside)]

    def _held_up(self, steps: ValueSteps, tables: Sequence[Array]) -> Array | None:
        """The best values that a step gives, as rows; None where values are no numbers of one kind."""
        width, found = steps.group.group, []
        for table, sign in zip(tables, steps.signs):
            ids = [table[:, width], table[:, width + 1], *([table[:, width + 2]] if sign else ())]
            numbers = _numbers(self._dictionary, ids) if len(table) else (KIND_INT, [np.empty(0, np.int64)] * 3)
            if numbers is None:
                return None
            after, before, *added = numbers[1]
            gives = before + sign * added[0] if sign else before
            found.append(table[after == gives][:, : width + 1])
        return np.ascontiguousarray(np.concatenate(found))

    def _walked(
        self, steps: ValueSteps, tables: Sequence[Array], best: Relation, better: Array, rows: Array
    ) -> tuple[LocalFacts, LocalFacts] | None:
        """What the values of some rows come to; the tables hold the facts of each step's rule."""
        held = best.rows.take(rows, axis=0)
        ids = [table[:, -1] for table, sign in zip(tables, steps.signs) if sign]
        numbers = _numbers(self._dictionary, [held[:, -1], *ids])
        if numbers is None:
            return None
        kind, (given, *added) = numbers
        sense, parts = 1 if steps.group.function == "min" else -1, iter(added)
        weights = [
            sense * sign * next(parts) if sign else np.zeros(len(table), given.dtype)
            for sign, table in zip(steps.signs, tables)
        ]
        graph = _graph(tables, held, steps.group.group, self._dictionary)
        values, is_known = np.zeros(len(graph.keys), given.dtype), np.zeros(len(graph.keys), np.bool_)
        values[graph.owners], is_known[graph.owners] = sense * given, True
        before, was_known = values.copy(), is_known.copy()
        waiting = graph.owners[np.searchsorted(rows, better)]
        if not _came_to_rest(graph, np.concatenate(weights), values, is_known, waiting):
            return None
        is_changed = is_known & ~(was_known & (values == before))
        changed = np.flatnonzero(is_changed)
        table = np.empty((len(changed), held.shape[1]), np.int32)
        table[:, :-1] = graph.keys[changed]
        payloads = (sense * values[changed] + 0).view(np.int64)
        table[:, -1] = self._dictionary.encode_scalars(np.array([kind], np.int8), payloads)
        came, went = best.store(table, ANY, NO_MARKS), rows[is_changed[graph.owners]]
        return LocalFacts({best.name: came}), LocalFacts({best.name: went})


@lru_cache
def _standing(heads: View) -> Matching:
    """Over what has not changed below, from any best value of both versions to those of a view."""
    return Matching(KEPT, heads, (OLD, NOW), (OLD, NOW), lower_before=KEPT, lower_after=KEPT)


def _numbers(dictionary: Dictionary, columns: Sequence[Array]) -> tuple[int, list[Array]] | None:
    """The kind of all constants, and these as numbers; None if they are of several kinds, no numbers, or too large."""
    kind = int(dictionary.kinds[columns[0][0]]) if len(columns[0]) else -1
    if kind not in (KIND_INT, KIND_FLOAT):
        return None
    found = []
    for ids in columns:
        if (dictionary.kinds[ids] != kind).any():
            return None
        payloads = dictionary.payloads[ids]
        found.append(payloads.view(np.float64) if kind == KIND_FLOAT else payloads)
        if len(ids) and not np.abs(found[-1].astype(np.float64)).max() < 2.0**62:
            return None
    return kind, found


def _graph(tables: Sequence[Array], held: Array, width: int, dictionary: Dictionary) -> _Graph:
    parts = [table[:, :width] for table in tables] + [table[:, width : 2 * width] for table in tables]
    together = np.concatenate([*parts, held[:, :width]])
    keys, inverse = _numbered(together, dictionary)
    edges = sum(map(len, tables))
    return _Graph(keys, inverse[:edges], inverse[edges : 2 * edges], inverse[2 * edges :])


def _numbered(keys: Array, dictionary: Dictionary) -> tuple[Array, Array]:
    """The distinct keys, and for each key its number."""
    if not keys.shape[1]:
        return keys[:1], np.zeros(len(keys), np.int64)
    constants = len(dictionary.kinds)
    if keys.shape[1] > 1 or constants > _DENSE * len(keys):
        first, inverse = functions.distinct_rows(list(keys.T))
        return keys[first], inverse
    is_there = np.zeros(constants, np.bool_)
    is_there[keys[:, 0]] = True
    found = np.flatnonzero(is_there)
    number = np.empty(constants, np.int64)
    number[found] = np.arange(len(found))
    return found.astype(np.int32)[:, None], number[keys[:, 0]]


def _came_to_rest(graph: _Graph, weights: Array, values: Array, is_known: Array, waiting: Array) -> bool:
    """Whether values came to rest."""
    size, count = len(graph.keys), len(weights)
    starts, targets, lengths = np.zeros(size + 1, np.int64), np.empty(count, np.int64), np.empty_like(weights)
    arrange(graph.sources, graph.targets, weights, starts, targets, lengths)
    most = np.array([_MOST_FLOAT if weights.dtype == np.float64 else _MOST_INT])
    heap, places = np.empty(size, np.int64), np.full(size, -1, np.int64)
    return bool(walk(starts, targets, lengths, values, is_known, waiting, most, _PATIENCE * count + size, heap, places))

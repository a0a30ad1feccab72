"""Groups and aggregates.

What      : `Aggregate` gives one row for each group of rows: the columns of the group, and a value over its members.
Idea      : `count`, `sum` and `mean` are linear in the weights, so each group has a running total, which is exact:
            whole numbers have no bound, and a float is a whole number of units of 2^-1074. So inserting and deleting a
            row leaves the total that was there before. For `min`, `max` and `median` a large group is kept in order
            from the first change on that touches it (orders.py); small groups are read.
Invariant : a group whose members add up to no weight has no row. A row of weight 2 counts as two members.
Cost      : per changed row for `count`, `sum`, `mean`, and the logarithm of its group for `min`, `max`, `median`.
Never     : inside a recursion (E872).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from tidelog.backends.local.constants.dictionary import Dictionary
from tidelog.backends.local.constants.exact_sums import UNITS, units
from tidelog.backends.local.kernels.compiled import Array
from tidelog.circuits.operators import Operator, Stored
from tidelog.circuits.orders import LARGE, Orders
from tidelog.circuits.trace import Trace
from tidelog.circuits.zset import ZSet
from tidelog.errors import UsageError
from tidelog.language import partial
from tidelog.language.terms import Value

LINEAR, ORDERED = ("count", "sum", "mean"), ("min", "max", "median")
FUNCTIONS = (*LINEAR, *ORDERED)
_FEW = 16
"""A group gets a tree when at most one in this many of its members has changed: it may change again."""


class Aggregate(Operator):
    """One value over each group."""

    word = "aggregate"

    def __init__(self, dictionary: Dictionary, arity: int, keys: Sequence[int], function: str, column: int) -> None:
        super().__init__(dictionary, len(keys) + 1, f"{function} by {', '.join(map(str, keys)) or 'nothing'}")
        if function not in FUNCTIONS:
            raise UsageError.of("E871", f"there is no aggregate {function!r}", remedy=f"use {', '.join(FUNCTIONS)}")
        self._keys, self._function, self._column = list(keys), function, column
        self._members, self._orders = Trace(arity), Orders(function, dictionary)
        self._totals: dict[tuple[int, ...], tuple[int, int, int]] = {}
        """Per group: members, the total in whole numbers or units, and how many of the members are floats."""
        self._fresh: dict[tuple[int, ...], tuple[int, int, int]] = {}
        self._change = self.nothing()

    def step(self, changes: Sequence[ZSet], number: int) -> ZSet:  # noqa: ARG002
        """New rows of the groups that changed, less their old ones."""
        self._change = change = changes[0]
        if not len(change):
            return self.nothing()
        return self._linear(change) if self._function in LINEAR else self._ordered(change)

    def _linear(self, change: ZSet) -> ZSet:
        values: Sequence[Value] = [0] * len(change)
        if self._function != "count":
            values = self.dictionary.decode(np.ascontiguousarray(change.rows[:, self._column]))
        self._fresh = {}
        for key, value, weight in zip(map(tuple, change.rows[:, self._keys].tolist()), values, change.weights.tolist()):
            members, total, floats = self._fresh.get(key) or self._totals.get(key, (0, 0, 0))
            if type(value) not in (int, float):
                raise UsageError.of(
                    "E873", f"{self._function} of {value!r}, which is no number", remedy="aggregate a column of numbers"
                )
            is_float = isinstance(value, float)
            self._fresh[key] = members + weight, total + weight * units(value), floats + weight * is_float
        rows: list[tuple[int, ...]] = []
        weights: list[int] = []
        for key, after in self._fresh.items():
            for state, weight in ((self._totals.get(key), -1), (after, 1)):
                if state is not None and state[0] > 0:
                    rows.append((*key, self._number(self._result(state))))
                    weights.append(weight)
        return self._zset(rows, weights)

    def _result(self, state: tuple[int, int, int]) -> Value:
        members, total, floats = state
        if self._function == "count":
            return members
        if self._function == "mean":
            return total / (UNITS * members)
        return total / UNITS if floats else total // UNITS

    def _ordered(self, change: ZSet) -> ZSet:
        """Groups that have a tree by that, the others by reading."""
        groups = np.unique(change.rows[:, self._keys], axis=0)
        at = _numbers(groups, change.rows[:, self._keys])
        order = np.argsort(at, kind="stable")
        bounds = np.searchsorted(at[order], np.arange(len(groups) + 1)).tolist()
        made: list[tuple[tuple[int, ...], int]] = []
        unread: list[int] = []
        for number, key in enumerate(map(tuple, groups.tolist())):
            found = None
            if key in self._orders:
                chosen = order[bounds[number] : bounds[number + 1]]
                rows = change.rows[chosen]
                before = self._members.sums(rows)[0]
                ids = np.ascontiguousarray(rows[:, self._column])
                found = self._orders.change(key, ids, before, before + change.weights[chosen])
            if found is None:
                unread.append(number)
            elif found[0] != found[1]:
                made += [((*key, found[0]), -1), ((*key, found[1]), 1)]
        if unread:
            made += self._read(change.where(np.isin(at, unread)), groups[unread])
        return self._zset([row for row, _ in made], [weight for _, weight in made])

    def _read(self, change: ZSet, groups: Array) -> list[tuple[tuple[int, ...], int]]:
        """Rows that come and go of groups whose members are read; a large one gets a tree."""
        places, at = self._members.find(groups, tuple(self._keys))
        rows, weights = self._members.rows(places), self._members.weights[places]
        before = ZSet(self.dictionary, rows, weights)
        found = [(row, -1) for row in self._of_groups(before, groups, at)]
        after = ZSet.summed(self.dictionary, rows, weights) + change
        numbers = _numbers(groups, after.rows[:, self._keys])
        found += [(row, 1) for row in self._of_groups(after, groups, numbers)]
        order = np.argsort(numbers, kind="stable")
        sizes = np.bincount(numbers, minlength=len(groups))
        stops, came = np.cumsum(sizes), np.bincount(_numbers(groups, change.rows[:, self._keys]), minlength=len(groups))
        for number in np.flatnonzero((sizes >= LARGE) & (came * _FEW <= sizes)).tolist():
            chosen = order[stops[number] - sizes[number] : stops[number]]
            ids = np.ascontiguousarray(after.rows[chosen, self._column])
            self._orders.open(tuple(groups[number].tolist()), ids, after.weights[chosen])
        return found

    def _of_groups(self, members: ZSet, groups: Array, at: Array) -> list[tuple[int, ...]]:
        """For each group with members, its key and its value."""
        values = self.dictionary.decode(np.ascontiguousarray(members.rows[:, self._column]))
        order = np.argsort(at, kind="stable")
        bounds = [*np.flatnonzero(np.diff(at[order], prepend=-1)).tolist(), len(order)] if len(order) else [0]
        found = []
        for start, stop in pairwise(bounds):
            chosen = order[start:stop]
            value = self._of([values[i] for i in chosen], members.weights[chosen].tolist())
            if value is not None:
                found.append((*groups[at[chosen[0]]].tolist(), self._number(value)))
        return found

    def _of(self, values: Sequence[Any], weights: Sequence[int]) -> Any:  # noqa: ANN401 - a value
        """The value of one group; None without members. Of an int and an equal float it is the int."""
        members = [(value, weight) for value, weight in zip(values, weights) if weight > 0]
        kinds = {float if type(value) in (int, float) else type(value) for value, _ in members}
        if len(kinds) > 1 or not kinds <= ({float} if self._function == "median" else {float, bool, str}):
            raise self._unordered()
        if not members:
            return None
        if self._function == "min":
            return min((value for value, _ in members), key=lambda value: (value, type(value) is float))
        if self._function == "max":
            return max((value for value, _ in members), key=lambda value: (value, type(value) is not float))
        members.sort(key=lambda member: (member[0], type(member[0]) is float))
        total, seen, middle = sum(weight for _, weight in members), 0, list[float]()
        for value, weight in members:
            middle += [value for place in ((total - 1) // 2, total // 2) if seen <= place < seen + weight]
            seen += weight
        found = partial.aggregate("median", middle)
        if found is None and middle[0] == middle[1]:  # their sum is too large
            return float(middle[0])
        if found is None:
            raise UsageError.of(
                "E873", f"the sum of {middle[0]} and {middle[1]}, for a median, is no float", remedy="scale the column"
            )
        return found

    def _unordered(self) -> UsageError:
        return UsageError.of(
            "E873", f"{self._function} of values without a common order", remedy="aggregate a column of one type"
        )

    def _number(self, value: Value) -> int:
        return int(self.dictionary.encode([value])[0])

    def _zset(self, rows: list[tuple[int, ...]], weights: list[int]) -> ZSet:
        table = np.array(rows, np.int32).reshape(len(rows), self.arity)
        return ZSet.summed(self.dictionary, table, np.array(weights, np.int64))

    def commit(self) -> None:
        """Keep members or totals."""
        if self._function in ORDERED:
            self._members.add(self._change.rows, self._change.weights)

    def take_back(self) -> None:
        """Forget them again."""
        if self._function in ORDERED:
            self._members.add(self._change.rows, -self._change.weights)

    def finish(self) -> None:
        """The totals of this moment are in force; groups without members are forgotten."""
        self._totals.update(self._fresh)
        for key in [key for key, state in self._fresh.items() if not any(state)]:
            del self._totals[key]
        self._fresh, self._change = {}, self.nothing()
        self._members.compact()
        self._orders.settle()

    def undo(self) -> None:
        """Forget what the moment brought."""
        super().undo()
        self._fresh, self._change = {}, self.nothing()
        self._orders.undo()

    @property
    def nbytes(self) -> int:
        """The memory of members, and about that of totals."""
        return self._members.nbytes + self._orders.nbytes + 200 * len(self._totals)

    def stored(self) -> Stored:
        """Members, and totals as text: they may be larger than 64 bits."""
        totals = [" ".join(map(str, (*key, *state))) for key, state in self._totals.items()]
        return {**self._members.stored(), "totals": np.array(totals, str)}

    def load(self, stored: Stored) -> None:
        """Take them over."""
        self._members.load(stored)
        self._orders.clear()
        self._totals = {}
        for text in stored["totals"].tolist():
            *key, members, total, floats = map(int, text.split())
            self._totals[tuple(key)] = members, total, floats


def _numbers(groups: Array, keys: Array) -> Array:
    """The number of the group of each key; groups are distinct and in order."""
    if not groups.shape[1]:
        return np.zeros(len(keys), np.int64)
    _, found = np.unique(np.concatenate([groups, keys]), axis=0, return_inverse=True)
    return found.reshape(-1)[len(groups) :]

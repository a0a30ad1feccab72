"""Aggregates over groups.

What      : finds the aggregate facts that come and go with changed members, and touches only the groups of these.
Idea      : the members of a small group are read again, in the version NOW. A large group that changes a little gets a
            ledger (ledgers.py) when that first happens; from then on only what changed is looked at. Either way the
            result of each group is compared with that of the version OLD.
Invariant : a group without members has no aggregate fact (`count` and `sum` over nothing are rules of their own). One
            whose members have no aggregate is a fact of the relation of such groups, and of no other. Ledgers can be
            forgotten at any time: then members are read again.
Never     : no marks are changed here.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property

import numpy as np

from tidelog.backends.local.constants import functions
from tidelog.backends.local.constants.dictionary import Dictionary
from tidelog.backends.local.joins.best_members import best_of
from tidelog.backends.local.joins.row_lookups import distinct_rows, lookup
from tidelog.backends.local.joins.runner import with_columns
from tidelog.backends.local.kernels.compiled import Array
from tidelog.backends.local.relations.facts import NOTHING, LocalFacts, union
from tidelog.backends.local.relations.ledgers import Ledger, Place, ledger
from tidelog.backends.local.relations.relation import Relation
from tidelog.backends.local.relations.steps import never, pieces
from tidelog.planning.lowered import GroupRule
from tidelog.planning.views import ANY, NO_MARKS, NOW, OLD, Mark, View

_NOW, _OLD = int(Mark.NOW), int(Mark.OLD)
_NO_FACT = -2
"""Stands in the place of a result where a group has no members."""
_LARGE = 256
"""From how many members on a group may have a ledger: reading fewer takes some microseconds, as a ledger does."""
_FEW = 4
"""A ledger is made when at most a quarter of the members has changed; it is given up below a quarter of _LARGE."""
_PART, _MOST_PARTS, _SPREAD = 1 << 15, 1 << 12, 0x9E3779B1
"""About how many facts are regrouped in a step, how many steps there are at most, and what scatters groups."""

Key = tuple[int, ...]


class Groups:
    """The ledgers of all large groups of a store, by rule and group, as one version after the other."""

    def __init__(self, dictionary: Dictionary, pause: Callable[[], None] = never) -> None:
        self._dictionary, self._pause = dictionary, pause
        self._ledgers: dict[str, dict[Key, Ledger]] = {}
        self._changed: list[tuple[str, Key, Ledger]] = []
        self.nbytes = 0
        """The memory that ledgers take, about."""
        self.is_regrouping = False
        """Whether some groups are being looked at: another transaction that changes them would not be seen."""

    # -- versions --------------------------------------------------------------------------------------------------

    def commit(self) -> None:
        """What was changed stays. After an interrupt inside it, call it again."""
        for _, _, one in self._changed:
            one.settle()
            one.known, one.known_at = one.fresh, one.fresh_at
        self._changed = []

    def undo(self) -> None:
        """Every ledger is about the last version again."""
        for name, key, one in self._changed:
            if self._ledgers.get(name, {}).get(key) is one and not one.undo():
                self._drop(name, key)
        self._changed, self.is_regrouping = [], False

    def forget(self, relations: Iterable[str] | None = None) -> None:
        """Forget the ledgers of some rules, known by their relations, or of all."""
        for name in list(self._ledgers) if relations is None else self._ledgers.keys() & set(relations):
            self.nbytes -= sum(one.nbytes for one in self._ledgers.pop(name).values())

    def keep(self, relations: set[str]) -> None:
        """Forget the ledgers of all other rules."""
        self.forget(self._ledgers.keys() - relations)

    @contextmanager
    def beside(self) -> Iterator[None]:
        """Let another transaction end by itself."""
        changed, is_regrouping, self._changed = self._changed, self.is_regrouping, []
        try:
            yield
        finally:
            self._changed, self.is_regrouping = changed, is_regrouping

    def claims(self) -> Iterator[tuple[str, Array]]:
        """Between transactions: the facts that the ledgers of each rule stand for, as rows, to be checked."""
        for name, ledgers in self._ledgers.items():
            found = ((key, one.result()) for key, one in ledgers.items())
            rows = [(*key, result) for key, result in found if result != functions.NO_VALUE]
            if rows:
                yield name, np.array(rows, np.int32)

    # -- regrouping ------------------------------------------------------------------------------------------------

    def regroup(
        self,
        rule: GroupRule,
        changed: Array | None,
        relation: Callable[[str, int], Relation],
        against: View,
        keeps: bool,
    ) -> tuple[LocalFacts, LocalFacts, int]:
        """The facts to insert and to delete, of results and of groups without one, and the number of groups.

        Among `changed` is every fact of its groups that is in one of the versions OLD and NOW only. `keeps` says
        whether ledgers may be kept: not where facts come from elsewhere, and go again, without a change. Ledgers
        compare versions; results `against` another view are found without them.
        """
        body = relation(rule.body_relation, rule.body_arity)
        result, lacking = relation(rule.relation, rule.group + 1), relation(rule.lacking, rule.group)
        if changed is None:
            return NOTHING, NOTHING, 0
        if len(changed) == 1:
            return self._regroup(rule, changed, body, (result, lacking), against, keeps)
        come, gone, groups = [], [], 0
        for part in filter(len, _parts(body, changed, rule.group, self._pause)):
            self.is_regrouping = True
            try:
                inserted, deleted, touched = self._regroup(rule, part, body, (result, lacking), against, keeps)
            finally:
                self.is_regrouping = False
            come.append(inserted)
            gone.append(deleted)
            groups += touched
            self._pause()
        return union(come, disjoint=True), union(gone, disjoint=True), groups

    def _regroup(
        self,
        rule: GroupRule,
        changed: Array,
        body: Relation,
        relations: tuple[Relation, Relation],
        against: View,
        keeps: bool,
    ) -> tuple[LocalFacts, LocalFacts, int]:
        """The same for some of the changed facts, with all that belong to their groups."""
        if against is not OLD and not relations[1].count:
            found = best_of(rule, changed, body, relations[0], against, self._dictionary)
            if found is not None:
                return found
        ledgers = self._ledgers.get(rule.relation) if against is OLD else None
        if ledgers and len(changed) == 1:
            row = changed[0]
            single = self._of_one(rule, body.rows[row].tolist(), int(body.marks[row]), relations)
            if single is not None:
                return *single, 1
        table = body.rows.take(changed, axis=0)
        groups = distinct_rows(table[:, : rule.group])
        task = _Regrouping(rule, body, relations, groups, table, changed, against)
        if ledgers:
            self._from_ledgers(task)
        waiting = np.flatnonzero(task.after == _UNKNOWN) if against is OLD else self._only_better(task)
        if len(waiting):
            self._read(task, waiting, keeps=keeps and against is OLD)
        insert, delete = task.facts()
        return insert, delete, len(groups)

    def _of_one(
        self,
        rule: GroupRule,
        fact: list[int],
        marks: int,
        relations: tuple[Relation, Relation],
    ) -> tuple[LocalFacts, LocalFacts] | None:
        """One changed fact of a group with a ledger, without arrays where numbers will do; None if it has none."""
        key = tuple(fact[: rule.group])
        one = self._ledgers[rule.relation].get(key)
        if one is None or (one.members - 1) * _FEW < _LARGE:
            return None
        before, sign = one.nbytes, bool(marks & _NOW) - bool(marks & _OLD)
        self._changed.append((rule.relation, key, one))
        if not one.change_one(fact[-1], sign):
            self._drop(rule.relation, key)
            return None
        self.nbytes += one.nbytes - before
        one.fresh, one.fresh_at = one.result(), one.known_at
        if one.fresh == one.known:
            return NOTHING, NOTHING
        gone = _fact(key, one.known, relations, OLD, one.known_at)
        come = _fact(key, one.fresh, relations, None)
        [(name, rows)] = come.parts.items()
        one.fresh_at = int(rows[0]), relations[name != rule.relation].epoch
        return come, gone

    def _from_ledgers(self, task: _Regrouping) -> None:
        """Let the ledgers of the groups take the changes in; one that would cost more than reading is given up."""
        name, known = task.rule.relation, self._ledgers[task.rule.relation]
        for number, key in list(task.known(known)):
            one, chosen = known[key], task.of(number)
            before = one.nbytes
            is_worth_it = len(chosen) * one.price <= one.members
            if is_worth_it and one.change(task.values(chosen), task.signs(chosen)) and one.members * _FEW >= _LARGE:
                self._changed.append((name, key, one))
                self.nbytes += one.nbytes - before
                one.fresh, one.fresh_at = one.result(), None
                task.before[number], task.after[number] = one.known, one.fresh
            else:
                self._drop(name, key)

    def _read(self, task: _Regrouping, waiting: Array, *, keeps: bool) -> None:
        """Aggregate the members of groups; of large ones that have changed a little, make ledgers."""
        rule, body, groups = task.rule, task.body, task.groups[waiting]
        rows, owners = lookup(body, groups, NOW)
        occupied, starts = _runs(owners)
        ids = np.ascontiguousarray(body.rows[rows, body.arity - 1])
        task.after[waiting] = _NO_FACT
        task.after[waiting[occupied]] = functions.aggregate(self._dictionary, rule.function, ids, starts)
        task.before[waiting] = task.stored(groups)
        sizes = np.diff(np.append(starts, len(rows)))
        for at in np.flatnonzero(sizes >= _LARGE).tolist() if keeps else ():
            number = int(waiting[occupied[at]])
            chosen = task.of(number)
            if len(chosen) * _FEW <= sizes[at] and task.before[number] != _NO_FACT:
                self._open(task, number, ids[starts[at] : starts[at] + sizes[at]], chosen)

    def _only_better(self, task: _Regrouping) -> Array:
        """Where members only came, the best of these and of the result before (`min`, `max`); the other groups."""
        task.before[:] = task.stored(task.groups)
        order, bounds = task.order
        stays = np.minimum.reduceat(task.is_now[order], bounds[:-1]) & (task.before >= 0)
        number = np.repeat(np.arange(len(task.groups)), np.diff(bounds))
        chosen = stays[number]
        owners = np.concatenate([number[chosen], np.flatnonzero(stays)])
        ids = np.concatenate([task.values(order[chosen]), task.before[stays]])
        by_owner = np.argsort(owners, kind="stable")
        occupied, starts = _runs(owners[by_owner])
        found = functions.aggregate(self._dictionary, task.rule.function, np.ascontiguousarray(ids[by_owner]), starts)
        task.after[occupied] = found
        return np.flatnonzero(~stays)

    def _open(self, task: _Regrouping, number: int, ids: Array, chosen: Array) -> None:
        made, key = ledger(task.rule.function, self._dictionary), tuple(task.groups[number].tolist())
        if made.open(ids, task.values(chosen), task.signs(chosen)):
            made.known, made.fresh = int(task.before[number]), int(task.after[number])
            self._changed.append((task.rule.relation, key, made))
            self._ledgers.setdefault(task.rule.relation, {})[key] = made
            self.nbytes += made.nbytes

    def _drop(self, name: str, key: Key) -> None:
        gone = self._ledgers.get(name, {}).pop(key, None)
        self.nbytes -= 0 if gone is None else gone.nbytes


_UNKNOWN = -3
"""Stands in the place of a result that is not known yet."""


class _Regrouping:
    """The groups of one call, and their results before and after: constants, or what stands in the place of one."""

    def __init__(
        self,
        rule: GroupRule,
        body: Relation,
        relations: tuple[Relation, Relation],
        groups: Array,
        table: Array,
        changed: Array,
        against: View,
    ) -> None:
        self.rule, self.body, self.groups = rule, body, groups
        self._result, self._lacking = relations
        self._against = against
        self._table, self._changed = table, changed
        self.before, self.after = np.full(len(groups), _NO_FACT, np.int32), np.full(len(groups), _UNKNOWN, np.int32)

    def known(self, ledgers: dict[Key, Ledger]) -> Iterator[tuple[int, Key]]:
        """The groups that have ledgers, by number and key: by whichever is shorter, the groups or the ledgers."""
        if len(self.groups) <= len(ledgers):
            keys = map(tuple, self.groups.tolist())
            yield from ((number, key) for number, key in enumerate(keys) if key in ledgers)
            return
        for key in ledgers:
            low, high = 0, len(self.groups)
            for column, value in enumerate(key):
                part = self.groups[:, column]
                low, high = bisect_left(part, value, low, high), bisect_right(part, value, low, high)
            if low < high:
                yield low, key

    def of(self, number: int) -> Array:
        """Which of the changed facts are of a group."""
        if len(self.groups) == 1:
            return np.arange(len(self._changed))
        order, bounds = self.order
        return np.asarray(order[bounds[number] : bounds[number + 1]])

    @cached_property
    def order(self) -> tuple[Array, Array]:
        """The changed facts group by group, and where each group begins."""
        width = self.rule.group
        if not width:
            return np.arange(len(self._changed)), np.array([0, len(self._changed)])
        order = np.lexsort(self._table[:, :width].T[::-1])
        ordered = self._table[order][:, :width]
        starts = np.flatnonzero(np.concatenate([[True], np.any(ordered[1:] != ordered[:-1], axis=1)]))
        return order, np.append(starts, len(order))

    def values(self, chosen: Array) -> Array:
        """The aggregated constants of changed facts."""
        return np.ascontiguousarray(self._table[chosen, self.body.arity - 1])

    @property
    def is_now(self) -> Array:
        """Which of the changed facts are NOW."""
        return np.asarray((self.body.marks[self._changed] & _NOW) != 0)

    def signs(self, chosen: Array) -> Array:
        """1 for facts that came, -1 for those that went, 0 for those that stay."""
        marks = self.body.marks[self._changed[chosen]]
        return np.asarray(np.subtract((marks & _NOW) != 0, (marks & _OLD) != 0, dtype=np.int8))

    def stored(self, groups: Array) -> Array:
        """The results of groups before."""
        found = np.full(len(groups), _NO_FACT, np.int32)
        rows, owners = lookup(self._result, groups, self._against)
        found[owners] = self._result.rows[rows, self.rule.group]
        if self._lacking.has_old:
            found[lookup(self._lacking, groups, self._against)[1]] = functions.NO_VALUE
        return found

    def facts(self) -> tuple[LocalFacts, LocalFacts]:
        """What comes and what goes."""
        differs = self.before != self.after
        insert, delete = self._rows(differs, self.after, None), self._rows(differs, self.before, self._against)
        return LocalFacts(insert), LocalFacts(delete)

    def _rows(self, differs: Array, results: Array, view: View | None) -> dict[str, Array]:
        """The facts of results that differ: stored, or found in a view."""
        given, none = differs & (results >= 0), differs & (results == functions.NO_VALUE)
        found = {}
        if given.any():
            facts = np.column_stack([self.groups[given], results[given]]).astype(np.int32, copy=False)
            found[self.rule.relation] = _stored(self._result, np.ascontiguousarray(facts), view)
        if none.any():
            found[self.rule.lacking] = _stored(self._lacking, with_columns(self.groups[none]), view)
        return found


def _fact(
    key: Key, found: int, relations: tuple[Relation, Relation], view: View | None, at: Place | None = None
) -> LocalFacts:
    """The fact of a group's result, or that it has none: stored, or found in a view unless its place is known."""
    has_value = found != functions.NO_VALUE
    relation, values = (relations[0], (*key, found)) if has_value else (relations[1], key or (0,))
    if at is not None and at[1] == relation.epoch:
        return LocalFacts({relation.name: np.array(at[:1], np.int32)})
    return LocalFacts({relation.name: _stored(relation, np.array([values], np.int32), view)})


def _stored(relation: Relation, table: Array, view: View | None) -> Array:
    return relation.store(table, ANY, NO_MARKS) if view is None else relation.find(table, view)


def _parts(body: Relation, changed: Array, width: int, pause: Callable[[], None]) -> Iterator[Array]:
    """Changed facts in parts, so that all of one group are in one part, and a part takes some milliseconds."""
    each = body.count // body.distinct(0) if body.distinct(0) else 1
    number = min((len(changed) + min(len(changed) * each, body.count)) // _PART + 1, _MOST_PARTS)
    if number == 1 or not width:
        yield changed
        return
    parts: list[list[Array]] = [[] for _ in range(number)]
    for some in pieces(changed, pause):
        keys = np.zeros(len(some), np.uint32)
        for column in range(width):
            keys = (keys + body.rows[some, column].astype(np.uint32)) * np.uint32(_SPREAD)
        homes = ((keys >> np.uint32(16)) % np.uint32(number)).astype(np.uint16)
        order = np.argsort(homes, kind="stable")  # of 16 bits, so that it takes a few nanoseconds each
        bounds = np.searchsorted(homes[order], np.arange(number + 1))
        for part, start, stop in zip(parts, bounds, bounds[1:]):
            part.append(some[order[start:stop]])
    for part in parts:
        yield np.concatenate(part)


def _runs(positions: Array) -> tuple[Array, Array]:
    """The distinct values of an ordered array and where each begins."""
    if not len(positions):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    starts = np.flatnonzero(np.concatenate([[True], positions[1:] != positions[:-1]]))
    return positions[starts], starts

"""A large deletion, in portions.

What      : `Portions` cuts the facts that go into portions that the driver follows, one after the other, and puts
            together what they did. `many_facts` says for which facts that is worth it.
Idea      : the facts that a deleted fact takes with it have to be on the driver, more than a hundred bytes for each. A
            portion is maintained as if the ones before it were a version, and forgotten before the next: the driver
            holds what one portion touches, however many there are. Versions cost nothing, because relations are
            immutable: a transaction that is undone works on those of the last version again, and readers see no other.
            Following a deletion costs as much as what it changes, deriving anew as much as all facts. So portions are
            given up when a deletion turns out to take most facts away.
Invariant : what came and what went is the difference between the first version and the last one, each fact once.
Never     : no rules and no stages; no facts without files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from pyspark.sql import DataFrame

from tidelog.backends.backend import Given, Tables
from tidelog.backends.local.backend import LocalBackend
from tidelog.backends.local.joins.row_lookups import distinct_rows
from tidelog.backends.local.relations.facts import LocalFacts
from tidelog.backends.local.relations.row_sorting import sorted_rows
from tidelog.backends.spark.cluster import frames
from tidelog.backends.spark.cluster.jobs import Jobs
from tidelog.backends.spark.files.segments import Segments
from tidelog.backends.spark.files.shared_frames import FarFacts
from tidelog.backends.spark.incoming import Arrived
from tidelog.backends.spark.large.fact_frames import ManyFacts
from tidelog.backends.spark.store import Facts, SparkStore
from tidelog.backends.spark.values.ids import Ids
from tidelog.changes.columns import Columns
from tidelog.changes.declared import as_asked
from tidelog.limits import Budget
from tidelog.maintenance.bulk import TooLargeError
from tidelog.maintenance.outcome import Outcome

if TYPE_CHECKING:
    from tidelog.backends.spark.backend import SparkBackend

SHARE = 2
"""A deletion of more than a half of a relation is derived anew: there both were measured to take the same time
(docs/scaling.md, "Small and large updates")."""

Parts = dict[str, list[Ids]]


@dataclass(frozen=True, slots=True)
class Many:
    """Facts that are looked for and too many to be followed at once: `count` of them, with `arity` columns."""

    count: int
    arity: int
    read: Callable[[], Ids]
    """The facts as ids, sorted: neighbours are in the same row groups."""


def many_facts(
    arrived: Mapping[str, Arrived], delete: dict[str, Given], store: SparkStore, near: LocalBackend
) -> dict[str, Many]:
    """The relations of which many facts go; none if more than a half of one of them goes.

    What is not a DataFrame is read for that, and replaced by what was read: an iterator gives its facts once.
    """
    for name, (source, types, arity) in delete.items():
        if not isinstance(source, DataFrame | FarFacts):
            delete[name] = near.given(source, name, arity), types, arity
    many = _written(arrived, store) | _given(delete, store, near)
    is_worth_it = all(SHARE * facts.count <= store.committed.size(name) for name, facts in many.items())
    return many if is_worth_it else {}


def _written(arrived: Mapping[str, Arrived], store: SparkStore) -> dict[str, Many]:
    """The facts of DataFrames: they are in files by now."""
    found = {}
    for name, one in arrived.items():
        if one.rows is None and isinstance(one.facts, Segments):
            found[name] = Many(one.facts.rows, one.facts.width, partial(_rows, store, name, one.facts))
    return found


def _given(delete: Mapping[str, Given], store: SparkStore, near: LocalBackend) -> dict[str, Many]:
    """The facts of lists and tables, each once, as ids: numbers of the driver are forgotten between portions."""
    found = {}
    for name, (facts, types, _) in delete.items():
        most = store.committed.size(name) if store.files is not None else 0
        if isinstance(facts, Columns) and 2 * store.capacity.portion < len(facts) <= most:
            rows = distinct_rows(near.encoded(as_asked(facts, types)))
            numbers = np.stack(sorted_rows(store.committed.ids_of(rows, rows.shape[1]).T, 1), axis=1)
            found[name] = Many(len(numbers), rows.shape[1], partial(np.asarray, numbers))
    return found


def _rows(store: SparkStore, name: str, facts: Segments) -> Ids:
    assert store.files is not None
    rows, _ = store.files.rows(name, facts, (), np.empty((0, 0), np.int64))
    return rows


class Portions:
    """The portions of one deletion."""

    def __init__(
        self,
        backend: SparkBackend,
        jobs: Jobs,
        delete: Mapping[str, Given],
        large: Mapping[str, Many],
        budget: Budget,
    ) -> None:
        self._backend, self._jobs, self._delete, self._large, self._budget = backend, jobs, delete, large, budget
        self._store = backend.store
        self._most = self._store.committed.facts
        self._whole = sum(many.count for many in large.values())
        self._portion = self._store.capacity.portion
        self._done = self._changed = 0
        self._arities: dict[str, int] = {}
        self._come: Parts = {}
        self._gone: Parts = {}
        self._withdrawn: Parts = {}

    def __iter__(self) -> Iterator[Mapping[str, Facts]]:
        """The facts that go: those that are few with the first portion."""
        backend, committed = self._backend, self._store.committed
        self._store.bulk.is_declined = True
        beside = {name: backend.find(name, *one) for name, one in self._delete.items() if name not in self._large}
        for name, many in self._large.items():
            for some in self._cut(many.read()):
                yield {**beside, name: backend.found(name, committed.local_of(some, many.arity))}
                beside = {}
        self._store.bulk.is_declined = False

    def _cut(self, facts: Ids) -> Iterator[Ids]:
        """Facts in portions of about one size."""
        start = 0
        while start < len(facts):
            rest = len(facts) - start
            some = facts[start : start + -(-rest // -(-rest // self._portion))]
            start += len(some)
            self._done += len(some)
            yield some

    def take(self, outcome: Outcome[Facts]) -> None:
        """Note what a portion did and go on, unless all of it would change as many facts as there are."""
        if self._store.large:
            raise self._too_large()
        for parts, found in (
            (self._come, outcome.inserted),
            (self._gone, outcome.deleted),
            (self._withdrawn, outcome.withdrawn),
        ):
            for name, facts in found.items():
                self._note(parts, name, facts)
        if self._changed * self._whole > self._most * self._done:
            raise self._too_large()
        self._grow()
        self._backend.go_on(self._budget)

    def _grow(self) -> None:
        """Let portions grow until one fills about half of the driver, so that some may take more than those before.

        Each portion reads most of the files anew where its keys are all over them. 200,000 of 21 million explicit facts
        took 28 s in portions of 31,250, and 12 s in two.
        """
        room, held = self._store.capacity.facts // 2, max(self._store.supply.held, 1)
        self._portion = max(self._portion, min(4 * self._portion, self._portion * room // held))

    def _note(self, parts: Parts, name: str, facts: Facts) -> None:
        if not facts:
            return
        assert isinstance(facts, LocalFacts)
        relation = self._store.near.relations[name]
        rows = self._store.committed.ids_of(relation.rows[facts.parts[name]], relation.arity)
        self._arities[name] = relation.arity
        parts.setdefault(name, []).append(rows)
        self._changed += len(rows) if parts is not self._withdrawn else 0

    def _too_large(self) -> TooLargeError:
        capacity = self._store.capacity
        return TooLargeError.about(next(iter(self._large)), capacity.facts, "raise spark.tidelog.driver.facts")

    def give_up(self) -> None:
        """See the protocol; what DataFrames have brought into files is not read again. Rows on the driver are: they
        name constants by numbers, and the driver may forget these meanwhile.
        """
        found = {name: one for name, one in self._backend.looked_for.items() if one.rows is None}
        self._backend.rollback()
        self._backend.begin(self._budget)
        self._backend.looked_for = found

    def tables(self) -> tuple[Tables, Tables, Tables]:
        """What all portions together have done, as tables of ids."""
        come, gone = {}, {}
        for name in self._arities:
            come[name], gone[name] = _net(self._come.get(name, []), self._gone.get(name, []))
        withdrawn = {name: np.concatenate(parts) for name, parts in self._withdrawn.items()}
        return self._tables(come), self._tables(gone), self._tables(withdrawn)

    def _tables(self, facts: Mapping[str, Ids]) -> Tables:
        return {name: self._table(rows, self._arities[name]) for name, rows in facts.items() if len(rows)}

    def _table(self, rows: Ids, arity: int) -> ManyFacts:
        jobs = self._jobs
        return ManyFacts(lambda: frames.of_ids(jobs.spark, rows), len(rows), arity, jobs, self._store.constants, None)


def _net(come: list[Ids], gone: list[Ids]) -> tuple[Ids, Ids]:
    """What has come and what has gone in all, where a fact that came in one portion may have gone in another."""
    if not come or not gone:
        nothing = (come or gone)[0][:0] if come or gone else np.empty((0, 1), np.int64)
        return np.concatenate([nothing, *come]), np.concatenate([nothing, *gone])
    rows = np.concatenate([*come, *gone])
    signs = np.ones(len(rows), np.int64)
    signs[sum(map(len, come)) :] = -1
    *columns, signs = sorted_rows(np.stack([*rows.T, signs]), rows.shape[1])
    is_first = np.ones(len(rows), np.bool_)
    is_first[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    firsts = np.flatnonzero(is_first)
    sums, rows = np.add.reduceat(signs, firsts), np.stack(columns, axis=1)[firsts]
    return rows[sums > 0], rows[sums < 0]

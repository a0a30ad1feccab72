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

from tidelog.backends.backend import AllDone, Given, Tables
from tidelog.backends.local.backend import LocalBackend
from tidelog.backends.local.joins.row_lookups import distinct_rows
from tidelog.backends.local.relations.row_sorting import sorted_rows
from tidelog.backends.spark.cluster import frames
from tidelog.backends.spark.cluster.jobs import Jobs
from tidelog.backends.spark.files.segments import Segments
from tidelog.backends.spark.files.shared_frames import FarFacts
from tidelog.backends.spark.incoming import Arrived
from tidelog.backends.spark.large.held_facts import HeldFacts
from tidelog.backends.spark.store import Facts, SparkFacts, SparkStore
from tidelog.backends.spark.values.ids import Ids
from tidelog.changes.columns import Columns
from tidelog.changes.declared import as_asked
from tidelog.changes.shared import SharedFacts
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


def are_few(backend: SparkBackend, insert: dict[str, Given], near: LocalBackend) -> bool:
    """Whether the driver can follow what is inserted, as a step on top of portions.

    DataFrames are read for that, and kept; other sources are replaced by what was read of them, as above.
    """
    backend.received = backend.incoming.received(insert)
    if any(one.rows is None for one in backend.received.values()):
        return False
    for name, (source, types, arity) in insert.items():
        if name in backend.received:
            continue
        found = source if isinstance(source, SharedFacts) else near.given(source, name, arity)
        insert[name] = found, types, arity
        if len(found) > backend.store.capacity.followed(backend.store.committed.size(name)):
            return False
    return True


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
        self._asserted: Parts = {}
        self._ceased: Parts = {}
        self._looked_for, self._received = backend.looked_for, backend.received
        backend.looked_for = dict(self._looked_for)

    def __iter__(self) -> Iterator[Mapping[str, Facts]]:
        """The facts that go: those that are few with the first portion."""
        backend, committed = self._backend, self._store.committed
        self._store.bulk.is_declined = True
        beside = {name: backend.find(name, *one) for name, one in self._delete.items() if name not in self._large}
        for name, many in self._large.items():
            facts = many.read()
            self._store.beside += facts.nbytes
            for some in self._cut(facts):
                yield {**beside, name: backend.found(name, committed.local_of(some, many.arity))}
                beside = {}
        self._store.bulk.is_declined = False
        backend.received = backend.incoming.again(self._received)

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
        self._note_all(outcome)
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

    def finish(self, outcome: Outcome[Facts]) -> None:
        """Note what a step on top of all portions did; stages may have been derived anew in it."""
        changed = [*outcome.inserted.values(), *outcome.deleted.values()]
        large = sum(len(some) for facts in changed if isinstance(facts, SparkFacts) for some in facts.large.values())
        if large and self._changed + large > self._store.capacity.facts:
            raise self._too_large()
        for name, facts in outcome.asserted.items():
            self._note(self._asserted, name, facts)
        if any(map(len, outcome.withdrawn.values())):  # by updates that come later in the same version
            self._ceased = {name: [*parts] for name, parts in self._withdrawn.items()}
            for name, facts in outcome.ceased.items():
                self._note(self._ceased, name, facts)
        self._note_all(outcome)

    def _note_all(self, outcome: Outcome[Facts]) -> None:
        for parts, found in (
            (self._come, outcome.inserted),
            (self._gone, outcome.deleted),
            (self._withdrawn, outcome.withdrawn),
        ):
            for name, facts in found.items():
                self._note(parts, name, facts)

    def _note(self, parts: Parts, name: str, facts: Facts) -> None:
        if not facts:
            return
        rows, self._arities[name] = self._ids(name, facts)
        parts.setdefault(name, []).append(rows)
        self._store.beside += rows.nbytes
        self._changed += len(rows) if parts is self._come or parts is self._gone else 0

    def _ids(self, name: str, facts: Facts) -> tuple[Ids, int]:
        """Facts of one relation as ids, and the number of its columns; those on Spark are brought."""
        if isinstance(facts, SparkFacts) and name in facts.large:
            working = facts.large[name].working
            table = self._jobs.run(working.of(facts.large[name]).toArrow)
            return frames.to_ids(table, working.columns), working.arity
        small = facts.small if isinstance(facts, SparkFacts) else facts
        relation = self._store.near.relations[name]
        return self._store.committed.ids_of(relation.rows[small.parts[name]], relation.arity), relation.arity

    def _too_large(self) -> TooLargeError:
        capacity = self._store.capacity
        return TooLargeError.about(next(iter(self._large)), capacity.facts, "raise spark.tidelog.driver.facts")

    def give_up(self) -> None:
        """See the protocol; what DataFrames have brought into files is not read again by jobs."""
        backend, incoming = self._backend, self._backend.incoming
        backend.rollback()
        backend.begin_again(self._budget)
        backend.looked_for, backend.received = incoming.again(self._looked_for), incoming.again(self._received)

    def tables(self) -> AllDone:
        """What all of it together has done, as tables of ids."""
        come, gone = {}, {}
        for name in self._come.keys() | self._gone.keys():
            come[name], gone[name] = _net(self._come.pop(name, []), self._gone.pop(name, []))
        asserted, withdrawn = self._tables(_joined(self._asserted)), self._tables(_joined(self._withdrawn))
        ceased = self._tables(_joined(self._ceased)) if self._ceased else withdrawn
        return AllDone(self._tables(come), self._tables(gone), asserted, ceased, withdrawn)

    def _tables(self, facts: Mapping[str, Ids]) -> Tables:
        jobs, constants, arities = self._jobs, self._store.constants, self._arities
        return {name: HeldFacts(rows, arities[name], jobs, constants) for name, rows in facts.items() if len(rows)}


def _joined(facts: Parts) -> dict[str, Ids]:
    return {name: _net(parts, [])[0] for name, parts in facts.items()}


def _net(come: list[Ids], gone: list[Ids]) -> tuple[Ids, Ids]:
    """What has come and what has gone in all, sorted; a fact that came in one portion may have gone in another."""
    if not come and not gone:
        nothing = np.empty((0, 1), np.int64)
        return nothing, nothing
    rows = np.concatenate([*come, *gone])
    signs = np.ones(len(rows), np.int64)
    signs[sum(map(len, come)) :] = -1
    *columns, signs = sorted_rows(np.stack([*rows.T, signs]), rows.shape[1])
    is_first = np.ones(len(rows), np.bool_)
    is_first[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    firsts = np.flatnonzero(is_first)
    sums, rows = np.add.reduceat(signs, firsts), np.stack(columns, axis=1)[firsts]
    return rows[sums > 0], rows[sums < 0]

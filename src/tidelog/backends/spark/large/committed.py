"""The committed relations of one engine on Spark.

What      : all relations (cold.py) of the last version by name, and the answers to what the driver asks about them.
Idea      : the one place where ids on Spark and the numbers of the driver's store meet: keys go out as ids, facts come
            back as numbers. A commit replaces the whole table of relations by another one.
Invariant : the relations of a version are immutable; a commit assigns other ones, in one step.
Never     : no marks and no rules.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

import numpy as np
from pyspark.sql import DataFrame

from tidelog.backends.local.kernels.compiled import Array
from tidelog.backends.spark.cluster import frames
from tidelog.backends.spark.cluster.jobs import Jobs
from tidelog.backends.spark.driver.fetch import LookUp, fetch
from tidelog.backends.spark.driver.source import Brought, Wanted
from tidelog.backends.spark.files.file_store import FileStore
from tidelog.backends.spark.files.segments import Segments
from tidelog.backends.spark.large.cold import ColdRelation
from tidelog.backends.spark.values.constants import Constants
from tidelog.backends.spark.values.ids import Ids


class Committed:
    """The relations of the last version; a source (driver/source.py) for the driver."""

    def __init__(self, jobs: Jobs, constants: Constants, store: FileStore | None) -> None:
        self._jobs, self._constants, self._store = jobs, constants, store
        self.relations: Mapping[str, ColdRelation] = {}
        self._version: Mapping[str, ColdRelation] | None = None

    @property
    def version(self) -> Mapping[str, ColdRelation]:
        """The relations that readers see: those of the last version."""
        version = self._version  # before the others: it may be settled meanwhile
        return self.relations if version is None else version

    def go_on(self, relations: Mapping[str, ColdRelation]) -> None:
        """A transaction works on these from now on, as if they were a version."""
        if self._version is None:
            self._version = self.relations
        self.relations = relations

    def go_back(self) -> bool:
        """Work on the last version again; whether a transaction had gone on from it."""
        if self._version is None:
            return False
        self.relations = self._version
        self._version = None
        return True

    def settle(self) -> None:
        """What is worked on is the version that readers see."""
        self._version = None

    @property
    def facts(self) -> int:
        """How many facts there are in all."""
        return sum(cold.size for cold in self.relations.values())

    def of(self, name: str, arity: int) -> ColdRelation:
        """The relation; an empty one if there is none. A relation without facts may get other columns."""
        found = self.relations.get(name)
        return found if found is not None and (found.size or found.arity == arity) else ColdRelation(name, arity)

    # -- the driver's numbers and Spark's ids ------------------------------------------------------------------------

    def ids_of(self, rows: Array, arity: int) -> Ids:
        """Facts as ids; a fact without columns has one that is always 0."""
        return self._constants.ids_of(rows) if arity else np.zeros((len(rows), 1), np.int64)

    def local_of(self, rows: Ids, arity: int) -> Array:
        """Facts as numbers of the driver."""
        return self._constants.local_of(rows) if arity else np.zeros((len(rows), 1), np.int32)

    # -- what the driver asks (driver/source.py) -----------------------------------------------------------------------

    def size(self, relation: str) -> int:
        """How many facts the relation has."""
        found = self.relations.get(relation)
        return found.size if found is not None else 0

    def arity(self, relation: str) -> int | None:
        """The number of its columns, if it was ever committed."""
        found = self.relations.get(relation)
        return found.arity if found is not None else None

    def distinct(self, relation: str, column: int) -> int:
        """About how many distinct values a column had when it was last counted."""
        found = self.relations.get(relation)
        return found.distinct[column] if found is not None and column < len(found.distinct) else 0

    def is_away(self, relation: str) -> bool:
        """Whether the relation has a base on Spark; an overlay is always on the driver."""
        found = self.relations.get(relation)
        return found is not None and bool(found.size) and found.base is not None

    def is_derived(self, relation: str) -> bool:
        """Whether the relation has facts and none of them is explicit."""
        found = self.relations.get(relation)
        return found is not None and found.is_derived

    def fetch(self, wanted: Sequence[Wanted]) -> Iterator[Brought]:
        """The facts of all look-ups: from files without a job, all others in one.

        Facts of which an overlay knows better are left out, and those that it has are added.
        """
        asked = [LookUp(self.relations[one.relation], one.columns, self._constants.ids_of(one.keys)) for one in wanted]
        for cold, rows, explicit in chain(self._from_files(asked), fetch(self._jobs, asked)):
            fresh = ~cold.is_overlaid(rows)
            yield Brought(cold.name, cold.arity, self.local_of(rows[fresh], cold.arity), explicit[fresh])
        for cold, rows, explicit in _overlaid(asked):
            yield Brought(cold.name, cold.arity, self.local_of(rows, cold.arity), explicit)

    def _from_files(self, asked: Sequence[LookUp]) -> Iterator[tuple[ColdRelation, Ids, Array]]:
        for look_up in asked:
            cold = look_up.relation
            if isinstance(cold.base, Segments):
                assert self._store is not None
                yield cold, *self._store.rows(cold.name, cold.base, look_up.columns, look_up.keys)

    def at_hand(self) -> Iterator[Brought]:
        """The facts of relations that are nothing but an overlay."""
        for cold in self.relations.values():
            if cold.base is None and cold.overlay:
                rows, explicit = cold.overlay.present()
                yield Brought(cold.name, cold.arity, self.local_of(rows, cold.arity), explicit)


def _overlaid(asked: Sequence[LookUp]) -> Iterator[tuple[ColdRelation, Ids, Array]]:
    """What overlays have of what was asked for."""
    for look_up in asked:
        overlay = look_up.relation.overlay
        if overlay:
            rows, explicit = overlay.present(look_up.columns, look_up.keys if look_up.columns else None)
            yield look_up.relation, rows, explicit


def release(relations: Mapping[str, ColdRelation], *, keeping: Mapping[str, ColdRelation]) -> None:
    """Free the kept bases that the relations of another version do not use; files go when nobody holds them."""
    used = {id(cold.base) for cold in keeping.values()}
    for cold in relations.values():
        if id(cold.base) not in used and isinstance(cold.base, DataFrame):
            frames.release(cold.base)

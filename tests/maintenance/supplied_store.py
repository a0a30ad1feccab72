"""The compiled store over a supply, with arrays in the place of Spark.

What      : `SuppliedStore` keeps its committed facts in an `ArraySource` and forgets everything after each commit, so
            that every fact that a call needs has to come through the driver's supply.
Idea      : what an update on Spark does on the driver, without a session: a look-up that the supply does not foresee
            shows as a wrong result.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tests.maintenance.stores import ValueStore
from tidelog.backends.local.kernels.compiled import Array
from tidelog.backends.spark.driver.capacity import Capacity
from tidelog.backends.spark.driver.source import Brought, Wanted
from tidelog.backends.spark.driver.supply import DriverSupply
from tidelog.planning.views import Mark, View


class ArraySource:
    """Committed facts as arrays; counts how often it is asked and how many facts it gives."""

    def __init__(self) -> None:
        self.relations: dict[str, tuple[int, Array, Array]] = {}
        self.fetches = 0
        self.fetched = 0

    def size(self, relation: str) -> int:
        return len(self.relations[relation][1]) if relation in self.relations else 0

    def arity(self, relation: str) -> int | None:
        return self.relations[relation][0] if relation in self.relations else None

    def distinct(self, relation: str, column: int) -> int:
        return len(np.unique(self.relations[relation][1][:, column])) if self.size(relation) else 0

    def is_away(self, relation: str) -> bool:
        return bool(self.size(relation))

    def is_derived(self, relation: str) -> bool:
        return bool(self.size(relation)) and not self.relations[relation][2].any()

    def fetch(self, wanted: Sequence[Wanted]) -> Iterator[Brought]:
        self.fetches += 1
        for one in wanted:
            arity, rows, explicit = self.relations[one.relation]
            keys = {tuple(key) for key in one.keys.tolist()}
            found = [not one.columns or tuple(row) in keys for row in rows[:, list(one.columns)].tolist()]
            chosen = np.array(found, np.bool_)
            self.fetched += int(chosen.sum())
            yield Brought(one.relation, arity, rows[chosen], explicit[chosen])

    def at_hand(self) -> Iterator[Brought]:
        return iter(())


class SuppliedStore(ValueStore):
    """The compiled store, which keeps nothing between two transactions except what look-ahead has marked."""

    def __init__(self, capacity: Capacity | None = None) -> None:
        self.source = ArraySource()
        self.supply = DriverSupply(self.source, capacity or Capacity(relation=0))
        super().__init__(None, self.supply)
        self.supply.fill(self)

    def commit(self) -> None:
        relations = self.relations.values()
        has_foreseen = any(len(one.restrict(one.journal, View(Mark.FORESEEN))) for one in relations)
        changed = {name: self._changed(name) for name, one in self.relations.items() if len(one.journal)}
        super().commit()
        self.source.relations |= changed
        if not has_foreseen:
            self.clear()
            self.supply.reset()
            super().commit()

    def _changed(self, name: str) -> tuple[int, Array, Array]:
        """The relation after the transaction: what the source has, corrected by what the transaction touched."""
        relation = self.relations[name]
        touched, marks = relation.rows[relation.journal], relation.marks[relation.journal]
        is_there, is_explicit = marks & int(Mark.NOW) != 0, marks & int(Mark.EXPLICIT) != 0
        _, rows, explicit = self.source.relations.get(name, (0, touched[:0], is_explicit[:0]))
        seen = {tuple(row) for row in touched.tolist()}
        kept = np.array([tuple(row) not in seen for row in rows.tolist()], np.bool_)
        both = np.concatenate([rows[kept], touched[is_there]])
        return relation.arity, both, np.concatenate([explicit[kept], is_explicit[is_there]])

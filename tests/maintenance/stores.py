"""Every store that strategies are tested on, behind the same few calls with Python values.

What      : `STORES` makes an empty store by name. `set` is the naive twin, `local` the compiled store, which wants
            encoded rows.
Invariant : a strategy test takes its stores from here, so that a new backend is tested by adding one line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from tests.maintenance.set_store import SetStore
from tidelog.backends.local.fact_tables import LocalTable
from tidelog.backends.local.relations.facts import LocalFacts
from tidelog.backends.local.store import LocalStore
from tidelog.language.terms import Value
from tidelog.planning.views import NOW, View


class ValueStore(LocalStore):
    """The compiled store, taking and giving Python values."""

    def intern(self, name: str, rows: Iterable[Sequence[Value]]) -> LocalFacts:
        return super().intern(name, self._encoded(rows))

    def find(self, name: str, rows: Iterable[Sequence[Value]]) -> LocalFacts:
        return super().find(name, self._encoded(rows))

    def rows(self, name: str, view: View = NOW) -> list[tuple[Value, ...]]:
        return self.rows_of(self.select([name], view))

    def rows_of(self, facts: LocalFacts) -> list[tuple[Value, ...]]:
        tables = (
            LocalTable(self.relations[name].rows[rows], self.relations[name].arity, self.dictionary)
            for name, rows in facts.parts.items()
        )
        return [fact for table in tables for fact in table]

    def _encoded(self, rows: Iterable[Sequence[Value]]) -> np.ndarray:
        listed = [tuple(row) for row in rows]
        ids = self.dictionary.encode([value for row in listed for value in row])
        return np.asarray(ids, np.int32).reshape(len(listed), len(listed[0]) if listed else 0)


STORES: dict[str, Callable[[], Any]] = {"set": lambda: SetStore(record=True), "local": ValueStore}

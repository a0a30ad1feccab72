"""Facts kept as an Arrow table.

What      : `KeptFacts`, a table over distinct facts that belong to no store.
Idea      : columns stay columns; a set of identities is made only when somebody asks whether a fact is in it.
Invariant : `1`, `1.0`, `True` and `"1"` are four values here as everywhere.
Never     : no encoding and no backend.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import pyarrow as pa

from tidelog.changes.change import FactTable
from tidelog.language.terms import Value
from tidelog.language.values import fact_identity, is_among

_PAGE = 1 << 14


class KeptFacts(FactTable):
    """Facts as columns that stay as they are; `rows` counts them where there are no columns."""

    def __init__(self, table: pa.Table, rows: int) -> None:
        self._arrow, self._rows = table, rows

    def __len__(self) -> int:
        return self._rows

    def __iter__(self) -> Iterator[tuple[Value, ...]]:
        if not self._arrow.num_columns:
            yield from [()] * self._rows
            return
        for start in range(0, self._rows, _PAGE):
            yield from zip(*(column.to_pylist() for column in self._arrow.slice(start, _PAGE).columns))

    def __contains__(self, values: object) -> bool:
        return is_among(values, self._identities)

    @cached_property
    def _identities(self) -> frozenset[object]:
        return frozenset(map(fact_identity, self))

    def to_arrow(self) -> pa.Table:
        """The table itself."""
        return self._arrow

"""Facts as users see them: tables that decode when they are read.

What      : `LocalTable`, facts that will not change any more; `LiveTable`, a relation as of the last commit.
Idea      : length and membership cost nothing or one look-up; values are decoded column by column, only when asked for.
Invariant : iteration gives every fact once, as a tuple of Python values.
            Readers of other threads hold the latch while they look at arrays that a writer changes.
Never     : no marks are changed and no constant is added here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from tidelog.backends.local.constants.dictionary import Dictionary
from tidelog.backends.local.kernels.compiled import Array
from tidelog.backends.local.relations.relation import Relation
from tidelog.changes.change import FactTable
from tidelog.changes.columns import to_frame
from tidelog.errors import UpdateError
from tidelog.language.terms import Value
from tidelog.planning.views import OLD, View

if TYPE_CHECKING:
    import pandas as pd

_PAGE = 1 << 14


class LocalTable(FactTable):
    """Facts that will not change: encoded rows and the dictionary that decodes them."""

    def __init__(self, rows: Array, arity: int, dictionary: Dictionary) -> None:
        self.rows = rows[:, :arity]
        self._dictionary = dictionary

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[tuple[Value, ...]]:
        for start in range(0, len(self.rows), _PAGE):
            page = self.rows[start : start + _PAGE]
            if not page.shape[1]:
                yield from [()] * len(page)
                continue
            yield from zip(*(self._dictionary.decode(page[:, column]) for column in range(page.shape[1])))

    def __contains__(self, fact: object) -> bool:
        ids = _encoded(fact, self.rows.shape[1], self._dictionary)
        return ids is not None and bool(np.any(np.all(self.rows == ids, axis=1)))

    def __repr__(self) -> str:
        few = [repr(fact) for _, fact in zip(range(5), self)]
        more = [f"... {len(self) - 5} more"] if len(self) > 5 else []
        return f"{{{', '.join(few + more)}}}"

    def to_arrow(self) -> pa.Table:
        """The facts as an Arrow table with columns c0, c1, ..."""
        decoded = self._dictionary.decode_columns([self.rows[:, at] for at in range(self.rows.shape[1])])
        columns = {f"c{at}": column for at, column in enumerate(decoded)}
        return pa.table(columns) if columns else pa.table({"c": pa.nulls(len(self.rows))}).select([])

    def pieces(self, most: int) -> Iterator[pa.Table]:
        """The facts as Arrow tables of at most that number of rows."""
        for start in range(0, len(self.rows), most):
            yield LocalTable(self.rows[start : start + most], self.rows.shape[1], self._dictionary).to_arrow()

    def to_pandas(self) -> pd.DataFrame:
        """The facts as a pandas DataFrame."""
        return to_frame(self.to_arrow())


class LiveTable(FactTable):
    """A relation as of the last commit, or some facts of it."""

    def __init__(self, relation: Relation, dictionary: Dictionary, view: View = OLD) -> None:
        self._relation = relation
        self._dictionary = dictionary
        self._view = view

    def __len__(self) -> int:
        return self._relation.alive if self._view is OLD else len(self.snapshot())

    def __iter__(self) -> Iterator[tuple[Value, ...]]:
        return iter(self.snapshot())

    def __contains__(self, fact: object) -> bool:
        ids = _encoded(fact, self._relation.arity, self._dictionary)
        if ids is None:
            return False
        row = ids if len(ids) else np.zeros(1, np.int32)
        with self._relation.latch:
            table = np.ascontiguousarray(row[None, :])
            return any(len(self._relation.find_beside(table, one)) for one in self._relation.last(self._view))

    def to_arrow(self) -> pa.Table:
        """The facts as an Arrow table with columns c0, c1, ..."""
        return self.snapshot().to_arrow()

    def to_pandas(self) -> pd.DataFrame:
        """The facts as a pandas DataFrame."""
        return self.snapshot().to_pandas()

    def snapshot(self) -> LocalTable:
        """The facts as they are now, in a table that later commits do not change."""
        with self._relation.latch:
            chosen = self._relation.select_last(self._view)
            return LocalTable(self._relation.frozen(chosen), self._relation.arity, self._dictionary)


def _encoded(fact: object, arity: int, dictionary: Dictionary) -> Array | None:
    """The ids of a fact, or None if it has another shape or a value that the dictionary does not or cannot have."""
    if not isinstance(fact, tuple | list) or len(fact) != arity:
        return None
    try:
        ids = dictionary.lookup(fact)
    except UpdateError:  # what is no constant
        return None
    return None if np.any(ids < 0) else np.asarray(ids)

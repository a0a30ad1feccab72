"""Facts of a change, as ids on the driver.

What      : `HeldFacts`, a table of facts whose texts are not here; it can be cut into pieces of values.
Idea      : what a large change has done is known as ids, 8 bytes for each column of a fact, however long the texts are.
            A version is saved from them: texts are looked up for some facts at a time, and forgotten again.
Invariant : a save takes memory for the texts of `_AT_ONCE` facts, however many there are. Any thread may ask.
Never     : no job, except for those who ask for a DataFrame; the dictionary of the driver's store does not grow.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from tidelog.backends.local.fact_tables import LocalTable
from tidelog.backends.local.relations.row_sorting import sorted_rows
from tidelog.backends.spark.cluster import frames
from tidelog.backends.spark.cluster.jobs import Jobs
from tidelog.backends.spark.large.fact_frames import ManyFacts
from tidelog.backends.spark.values.constants import Constants
from tidelog.backends.spark.values.ids import Ids
from tidelog.language.terms import Value

MOST = 4_000_000
"""Up to how many facts that came or went where stages were derived in bulk are brought for a save: 100 MB, if they have
three columns. The driver takes 1.5 microseconds to write the rows of a fact."""
_AT_ONCE = 1 << 19
"""Facts whose texts are looked up together. Each look-up of as many goes through all files of texts."""


def in_order(rows: Ids) -> Ids:
    """Facts as ids, sorted."""
    return np.stack(sorted_rows(np.ascontiguousarray(rows.T), rows.shape[1]), axis=1) if len(rows) else rows


class HeldFacts(ManyFacts):
    """Distinct facts as ids, sorted: neighbours have texts in the same row groups."""

    is_far = False
    """They are in this process (state/journal.py)."""

    def __init__(self, rows: Ids, arity: int, jobs: Jobs, constants: Constants) -> None:
        super().__init__(lambda: frames.of_ids(jobs.spark, rows), len(rows), arity, jobs, constants, None)
        self._rows = rows

    def __iter__(self) -> Iterator[tuple[Value, ...]]:
        for some in self._lots():
            yield from some

    def __contains__(self, fact: object) -> bool:
        numbers = self._numbers(fact)
        return numbers is not None and bool((self._rows[:, : self._arity] == numbers).all(axis=1).any())

    def pieces(self, most: int) -> Iterator[pa.Table]:
        """The facts as Arrow tables of at most that number of rows."""
        for some in self._lots():
            yield from some.pieces(most)

    def _lots(self) -> Iterator[LocalTable]:
        for start in range(0, len(self._rows), _AT_ONCE):
            yield self._local(self._rows[start : start + _AT_ONCE])

    def _brought(self) -> LocalTable:
        return self._local(self._rows)

    def _local(self, rows: Ids) -> LocalTable:
        seen = self.constants.seen()
        local = seen.local_of(rows) if self._arity else np.zeros(rows.shape, np.int32)
        return LocalTable(local, self._arity, seen.dictionary)

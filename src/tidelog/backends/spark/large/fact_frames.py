"""Facts on Spark as users see them.

What      : `FewFacts`, facts on the driver, which can go to Spark; `ManyFacts`, facts in a DataFrame of ids;
            `CommittedFacts`, a whole relation, whose files are looked up; `matching` are the facts of a pattern;
            `widened` puts facts of several tables, each with constants of its own, into one DataFrame.
Idea      : `to_spark` never passes through the driver; iteration does, because the user asked for Python values.
Invariant : iteration gives every fact once, with the types that it came with. Any thread may ask, beside a writer, too.
Never     : no fact is changed here; texts that many facts bring to the driver go into a dictionary of the reader.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, reduce
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from tidelog.backends.local.fact_tables import LocalTable
from tidelog.backends.local.kernels.compiled import Array
from tidelog.backends.spark.cluster import frames
from tidelog.backends.spark.cluster.jobs import Jobs
from tidelog.backends.spark.files.file_store import FileStore
from tidelog.backends.spark.large.cold import ColdRelation, tags_of
from tidelog.backends.spark.large.overlay import EXPLICIT, GONE
from tidelog.backends.spark.values import ids
from tidelog.backends.spark.values.constants import Constants
from tidelog.backends.spark.values.decoding import decoded
from tidelog.changes.change import FactTable
from tidelog.errors import UpdateError
from tidelog.language.rdf_terms import RdfTerm
from tidelog.language.terms import Atom, Constant, Value, Variable

if TYPE_CHECKING:
    import pandas as pd


class FewFacts(LocalTable):
    """Facts on the driver."""

    def __init__(self, rows: Array, arity: int, jobs: Jobs, constants: Constants) -> None:
        super().__init__(rows, arity, constants.dictionary)
        self.jobs, self.constants = jobs, constants

    @property
    def ids(self) -> DataFrame:
        """The facts as a DataFrame of ids."""
        return frames.of_ids(self.jobs.spark, self.constants.ids_from(self._dictionary, self.rows))

    def to_spark(self, columns: Sequence[str] | None = None) -> DataFrame:
        """The facts as a DataFrame of values."""
        rows = self.constants.ids_from(self._dictionary, self.rows)
        tags = [int(np.bitwise_or.reduce(1 << (column & ids.TAG), initial=0)) for column in rows.T]
        frame = frames.of_ids(self.jobs.spark, rows)
        return decoded(frame, self.constants.frame, tags, columns or frames.names(rows.shape[1]))


class ManyFacts(FactTable):
    """Facts in a DataFrame of ids; `owner` keeps its blocks and files for as long as the table lives."""

    def __init__(
        self, frame: Callable[[], DataFrame], size: int, arity: int, jobs: Jobs, constants: Constants, owner: object
    ) -> None:
        """`frame` is asked for when it is needed."""
        self._made, self._size, self._arity, self._owner = frame, size, arity, owner
        self.jobs, self.constants = jobs.aside(), constants

    @property
    def is_far(self) -> bool:
        """They are on Spark."""
        return True

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[tuple[Value, ...]]:
        return iter(self._brought())

    def __contains__(self, fact: object) -> bool:
        numbers, frame = self._numbers(fact), self._readable
        if numbers is None:
            return False
        for at, number in enumerate(numbers):
            frame = frame.where(F.col(f"c{at}") == F.lit(number))
        return bool(self.jobs.run(lambda: frame.limit(1).toArrow()).num_rows)

    def _numbers(self, fact: object) -> list[int] | None:
        """The ids of a fact; None if it can be no fact of this table."""
        if not isinstance(fact, tuple | list) or len(fact) != self._arity:
            return None
        try:
            return list(map(self.constants.seen().id_of, fact))
        except UpdateError:
            return None  # what is no constant is in no fact

    def __repr__(self) -> str:
        return f"<{self._size:,} facts on Spark>"

    def to_arrow(self) -> pa.Table:
        """The facts as an Arrow table, brought to the driver."""
        return self._brought().to_arrow()

    def to_pandas(self) -> pd.DataFrame:
        """The facts as a pandas DataFrame, brought to the driver."""
        return self.to_arrow().to_pandas()

    def to_spark(self, columns: Sequence[str] | None = None) -> DataFrame:
        """The facts as a DataFrame of values; which kinds a column has is looked up first."""
        names = frames.names(self._arity)
        tags = tags_of(self.jobs, self._readable, names)
        return decoded(self._readable.select(*names), self.constants.frame, tags, columns or names)

    @property
    def ids(self) -> DataFrame:
        """The facts as a DataFrame of ids."""
        return self._readable.select(*frames.names(self._arity))

    @property
    def _readable(self) -> DataFrame:
        """The frame, if its session is not stopped."""
        self.jobs.require_session()
        return self._frame

    @cached_property
    def _frame(self) -> DataFrame:
        return self._made()

    def _brought(self) -> LocalTable:
        columns = frames.names(max(self._arity, 1))
        rows = frames.to_ids(self.jobs.run(self._readable.select(*columns).toArrow), columns)
        seen = self.constants.seen()
        local = seen.local_of(rows) if self._arity else np.zeros(rows.shape, np.int32)
        return LocalTable(local, self._arity, seen.dictionary)


class CommittedFacts(ManyFacts):
    """A relation of a version that is in files, or its explicit facts; a fact is looked up without a job."""

    def __init__(
        self, cold: ColdRelation, files: FileStore, jobs: Jobs, constants: Constants, *, is_explicit: bool
    ) -> None:
        own = jobs.aside()

        def frame() -> DataFrame:
            return cold.frame(own).where("explicit") if is_explicit else cold.frame(own)

        super().__init__(frame, cold.size, cold.arity, jobs, constants, cold)
        self._cold, self._files, self._is_explicit = cold, files, is_explicit

    def __len__(self) -> int:
        return self._explicit if self._is_explicit else self._size

    def __contains__(self, fact: object) -> bool:
        numbers = self._numbers(fact)
        if numbers is None:
            return False
        [state] = self._cold.states(self._files, np.array([numbers or [0]], np.int64))
        return bool(state == EXPLICIT if self._is_explicit else state != GONE)

    def __repr__(self) -> str:
        return f"<explicit ones of {self._size:,} facts on Spark>" if self._is_explicit else super().__repr__()

    @cached_property
    def _explicit(self) -> int:
        return self.jobs.run(self._readable.count)


def matching(frame: DataFrame, pattern: Atom, id_of: Callable[[Value], int]) -> DataFrame:
    """The facts of a frame of ids that match a pattern."""
    first: dict[Variable, int] = {}
    for at, term in enumerate(pattern.terms):
        if isinstance(term, Constant):
            frame = frame.where(F.col(f"c{at}") == F.lit(id_of(term.value)))
        elif isinstance(term, Variable) and first.setdefault(term, at) != at:
            frame = frame.where(F.col(f"c{at}") == F.col(f"c{first[term]}"))
    return frame


Widened = tuple[FewFacts | ManyFacts, Sequence[int | RdfTerm]]
"""Facts, and the columns that they are to have: the number of one of theirs, or a term."""


def widened(parts: Sequence[Widened], columns: Sequence[str]) -> DataFrame:
    """The facts of several tables as one DataFrame of values; they are decoded together, by one join a column."""
    jobs, found = parts[0][0].jobs, []
    several = {id(table.constants): table.constants for table, _ in parts}
    for table, shape in parts:
        chosen = [
            (F.col(f"c{one}") if isinstance(one, int) else F.lit(table.constants.id_of(one))).alias(f"c{at}")
            for at, one in enumerate(shape)
        ]
        found.append(table.ids.select(*chosen))
    frame, names = reduce(DataFrame.unionAll, found), frames.names(len(columns))
    texts = reduce(DataFrame.unionAll, [constants.frame for constants in several.values()])
    each_once = texts if len(several) == 1 else texts.dropDuplicates(["id"])
    return decoded(frame, each_once, tags_of(jobs, frame, names), columns)

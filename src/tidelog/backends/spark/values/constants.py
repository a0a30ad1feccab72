"""The texts behind ids: on Spark for all constants, on the driver for those it works with.

What      : `Constants` translates between ids and the local dictionary of the driver's store, and keeps the typed texts
            of hashed constants in a DataFrame (id, text) with a small overlay on the driver.
Idea      : the driver learns a text when a fact with it is brought there, and never before; ids that stand for
            themselves need no text.
Invariant : every hashed id in a committed relation has its text here. Two texts with one id are found when the second
            is met, and refused. Texts are never forgotten; a text without a fact is harmless.
Never     : no relations.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from tidelog.backends.local.constants.dictionary import Dictionary
from tidelog.backends.local.constants.dictionary_kernels import KIND_BOOL, KIND_INT
from tidelog.backends.local.kernels.compiled import Array
from tidelog.backends.spark.cluster import frames
from tidelog.backends.spark.cluster.jobs import Jobs
from tidelog.backends.spark.values import ids
from tidelog.backends.spark.values.ids import Ids
from tidelog.errors import LawError, PipelineError

_OVERLAY = 20_000
"""How many texts wait on the driver before they move to Spark."""
_SCHEMA = "id long, text string"


class Constants:
    """Ids, texts and the local dictionary."""

    def __init__(self, jobs: Jobs, dictionary: Dictionary) -> None:
        self.dictionary = dictionary
        self._jobs = jobs
        self._stored: DataFrame | None = None
        self._waiting: dict[int, str] = {}
        self._longs: Ids = np.empty(0, np.int64)
        self._local: dict[int, int] = {}

    # -- between the driver and Spark --------------------------------------------------------------------------------

    def ids_of(self, local: Array) -> Ids:
        """The ids of local numbers, of any shape."""
        self._learn()
        return self._longs[local]

    def local_of(self, rows: Ids) -> Array:
        """The local numbers of ids, of any shape; texts that the driver lacks are fetched, all in one job."""
        flat = rows.reshape(-1)
        local = np.empty(flat.size, np.int32)
        tags = flat & ids.TAG
        for tag, kind in ((ids.INTEGER, KIND_INT), (ids.BOOL, KIND_BOOL)):
            chosen = np.flatnonzero(tags == tag)
            if chosen.size:
                local[chosen] = self.dictionary.encode_scalars(np.array([kind], np.int8), flat[chosen] >> 2)
        hashed = np.flatnonzero((tags == ids.STRING) | (tags == ids.OTHER))
        if hashed.size:
            wanted = flat[hashed].tolist()
            self._learn()
            self._fetch({number for number in wanted if number not in self._local})
            local[hashed] = [self._local[number] for number in wanted]
        return local.reshape(rows.shape)

    def _learn(self) -> None:
        """Give ids to the constants that the local dictionary has got since the last time."""
        known, total = len(self._longs), len(self.dictionary)
        if known == total:
            return
        new = np.arange(known, total)
        kinds, payloads = self.dictionary.kinds[new], self.dictionary.payloads[new]
        longs = payloads << 2
        longs[kinds == KIND_BOOL] |= ids.BOOL
        is_small = (payloads >= -(2**61)) & (payloads < 2**61)
        for at in np.flatnonzero(~((kinds == KIND_BOOL) | ((kinds == KIND_INT) & is_small))).tolist():
            text = ids.typed_text(self.dictionary.decode(new[at : at + 1])[0])
            longs[at] = self._note(ids.of_text(text), text, known + at)
        self._longs = np.concatenate([self._longs, longs])

    def _note(self, number: int, text: str, local: int) -> int:
        if self._local.setdefault(number, local) != local:
            raise _collision(text, ids.typed_text(self.dictionary.decode(np.array([self._local[number]]))[0]))
        self._waiting[number] = text
        return number

    def _fetch(self, numbers: set[int]) -> None:
        """Bring the texts of these ids to the driver."""
        if not numbers:
            return
        if self._stored is None:
            raise LawError.of("E904", "a stored fact has a constant without a text", remedy="report this")
        wanted = frames.of_ids(self._jobs.spark, np.fromiter(numbers, np.int64).reshape(-1, 1))
        wanted = F.broadcast(wanted.withColumnRenamed("c0", "id"))
        stored = self._stored
        table = self._jobs.run(lambda: stored.join(wanted, "id", "left_semi").toArrow())
        values = [ids.from_text(text) for text in table.column("text").to_pylist()]
        if len(values) != len(numbers):
            raise LawError.of("E904", "a stored fact has a constant without a text", remedy="report this")
        self.dictionary.encode(values)
        before = set(self._waiting)
        self._learn()
        for number in table.column("id").to_pylist():
            if number not in before:
                self._waiting.pop(number, None)

    # -- on Spark ----------------------------------------------------------------------------------------------------

    @property
    def frame(self) -> DataFrame:
        """All texts as a DataFrame (id, text)."""
        self._learn()
        spark = self._jobs.spark
        parts = [] if self._stored is None else [self._stored]
        if self._waiting or not parts:
            numbers, texts = (
                pa.array(list(self._waiting), pa.int64()),
                pa.array(list(self._waiting.values()), pa.string()),
            )
            parts.append(spark.createDataFrame(pa.table({"id": numbers, "text": texts}), _SCHEMA))
        return parts[0] if len(parts) == 1 else parts[0].unionAll(parts[1])

    def add(self, texts: DataFrame) -> None:
        """Add texts (id, text) that tasks have computed; they may be known and may repeat."""
        grouped = self.frame.unionAll(texts.select("id", "text")).groupBy("id")
        merged = grouped.agg(F.min("text").alias("text"), F.max("text").alias("other"))
        kept = frames.keep(self._jobs, merged)
        clash = self._jobs.run(lambda: kept.where(F.col("text") != F.col("other")).limit(1).toArrow())
        if clash.num_rows:
            raise _collision(*(clash.column(name)[0].as_py() for name in ("text", "other")))
        before = self._stored
        self._stored = frames.part(kept, ["id", "text"])  # before the former one is gone: an interrupt loses no text
        self._waiting = {}
        frames.release(before)

    def close(self) -> None:
        """Free the texts on Spark."""
        stored, self._stored = self._stored, None
        frames.release(stored)

    def flush_if_many(self) -> None:
        """Move texts from the driver to Spark when many wait."""
        self._learn()
        if len(self._waiting) > _OVERLAY:
            self.add(self._jobs.spark.createDataFrame([], _SCHEMA))


def _collision(one: str, other: str) -> PipelineError:
    return PipelineError.of(
        "E703",
        f"the constants {one[1:]!r} and {other[1:]!r} have the same hash",
        remedy="change one of the two constants",
    )

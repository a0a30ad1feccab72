"""The texts behind ids: on Spark for all constants, on the driver for those it works with.

What      : `Constants` translates between ids and the local dictionary of the driver's store, and stores the typed
            texts of hashed constants (files/texts.py); a few wait on the driver.
Idea      : the driver learns a text when a fact with it is brought there, and never before; ids that stand for
            themselves need no text.
Invariant : every hashed id in a committed relation has its text here. Two texts with one id are found when the second
            is met, and refused. Texts are never forgotten; a text without a fact is harmless.
Never     : no relations.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from tidelog.backends.local.constants.dictionary import Dictionary
from tidelog.backends.local.constants.dictionary_kernels import KIND_BOOL, KIND_INT
from tidelog.backends.local.kernels.compiled import Array
from tidelog.backends.spark.cluster.jobs import Jobs
from tidelog.backends.spark.files.file_store import FileStore
from tidelog.backends.spark.files.texts import TextFiles
from tidelog.backends.spark.values import ids
from tidelog.backends.spark.values.ids import Ids
from tidelog.backends.spark.values.kept_texts import KeptTexts
from tidelog.errors import LawError, PipelineError

_OVERLAY = 20_000
"""How many texts wait on the driver before they are stored."""
_SCHEMA = "id long, text string"


class Constants:
    """Ids, texts and the local dictionary."""

    def __init__(self, jobs: Jobs, dictionary: Dictionary, store: FileStore | None = None) -> None:
        self.dictionary = dictionary
        self._jobs = jobs
        self.texts: TextFiles | KeptTexts = KeptTexts(jobs) if store is None else TextFiles(jobs, store)
        self._fresh: dict[int, str] = {}
        self._waiting: dict[int, str] = {}
        self._longs: Ids = np.empty(0, np.int64)
        self._local: dict[int, int] = {}

    # -- between the driver and Spark --------------------------------------------------------------------------------

    def ids_of(self, local: Array) -> Ids:
        """The ids of local numbers, of any shape."""
        self._learn()
        return self._longs[local]

    def local_of(self, rows: Ids) -> Array:
        """The local numbers of ids, of any shape; texts that the driver lacks are looked up together."""
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
        self._fresh[number] = text
        return number

    def _fetch(self, numbers: set[int]) -> None:
        """Bring the texts of these ids to the driver."""
        if not numbers:
            return
        table = self.texts.find(np.fromiter(numbers, np.int64))
        values = [ids.from_text(text) for text in table.column("text").to_pylist()]
        if len(values) != len(numbers):
            raise LawError.of("E904", "a stored fact has a constant without a text", remedy="report this")
        self.dictionary.encode(values)
        before = set(self._fresh)
        self._learn()
        for number in table.column("id").to_pylist():
            if number not in before:
                self._fresh.pop(number, None)

    def _settle(self) -> None:
        """Of the texts that came from the driver, let those wait that are not stored."""
        self._learn()
        if self._fresh and self.texts:
            known = self.texts.find(np.fromiter(self._fresh, np.int64))
            for number, text in zip(known.column("id").to_pylist(), known.column("text").to_pylist()):
                if self._fresh.pop(number) != text:
                    raise _collision(text, ids.typed_text(self.dictionary.decode(np.array([self._local[number]]))[0]))
        self._waiting |= self._fresh
        self._fresh = {}

    # -- on Spark ----------------------------------------------------------------------------------------------------

    @property
    def frame(self) -> DataFrame:
        """All texts as a DataFrame (id, text), each id once."""
        self._settle()
        parts = [self.texts.frame()] if self.texts else []
        if self._waiting or not parts:
            parts.append(self._jobs.spark.createDataFrame(_table(self._waiting), _SCHEMA))
        return parts[0] if len(parts) == 1 else parts[0].unionAll(parts[1])

    def add(self, texts: DataFrame) -> None:
        """Add texts (id, text) that tasks have computed; they may be known and may repeat."""
        self.flush()
        clash = self.texts.add(texts.select("id", "text"))
        if clash is not None:
            raise _collision(*clash)

    def flush(self) -> None:
        """Store all texts that wait on the driver."""
        self._settle()
        if self._waiting:
            self.texts.put(_table(self._waiting))
            self._waiting = {}

    def flush_if_many(self) -> None:
        """Store the texts that wait on the driver when they are many."""
        self._learn()
        if len(self._waiting) + len(self._fresh) > _OVERLAY:
            self.flush()

    def close(self) -> None:
        """Free the texts that are stored."""
        self.texts.close()


def _table(texts: Mapping[int, str]) -> pa.Table:
    numbers = pa.array(list(texts), pa.int64())
    return pa.table({"id": numbers, "text": pa.array(list(texts.values()), pa.string())})


def _collision(one: str, other: str) -> PipelineError:
    return PipelineError.of(
        "E703",
        f"the constants {one[1:]!r} and {other[1:]!r} have the same hash",
        remedy="change one of the two constants",
    )

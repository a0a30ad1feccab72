"""The texts behind ids: on Spark for all constants, on the driver for those it works with.

What      : `Constants` translates between ids and the local dictionary of the driver's store, and stores the typed
            texts of hashed constants (files/texts.py); a few wait on the driver.
Idea      : the driver learns a text when a fact with it is brought there, and never before; ids that stand for
            themselves need no text. What the driver knows can be forgotten as a whole, because it can be learnt again.
            Tables that users hold ask from any thread, so what changes here changes under a lock; a reader who needs
            many texts gets constants of his own (`seen`).
Invariant : every hashed id in a committed relation has its text here, and no two texts have one id: the second is
            given another one (ids.py) before a fact with it is stored or looked up. Stored texts are never forgotten;
            a text without a fact is harmless.
Never     : no relations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from threading import RLock
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from tidelog.backends.local.constants.dictionary import Dictionary
from tidelog.backends.local.constants.dictionary_kernels import KIND_BOOL, KIND_INT, KIND_STRING
from tidelog.backends.local.kernels.compiled import Array
from tidelog.backends.spark.cluster.jobs import Jobs
from tidelog.backends.spark.files.file_store import FileStore
from tidelog.backends.spark.files.texts import TextFiles
from tidelog.backends.spark.values import ids
from tidelog.backends.spark.values.ids import Ids, Naming
from tidelog.backends.spark.values.kept_texts import KeptTexts
from tidelog.backends.spark.values.known_ids import KnownIds
from tidelog.backends.spark.values.numbered import STRING, numbered
from tidelog.errors import LawError, PipelineError
from tidelog.language.terms import Value

_FEW = 256
"""Up to how many new texts are named one by one."""
_OVERLAY = 20_000
"""How many texts wait on the driver before they are stored."""
_SCHEMA = "id long, text string"
T = TypeVar("T")


class MovedError(PipelineError):
    """Texts that tasks have computed clash with others, and have other ids from now on: compute again."""


class Constants:
    """Ids, texts and the local dictionary."""

    def __init__(self, jobs: Jobs, dictionary: Dictionary, store: FileStore | None = None) -> None:
        self.dictionary = dictionary
        self.naming = Naming(ids.DIGITS)
        self._jobs = jobs
        self.texts: TextFiles | KeptTexts = KeptTexts(jobs) if store is None else TextFiles(jobs, store)
        self._gathered: dict[int, str] = {}
        self._lock = RLock()
        self._longs: Ids = np.empty(0, np.int64)
        self._local = KnownIds()

    # -- between the driver and Spark --------------------------------------------------------------------------------

    def ids_of(self, local: Array) -> Ids:
        """The ids of local numbers, of any shape."""
        with self._lock:
            self.learn()
            return self._longs[local]

    def ids_from(self, dictionary: Dictionary, rows: Array) -> Ids:
        """The ids of rows with numbers of a dictionary, be it one that the driver has forgotten meanwhile."""
        with self._lock:
            if dictionary is not self.dictionary and rows.size:
                values = [dictionary.decode_arrow(column) for column in rows.T]
                rows = np.column_stack([self.dictionary.encode_arrow(column) for column in values])
            return self.ids_of(rows)

    def id_of(self, value: Value) -> int:
        """The id of a constant, which is one of the driver's from now on: two with one hash are told apart."""
        with self._lock:
            return int(self.ids_of(self.dictionary.encode([value]))[0])

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
            local[hashed] = self._local_of_hashed(flat[hashed])
        return local.reshape(rows.shape)

    def _local_of_hashed(self, wanted: Ids) -> Array:
        with self._lock:
            self.learn()
            found = self._local.find(wanted)
            if (found < 0).any():
                self._fetch(_distinct(wanted[found < 0]))
                found = self._local.find(wanted)
            return found

    def seen(self) -> Constants:
        """These constants as they are now, for readers: with a dictionary of their own."""
        jobs = self._jobs.aside()
        copy = Constants(jobs, Dictionary())
        with self._lock:
            copy.texts, copy.naming, copy._gathered = self.texts.seen(jobs), self.naming, dict(self._waiting)
        return copy

    def learn(self, stored: Mapping[int, str] | None = None) -> None:
        """Give ids to the constants that the local dictionary has got since the last time.

        `stored` are ids and texts that are known to be stored; others are looked for.
        """
        if len(self._longs) != len(self.dictionary):
            with self._lock:
                self._learn(stored)

    def _learn(self, stored: Mapping[int, str] | None) -> None:
        known, total = len(self._longs), len(self.dictionary)
        new = np.arange(known, total)
        kinds, payloads = self.dictionary.kinds[new], self.dictionary.payloads[new]
        longs = payloads << 2
        longs[kinds == KIND_BOOL] |= ids.BOOL
        is_small = (payloads >= -(2**61)) & (payloads < 2**61)
        hashed = np.flatnonzero(~((kinds == KIND_BOOL) | ((kinds == KIND_INT) & is_small)))
        if hashed.size:
            own = new[hashed]
            named = None
            if stored is None and len(own) > _FEW and (kinds[hashed] == KIND_STRING).all():
                named = self._named_together(own)
            if named is None:
                texts = [ids.typed_text(value) for value in self.dictionary.decode(own)]
                named = np.array(self._named(texts, own.tolist(), dict(stored or {})), np.int64)
            longs[hashed] = named
            self._local.add(longs[hashed], new[hashed])
        self._longs = np.concatenate([self._longs, longs])

    def _named_together(self, own: Array) -> Ids | None:
        """As `_named`, for many strings; None, and nothing has changed, if two constants have one hash."""
        values = pa.chunked_array([self.dictionary.decode_arrow(own)]).cast(pa.string())
        [numbers], texts = numbered(pa.table([values], ["value"]), [STRING], self.naming)
        return None if (self._local.find(numbers) >= 0).any() or not self.expect(texts) else numbers

    def _named(self, texts: Sequence[str], own: Sequence[int], stored: dict[int, str]) -> list[int]:
        """The ids of texts that are new on the driver, under these numbers; those that are not stored will be."""
        numbers = [ids.of_text(text, self.naming) for text in texts]
        stored |= self._stored(set(numbers).difference(stored))
        taken = self._taken(numbers)
        for at, text in enumerate(texts):
            while taken.get(numbers[at], own[at]) != own[at] or not self._is_free(numbers[at], text, stored):
                self.naming = self.naming.with_moved(text)
                numbers[at] = self.naming.moved[text]
                stored |= self._stored({numbers[at]}.difference(stored))
                taken |= self._taken([numbers[at]])
            taken[numbers[at]] = own[at]
            if numbers[at] not in stored:
                self._waiting[numbers[at]] = text
        return numbers

    @property
    def _waiting(self) -> dict[int, str]:
        """The texts that are not stored yet. What was put is stored, even if an interrupt came right after that."""
        if self.texts.put_last is self._gathered:
            self._gathered = {}
        return self._gathered

    def _taken(self, numbers: Sequence[int]) -> dict[int, int]:
        """Those of the ids that the driver knows, with their local numbers."""
        local = self._local.find(np.array(numbers, np.int64)).tolist()
        return {number: found for number, found in zip(numbers, local) if found >= 0}

    def _is_free(self, number: int, text: str, stored: Mapping[int, str]) -> bool:
        """Whether no other text that is stored, or will be, has the id."""
        return stored.get(number, self._waiting.get(number, text)) == text

    def _stored(self, numbers: Iterable[int]) -> dict[int, str]:
        """The texts of these ids that are stored."""
        wanted = np.fromiter(numbers, np.int64)
        if not len(wanted) or not self.texts:
            return {}
        return _mapping(self.texts.find(wanted))

    def _fetch(self, numbers: Ids) -> None:
        """Bring the texts of these ids, which are distinct, to the driver."""
        waiting = self._waiting
        here = {number: waiting[number] for number in numbers.tolist() if number in waiting} if waiting else {}
        away = numbers[~np.isin(numbers, list(here))] if here else numbers
        table = self.texts.find(away) if self.texts else _table({})
        if table.num_rows + len(here) != len(numbers):
            raise LawError.of("E904", "a stored fact has a constant without a text", remedy="report this")
        more, known = _table(here), len(self._longs)
        table = pa.concat_tables([table.cast(more.schema), more])
        own = self.dictionary.encode(_values(table.column("text")))
        if len(self.dictionary) - known != len(own):  # some were there, under numbers that have to be learnt
            self.learn(_mapping(table))
            return
        found = table.column("id").to_numpy()
        longs = np.empty(len(own), np.int64)
        longs[own - known] = found
        self._longs = np.concatenate([self._longs, longs])
        self._local.add(found, own)

    def expect(self, texts: pa.Table) -> bool:
        """Texts (k0 the id, text) of facts that are about to be stored: those that are not stored yet wait.

        Whether all could have their ids; nothing is taken over if one could not.
        """
        wanted = texts.rename_columns(["id", "text"])
        order = np.argsort(wanted.column("id").to_numpy())
        wanted = wanted.take(pa.array(order)).combine_chunks()
        numbers = wanted.column("id").to_numpy()
        if (numbers[1:] == numbers[:-1]).any():
            return False
        nobody = _table({})
        stored = self.texts.find(numbers).cast(nobody.schema) if self.texts else nobody
        places = np.searchsorted(numbers, stored.column("id").to_numpy())
        if not wanted.column("text").take(pa.array(places)).equals(stored.column("text")):
            return False
        is_new = np.ones(len(numbers), np.bool_)
        is_new[places] = False
        waiting = _mapping(wanted.filter(pa.array(is_new)))
        with self._lock:
            if any(self._waiting.get(number, text) != text for number, text in waiting.items()):
                return False
            self._waiting.update(waiting)
        return True

    def renew(self, dictionary: Dictionary) -> None:
        """The driver forgets the constants that it knows; it works with another, empty dictionary from now on."""
        with self._lock:
            self.learn()
            self.__dict__.update(dictionary=dictionary, _longs=np.empty(0, np.int64), _local=KnownIds())

    # -- on Spark ----------------------------------------------------------------------------------------------------

    @property
    def frame(self) -> DataFrame:
        """All texts as a DataFrame (id, text), each id once."""
        with self._lock:
            self.learn()
            parts, waiting = [self.texts.frame()] if self.texts else [], _table(self._waiting)
        if waiting.num_rows or not parts:
            parts.append(self._jobs.spark.createDataFrame(waiting, _SCHEMA))
        return parts[0] if len(parts) == 1 else parts[0].unionAll(parts[1])

    def add(self, texts: DataFrame) -> None:
        """Add texts (id, text) that tasks have computed; they may be known and may repeat.

        If one of them clashes with another it gets another id, and nothing is added: see `settled`.
        """
        self.flush()
        self.move(self.texts.add(texts.select("id", "text")))

    def move(self, texts: Sequence[str]) -> None:
        """Give other ids to texts that clash; raises if there is one."""
        for text in texts:
            self.naming = self.naming.with_moved(text)
        if texts:
            raise MovedError.of(
                "E703",
                f"the constant {texts[0][1:]!r} has the hash of another one, and now another id",
                remedy="apply the update again",
            )

    def settled(self, action: Callable[[], T]) -> T:
        """The result of an action that computes ids; it is repeated when one of them has to be another."""
        while True:
            try:
                return action()
            except MovedError:
                continue

    def flush(self) -> None:
        """Store all texts that wait on the driver."""
        with self._lock:
            self.learn()
            if self._waiting:
                self.texts.put(_table(self._waiting), self._gathered)

    def flush_if_many(self) -> None:
        """Store the texts that wait on the driver when they are many."""
        with self._lock:
            self.learn()
            if len(self._waiting) > _OVERLAY:
                self.flush()

    def close(self) -> None:
        """Free the texts that are stored."""
        self.texts.close()


def _distinct(numbers: Ids) -> Ids:
    ordered = np.sort(numbers)
    is_new = np.ones(len(ordered), np.bool_)
    is_new[1:] = ordered[1:] != ordered[:-1]
    return ordered[is_new]


def _mapping(texts: pa.Table) -> dict[int, str]:
    return dict(zip(texts.column("id").to_pylist(), texts.column("text").to_pylist()))


def _values(texts: pa.ChunkedArray) -> pa.ChunkedArray | list[Value]:
    """The constants of typed texts: strings, if they are nothing else, without a look at each."""
    if pc.all(pc.starts_with(texts, "s")).as_py():
        return pc.utf8_slice_codeunits(texts, 1)
    return [ids.from_text(text) for text in texts.to_pylist()]


def _table(texts: Mapping[int, str]) -> pa.Table:
    numbers = pa.array(list(texts), pa.int64())
    return pa.table({"id": numbers, "text": pa.array(list(texts.values()), pa.string())})

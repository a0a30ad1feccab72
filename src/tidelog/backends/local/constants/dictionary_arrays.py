"""The arrays behind a dictionary.

What      : `ConstantStore` holds kinds, payloads, strings and two hash tables, runs the kernels that add constants to
            them, and makes room when a kernel asks for it.
Idea      : kernels never allocate; they stop where room ends, the store doubles what is short, and they resume there.
Invariant : arrays are replaced when they grow or shrink, never resized in place, so that Arrow arrays made over them
            stay valid; what is written is never written again. An interrupt can fall between any two statements: what
            grows is made aside and swapped in by one step. Constants are added under the latch, which readers of other
            threads hold while they look up or decode.
Never     : no Python values and no Arrow types but the strings themselves (see dictionary.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from threading import RLock
from typing import Self

import numpy as np
import pyarrow as pa

from tidelog.backends.local.constants import dictionary_kernels as kernels
from tidelog.backends.local.constants.dictionary_kernels import CONSTANTS, HEAP_BYTES, STRINGS
from tidelog.backends.local.kernels.compiled import Array, read_only
from tidelog.errors import BudgetError

_MAX_CONSTANTS = 2**31 - 1


class ConstantStore:
    """Kinds, payloads and strings by id. The layout of the arrays is told in dictionary_kernels.py."""

    def __init__(self) -> None:
        self.kinds: Array = np.zeros(1024, np.int8)
        self.payloads: Array = np.zeros(1024, np.int64)
        self.scalar_table: Array = np.zeros(1024, np.uint64)
        self.string_table: Array = np.zeros(1024, np.uint64)
        self.heap: Array = np.zeros(1 << 14, np.uint8)
        self.offsets: Array = np.zeros(1024, np.int64)
        self.counters: Array = np.zeros(3, np.int64)
        self.epoch = 0
        """How often constants were forgotten: ids of another epoch may mean something else by now."""
        self.moved = 0
        """How often arrays were replaced: addresses taken before are no longer good."""
        self._most = 0
        self._strings: pa.Array = pa.nulls(0, pa.large_string())  # not `pa.array`, which imports pandas
        self.latch = RLock()

    def __len__(self) -> int:
        return int(self.counters[CONSTANTS])

    @property
    def ids(self) -> int:
        """No id is, or ever was, as large as this: rows without marks may still hold those of forgotten constants."""
        return max(self._most, len(self))

    @property
    def nbytes(self) -> int:
        """Memory held by the arrays."""
        arrays = (self.kinds, self.payloads, self.scalar_table, self.string_table, self.heap, self.offsets)
        return sum(array.nbytes for array in arrays)

    def reserve(self, scalars: int) -> None:
        """Make room so that the next `scalars` insertions of numbers and bools by a kernel cannot fail."""
        needed = len(self) + scalars
        if needed > self.kinds.size or 2 * needed > self.scalar_table.size:
            self._make_room(scalars, 0)

    def arrays(self) -> dict[str, Array]:
        """What must be kept to restore this dictionary with the same ids."""
        count, strings, used = (int(counter) for counter in self.counters)
        return {
            "kinds": self.kinds[:count],
            "payloads": self.payloads[:count],
            "heap": self.heap[:used],
            "offsets": self.offsets[: strings + 1],
        }

    @classmethod
    def restore(cls, arrays: Mapping[str, Array]) -> Self:
        """The dictionary that `arrays` described."""
        self = cls()
        self.kinds, self.payloads = arrays["kinds"].astype(np.int8), arrays["payloads"].astype(np.int64)
        self.heap, self.offsets = arrays["heap"].astype(np.uint8), arrays["offsets"].astype(np.int64)
        self.counters[:] = self.kinds.size, self.offsets.size - 1, self.heap.size
        self.scalar_table = self.string_table = np.zeros(0, np.uint64)
        self._make_room(1, 1)
        return self

    def rewind(self, counters: Array) -> None:
        """Forget the constants that were added since the counters were these; their ids are given anew."""
        count, held, used = (int(counter) for counter in counters)
        kinds, payloads = self.kinds[:count].copy(), self.payloads[:count].copy()
        heap, offsets = self.heap[:used].copy(), self.offsets[: held + 1].copy()
        with self.latch:
            self.__dict__.update(
                kinds=kinds,
                payloads=payloads,
                heap=heap,
                offsets=offsets,
                scalar_table=_scalar_table(count, count - held, kinds, payloads),
                string_table=_string_table(count, held, kinds, payloads, heap, offsets),
                counters=np.array(counters, np.int64),
                epoch=self.epoch + 1,
                moved=self.moved + 1,
                _most=self.ids,
                _strings=pa.nulls(0, pa.large_string()),
            )

    def encode_scalars(self, kinds: Array, payloads: Array) -> Array:
        """The ids of numbers and bools given as in the layout: one kind each (or one for all) and payloads."""
        kinds, payloads = read_only(kinds), read_only(payloads)
        out = np.empty(payloads.size, np.int32)
        at = 0
        with self.latch:
            while True:
                held = (self.kinds, self.payloads, self.scalar_table, self.counters)
                at = kernels.encode_scalars(kinds, payloads, out, at, *held)
                if at == payloads.size:
                    return out
                self._make_room(self._step(payloads.size - at), 0)

    def encode_scalar(self, kind: int, payload: int) -> int:
        """The id of one number or bool, without arrays."""
        with self.latch:
            while True:
                held = (self.kinds, self.payloads, self.scalar_table, self.counters)
                found = int(kernels.scalar_insert(kind, payload, *held))
                if found != kernels.NO_ROOM:
                    return found
                self._make_room(1, 0)

    def encode_dense(self, payloads: Array, low: int, high: int) -> Array:
        """Integers of a narrow range: remember their ids in an array and hash each of them once."""
        values, out, known = read_only(payloads), np.empty(payloads.size, np.int32), np.zeros(high - low + 1, np.int32)
        at = 0
        with self.latch:
            while True:
                held = (self.kinds, self.payloads, self.scalar_table, self.counters)
                at = kernels.encode_dense(values, low, known, out, at, *held)
                if at == values.size:
                    return out
                self._make_room(self._step(values.size - at), 0)

    def encode_strings(self, kinds: Array, data: Array, bounds: Array) -> Array:
        """The ids of the strings or terms `data[bounds[i]:bounds[i + 1]]`, of one kind each or one for all."""
        out, at = np.empty(bounds.size - 1, np.int32), 0
        with self.latch:
            while True:
                held = (self.kinds, self.payloads, self.string_table, self.heap, self.offsets, self.counters)
                at = kernels.encode_strings(kinds, data, bounds, out, at, *held)
                if at == out.size:
                    return out
                left = out.size - at
                step = self._step(left)
                mean = int(bounds[-1] - bounds[at]) // left + 1
                self._make_room(0, step, max(step * mean, int(bounds[at + 1] - bounds[at])))

    def strings(self) -> pa.Array:
        """Every string as one Arrow array over the heap itself, by string number."""
        count = int(self.counters[STRINGS])
        if len(self._strings) != count:
            bounds = pa.py_buffer(self.offsets[: count + 1])
            data = pa.py_buffer(self.heap[: int(self.counters[HEAP_BYTES])])
            self._strings = pa.LargeStringArray.from_buffers(count, bounds, data)
        return self._strings

    def text(self, number: int) -> str:
        """One string, by its number."""
        return self.heap[self.offsets[number] : self.offsets[number + 1]].tobytes().decode()

    def _step(self, left: int) -> int:
        """How many constants to make room for when `left` values wait: most may repeat, so at most fourfold."""
        return max(1, min(left, 3 * len(self)))

    def _make_room(self, scalars: int, strings: int, heap_bytes: int = 0) -> None:
        """Grow whatever lacks room for that many more constants; growth at least doubles."""
        count, held, used = (int(counter) for counter in self.counters)
        if count + scalars + strings > _MAX_CONSTANTS:
            raise BudgetError.of("E405", "there are more than 2^31 constants", remedy="use the Spark backend")
        kinds = _grown(self.kinds, count + scalars + strings)
        payloads = _grown(self.payloads, count + scalars + strings)
        heap, offsets = _grown(self.heap, used + heap_bytes), _grown(self.offsets, held + strings + 1)
        numbers, texts = self.scalar_table, self.string_table
        if 2 * (count - held + scalars) > numbers.size:
            numbers = _scalar_table(count, count - held + scalars, kinds, payloads)
        if 2 * (held + strings) > texts.size:
            texts = _string_table(count, held + strings, kinds, payloads, heap, offsets)
        arrays = {"kinds": kinds, "payloads": payloads, "heap": heap, "offsets": offsets}
        arrays |= {"scalar_table": numbers, "string_table": texts}
        if any(array is not self.__dict__[name] for name, array in arrays.items()):
            self.__dict__.update(arrays, moved=self.moved + 1)  # one step: no interrupt falls into it


def _scalar_table(count: int, scalars: int, kinds: Array, payloads: Array) -> Array:
    """The hash table of the numbers and bools among the first constants, with room for `scalars` of them."""
    table = _table(2 * scalars)
    kernels.fill_scalar_table(count, kinds, payloads, table)
    return table


def _string_table(count: int, strings: int, kinds: Array, payloads: Array, heap: Array, offsets: Array) -> Array:
    """The hash table of the strings among the first constants, with room for `strings` of them."""
    table = _table(2 * strings)
    kernels.fill_string_table(count, kinds, payloads, table, heap, offsets)
    return table


def _grown(array: Array, size: int) -> Array:
    """The array, or a copy of at least double size if it is smaller than `size`."""
    if array.size >= size:
        return array
    grown = np.zeros(max(size, 2 * array.size), array.dtype)
    grown[: array.size] = array
    return grown


def _table(slots: int) -> Array:
    """An empty table: a power of two, with room for later constants."""
    return np.zeros(max(1024, 1 << max(slots - 1, 0).bit_length()), np.uint64)

"""Constants <-> dense integer ids.

What      : a `Dictionary` gives every typed constant an id 0, 1, 2, ... and finds the constant of an id.
Idea      : columns go through Arrow buffers and compiled kernels, never through one Python object per value; single
            Python values go through a bounded cache, because a usual update repeats few constants.
Invariant : ids are append-only and dense; a constant has one id for ever; `1`, `1.0`, `True` and `"1"` have four.
Never     : no relation, no rule, no function on values (see functions.py).

The arrays are attributes, because other kernels read them; they are *replaced* when they grow, so read them anew
after every call that may add constants.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Any

import numpy as np
import pyarrow as pa

from tidelog.backends.local import dictionary_kernels as kernels
from tidelog.backends.local.compiled import Array, read_only
from tidelog.backends.local.dictionary_kernels import (
    CONSTANTS,
    HEAP_BYTES,
    KIND_BOOL,
    KIND_FLOAT,
    KIND_INT,
    KIND_STRING,
    STRINGS,
)
from tidelog.changes.columns import Column, from_values, normalise, plain
from tidelog.errors import BudgetError
from tidelog.language.terms import Value

_MAX_CONSTANTS = 2**31 - 1
_CACHED = 1 << 16
_FEW = 32
_BITS, _DOUBLE = struct.Struct("=d"), struct.Struct("=q")
_KINDS: dict[type, int] = {int: KIND_INT, float: KIND_FLOAT, bool: KIND_BOOL, str: KIND_STRING}


class Dictionary:
    """Typed constants and their int32 ids. The layout of the arrays is told in dictionary_kernels.py."""

    def __init__(self) -> None:
        self.kinds: Array = np.zeros(1024, np.int8)
        self.payloads: Array = np.zeros(1024, np.int64)
        self.scalar_table: Array = np.zeros(1024, np.uint64)
        self.string_table: Array = np.zeros(1024, np.uint64)
        self.heap: Array = np.zeros(1 << 14, np.uint8)
        self.offsets: Array = np.zeros(1024, np.int64)
        self.counters: Array = np.zeros(3, np.int64)
        self._cache: dict[type, dict[Value, int]] = {kind: {} for kind in _KINDS}
        self._strings: pa.Array = pa.array([], pa.large_string())

    def __len__(self) -> int:
        return int(self.counters[CONSTANTS])

    @property
    def nbytes(self) -> int:
        """Memory held by the arrays."""
        arrays = (self.kinds, self.payloads, self.scalar_table, self.string_table, self.heap, self.offsets)
        return sum(array.nbytes for array in arrays)

    def encode(self, values: Sequence[Value] | Column) -> Array:
        """The ids of Python values (or of a column), new ones for new constants."""
        if isinstance(values, pa.Array | pa.ChunkedArray):
            return self.encode_arrow(values)
        if len(values) <= _CACHED >> 6:
            return self._encode_few(values)
        column = from_values(values)
        if not isinstance(column, list):
            return self.encode_arrow(column)
        return self._encode_mixed(column)

    def lookup(self, values: Sequence[Value] | Column) -> Array:
        """The ids of values, -1 for constants that have none; adds nothing."""
        if isinstance(values, pa.Array | pa.ChunkedArray):
            return self._by_chunk(values, adding=False)
        try:
            return np.array([self._cache[type(value)][value] for value in values], np.int32)
        except KeyError:
            column = from_values(values)
        if not isinstance(column, list):
            return self._by_chunk(column, adding=False)
        out = np.empty(len(column), np.int32)
        for positions, part in _by_kind(column):
            out[positions] = self._by_chunk(part, adding=False)
        return out

    def encode_arrow(self, array: pa.Array | pa.ChunkedArray) -> Array:
        """The ids of an Arrow column, new ones for new constants; what is no constant is refused with its row."""
        return self._by_chunk(array, adding=True)

    def decode(self, ids: Array) -> list[Value]:
        """The constants of ids as Python values."""
        if ids.size <= _FEW:
            return self._decode_few(ids)
        kinds = self.kinds[ids]
        if kinds.size and (kinds == kinds[0]).all():
            return self._column(ids, int(kinds[0])).to_pylist()  # type: ignore[no-any-return]
        out = np.empty(kinds.size, object)
        for kind in np.unique(kinds):
            chosen = kinds == kind
            out[chosen] = np.array(self._column(ids[chosen], int(kind)).to_pylist(), object)
        return out.tolist()

    def decode_arrow(self, ids: Array) -> pa.Array:
        """The constants of ids: int64, double, bool or string if all are of one kind, else a dense union."""
        kinds = self.kinds[ids]
        present = np.unique(kinds)
        if present.size == 0:
            return pa.nulls(0)
        if present.size == 1:
            return self._column(ids, int(present[0]))
        codes = np.searchsorted(present, kinds).astype(np.int8)
        offsets = np.empty(kinds.size, np.int32)
        parts = []
        for code, kind in enumerate(present):
            chosen = codes == code
            offsets[chosen] = np.arange(np.count_nonzero(chosen))
            parts.append(self._column(ids[chosen], int(kind)))
        names = [("int", "float", "bool", "string")[kind] for kind in present]
        return pa.UnionArray.from_dense(pa.array(codes), pa.array(offsets), parts, names)

    def reserve(self, scalars: int) -> None:
        """Make room so that the next `scalars` insertions of numbers and bools by a kernel cannot fail."""
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
    def restore(cls, arrays: Mapping[str, Array]) -> Dictionary:
        """The dictionary that `arrays` described."""
        self = cls()
        self.kinds, self.payloads = arrays["kinds"].astype(np.int8), arrays["payloads"].astype(np.int64)
        self.heap, self.offsets = arrays["heap"].astype(np.uint8), arrays["offsets"].astype(np.int64)
        self.counters[:] = self.kinds.size, self.offsets.size - 1, self.heap.size
        self.scalar_table = self.string_table = np.zeros(0, np.uint64)
        self._make_room(1, 1)
        return self

    def encode_scalars(self, kinds: Array, payloads: Array) -> Array:
        """The ids of numbers and bools given as in the layout: one kind each (or one for all) and payloads."""
        kinds, payloads = read_only(kinds), read_only(payloads)
        out = np.empty(payloads.size, np.int32)
        at = 0
        while True:
            held = (self.kinds, self.payloads, self.scalar_table, self.counters)
            at = kernels.encode_scalars(kinds, payloads, out, at, *held)
            if at == payloads.size:
                return out
            self._make_room(self._step(payloads.size - at), 0)

    def _encode_few(self, values: Sequence[Value]) -> Array:
        """Values that are mostly cached, one by one: cheaper than Arrow for some hundreds."""
        cache = self._cache
        try:
            return np.array([cache[type(value)][value] for value in values], np.int32)
        except KeyError:
            checked = [plain(value, row=row) for row, value in enumerate(values, 1)]
        if sum(map(len, cache.values())) > _CACHED:
            for known in cache.values():
                known.clear()
        new = [value for value in checked if value not in cache[type(value)]]
        self._remember([value for value in new if not isinstance(value, str)], self._few_scalars)
        self._remember([value for value in new if isinstance(value, str)], self._few_strings)
        return np.array([cache[type(value)][value] for value in checked], np.int32)

    def _remember(self, values: list[Value], encode: Callable[[list[Any]], Array]) -> None:
        for value, found in zip(values, encode(values).tolist() if values else ()):
            self._cache[type(value)][value] = found

    def _few_scalars(self, values: list[int | float]) -> Array:
        kinds = np.array([_KINDS[type(value)] for value in values], np.int8)
        bits = [_DOUBLE.unpack(_BITS.pack(value))[0] if type(value) is float else int(value) for value in values]
        return self.encode_scalars(kinds, np.array(bits, np.int64))

    def _few_strings(self, values: list[str]) -> Array:
        encoded = [value.encode() for value in values]
        bounds = np.array([0, *accumulate(map(len, encoded))], np.int64)
        return self._add_strings(read_only(np.frombuffer(b"".join(encoded), np.uint8)), read_only(bounds))

    def _decode_few(self, ids: Array) -> list[Value]:
        return [
            self._text(payload) if kind == KIND_STRING else _value(kind, payload)
            for kind, payload in zip(self.kinds[ids].tolist(), self.payloads[ids].tolist())
        ]

    def _text(self, number: int) -> str:
        return self.heap[self.offsets[number] : self.offsets[number + 1]].tobytes().decode()

    def _encode_mixed(self, values: list[Value]) -> Array:
        out = np.empty(len(values), np.int32)
        for positions, part in _by_kind(values):
            out[positions] = self._by_chunk(part, adding=True)
        return out

    def _by_chunk(self, column: pa.Array | pa.ChunkedArray, *, adding: bool) -> Array:
        if isinstance(column, pa.Array):
            return self._ids(normalise(column), adding)
        first, parts = 1, []
        for chunk in column.chunks:
            parts.append(self._ids(normalise(chunk, first_row=first), adding))
            first += len(chunk)
        return np.concatenate(parts) if parts else np.empty(0, np.int32)

    def _ids(self, array: pa.Array, adding: bool) -> Array:
        """The ids of a normalised Arrow array."""
        kind = array.type
        if pa.types.is_dictionary(kind):
            ids: Array = self._ids(array.dictionary, adding)[array.indices.to_numpy()]
            return ids
        if pa.types.is_union(kind):
            return self._union(array, adding)
        if pa.types.is_large_string(kind):
            return self._string_ids(array, adding)
        if pa.types.is_boolean(kind):
            return self._scalar_ids(KIND_BOOL, array.to_numpy(zero_copy_only=False).astype(np.int64), adding)
        if pa.types.is_floating(kind):
            return self._scalar_ids(KIND_FLOAT, array.to_numpy().view(np.int64), adding)
        return self._scalar_ids(KIND_INT, array.to_numpy(), adding)

    def _union(self, array: pa.Array, adding: bool) -> Array:
        out = np.empty(len(array), np.int32)
        codes, offsets = array.type_codes.to_numpy(), array.offsets.to_numpy()
        for number, code in enumerate(array.type.type_codes):
            chosen = codes == code
            out[chosen] = self._ids(array.field(number), adding)[offsets[chosen]]
        return out

    def _scalar_ids(self, kind: int, payloads: Array, adding: bool) -> Array:
        if not adding:
            out = np.empty(payloads.size, np.int32)
            kernels.lookup_scalars(kind, read_only(payloads), out, self.kinds, self.payloads, self.scalar_table)
            return out
        if kind == KIND_INT and payloads.size >= 4096:
            low, high = int(payloads.min()), int(payloads.max())
            if high - low <= 4 * payloads.size:
                return self._dense_ids(payloads, low, high)
        return self.encode_scalars(np.array([kind], np.int8), payloads)

    def _dense_ids(self, payloads: Array, low: int, high: int) -> Array:
        """Integers of a narrow range: remember their ids in an array and hash each of them once."""
        values, out, known = read_only(payloads), np.empty(payloads.size, np.int32), np.zeros(high - low + 1, np.int32)
        at = 0
        while True:
            held = (self.kinds, self.payloads, self.scalar_table, self.counters)
            at = kernels.encode_dense(values, low, known, out, at, *held)
            if at == values.size:
                return out
            self._make_room(self._step(values.size - at), 0)

    def _string_ids(self, array: pa.Array, adding: bool) -> Array:
        _, bounds_buffer, data_buffer = array.buffers()
        if len(array) == 0:
            return np.empty(0, np.int32)
        bounds = read_only(np.frombuffer(bounds_buffer, np.int64)[array.offset : array.offset + len(array) + 1])
        data = read_only(np.frombuffer(data_buffer if data_buffer is not None else b"", np.uint8))
        if adding:
            return self._add_strings(data, bounds)
        out = np.empty(len(array), np.int32)
        kernels.lookup_strings(data, bounds, out, self.payloads, self.string_table, self.heap, self.offsets)
        return out

    def _add_strings(self, data: Array, bounds: Array) -> Array:
        """The ids of the strings `data[bounds[i]:bounds[i + 1]]`."""
        out, at = np.empty(bounds.size - 1, np.int32), 0
        while True:
            held = (self.kinds, self.payloads, self.string_table, self.heap, self.offsets, self.counters)
            at = kernels.encode_strings(data, bounds, out, at, *held)
            if at == out.size:
                return out
            left = out.size - at
            step = self._step(left)
            mean = int(bounds[-1] - bounds[at]) // left + 1
            self._make_room(0, step, max(step * mean, int(bounds[at + 1] - bounds[at])))

    def _step(self, left: int) -> int:
        """How many constants to make room for when `left` values wait: most may repeat, so at most fourfold."""
        return max(1, min(left, 3 * len(self)))

    def _make_room(self, scalars: int, strings: int, heap_bytes: int = 0) -> None:
        """Grow whatever lacks room for that many more constants; growth at least doubles."""
        count, held, used = (int(counter) for counter in self.counters)
        if count + scalars + strings > _MAX_CONSTANTS:
            raise BudgetError.of("E401", "there are more than 2^31 constants", remedy="use the Spark backend")
        self.kinds = _grown(self.kinds, count + scalars + strings)
        self.payloads = _grown(self.payloads, count + scalars + strings)
        self.offsets = _grown(self.offsets, held + strings + 1)
        self.heap = _grown(self.heap, used + heap_bytes)
        if 2 * (count - held + scalars) > self.scalar_table.size:
            self.scalar_table = _table(2 * (count - held + scalars))
            kernels.fill_scalar_table(count, self.kinds, self.payloads, self.scalar_table)
        if 2 * (held + strings) > self.string_table.size:
            self.string_table = _table(2 * (held + strings))
            kernels.fill_string_table(count, self.kinds, self.payloads, self.string_table, self.heap, self.offsets)

    def _column(self, ids: Array, kind: int) -> pa.Array:
        """The constants of ids that are all of one kind, as Arrow."""
        payloads = self.payloads[ids]
        if kind == KIND_INT:
            return pa.array(payloads)
        if kind == KIND_FLOAT:
            return pa.array(payloads.view(np.float64))
        if kind == KIND_BOOL:
            return pa.array(payloads.astype(np.bool_))
        taken = self._all_strings().take(pa.array(payloads))
        return taken if taken.nbytes >= 2**31 else taken.cast(pa.string())

    def _all_strings(self) -> pa.Array:
        """Every string as one Arrow array over the heap itself, by string number."""
        count = int(self.counters[STRINGS])
        if len(self._strings) != count:
            bounds = pa.py_buffer(self.offsets[: count + 1])
            data = pa.py_buffer(self.heap[: int(self.counters[HEAP_BYTES])])
            self._strings = pa.LargeStringArray.from_buffers(count, bounds, data)
        return self._strings


def _value(kind: int, payload: int) -> Value:
    """A number or bool as Python knows it."""
    if kind == KIND_INT:
        return payload
    return bool(payload) if kind == KIND_BOOL else float(_BITS.unpack(_DOUBLE.pack(payload))[0])


def _by_kind(values: list[Value]) -> list[tuple[Any, pa.Array]]:
    """Checked values that mix types, as one Arrow array per type with its positions."""
    types = list(map(type, values))
    found = set(types)
    if len(found) == 1:
        return [(slice(None), from_values(values))]
    parts: list[tuple[Any, pa.Array]] = []
    for kind in sorted(found, key=lambda kind: kind.__name__):
        positions = [position for position, its in enumerate(types) if its is kind]
        parts.append((positions, from_values([values[position] for position in positions])))
    return parts


def _grown(array: Array, size: int) -> Array:
    """The array, or a copy of at least double size if it is smaller than `size`."""
    if array.size >= size:
        return array
    grown = np.zeros(max(size, 2 * array.size), array.dtype)
    grown[: array.size] = array
    return grown


def _table(slots: int) -> Array:
    """An empty table: a power of two, with room for later constants."""
    return np.zeros(max(1024, 1 << (slots - 1).bit_length()), np.uint64)

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
from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate
from typing import Any

import numpy as np
import pyarrow as pa

from tidelog.backends.local.constants import dictionary_kernels as kernels
from tidelog.backends.local.constants.dictionary_arrays import ConstantStore
from tidelog.backends.local.constants.dictionary_kernels import (
    KIND_BOOL,
    KIND_FLOAT,
    KIND_INT,
    KIND_STRING,
    KIND_TERM,
)
from tidelog.backends.local.constants.shared_lookups import known_ids
from tidelog.backends.local.kernels.compiled import Array, read_only
from tidelog.backends.local.kernels.workers import ALONE, Workers
from tidelog.changes.buffers import flags, memory, numbers
from tidelog.changes.columns import Column, from_values, normalise, plain
from tidelog.changes.term_arrays import as_terms, is_term_type
from tidelog.errors import TidelogError
from tidelog.language.rdf_terms import IRI, BlankNode, Literal, RdfTerm, term_of
from tidelog.language.terms import Value

_CACHED = 1 << 16
_FEW = 32
_DOUBLE, _BITS = struct.Struct("=d"), struct.Struct("=q")
_KINDS: dict[type, int] = {int: KIND_INT, float: KIND_FLOAT, bool: KIND_BOOL, str: KIND_STRING}
_NAMES = ("int", "float", "bool", "string", "term")
_KINDS |= dict.fromkeys((IRI, BlankNode, Literal), KIND_TERM)
_ONLY = {kind: read_only(np.array([kind], np.int8)) for kind in range(len(_NAMES))}
_INTEGERS = {int}


class Dictionary(ConstantStore):
    """Typed constants and their int32 ids."""

    def __init__(self, workers: Workers = ALONE) -> None:
        super().__init__()
        self.workers = workers
        self._cache: dict[type, dict[Value, int]] = {kind: {} for kind in _KINDS}

    def rewind(self, counters: Array) -> None:
        """Forget the constants that were added since the counters were these; their ids are given anew."""
        with self.latch:
            for known in self._cache.values():
                known.clear()
            super().rewind(counters)

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

    def id_of(self, value: Value) -> int:
        """The id of one constant, a new one for a new constant."""
        known = self._cache[type(value)].get(value)
        if known is not None:
            return known
        kind = _KINDS[type(value)]
        if kind > KIND_FLOAT:
            return int(self.encode([value])[0])
        if len(self._cache[type(value)]) > _CACHED:
            self._cache[type(value)].clear()
        checked = plain(value)
        found = self.encode_scalar(kind, _bits_of(checked))
        self._cache[type(value)][checked] = found
        return found

    def number(self, found: int) -> int | float:
        """The int or float of an id."""
        payload = self.payloads[found]
        return int(payload) if self.kinds[found] == KIND_INT else float(payload.view(np.float64))

    def lookup(self, values: Sequence[Value] | Column) -> Array:
        """The ids of values, -1 for constants that have none; adds nothing. Safe beside a writer of another thread."""
        with self.latch:
            return self._looked_up(values)

    def _looked_up(self, values: Sequence[Value] | Column) -> Array:
        if isinstance(values, pa.Array | pa.ChunkedArray):
            return self._by_chunk(values, adding=False)
        try:
            return np.array([self._cache[type(value)][value] for value in values], np.int32)
        except KeyError:
            few = self._few_looked_up(values) if len(values) <= _FEW else None
            if few is not None:
                return few
            column = from_values(values)
        if not isinstance(column, list):
            return self._by_chunk(column, adding=False)
        out = np.empty(len(column), np.int32)
        for positions, part in _by_kind(column):
            out[positions] = self._by_chunk(part, adding=False)
        return out

    def _few_looked_up(self, values: Sequence[Value]) -> Array | None:
        """A handful of values of one kind, without the way through Arrow; None if they are of several."""
        checked = [plain(value, row=row) for row, value in enumerate(values, 1)]
        kinds = {_KINDS[type(value)] for value in checked}
        if len(kinds) != 1:
            return None
        kind = kinds.pop()
        if kind < KIND_STRING:
            return self._scalar_ids(kind, _bits(checked), adding=False)
        out = np.empty(len(checked), np.int32)
        held = (self.kinds, self.payloads, self.string_table, self.heap, self.offsets)
        kernels.lookup_strings(kind, *_bytes(checked), out, *held)
        return out

    def few(self, values: list[Value], columns: int, *, adding: bool) -> Array | None:
        """A handful of rows as ids; new constants get one if `adding`, else -1. None if a value is no constant."""
        try:
            if set(map(type, values)) == _INTEGERS:  # which take less time to look for than a cache of objects
                ids = self._scalar_ids(KIND_INT, np.array(values, np.int64), adding)
            else:
                ids = self._encode_few(values) if adding else self.lookup(values)
        except (TidelogError, TypeError, OverflowError):
            return None
        return ids.reshape(-1, columns)

    def encode_arrow(self, array: pa.Array | pa.ChunkedArray) -> Array:
        """The ids of an Arrow column, new ones for new constants; what is no constant is refused with its row."""
        return self._by_chunk(array, adding=True)

    def decode(self, ids: Array) -> list[Value]:
        """The constants of ids as Python values. Safe beside a writer of another thread."""
        with self.latch:
            return self._decoded(ids)

    def _decoded(self, ids: Array) -> list[Value]:
        if ids.size <= _FEW:
            return self._decode_few(ids)
        kinds = self.kinds[ids]
        if kinds.size and (kinds == kinds[0]).all():
            return self._column(ids, int(kinds[0])).to_pylist()  # type: ignore[no-any-return]
        out = np.empty(kinds.size, object)
        for kind in np.flatnonzero(np.bincount(kinds)):
            chosen = kinds == kind
            out[chosen] = np.array(self._column(ids[chosen], int(kind)).to_pylist(), object)
        return out.tolist()

    def decode_arrow(self, ids: Array) -> pa.Array:
        """The constants of ids: int64, double, bool or string if all are of one kind, else a dense union."""
        with self.latch:
            return self._decoded_arrow(ids)

    def decode_columns(self, columns: Sequence[Array]) -> list[pa.Array]:
        """The constants of several columns of ids, as `decode_arrow`; long columns are decoded side by side."""
        with self.latch:
            if len(columns) > 1 and self.workers.takes(len(columns[0])):
                self.strings()  # made once
                return self.workers.run([partial(self._decoded_arrow, ids) for ids in columns])
            return [self._decoded_arrow(ids) for ids in columns]

    def _decoded_arrow(self, ids: Array) -> pa.Array:
        kinds = self.kinds[ids]
        present = np.flatnonzero(np.bincount(kinds, minlength=len(_NAMES)))
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
        names = [_NAMES[kind] for kind in present]
        return pa.UnionArray.from_dense(numbers(codes, pa.int8()), numbers(offsets, pa.int32()), parts, names)

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
        self._remember([value for value in new if not isinstance(value, str | RdfTerm)], self._few_scalars)
        self._remember([value for value in new if isinstance(value, str | RdfTerm)], self._few_strings)
        return np.array([cache[type(value)][value] for value in checked], np.int32)

    def _remember(self, values: list[Value], encode: Callable[[list[Any]], Array]) -> None:
        for value, found in zip(values, encode(values).tolist() if values else ()):
            self._cache[type(value)][value] = found

    def _few_scalars(self, values: list[int | float]) -> Array:
        kinds = np.array([_KINDS[type(value)] for value in values], np.int8)
        return self.encode_scalars(kinds, _bits(values))

    def _few_strings(self, values: list[str | RdfTerm]) -> Array:
        kinds = np.array([_KINDS[type(value)] for value in values], np.int8)
        return self.encode_strings(read_only(kinds), *_bytes(values))

    def _decode_few(self, ids: Array) -> list[Value]:
        return [
            _text(kind, self.text(payload)) if kind >= KIND_STRING else _value(kind, payload)
            for kind, payload in zip(self.kinds[ids].tolist(), self.payloads[ids].tolist())
        ]

    def _encode_mixed(self, values: list[Value]) -> Array:
        out = np.empty(len(values), np.int32)
        for positions, part in _by_kind(values):
            out[positions] = self._by_chunk(part, adding=True)
        return out

    def _by_chunk(self, column: pa.Array | pa.ChunkedArray, *, adding: bool) -> Array:
        """The ids of a column, chunk by chunk; unless `adding`, unknown constants get -1."""
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
        if is_term_type(kind):
            return self._string_ids(array.storage, adding, KIND_TERM)
        if pa.types.is_large_string(kind):
            return self._string_ids(array, adding)
        if pa.types.is_boolean(kind):
            return self._scalar_ids(KIND_BOOL, memory(array).astype(np.int64), adding)
        if pa.types.is_floating(kind):
            return self._scalar_ids(KIND_FLOAT, memory(array).view(np.int64), adding)
        return self._scalar_ids(KIND_INT, memory(array), adding)

    def _union(self, array: pa.Array, adding: bool) -> Array:
        out = np.empty(len(array), np.int32)
        codes, offsets = array.type_codes.to_numpy(), array.offsets.to_numpy()
        for number, code in enumerate(array.type.type_codes):
            chosen = codes == code
            out[chosen] = self._ids(array.field(number), adding)[offsets[chosen]]
        return out

    def _scalar_ids(self, kind: int, payloads: Array, adding: bool) -> Array:
        kinds, values = _ONLY[kind], read_only(payloads)

        def look_up(start: int, stop: int, out: Array) -> None:
            kernels.lookup_scalars(kinds, values[start:stop], out, self.kinds, self.payloads, self.scalar_table)

        if not adding:
            out = np.empty(payloads.size, np.int32)
            with self.latch:
                look_up(0, payloads.size, out)
            return out
        with self.latch:
            known = known_ids(self.workers, payloads.size, look_up)
            return self._new_scalars(kind, payloads) if known is None else self._completed(kind, payloads, known)

    def _completed(self, kind: int, payloads: Array, known: Array) -> Array:
        """The ids of numbers, of which those that have none yet are -1."""
        new = np.flatnonzero(known < 0)
        if len(new):
            known[new] = self._new_scalars(kind, payloads[new])
        return known

    def _new_scalars(self, kind: int, payloads: Array) -> Array:
        if kind == KIND_INT and payloads.size >= 4096:
            low, high = int(payloads.min()), int(payloads.max())
            if high - low <= 4 * payloads.size:
                return self.encode_dense(payloads, low, high)
        return self.encode_scalars(_ONLY[kind], payloads)

    def _string_ids(self, array: pa.Array, adding: bool, kind: int = KIND_STRING) -> Array:
        _, bounds_buffer, data_buffer = array.buffers()
        if len(array) == 0:
            return np.empty(0, np.int32)
        bounds = read_only(np.frombuffer(bounds_buffer, np.int64)[array.offset : array.offset + len(array) + 1])
        data = read_only(np.frombuffer(data_buffer if data_buffer is not None else b"", np.uint8))

        def look_up(start: int, stop: int, out: Array) -> None:
            held = (self.kinds, self.payloads, self.string_table, self.heap, self.offsets)
            kernels.lookup_strings(kind, data, bounds[start : stop + 1], out, *held)

        if not adding:
            out = np.empty(len(array), np.int32)
            look_up(0, len(array), out)
            return out
        with self.latch:
            known = known_ids(self.workers, len(array), look_up)
            if known is None:
                return self.encode_strings(_ONLY[kind], data, bounds)
            new = np.flatnonzero(known < 0)
            if len(new):
                known[new] = self._string_ids(array.take(numbers(new, pa.int64())), True, kind)
            return known

    def _column(self, ids: Array, kind: int) -> pa.Array:
        """The constants of ids that are all of one kind, as Arrow."""
        payloads = self.payloads[ids]
        if kind == KIND_INT:
            return numbers(payloads, pa.int64())
        if kind == KIND_FLOAT:
            return numbers(payloads, pa.float64())
        if kind == KIND_BOOL:
            return flags(payloads.astype(np.bool_))
        taken = self.strings().take(numbers(payloads, pa.int64()))
        if kind == KIND_TERM:
            return as_terms(taken)
        return taken if taken.nbytes >= 2**31 else taken.cast(pa.string())


def _bits(values: Sequence[Value]) -> Array:
    """Numbers and bools as the 64 bits that are kept of them."""
    return np.array(list(map(_bits_of, values)), np.int64)


def _bits_of(value: Value) -> int:
    return int(_BITS.unpack(_DOUBLE.pack(value))[0]) if type(value) is float else int(value)  # type: ignore[arg-type]


def _bytes(values: Sequence[Value]) -> tuple[Array, Array]:
    """Strings and terms as bytes one after the other, and where each begins and ends."""
    encoded = [str(value).encode() for value in values]
    bounds = np.array([0, *accumulate(map(len, encoded))], np.int64)
    return read_only(np.frombuffer(b"".join(encoded), np.uint8)), read_only(bounds)


def _value(kind: int, payload: int) -> Value:
    """A number or bool as Python knows it."""
    if kind == KIND_INT:
        return payload
    return bool(payload) if kind == KIND_BOOL else float(_DOUBLE.unpack(_BITS.pack(payload))[0])


def _text(kind: int, text: str) -> Value:
    """A string or term as Python knows it."""
    return text if kind == KIND_STRING else term_of(text)


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

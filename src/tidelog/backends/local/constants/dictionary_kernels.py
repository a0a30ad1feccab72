"""Constants to ids, compiled.

What      : lookups and insertions in the two hash tables of a `Dictionary`, one value at a time (for other kernels) and
            column at a time.
Idea      : open addressing with linear probing; a slot is 64 bits, the upper half of the hash as a tag and id + 1, so
            that a probe reads one cache line and an empty table is plain zeroed memory.
Invariant : a table is at most half full; a kernel that lacks room stops, having changed nothing for the value at hand,
            and says so (-2, or the position it reached); its caller grows the arrays and resumes.
Never     : no allocation of dictionary arrays and no Python objects (see dictionary.py).

Layout, shared by every kernel: `kinds[id]` (KIND_*), `payloads[id]` (the integer; a float's bits; 0 or 1; a string's
number), `heap[offsets[s]:offsets[s + 1]]` the UTF-8 bytes of string number s, `counters` (constants, strings, bytes).
The text of an RDF term is one of the strings; its kind takes part in its hash.
"""

from __future__ import annotations

import numpy as np

from tidelog.backends.local.kernels.compiled import Array, Int, compiled
from tidelog.backends.local.kernels.memory import fetch64

KIND_INT, KIND_FLOAT, KIND_BOOL, KIND_STRING, KIND_TERM = 0, 1, 2, 3, 4
CONSTANTS, STRINGS, HEAP_BYTES = 0, 1, 2

UNKNOWN, NO_ROOM = -1, -2

_EMPTY = np.uint64(0)
_ONE = np.uint64(1)
_ID_BITS = np.uint64(0xFFFFFFFF)
_TAG_BITS = np.uint64(0xFFFFFFFF00000000)
_TAG_SHIFT = np.uint64(32)
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_MIX_A = np.uint64(0xFF51AFD7ED558CCD)
_MIX_B = np.uint64(0xC4CEB9FE1A85EC53)
_FOLD = np.uint64(33)
_WORD = np.uint64(8)
_BLOCK = 64
"""Numbers are looked up by the block: what a block will read is sent for first, so that the waiting overlaps."""
_FAR = 1 << 17
"""A table with more slots than these does not fit into a cache that is near."""


@compiled
def mix(word: np.uint64) -> np.uint64:
    """MurmurHash3's finaliser: every input bit reaches every output bit."""
    word ^= word >> _FOLD
    word *= _MIX_A
    word ^= word >> _FOLD
    word *= _MIX_B
    word ^= word >> _FOLD
    return word


@compiled
def scalar_hash(kind: Int, payload: Int) -> np.uint64:
    """The hash of a number or bool; the kind takes part, so `1`, `1.0` and `True` differ."""
    return mix(np.uint64(payload) ^ (np.uint64(kind) * _SPREAD))


@compiled
def bytes_hash(kind: Int, data: Array, start: Int, stop: Int) -> np.uint64:
    """The hash of the bytes of a string or term, eight at a time; the kind takes part, so `"<a:>"` and <a:> differ."""
    result = (np.uint64(stop - start) ^ (np.uint64(kind - KIND_STRING) << _TAG_SHIFT)) * _SPREAD
    at = np.uint64(start)
    end = np.uint64(stop)
    while at + _WORD <= end:
        word = _EMPTY
        for byte in range(8):
            word |= np.uint64(data[at + np.uint64(byte)]) << np.uint64(8 * byte)
        result = (result ^ mix(word)) * _SPREAD
        at += _WORD
    word = _EMPTY
    while at < end:
        word = (word << _WORD) | np.uint64(data[at])
        at += _ONE
    return mix(result ^ mix(word))


@compiled
def same_bytes(data: Array, start: Int, stop: Int, heap: Array, first: Int, last: Int) -> bool:
    """Whether two byte ranges are equal."""
    if stop - start != last - first:
        return False
    for step in range(np.uint64(stop - start)):
        if data[np.uint64(start) + step] != heap[np.uint64(first) + step]:
            return False
    return True


@compiled
def scalar_id(kind: Int, payload: Int, kinds: Array, payloads: Array, table: Array) -> Int:
    """The id of a number or bool, or UNKNOWN (-1)."""
    hashed = scalar_hash(kind, payload)
    mask = np.uint64(table.size - 1)
    slot = hashed & mask
    while True:
        entry = table[slot]
        if entry == _EMPTY:
            return UNKNOWN
        if (entry ^ hashed) >> _TAG_SHIFT == _EMPTY:
            found = np.int64(entry & _ID_BITS) - 1
            if payloads[found] == payload and kinds[found] == kind:
                return found
        slot = (slot + _ONE) & mask


@compiled
def scalar_insert(kind: Int, payload: Int, kinds: Array, payloads: Array, table: Array, counters: Array) -> Int:
    """The id of a number or bool, a new one if it is unknown; NO_ROOM (-2) if the arrays must grow first."""
    hashed = scalar_hash(kind, payload)
    mask = np.uint64(table.size - 1)
    slot = hashed & mask
    while True:
        entry = table[slot]
        if entry == _EMPTY:
            break
        if (entry ^ hashed) >> _TAG_SHIFT == _EMPTY:
            found = np.int64(entry & _ID_BITS) - 1
            if payloads[found] == payload and kinds[found] == kind:
                return found
        slot = (slot + _ONE) & mask
    new = counters[CONSTANTS]
    if new >= kinds.size or 2 * (new - counters[STRINGS]) >= table.size:
        return NO_ROOM
    table[slot] = (hashed & _TAG_BITS) | np.uint64(new + 1)
    kinds[new] = kind
    payloads[new] = payload
    counters[CONSTANTS] = new + 1
    return new


@compiled
def string_id(
    kind: Int,
    data: Array,
    start: Int,
    stop: Int,
    kinds: Array,
    payloads: Array,
    table: Array,
    heap: Array,
    offsets: Array,
) -> Int:
    """The id of the string or term `data[start:stop]`, or UNKNOWN (-1)."""
    hashed = bytes_hash(kind, data, start, stop)
    mask = np.uint64(table.size - 1)
    slot = hashed & mask
    while True:
        entry = table[slot]
        if entry == _EMPTY:
            return UNKNOWN
        if (entry ^ hashed) >> _TAG_SHIFT == _EMPTY:
            found = np.int64(entry & _ID_BITS) - 1
            number = payloads[found]
            if kinds[found] == kind and same_bytes(data, start, stop, heap, offsets[number], offsets[number + 1]):
                return found
        slot = (slot + _ONE) & mask


@compiled
def string_insert(
    kind: Int,
    data: Array,
    start: Int,
    stop: Int,
    kinds: Array,
    payloads: Array,
    table: Array,
    heap: Array,
    offsets: Array,
    counters: Array,
) -> Int:
    """The id of the string or term `data[start:stop]`, a new one if it is unknown; NO_ROOM (-2) if arrays must grow."""
    hashed = bytes_hash(kind, data, start, stop)
    mask = np.uint64(table.size - 1)
    slot = hashed & mask
    while True:
        entry = table[slot]
        if entry == _EMPTY:
            break
        if (entry ^ hashed) >> _TAG_SHIFT == _EMPTY:
            found = np.int64(entry & _ID_BITS) - 1
            number = payloads[found]
            if kinds[found] == kind and same_bytes(data, start, stop, heap, offsets[number], offsets[number + 1]):
                return found
        slot = (slot + _ONE) & mask
    new = counters[CONSTANTS]
    number = counters[STRINGS]
    used = counters[HEAP_BYTES]
    end = used + stop - start
    if new >= kinds.size or 2 * number >= table.size or number + 1 >= offsets.size or end > heap.size:
        return NO_ROOM
    for step in range(np.uint64(stop - start)):
        heap[np.uint64(used) + step] = data[np.uint64(start) + step]
    table[slot] = (hashed & _TAG_BITS) | np.uint64(new + 1)
    kinds[new] = kind
    payloads[new] = number
    offsets[number + 1] = end
    counters[CONSTANTS] = new + 1
    counters[STRINGS] = number + 1
    counters[HEAP_BYTES] = end
    return new


@compiled
def _fetch_scalars(
    sources: Array, values: Array, start: Int, stop: Int, payloads: Array, table: Array
) -> None:  # fmt: skip
    """Send for the slots of some values, and for what these slots name."""
    mask, single = np.uint64(table.size - 1), sources.size == 1
    for position in range(start, stop):
        kind = sources[0] if single else sources[position]
        fetch64(table.ctypes.data, np.int64(scalar_hash(kind, values[position]) & mask))
    for position in range(start, stop):
        kind = sources[0] if single else sources[position]
        entry = table[scalar_hash(kind, values[position]) & mask]
        if entry != _EMPTY:
            fetch64(payloads.ctypes.data, np.int64(entry & _ID_BITS) - 1)


@compiled
def encode_scalars(
    sources: Array,
    values: Array,
    out: Array,
    start: Int,
    kinds: Array,
    payloads: Array,
    table: Array,
    counters: Array,
) -> Int:
    """Encode values from position `start` on; the position reached (all of them, or where room ran out).

    `sources` holds one kind for every value, or a single kind for all.
    """
    single, is_far = sources.size == 1, table.size > _FAR
    for position in range(start, values.size):
        if is_far and (position - start) % _BLOCK == 0:
            _fetch_scalars(sources, values, position, min(position + _BLOCK, values.size), payloads, table)
        kind = sources[0] if single else sources[position]
        found = scalar_insert(kind, values[position], kinds, payloads, table, counters)
        if found == NO_ROOM:
            return position
        out[position] = found
    return values.size


@compiled
def encode_dense(
    values: Array,
    low: Int,
    known: Array,
    out: Array,
    start: Int,
    kinds: Array,
    payloads: Array,
    table: Array,
    counters: Array,
) -> Int:
    """Like `encode_scalars` for integers of a narrow range: `known[value - low]` remembers ids as id + 1."""
    for position in range(start, values.size):
        value = values[position]
        remembered = known[np.uint64(value - low)]
        if remembered == 0:
            found = scalar_insert(np.int8(KIND_INT), value, kinds, payloads, table, counters)
            if found == NO_ROOM:
                return position
            remembered = found + 1
            known[np.uint64(value - low)] = remembered
        out[position] = remembered - 1
    return values.size


@compiled
def encode_strings(
    sources: Array,
    data: Array,
    bounds: Array,
    out: Array,
    start: Int,
    kinds: Array,
    payloads: Array,
    table: Array,
    heap: Array,
    offsets: Array,
    counters: Array,
) -> Int:
    """Encode the strings and terms `data[bounds[i]:bounds[i + 1]]` from position `start` on; the position reached.

    `sources` holds one kind for every text, or a single kind for all.
    """
    single = sources.size == 1
    for position in range(start, bounds.size - 1):
        found = string_insert(
            sources[0] if single else sources[position],
            data,
            bounds[position],
            bounds[position + 1],
            kinds,
            payloads,
            table,
            heap,
            offsets,
            counters,
        )
        if found == NO_ROOM:
            return position
        out[position] = found
    return bounds.size - 1


@compiled
def lookup_scalars(sources: Array, values: Array, out: Array, kinds: Array, payloads: Array, table: Array) -> None:
    """The ids of values of one kind, the only one in `sources`; UNKNOWN for those that have none."""
    is_far = table.size > _FAR
    for position in range(values.size):
        if is_far and position % _BLOCK == 0:
            _fetch_scalars(sources, values, position, min(position + _BLOCK, values.size), payloads, table)
        out[position] = scalar_id(sources[0], values[position], kinds, payloads, table)


@compiled
def lookup_strings(
    kind: Int,
    data: Array,
    bounds: Array,
    out: Array,
    kinds: Array,
    payloads: Array,
    table: Array,
    heap: Array,
    offsets: Array,
) -> None:
    """The ids of strings or terms, UNKNOWN for those that have none."""
    for position in range(bounds.size - 1):
        start, stop = bounds[position], bounds[position + 1]
        out[position] = string_id(np.int8(kind), data, start, stop, kinds, payloads, table, heap, offsets)


@compiled
def fill_scalar_table(count: Int, kinds: Array, payloads: Array, table: Array) -> None:
    """Enter the first `count` constants that have no text into an empty table."""
    mask = np.uint64(table.size - 1)
    for constant in range(count):
        if kinds[constant] < KIND_STRING:
            hashed = scalar_hash(kinds[constant], payloads[constant])
            slot = hashed & mask
            while table[slot] != _EMPTY:
                slot = (slot + _ONE) & mask
            table[slot] = (hashed & _TAG_BITS) | np.uint64(constant + 1)


@compiled
def fill_string_table(count: Int, kinds: Array, payloads: Array, table: Array, heap: Array, offsets: Array) -> None:
    """Enter the first `count` constants that are strings or terms into an empty table."""
    mask = np.uint64(table.size - 1)
    for constant in range(count):
        if kinds[constant] >= KIND_STRING:
            number = payloads[constant]
            hashed = bytes_hash(kinds[constant], heap, offsets[number], offsets[number + 1])
            slot = hashed & mask
            while table[slot] != _EMPTY:
                slot = (slot + _ONE) & mask
            table[slot] = (hashed & _TAG_BITS) | np.uint64(constant + 1)

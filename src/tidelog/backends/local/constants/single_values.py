"""Arithmetic and order of single constants inside a join, compiled.

What      : `computed` gives the id of a sum, product, ... of two constants, `compared` says whether one is less, equal
            or greater; both find the arrays of the dictionary by address.
Idea      : what function_kernels.py does for columns between two joins, for one match in the midst of a join: so that a
            rule that counts up by one can run round after round inside one kernel.
Invariant : the results are those of function_kernels.py. What these kernels leave to language/values.py, and a new
            constant for which there is no room, is UNSURE here, and nothing is changed.
Never     : no growth of a dictionary, and no Python objects.
"""

from __future__ import annotations

import math

import numpy as np

from tidelog.backends.local.constants.dictionary_kernels import (
    CONSTANTS,
    KIND_BOOL,
    KIND_FLOAT,
    KIND_INT,
    KIND_STRING,
    STRINGS,
    scalar_hash,
)
from tidelog.backends.local.constants.function_kernels import (
    EQUAL,
    GREATER,
    LESS,
    NO_ORDER,
    as_float,
    as_payload,
    floating,
    order_of_floats,
    whole,
)
from tidelog.backends.local.kernels.compiled import Array, Int, compiled
from tidelog.backends.local.kernels.memory import load8, load64, store8, store64

UNSURE = -1
KINDS, PAYLOADS, TABLE, ROOM, COUNTERS, CAPACITY, HEAP, OFFSETS, ARRAYS = range(9)
"""What `arrays` hold from `at` on: addresses of the dictionary's arrays, the slots of the table less one, and how many
constants there is room for."""

_EMPTY, _ONE, _HALF = np.uint64(0), np.uint64(1), np.uint64(32)
_LOW, _HIGH = np.uint64(0xFFFFFFFF), np.uint64(0xFFFFFFFF00000000)
_EXACT, _BYTE = np.int64(2**53), np.int64(0xFF)


@compiled
def computed(function: Int, left: Int, right: Int, arrays: Array, at: Int) -> Int:
    """The id of `left function right`, a new one if the result is a new constant; or UNSURE."""
    kinds, payloads = arrays[at + KINDS], arrays[at + PAYLOADS]
    kind, other = load8(kinds, left), load8(kinds, right)
    a, b = load64(payloads, left), load64(payloads, right)
    if kind == KIND_INT and other == KIND_INT:
        sure, payload = whole(function, a, b)
        return _id(np.int64(KIND_INT), payload, arrays, at) if sure else np.int64(UNSURE)
    if kind > KIND_FLOAT or other > KIND_FLOAT:
        return np.int64(UNSURE)
    first = as_float(a) if kind == KIND_FLOAT else np.float64(a)
    second = as_float(b) if other == KIND_FLOAT else np.float64(b)
    number = floating(function, first, second)
    return _id(np.int64(KIND_FLOAT), as_payload(number), arrays, at) if math.isfinite(number) else np.int64(UNSURE)


@compiled
def _id(kind: Int, payload: Int, arrays: Array, at: Int) -> Int:
    """The id of a number, a new one if it is unknown; UNSURE if there is no room."""
    hashed, table, counters = scalar_hash(kind, payload), arrays[at + TABLE], arrays[at + COUNTERS]
    kinds, payloads, room = arrays[at + KINDS], arrays[at + PAYLOADS], np.uint64(arrays[at + ROOM])
    slot = hashed & room
    while True:
        entry = np.uint64(load64(table, np.int64(slot)))
        if entry == _EMPTY:
            break
        if (entry ^ hashed) >> _HALF == _EMPTY:
            found = np.int64(entry & _LOW) - 1
            if load64(payloads, found) == payload and load8(kinds, found) == kind:
                return found
        slot = (slot + _ONE) & room
    new = load64(counters, np.int64(CONSTANTS))
    if new >= arrays[at + CAPACITY] or 2 * (new - load64(counters, np.int64(STRINGS))) > arrays[at + ROOM]:
        return np.int64(UNSURE)
    store64(table, np.int64(slot), np.int64((hashed & _HIGH) | np.uint64(new + 1)))
    store8(kinds, new, kind)
    store64(payloads, new, payload)
    store64(counters, np.int64(CONSTANTS), new + 1)
    return new


@compiled
def compared(left: Int, right: Int, arrays: Array, at: Int) -> Int:
    """LESS, EQUAL or GREATER; NO_ORDER if language/values.py must decide."""
    kind, other = load8(arrays[at + KINDS], left), load8(arrays[at + KINDS], right)
    a, b = load64(arrays[at + PAYLOADS], left), load64(arrays[at + PAYLOADS], right)
    if kind == other:
        if kind == KIND_STRING:
            return _order_of_texts(arrays[at + HEAP], arrays[at + OFFSETS], a, b)
        if kind == KIND_FLOAT:
            return np.int64(order_of_floats(as_float(a), as_float(b)))
        if kind > KIND_STRING:
            return np.int64(NO_ORDER)
        return np.int64(LESS) if a < b else (np.int64(GREATER) if a > b else np.int64(EQUAL))
    if kind >= KIND_BOOL or other >= KIND_BOOL:
        return np.int64(NO_ORDER)
    integer = a if kind == KIND_INT else b
    if integer > _EXACT or integer < -_EXACT:
        return np.int64(NO_ORDER)
    if kind == KIND_INT:
        return np.int64(order_of_floats(np.float64(a), as_float(b)))
    return np.int64(order_of_floats(as_float(a), np.float64(b)))


@compiled
def _order_of_texts(heap: Int, offsets: Int, left: Int, right: Int) -> Int:
    """The order of two strings, given by their numbers: that of their UTF-8 bytes."""
    start, other = load64(offsets, left), load64(offsets, right)
    size, other_size = load64(offsets, left + 1) - start, load64(offsets, right + 1) - other
    for step in range(min(size, other_size)):
        a, b = load8(heap, start + step) & _BYTE, load8(heap, other + step) & _BYTE
        if a != b:
            return np.int64(LESS) if a < b else np.int64(GREATER)
    if size == other_size:
        return np.int64(EQUAL)
    return np.int64(LESS) if size < other_size else np.int64(GREATER)

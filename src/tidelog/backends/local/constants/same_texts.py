"""Texts that repeat, found by their hashes.

What      : `is_first` says which texts of an Arrow array occur for the first time.
Idea      : texts that were all hashed need not be hashed again to find out which of them repeat: a table of places
            by hash is enough, and the bytes are compared where two hashes are one.
Invariant : of equal texts the first one is told, and different texts with one hash are told apart.
Never     : no ids, no dictionary.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tidelog.backends.local.kernels.compiled import Array, Int, compiled, read_only


def is_first(texts: pa.Array, hashes: Array) -> Array:
    """Which texts, given as an array of strings without nulls and their hashes (int64), are not equal to one before."""
    _, offsets, data = texts.buffers()
    bounds = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    bytes_ = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    table = np.zeros(1 << (2 * len(texts)).bit_length(), np.int32)
    found = np.empty(len(texts), np.bool_)
    _find_first(read_only(hashes), read_only(bounds), read_only(bytes_), table, found)
    return found


@compiled
def _find_first(hashes: Array, bounds: Array, data: Array, table: Array, found: Array) -> None:
    """Put each text that is not there into the table, as its place and one."""
    mask = len(table) - 1
    for text in range(len(hashes)):
        slot = (hashes[text] >> 2) & mask
        found[text] = True
        while table[slot] != 0:
            other = table[slot] - 1
            if hashes[other] == hashes[text] and _is_same(bounds, data, other, text):
                found[text] = False
                break
            slot = (slot + 1) & mask
        if found[text]:
            table[slot] = text + 1


@compiled
def _is_same(bounds: Array, data: Array, one: Int, other: Int) -> Int:
    """Whether two texts have the same bytes."""
    length = bounds[one + 1] - bounds[one]
    if bounds[other + 1] - bounds[other] != length:
        return False
    at = 0
    while at < length and data[bounds[one] + at] == data[bounds[other] + at]:
        at += 1
    return at == length

"""Hashes of texts, many at once.

What      : `leading_bits` gives the first 64 bits of the MD5 of each text of an Arrow array.
Idea      : ids of constants on Spark are such hashes (backends/spark/values/ids.py). Python's own MD5 takes a call
            and several objects for a text; a kernel goes through the bytes of an Arrow buffer. Sixteen short texts,
            of one block each, are hashed beside each other, so that the processor does the same to all of them at once:
            0.05 microseconds for a text, where one after the other took 0.13.
Source    : RFC 1321, section 3.4; the names of its words (a, b, c, d) are kept.
Invariant : the same bits as Python's own MD5 (tests/backends/local/test_text_hashes.py). MD5 is no protection here: two
            texts with one hash are told apart where it is used.
Never     : no ids, no dictionary.
"""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa

from tidelog.backends.local.kernels.compiled import Array, Int, compiled, read_only, woven

_SHIFTS = np.array([*[7, 12, 17, 22] * 4, *[5, 9, 14, 20] * 4, *[4, 11, 16, 23] * 4, *[6, 10, 15, 21] * 4], np.uint64)
_SINES = np.array([int(abs(math.sin(at + 1)) * 2**32) for at in range(64)], np.uint64)
_WORDS = np.array(
    [
        at if at < 16 else (5 * at + 1) % 16 if at < 32 else (3 * at + 5) % 16 if at < 48 else 7 * at % 16
        for at in range(64)
    ]
)
_LANES = 16
"""Texts that are hashed beside each other."""
_SHORT = 55
"""The most bytes of a message of one block."""
_MASK = np.uint64(0xFFFFFFFF)
_A, _B, _C, _D = (np.uint64(word) for word in (0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476))
_LAST = np.int64(0x80)
_ZERO, _EIGHT, _HALF, _THIRD = np.uint64(0), np.uint64(8), np.uint64(32), np.uint64(0xFF00)
_FOURTH, _SIXTEEN, _TOP = np.uint64(0xFF0000), np.uint64(16), np.uint64(24)


def leading_bits(texts: pa.Array, prefix: str = "") -> Array:
    """For each text of an array of strings without nulls, the first bits of the hash of the prefix and the text.

    The prefix has at most one character.
    """
    _, offsets, data = texts.buffers()
    first = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    found = np.empty(len(texts), np.uint64)
    bytes_ = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    lead = ord(prefix) if prefix else -1
    words, states = np.empty((16, _LANES), np.uint32), np.empty((4, _LANES), np.uint32)
    _hash_all(read_only(first), read_only(bytes_), found, lead, np.empty(16, np.uint64), words, states)
    return found


@compiled
def _hash_all(
    offsets: Array, data: Array, found: Array, prefix: Int, block: Array, words: Array, states: Array
) -> None:
    """Hash the texts between offsets; the last three arrays are scratch: for one text, and for several."""
    text = 0
    while text < len(found):
        if text + _LANES <= len(found) and _are_short(offsets, text, prefix):
            _fill_lanes(offsets, data, text, prefix, words)
            _rounds_of_lanes(words, states)
            for lane in range(_LANES):
                a, b = np.uint64(states[0, lane]) + _A, np.uint64(states[1, lane]) + _B
                found[text + lane] = _swapped(a & _MASK) << _HALF | _swapped(b & _MASK)
            text += _LANES
        else:
            found[text] = _hashed(offsets, data, text, prefix, block)
            text += 1


@compiled
def _hashed(offsets: Array, data: Array, text: Int, prefix: Int, block: Array) -> Int:
    """The first bits of the hash of one text, of any length."""
    lead = 1 if prefix >= 0 else 0
    start = offsets[text] - lead
    length = offsets[text + 1] - start
    a, b, c, d = _A, _B, _C, _D
    blocks = (length + 8) // 64 + 1
    for number in range(blocks):
        _fill(data, start, length, number * 64, prefix, block)
        if number == blocks - 1:
            block[14] = (np.uint64(length) * _EIGHT) & _MASK
            block[15] = (np.uint64(length) * _EIGHT) >> _HALF
        a, b, c, d = _rounds(block, a, b, c, d)
    return _swapped(a) << _HALF | _swapped(b)


@compiled
def _are_short(offsets: Array, first: Int, prefix: Int) -> Int:
    """Whether each of some texts, with its prefix, takes one block."""
    longest = 0
    for text in range(first, first + _LANES):
        longest = max(longest, offsets[text + 1] - offsets[text])
    return longest <= (_SHORT - 1 if prefix >= 0 else _SHORT)


@compiled
def _fill_lanes(offsets: Array, data: Array, first: Int, prefix: Int, words: Array) -> None:
    """The only block of each of some texts: its prefix, its bytes, one bit behind them, and their number in bits."""
    lead = 1 if prefix >= 0 else 0
    words[:] = 0
    for lane in range(_LANES):
        start = offsets[first + lane]
        length = offsets[first + lane + 1] - start + lead
        if lead:
            words[0, lane] = prefix
        for at in range(lead, length):
            words[at >> 2, lane] |= np.uint32(data[start + at - lead]) << np.uint32(8 * (at & 3))
        words[length >> 2, lane] |= np.uint32(_LAST) << np.uint32(8 * (length & 3))
        words[14, lane] = 8 * length


@compiled
def _rounds_of_lanes(words: Array, states: Array) -> None:
    """The four rounds over a block of each of some texts, from the first state; what they add to it."""
    for lane in range(_LANES):
        states[0, lane], states[1, lane], states[2, lane], states[3, lane] = _A, _B, _C, _D
    for at in range(0, 64, 4):
        _step(words, states, at, 0, 1, 2, 3)
        _step(words, states, at + 1, 3, 0, 1, 2)
        _step(words, states, at + 2, 2, 3, 0, 1)
        _step(words, states, at + 3, 1, 2, 3, 0)


@woven
def _step(words: Array, states: Array, at: Int, a: Int, b: Int, c: Int, d: Int) -> None:
    """One step of the rounds, for all lanes; the letters say which row of the states is which word."""
    shift, word, sine = _SHIFTS[at], _WORDS[at], _SINES[at]
    for lane in range(_LANES):
        two, three, four = np.uint64(states[b, lane]), np.uint64(states[c, lane]), np.uint64(states[d, lane])
        if at < 16:
            mixed = (two & three) | (~two & four)
        elif at < 32:
            mixed = (four & two) | (~four & three)
        elif at < 48:
            mixed = two ^ three ^ four
        else:
            mixed = three ^ (two | (~four & _MASK))
        turned = (np.uint64(states[a, lane]) + (mixed & _MASK) + sine + np.uint64(words[word, lane])) & _MASK
        states[a, lane] = (two + ((turned << shift) | (turned >> (_HALF - shift)))) & _MASK


@compiled
def _fill(data: Array, start: Int, length: Int, first: Int, prefix: Int, block: Array) -> None:
    """The words of a block of a message: its prefix, its bytes, and one bit behind the last of them."""
    for word in range(16):
        block[word] = _ZERO
    for at in range(first, min(first + 64, length + 1)):
        byte = _LAST if at == length else np.int64(prefix if at == 0 and prefix >= 0 else data[start + at])
        block[(at - first) >> 2] |= np.uint64(byte) << np.uint64(8 * ((at - first) & 3))


@compiled
def _rounds(block: Array, a: np.uint64, b: np.uint64, c: np.uint64, d: np.uint64) -> tuple[Int, Int, Int, Int]:
    """The four rounds over a block."""
    a0, b0, c0, d0 = a, b, c, d
    for at in range(64):
        if at < 16:
            mixed = (b & c) | (~b & d)
        elif at < 32:
            mixed = (d & b) | (~d & c)
        elif at < 48:
            mixed = b ^ c ^ d
        else:
            mixed = c ^ (b | (~d & _MASK))
        turned = (a + (mixed & _MASK) + _SINES[at] + block[_WORDS[at]]) & _MASK
        a, d, c = d, c, b
        b = (b + ((turned << _SHIFTS[at]) | (turned >> (_HALF - _SHIFTS[at])))) & _MASK
    return (a0 + a) & _MASK, (b0 + b) & _MASK, (c0 + c) & _MASK, (d0 + d) & _MASK


@compiled
def _swapped(word: np.uint64) -> np.uint64:
    """A word of 32 bits with its bytes in the other order."""
    low = (word << _TOP) | ((word & _THIRD) << _EIGHT)
    return (low | ((word & _FOURTH) >> _EIGHT) | (word >> _TOP)) & _MASK

"""N-Triples and N-Quads cut into terms, compiled.

What      : `scan` finds the terms of every line of a text and gives equal texts one number.
Idea      : one pass over the bytes. A term is a span of the text; its first occurrence stands for all, so nothing is
            copied and there is no object per term. What a line may hold is checked as far as that is cheap; a line that
            is not surely right stops the scan, and the caller gives the text to a full parser.
Invariant : lines up to the place where the scan stops are right N-Triples or N-Quads, and equal terms that are spelled
            alike have one number.
Never     : no meaning of a literal, no escapes (see rdf/read.py).
"""

from __future__ import annotations

import numpy as np

from tidelog.backends.local.constants.dictionary_kernels import bytes_hash, same_bytes
from tidelog.backends.local.kernels.compiled import Array, Int, compiled

RESOURCE, BLANK, STRING, OTHER = 0, 1, 2, 3
"""What a term is: an IRI, a blank node, a plain string without escapes, any other literal."""

TERMS, ROWS, POSITION = 0, 1, 2
"""Counters: how many terms and rows there are, and where the scan goes on."""

DONE, NO_ROOM, UNSURE = 0, 1, 2

_EMPTY = np.uint64(0)
_ONE = np.uint64(1)
_ID_BITS = np.uint64(0xFFFFFFFF)
_TAG_BITS = np.uint64(0xFFFFFFFF00000000)
_TAG_SHIFT = np.uint64(32)

SPACE, END, NAME, DIGIT, TEXT, HEX = 1, 2, 4, 8, 16, 32
"""Classes of bytes: blank, end of line, of labels, digits, safe inside IRIs, hexadecimal."""


def _classes() -> Array:
    classes = np.zeros(256, np.uint8)
    for character in " \t":
        classes[ord(character)] |= SPACE
    for character in "\n\r":
        classes[ord(character)] |= END
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    for character in letters + "0123456789_":
        classes[ord(character)] |= NAME | TEXT
    for character in "0123456789":
        classes[ord(character)] |= DIGIT
    for character in "0123456789abcdefABCDEF":
        classes[ord(character)] |= HEX
    for character in "-._~/?@!$&'()*+,;=":
        classes[ord(character)] |= TEXT
    return classes


CLASSES = _classes()


@compiled
def iri_end(data: Array, at: Int, stop: Int, classes: Array) -> Int:
    """The position behind an IRI that begins at `at`, or -1 if it is not surely one."""
    begin = at + 1
    at = begin
    while at < stop and data[at] != 58:  # the scheme, up to a colon
        if not (classes[data[at]] & NAME or data[at] == 43 or data[at] == 45 or data[at] == 46) or data[at] == 95:
            return -1
        at += 1
    if at == begin or at >= stop or classes[data[begin]] & DIGIT:
        return -1
    at += 1
    if at + 1 < stop and data[at] == 47 and data[at + 1] == 47:
        at += 2
        while at < stop and (classes[data[at]] & NAME or data[at] == 45 or data[at] == 46):  # the host
            at += 1
        if at < stop and data[at] == 58:
            at += 1
            while at < stop and classes[data[at]] & DIGIT:
                at += 1
        if at >= stop or not (data[at] == 47 or data[at] == 35 or data[at] == 63 or data[at] == 62):
            return -1
    fragments = 0
    while at < stop and data[at] != 62:
        byte = data[at]
        if byte == 35:
            fragments += 1
            if fragments > 1:
                return -1
        elif byte == 37:
            if at + 2 >= stop or not (classes[data[at + 1]] & HEX and classes[data[at + 2]] & HEX):
                return -1
        elif not classes[byte] & TEXT and byte != 58:
            return -1
        at += 1
    return at + 1 if at < stop else -1


@compiled
def trusted_iri_end(data: Array, at: Int, stop: Int) -> Int:
    """The position behind an IRI in a text that a parser has written."""
    while at < stop and data[at] != 62:
        at += 1
    return at + 1


@compiled
def label_end(data: Array, at: Int, stop: Int, classes: Array, trusted: Int) -> Int:
    """The position behind a blank node, or -1."""
    begin = at + 2
    if begin >= stop or data[at + 1] != 58:
        return -1
    at = begin
    while at < stop and (
        classes[data[at]] & NAME or (at > begin and (data[at] == 45 or data[at] == 46)) or data[at] >= 128
    ):
        if data[at] >= 128 and not trusted:
            return -1
        at += 1
    while at > begin and data[at - 1] == 46:
        at -= 1
    return at if at > begin else -1


@compiled
def literal_end(data: Array, at: Int, stop: Int, classes: Array, trusted: Int) -> tuple[Int, Int]:
    """The position behind a literal, or -1, and whether it is a plain string or another literal."""
    kind = STRING
    at += 1
    while at < stop and data[at] != 34:
        if data[at] == 92:
            kind = OTHER
            at += 1
            escaped = data[at] if at < stop else 0
            known = escaped == 116 or escaped == 98 or escaped == 110 or escaped == 114 or escaped == 102
            if not (trusted or known or escaped == 34 or escaped == 39 or escaped == 92):
                return -1, kind
        elif classes[data[at]] & END or (data[at] >= 128 and not trusted):
            return -1, kind
        at += 1
    at += 1
    if at >= stop:
        return -1, kind
    if data[at] == 64:
        kind = OTHER
        begin = at + 1
        at = begin
        while at < stop and (classes[data[at]] & NAME or data[at] == 45) and data[at] != 95:
            at += 1
        if at == begin or (not trusted and (classes[data[begin]] & DIGIT or data[begin] == 45 or data[at - 1] == 45)):
            return -1, kind
    elif data[at] == 94:
        kind = OTHER
        if at + 2 >= stop or data[at + 1] != 94 or data[at + 2] != 60:
            return -1, kind
        at = trusted_iri_end(data, at + 2, stop) if trusted else iri_end(data, at + 2, stop, classes)
    return at, kind


@compiled
def number_of_term(
    data: Array,
    start: Int,
    stop: Int,
    kind: Int,
    starts: Array,
    stops: Array,
    kinds: Array,
    table: Array,
    counters: Array,
) -> Int:
    """The number of a term, a new one if its text is new; there is room for one."""
    hashed = bytes_hash(3, data, start, stop)
    mask = np.uint64(table.size - 1)
    slot = hashed & mask
    while True:
        entry = table[slot]
        if entry == _EMPTY:
            break
        if (entry ^ hashed) >> _TAG_SHIFT == _EMPTY:
            found = np.int64(entry & _ID_BITS) - 1
            if same_bytes(data, start, stop, data, starts[found], stops[found]):
                return found
        slot = (slot + _ONE) & mask
    new = counters[TERMS]
    table[slot] = (hashed & _TAG_BITS) | np.uint64(new + 1)
    starts[new] = start
    stops[new] = stop
    kinds[new] = kind
    counters[TERMS] = new + 1
    return new


@compiled
def scan(
    data: Array,
    trusted: Int,
    rows: Array,
    starts: Array,
    stops: Array,
    kinds: Array,
    table: Array,
    counters: Array,
    classes: Array,
) -> Int:
    """Cut lines into rows of term numbers (-1 for no graph name) until the end, for lack of room, or in doubt."""
    stop = data.size
    at = counters[POSITION]
    while True:
        while at < stop and classes[data[at]] & (SPACE | END):
            at += 1
        counters[POSITION] = at
        if at >= stop:
            return DONE
        if data[at] == 35:
            while at < stop and not classes[data[at]] & END:
                at += 1
            continue
        row = counters[ROWS]
        if row >= rows.shape[0] or counters[TERMS] + 4 > starts.size or 2 * (counters[TERMS] + 4) > table.size:
            return NO_ROOM
        rows[row, 3] = -1
        column = 0
        while True:
            while at < stop and classes[data[at]] & SPACE:
                at += 1
            if at >= stop:
                return UNSURE
            begin = at
            byte = data[at]
            kind = RESOURCE
            if byte == 46:
                if column < 3:
                    return UNSURE
                at += 1
                break
            if column > 3:
                return UNSURE
            if byte == 60:
                at = trusted_iri_end(data, at, stop) if trusted else iri_end(data, at, stop, classes)
            elif byte == 95 and column != 1:
                kind = BLANK
                at = label_end(data, at, stop, classes, trusted)
            elif byte == 34 and column == 2:
                at, kind = literal_end(data, at, stop, classes, trusted)
            else:
                return UNSURE
            if at < 0:
                return UNSURE
            rows[row, column] = number_of_term(data, begin, at, kind, starts, stops, kinds, table, counters)
            column += 1
        while at < stop and classes[data[at]] & SPACE:
            at += 1
        if at < stop and not classes[data[at]] & END and data[at] != 35:
            return UNSURE
        counters[ROWS] = row + 1

"""Bit matrices, compiled.

What      : numbers the values that occur, fills matrices from stored rows, applies rules over pairs, and writes new
            pairs as rows.
Idea      : a relation over n values is n rows of n bits, 64 to a word. H(x, z) :- A(x, y), B(y, z) gives row x of H as
            the OR of the rows y of B for the bits y of row x of A: a word is 64 derivations. All matrices of a stage
            lie in one array, `space`, one below the other; a matrix is known by its first row, its base.
Invariant : bits beyond the last value are never set. A kernel that may take long stops after about `fuel` words and
            says where to go on.
Never     : no marks are changed here (relations/relation_kernels.py).
"""

from __future__ import annotations

import numpy as np

from tidelog.backends.local.kernels.compiled import Array, Int, compiled

_ONE, _ZERO, _SIX, _WORD = np.uint64(1), np.uint64(0), np.uint64(6), np.uint64(63)
_SHIFT_1, _SHIFT_2, _SHIFT_4, _SHIFT_56 = np.uint64(1), np.uint64(2), np.uint64(4), np.uint64(56)
_TWOS, _FOURS = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333)
_EIGHTS, _SUM = np.uint64(0x0F0F0F0F0F0F0F0F), np.uint64(0x0101010101010101)

ALL, NEXT, BETWEEN, BETWEEN_END, THROUGH, DIRECT, DIRECT_END, ON_X, ON_Y, ON_Z, FLAGS, RULE = range(12)
"""Places in the code of a rule: the bases of its head and of what is new in it; its literals; its vectors."""
HAS_MIDDLE, IS_LOOP, X_NOT_Y, X_NOT_Z, NEEDS_MASK = 1, 2, 4, 8, 16


@compiled
def ones(word: np.uint64) -> Int:
    """How many bits of a word are set; the compiler knows these lines as one instruction."""
    word = word - ((word >> _SHIFT_1) & _TWOS)
    word = (word & _FOURS) + ((word >> _SHIFT_2) & _FOURS)
    word = (word + (word >> _SHIFT_4)) & _EIGHTS
    return np.int64((word * _SUM) >> _SHIFT_56)


@compiled
def lowest(word: np.uint64) -> Int:
    """The place of the lowest bit of a word that has one."""
    return ones(~word & (word - _ONE))


@compiled
def bit(place: Int) -> np.uint64:
    """The bit of a value in its word."""
    return _ONE << (np.uint64(place) & _WORD)


@compiled
def number_values(
    rows: Array, marks: Array, count: Int, care: Int, want: Int, numbers: Array, values: Array, known: Int
) -> tuple[Int, Int]:
    """Give the values of the rows in a view numbers, in the order in which they are met.

    Returns how many values are known then, and how many rows are in the view. Stops with -1 when there are more values
    than `values` has room for.
    """
    met = np.int64(0)
    for row in range(count):
        if marks[row] & care != want:
            continue
        met += 1
        for column in range(rows.shape[1]):
            value = rows[row, column]
            if numbers[value] < 0:
                if known == values.shape[0]:
                    return np.int64(-1), met
                numbers[value] = known
                values[known] = value
                known += 1
    return known, met


@compiled
def forget_numbers(numbers: Array, values: Array, known: Int) -> None:
    """Leave the numbers as they were before."""
    for i in range(known):
        numbers[values[i]] = -1


@compiled
def fill_matrix(
    space: Array, base: Int, rows: Array, marks: Array, count: Int, care: Int, want: Int, numbers: Array, flipped: bool
) -> Int:
    """Set the bits of the rows in a view whose values have numbers; how many rows that are."""
    found = np.int64(0)
    for row in range(count):
        if marks[row] & care != want:
            continue
        one, other = np.int64(numbers[rows[row, 0]]), np.int64(numbers[rows[row, 1]])
        if one < 0 or other < 0:
            continue
        if flipped:
            one, other = other, one
        space[base + one, other >> 6] |= bit(other)
        found += 1
    return found


@compiled
def fill_vector(
    vector: Array, rows: Array, marks: Array, count: Int, care: Int, want: Int, numbers: Array, column: Int, loop: bool
) -> None:
    """Set the bits of the values in one column of the rows in a view; with `loop` only where both columns agree."""
    for row in range(count):
        if marks[row] & care != want or (loop and rows[row, 0] != rows[row, 1]):
            continue
        number = np.int64(numbers[rows[row, column]])
        if number >= 0:
            vector[number >> 6] |= bit(number)


@compiled
def fill_conjunction(
    space: Array, target: Int, size: Int, literals: Array, first: Int, last: Int, full: Array, apart: bool
) -> None:
    """A matrix with the pairs that are in all the literals; with `apart` without pairs of equal values."""
    for row in range(size):
        for at in range(space.shape[1]):
            word = full[at]
            for i in range(first, last):
                other = space[literals[i, 0] + row, at]
                word &= ~other if literals[i, 1] else other
            space[target + row, at] = word
        if apart:
            space[target + row, row >> 6] &= ~bit(row)


@compiled
def find_occupied(space: Array, base: Int, size: Int, among: Array, vector: Array) -> None:
    """The values, among some, whose rows in a matrix have a bit."""
    for at in range(vector.shape[0]):
        vector[at] = _ZERO
    for row in range(size):
        if among[row >> 6] & bit(row):
            for at in range(space.shape[1]):
                if space[base + row, at] != _ZERO:
                    vector[row >> 6] |= bit(row)
                    break


@compiled
def find_between(space: Array, vectors: Array, code: Array, literals: Array, row: Int, words: Array) -> np.uint64:
    """The middle values to which `row` leads; all words together, to see whether there are any."""
    found = _ZERO
    on = code[ON_Y]
    for at in range(words.shape[0]):
        word = vectors[on, at]
        for i in range(code[BETWEEN], code[BETWEEN_END]):
            other = space[literals[i, 0] + row, at]
            word &= ~other if literals[i, 1] else other
        words[at] = word
        found |= word
    if code[FLAGS] & X_NOT_Y:
        at = row >> 6
        words[at] &= ~bit(row)
        found = _ZERO
        for at in range(words.shape[0]):
            found |= words[at]
    return found


@compiled
def find_allowed(space: Array, vectors: Array, code: Array, literals: Array, row: Int, words: Array) -> None:
    """The values that a pair with `row` may end in."""
    on = code[ON_Z]
    for at in range(words.shape[0]):
        word = vectors[on, at]
        for i in range(code[DIRECT], code[DIRECT_END]):
            other = space[literals[i, 0] + row, at]
            word &= ~other if literals[i, 1] else other
        words[at] = word
    if code[FLAGS] & IS_LOOP:
        for at in range(words.shape[0]):
            words[at] &= bit(row) if at == row >> 6 else _ZERO
    if code[FLAGS] & X_NOT_Z:
        words[row >> 6] &= ~bit(row)


@compiled
def apply_rule(
    space: Array, vectors: Array, code: Array, literals: Array, size: Int, start: Int, fuel: Int, scratch: Array
) -> tuple[Int, Int]:
    """Add the pairs that a rule derives and that are not known to what is new in its head, from row `start` on.

    Returns the row to go on with, and the words that were looked at.
    """
    width, through = space.shape[1], code[THROUGH]
    middle, reached, allowed = scratch[0], scratch[1], scratch[2]
    row, spent = np.int64(start), np.int64(0)
    while row < size and spent < fuel:
        x = row
        row += 1
        spent += 1
        if not vectors[code[ON_X], x >> 6] & bit(x):
            continue
        if code[FLAGS] & HAS_MIDDLE:
            spent += width
            if find_between(space, vectors, code, literals, x, middle) == _ZERO:
                continue
        spent += width
        find_allowed(space, vectors, code, literals, x, allowed)
        some = _ZERO
        for at in range(width):
            allowed[at] &= ~(space[code[ALL] + x, at] | space[code[NEXT] + x, at])
            some |= allowed[at]
        if some == _ZERO:
            continue
        if through >= 0:
            for at in range(width):
                reached[at] = _ZERO
            for at in range(width):
                word = middle[at]
                while word != _ZERO:
                    y = through + 64 * at + lowest(word)
                    word &= word - _ONE
                    for i in range(width):
                        reached[i] |= space[y, i]
                    spent += width
            for at in range(width):
                allowed[at] &= reached[at]
        for at in range(width):
            space[code[NEXT] + x, at] |= allowed[at]
    return row, spent


@compiled
def count_instances(
    space: Array, vectors: Array, code: Array, literals: Array, size: Int, start: Int, fuel: Int, scratch: Array,
    degrees: Array, total: Array,
) -> tuple[Int, Int]:  # fmt: skip
    """Add the number of a rule's instances over what is known; `degrees` are the bits of the rows to which y leads."""
    width, through = space.shape[1], code[THROUGH]
    middle, allowed = scratch[0], scratch[2]
    row, spent = np.int64(start), np.int64(0)
    while row < size and spent < fuel:
        x = row
        row += 1
        spent += 1
        if not vectors[code[ON_X], x >> 6] & bit(x):
            continue
        if code[FLAGS] & HAS_MIDDLE:
            spent += width
            if find_between(space, vectors, code, literals, x, middle) == _ZERO:
                continue
        if through < 0 or code[FLAGS] & NEEDS_MASK:
            spent += width
            find_allowed(space, vectors, code, literals, x, allowed)
        if through < 0:
            for at in range(width):
                total[0] += ones(allowed[at])
            continue
        for at in range(width):
            word = middle[at]
            while word != _ZERO:
                y = 64 * at + lowest(word)
                word &= word - _ONE
                spent += 4
                if code[FLAGS] & NEEDS_MASK:
                    for i in range(width):
                        total[0] += ones(space[through + y, i] & allowed[i])
                    spent += width
                else:
                    total[0] += degrees[y]
                    if code[FLAGS] & X_NOT_Z and space[through + y, x >> 6] & bit(x):
                        total[0] -= 1
    return row, spent


@compiled
def count_rows(space: Array, base: Int, size: Int, degrees: Array) -> Int:
    """How many bits each row of a matrix has, and all together."""
    total = np.int64(0)
    for row in range(size):
        count = np.int64(0)
        for at in range(space.shape[1]):
            count += ones(space[base + row, at])
        degrees[row] = count
        total += count
    return total


@compiled
def take_new(space: Array, size: Int, every: Int, delta: Int, fresh: Int) -> Int:
    """What is new becomes known and drives the next round; how many pairs that are."""
    found = np.int64(0)
    for row in range(size):
        for at in range(space.shape[1]):
            word = space[fresh + row, at]
            space[delta + row, at] = word
            space[every + row, at] |= word
            space[fresh + row, at] = _ZERO
            if word != _ZERO:
                found += ones(word)
    return found


@compiled
def flip_new(space: Array, size: Int, delta: Int, flipped_every: Int, flipped_delta: Int) -> None:
    """Bring the inverses of a relation up to date with what drives the next round."""
    for row in range(size):
        for at in range(space.shape[1]):
            space[flipped_delta + row, at] = _ZERO
    for row in range(size):
        for at in range(space.shape[1]):
            word = space[delta + row, at]
            while word != _ZERO:
                other = 64 * at + lowest(word)
                word &= word - _ONE
                space[flipped_delta + other, row >> 6] |= bit(row)
                space[flipped_every + other, row >> 6] |= bit(row)


@compiled
def write_pairs(space: Array, delta: Int, stored: Int, size: Int, values: Array, table: Array) -> Int:
    """Write the pairs of a matrix, without those of another one if that is given, as rows; how many there are."""
    written = np.int64(0)
    for row in range(size):
        for at in range(space.shape[1]):
            word = space[delta + row, at]
            if stored >= 0:
                word &= ~space[stored + row, at]
            while word != _ZERO:
                other = 64 * at + lowest(word)
                word &= word - _ONE
                table[written, 0], table[written, 1] = values[row], values[other]
                written += 1
    return written


@compiled
def compare_rows(
    rows: Array,
    marks: Array,
    count: Int,
    now: Int,
    numbers: Array,
    space: Array,
    base: Int,
    coming: Array,
    going: Array,
) -> tuple[Int, Int, Int]:
    """The stored rows that are in a matrix and not NOW, and those that are NOW and not in it.

    Returns how many there are of each, and how many rows are in the matrix.
    """
    come, gone, stored = np.int64(0), np.int64(0), np.int64(0)
    for row in range(count):
        one, other = np.int64(numbers[rows[row, 0]]), np.int64(numbers[rows[row, 1]])
        is_there = False
        if one >= 0 and other >= 0:
            is_there = (space[base + one, other >> 6] & bit(other)) != _ZERO
        stored += is_there
        if is_there == ((marks[row] & now) != 0):
            continue
        if is_there:
            coming[come] = row
            come += 1
        else:
            going[gone] = row
            gone += 1
    return come, gone, stored

"""Instances counted by round, compiled.

What      : notes in which round a pair was found, counts the instances of rules over pairs by the pair that they derive
            and by their round, and reads ranks and counts off for stored rows.
Idea      : an instance belongs to the round after the latest of its facts. Over a dense component the pairs that a
            middle value leads to are neighbours, so a count is a few nanoseconds where a hash table takes a hundred.
Invariant : an instance is known by its ends and its middle value (planning/pair_rules.py, `is_exact`), so each is
            counted once.
Never     : no fixpoint here (fixpoint.py), and nothing is stored.
"""

from __future__ import annotations

import numpy as np

from tidelog.backends.local.bits.bit_kernels import (
    BETWEEN,
    BETWEEN_END,
    DIRECT,
    DIRECT_END,
    FLAGS,
    HAS_MIDDLE,
    ON_X,
    THROUGH,
    bit,
    find_allowed,
    find_between,
    lowest,
)
from tidelog.backends.local.kernels.compiled import Array, Int, compiled

NO_RANK = 0xFFFF
"""Stands in the place of the rank of a pair that is no fact."""
_ONE, _ZERO = np.uint64(1), np.uint64(0)


@compiled
def note_ranks(space: Array, base: Int, size: Int, ranks: Array, number: Int) -> None:
    """Give the pairs of a matrix a rank."""
    for row in range(size):
        for at in range(space.shape[1]):
            word = space[base + row, at]
            while word != _ZERO:
                ranks[row, 64 * at + lowest(word)] = number
                word &= word - _ONE


@compiled
def _latest(ranked: Array, ranks: Array, first: Int, last: Int, start: Int, end: Int, least: Int) -> Int:
    """The greatest rank of a pair in some literals, or `least`."""
    found = least
    for i in range(first, last):
        which = ranked[i, 0]
        if which >= 0:
            rank = np.int64(ranks[which, end, start] if ranked[i, 1] else ranks[which, start, end])
            found = max(found, rank)
    return found


@compiled
def _only_ranked(ranked: Array, first: Int, last: Int, seconds: Int) -> Int:
    """The ranks of the only literal among some that has any, if it leads on from the middle, not inverted; else -1."""
    only = -1
    for i in range(first, last):
        if ranked[i, 0] >= 0:
            if only >= 0 or i < seconds or ranked[i, 1]:
                return -1
            only = ranked[i, 0]
    return only


@compiled
def count_by_round(
    space: Array, vectors: Array, code: Array, literals: Array, stop: Int, start: Int, fuel: Int, scratch: Array,
    ranked: Array, ranks: Array, counts: Array, base: Int,
) -> tuple[Int, Int]:  # fmt: skip
    """Add the instances of a rule over what is known to `counts[x - base, round - 1, z]`, from row `start` on.

    `ranked` says of each literal which of the `ranks` it has, -1 if none, and whether it is inverted. Returns the row
    to go on with, and the words that were looked at.
    """
    width, through, seconds = space.shape[1], code[THROUGH], code[DIRECT_END]
    only = _only_ranked(ranked, code[DIRECT], ranked.shape[0], seconds)
    middle, allowed = scratch[0], scratch[2]
    row, spent = np.int64(start), np.int64(0)
    while row < stop and spent < fuel:
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
        if through < 0:
            for at in range(width):
                word = allowed[at]
                while word != _ZERO:
                    z = 64 * at + lowest(word)
                    word &= word - _ONE
                    counts[x - base, _latest(ranked, ranks, code[DIRECT], code[DIRECT_END], x, z, 0), z] += 1
            continue
        for at in range(width):
            word = middle[at]
            while word != _ZERO:
                y = 64 * at + lowest(word)
                word &= word - _ONE
                least = _latest(ranked, ranks, code[BETWEEN], code[BETWEEN_END], x, y, 0)
                for i in range(width):
                    ends = space[through + y, i] & allowed[i]
                    spent += 1 + 8 * np.int64(ends != _ZERO)
                    while only >= 0 and ends != _ZERO:
                        z = 64 * i + lowest(ends)
                        ends &= ends - _ONE
                        counts[x - base, max(least, np.int64(ranks[only, y, z])), z] += 1
                    while ends != _ZERO:
                        z = 64 * i + lowest(ends)
                        ends &= ends - _ONE
                        latest = _latest(ranked, ranks, code[DIRECT], code[DIRECT_END], x, z, least)
                        latest = _latest(ranked, ranks, seconds, literals.shape[0], y, z, latest)
                        counts[x - base, latest, z] += 1
    return row, spent


@compiled
def find_places(rows: Array, count: Int, numbers: Array, ranks: Array, places: Array, rank_of: Array) -> None:
    """Where the pairs that have a rank are stored, and the rank of each stored row that has one."""
    for row in range(count):
        x, z = np.int64(numbers[rows[row, 0]]), np.int64(numbers[rows[row, 1]])
        if x >= 0 and z >= 0 and ranks[x, z] != NO_RANK:
            places[x, z] = row
            rank_of[row] = ranks[x, z]


@compiled
def read_counts(counts: Array, base: Int, stop: Int, places: Array, near: Array, cells: Array, further: Array) -> Int:
    """Read counts off for stored rows: that of the first round beside each, the others as cells; how many cells.

    `further` are the counts of cells.
    """
    found = np.int64(0)
    for x in range(base, stop):
        for at in range(counts.shape[1]):
            for z in range(places.shape[1]):
                count = counts[x - base, at, z]
                if count == 0:
                    continue
                row = np.int64(places[x, z])
                if near[2 * row + 1] == 0:
                    near[2 * row], near[2 * row + 1] = at + 1, count
                else:
                    cells[found, 0], cells[found, 1] = row, at + 1
                    further[found] = count
                    found += 1
    return found

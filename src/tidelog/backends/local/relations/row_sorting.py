"""Rows of numbers, sorted.

What      : `sorted_rows` sorts rows, given as columns, by their first columns; the others are carried along.
Idea      : ids are hashes, which are spread evenly. So the leading bits of the first column say nearly where a row
            goes: rows are dealt into about as many buckets as there are rows, and the few of a bucket are sorted by
            insertion. Rows that are equal in the first column are adjacent then, and sorted where they are, too.
            (Sorting places by the first column with NumPy takes twice as long; sorting by the last column first, and
            stably by those before it, six times.)
Invariant : the order is that of np.lexsort, up to rows that differ in carried columns alone. Buckets and rows equal in
            the first column that are very many are left to NumPy.
Never     : no relation, no marks: these are rows on their way to a file.
"""

from __future__ import annotations

import numpy as np

from tidelog.backends.local.kernels.compiled import Array, Int, compiled

_LONG = 64
"""Rows of a bucket, or equal in the first column, that are sorted by insertion; more are left to NumPy."""
_FEW = 1 << 12
"""Up to how many rows are left to NumPy."""
_SIGN = np.uint64(1 << 63)
_MOST_LARGE = 1 << 10
"""If more buckets than these are large, numbers are spread too unevenly for buckets."""


def sorted_rows(columns: Array, keys: int) -> list[Array]:
    """The columns (an array of int64, one row for each column) in the order of the first `keys` of them."""
    order = _order(columns[0])
    found = np.empty_like(columns)
    if len(order) <= _FEW:
        np.take(columns, order, axis=1, out=found)
    else:
        _gather(columns, order, found)
    lead, rest = found[0], found[1:]
    if keys > 1:
        bounds = np.flatnonzero(np.concatenate([[True], lead[1:] != lead[:-1], [True]]))
        starts, ends = bounds[:-1], bounds[1:]
        several = ends - starts > 1
        starts, ends = starts[several], ends[several]
        _sort_runs(rest, starts, ends, keys - 1, np.empty(len(rest), np.int64))
        for start, end in zip(*(part[ends - starts > _LONG].tolist() for part in (starts, ends))):
            run = rest[:, start:end]
            run[:] = run[:, np.lexsort(run[keys - 2 :: -1])]
    return [lead, *rest]


def _order(numbers: Array) -> Array:
    """The places of numbers in ascending order."""
    if len(numbers) <= _FEW:
        return np.argsort(numbers)
    above = numbers.view(np.uint64) ^ _SIGN  # in the same order, without a sign
    above -= above.min()
    spread = int(above.max())
    shift = max(spread.bit_length() - len(numbers).bit_length(), 0)
    ends, order = np.zeros((spread >> shift) + 1, np.int32), np.empty(len(numbers), np.int32)
    dealt, large = np.empty(len(numbers), np.uint64), np.empty((_MOST_LARGE, 2), np.int64)
    _deal(above, np.uint64(shift), ends, dealt, order)
    count = _sort_buckets(ends, dealt, order, large) if shift else 0
    if count > _MOST_LARGE:
        return np.argsort(numbers).astype(np.int32)
    for start, end in large[:count].tolist():
        order[start:end] = order[start:end][np.argsort(dealt[start:end])]
    return order


@compiled
def _deal(numbers: Array, shift: np.uint64, ends: Array, dealt: Array, order: Array) -> None:
    """Numbers and their places, bucket by bucket, and where each bucket ends."""
    for at in range(len(numbers)):
        ends[numbers[at] >> shift] += 1
    total = 0
    for bucket in range(len(ends)):
        count = ends[bucket]
        ends[bucket] = total
        total += count
    for at in range(len(numbers)):
        place = ends[numbers[at] >> shift]
        dealt[place] = numbers[at]
        order[place] = at
        ends[numbers[at] >> shift] = place + 1


@compiled
def _sort_buckets(ends: Array, dealt: Array, order: Array, large: Array) -> Int:
    """Sort the numbers of each bucket, with their places, by insertion; how many are too large, which are noted."""
    count, start = 0, 0
    for bucket in range(len(ends)):
        end = ends[bucket]
        if end - start > _LONG:
            if count < len(large):
                large[count, 0], large[count, 1] = start, end
            count += 1
        else:
            for row in range(start + 1, end):
                number, whose, place = dealt[row], order[row], row
                while place > start and dealt[place - 1] > number:
                    dealt[place], order[place] = dealt[place - 1], order[place - 1]
                    place -= 1
                dealt[place], order[place] = number, whose
        start = end
    return count


@compiled
def _gather(columns: Array, order: Array, found: Array) -> None:
    """The columns in an order."""
    for column in range(len(columns)):
        for at in range(len(order)):
            found[column, at] = columns[column, order[at]]


@compiled
def _sort_runs(rest: Array, starts: Array, ends: Array, keys: Int, kept: Array) -> None:
    """Sort the columns between starts and ends by the first ones, by insertion, unless they are far apart."""
    for run in range(len(starts)):
        start, end = starts[run], ends[run]
        if end - start <= _LONG:
            for row in range(start + 1, end):
                for at in range(len(rest)):
                    kept[at] = rest[at, row]
                place = row
                while place > start and _is_after(rest, place - 1, kept, keys):
                    for at in range(len(rest)):
                        rest[at, place] = rest[at, place - 1]
                    place -= 1
                for at in range(len(rest)):
                    rest[at, place] = kept[at]


@compiled
def _is_after(rest: Array, row: Int, kept: Array, keys: Int) -> Int:
    """Whether a row comes after another one, by the first columns."""
    at = 0
    while at < keys and rest[at, row] == kept[at]:
        at += 1
    return at < keys and rest[at, row] > kept[at]

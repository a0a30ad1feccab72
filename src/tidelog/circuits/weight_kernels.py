"""What is done to weights, compiled.

What      : adding changes to the weights of stored rows, putting rows side by side that meet in a join, and adding up
            what rows have in the rounds of a recursion.
Idea      : a change is given as rows with weights, any row any number of times: storing its rows finds equal ones, and
            adding up at their places is the sum of Z-sets, without a sort.
Invariant : no sum and no product leaves 64 bits: where one might, a kernel says so and has changed nothing.
Never     : no room is made here (trace.py), and no rows are stored.
"""

from __future__ import annotations

import numpy as np

from tidelog.backends.local.kernels.compiled import Array, Int, compiled
from tidelog.backends.local.kernels.hashing import LINKS, find_leading
from tidelog.backends.local.kernels.memory import load32, load64

_GREATEST, _LEAST = np.int64(2**63 - 1), np.int64(-(2**63))
_SURE = 2.0**62


@compiled
def add_weights(weights: Array, places: Array, given: Array, is_touched: Array, touched: Array, alive: Array) -> Int:
    """Add to the weights at some places; those that are not touched yet go into `touched`; how many that are.

    `is_touched` notes them, for the caller to forget. `alive` counts the weights that are not zero.
    If a sum on the way would leave 64 bits, -1 is returned and no weight is changed.
    """
    found, done = 0, 0
    for i in range(places.shape[0]):
        place, more = places[i], given[i]
        before = weights[place]
        if (before > _GREATEST - more) if more > 0 else (before < _LEAST - more):
            break
        weights[place] = before + more
        alive[0] += np.int64(before + more != 0) - np.int64(before != 0)
        if not is_touched[place]:
            is_touched[place] = True
            touched[found] = place
            found += 1
        done += 1
    if done == places.shape[0]:
        return found
    for i in range(done):
        place = places[done - 1 - i]
        before = weights[place]
        weights[place] = before - given[done - 1 - i]
        alive[0] += np.int64(weights[place] != 0) - np.int64(before != 0)
    return -1


@compiled
def meet_rows(
    rows: Array,
    weights: Array,
    at: Array,
    kept: Array,
    kept_weights: Array,
    places: Array,
    number: Int,
    is_left: Int,
    table: Array,
    products: Array,
    rounds: Array,
) -> Int:
    """Put pairs of rows side by side: of a change, by their numbers `at`, and of those that are kept, at `places`.

    The last column of what is kept is its round. A pair gets the product of both weights, and the later of both rounds;
    pairs of weight zero are left out. How many there are is returned, or -1 if a product may leave 64 bits.
    """
    mine, theirs = rows.shape[1], kept.shape[1] - 1
    first, second = (0, mine) if is_left else (theirs, 0)
    found = 0
    for i in range(places.shape[0]):
        one, place = at[i], places[i]
        weight, other = weights[one], kept_weights[place]
        if weight == 0 or other == 0:
            continue
        if abs(np.float64(weight) * np.float64(other)) >= _SURE:
            return -1
        for column in range(mine):
            table[found, first + column] = rows[one, column]
        for column in range(theirs):
            table[found, second + column] = kept[place, column]
        products[found] = weight * other
        rounds[found] = max(kept[place, theirs], number)
        found += 1
    return found


@compiled
def sum_rounds(
    table: Int, index: Int, rows: Int, kept: Array, weights: Array, number: Int, before: Array, there: Array
) -> None:
    """Add up what the rows of a table have in earlier rounds, and in one.

    The last column of what is kept is its round; the index is on the others. The table, the index and the rows that
    are kept are given by their addresses.
    """
    last, links = kept.shape[1] - 1, load64(index, LINKS)
    for at in range(before.shape[0]):
        end = find_leading(index, rows, last + 1, table, last, at)
        place = end
        while place != -1:
            place = load32(links, place)
            if kept[place, last] < number:
                before[at] += weights[place]
            elif kept[place, last] == number:
                there[at] += weights[place]
            if place == end:
                break

"""The yardstick: transitive closure as a person would write it by hand with Numba.

What      : T(x, z) :- E(x, y), T(y, z) over integers, edges as a compressed adjacency, results in one hash set.
Idea      : single purpose, nothing general; how far the engine is from this is what generality costs.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def _add(table: np.ndarray, key: int) -> bool:
    """Put a packed pair into the set; whether it is new."""
    room = np.uint64(table.shape[0] - 1)
    h = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    place = (h ^ (h >> np.uint64(32))) & room
    while True:
        found = table[place]
        if found == key:
            return False
        if found == -1:
            table[place] = key
            return True
        place = (place + np.uint64(1)) & room


@njit(cache=True)
def _grown(table: np.ndarray) -> np.ndarray:
    larger = np.full(table.shape[0] * 2, -1, np.int64)
    for i in range(table.shape[0]):
        if table[i] != -1:
            _add(larger, table[i])
    return larger


@njit(cache=True)
def closure(sources: np.ndarray, targets: np.ndarray, nodes: int) -> tuple[int, int]:
    """The number of pairs in the closure, and the number of derivations."""
    starts = np.zeros(nodes + 1, np.int64)
    for target in targets:
        starts[target + 1] += 1
    for node in range(nodes):
        starts[node + 1] += starts[node]
    fill = starts[:-1].copy()
    before = np.empty(targets.shape[0], np.int64)
    for i in range(targets.shape[0]):
        before[fill[targets[i]]] = sources[i]
        fill[targets[i]] += 1
    size = 1 << 16
    while size < 2 * sources.shape[0]:
        size *= 2
    table = np.full(size, -1, np.int64)
    found = np.empty(size, np.int64)
    count = 0
    for i in range(sources.shape[0]):
        key = sources[i] << 32 | targets[i]
        if _add(table, key):
            found[count] = key
            count += 1
    derivations = sources.shape[0]
    done = 0
    while done < count:
        key = found[done]
        done += 1
        node, end = key >> 32, key & 0xFFFFFFFF
        for i in range(starts[node], starts[node + 1]):
            derivations += 1
            pair = before[i] << 32 | end
            if _add(table, pair):
                if count == found.shape[0]:
                    longer = np.empty(2 * count, np.int64)
                    longer[:count] = found
                    found = longer
                if 2 * count > table.shape[0]:
                    table = _grown(table)
                found[count] = pair
                count += 1
    return count, derivations

"""Which row does a box go to, and in which order do boxes stand in a row?

What      : the first half of a layered layout (Sugiyama, Tagawa, Toda 1981): rows, and orders with few crossings.
Idea      : a box goes one row below the lowest box that it reads, and below all boxes of lower strata. An arrow that
            passes rows gets a joint in each. Rows are sorted by the mean position of their neighbours, down and up.
Invariant : arrows lead downwards; a row holds boxes of one stratum only; the same input gives the same picture.
Never     : no coordinates (layout.py).
"""

from __future__ import annotations

import itertools
from bisect import bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass

SWEEPS = 24
LARGE = 3000
"""With more nodes than this a few sweeps have to do."""


@dataclass(frozen=True, slots=True)
class Layers:
    """Rows of nodes in order; nodes are boxes (as numbered) and then joints. `paths` holds each arrow's nodes."""

    rows: list[list[int]]
    paths: list[list[int]]


def layers(strata: Sequence[int], arrows: Sequence[tuple[int, int]]) -> Layers:
    """Rows and orders for boxes with their strata and the arrows between them."""
    row = _rows(strata, arrows)
    rows: list[list[int]] = [[] for _ in range(max(row, default=-1) + 1)]
    for box, level in enumerate(row):
        rows[level].append(box)
    paths, joints = [], len(strata)
    for source, target in arrows:
        path = [source]
        for level in range(row[source] + 1, row[target]):
            rows[level].append(joints)
            path.append(joints)
            joints += 1
        paths.append([*path, target])
    return Layers(_uncrossed(rows, paths, joints), paths)


def _rows(strata: Sequence[int], arrows: Sequence[tuple[int, int]]) -> list[int]:
    before: list[list[int]] = [[] for _ in strata]
    for source, target in arrows:
        before[target].append(source)
    row = [0] * len(strata)
    base, lowest, current = 0, -1, 0
    for box in sorted(range(len(strata)), key=lambda box: (strata[box], box)):
        if strata[box] > current:
            base, current = lowest + 1, strata[box]
        row[box] = max([base, *(row[source] + 1 for source in before[box])])
        lowest = max(lowest, row[box])
    return row


def _uncrossed(rows: list[list[int]], paths: list[list[int]], nodes: int) -> list[list[int]]:
    """The best of several sweeps, by the number of crossings."""
    above: list[list[int]] = [[] for _ in range(nodes)]
    below: list[list[int]] = [[] for _ in range(nodes)]
    for path in paths:
        for upper, lower in itertools.pairwise(path):
            below[upper].append(lower)
            above[lower].append(upper)
    best, fewest = rows, _crossings(rows, below)
    current = rows
    for sweep in range(SWEEPS if nodes <= LARGE else 2):
        if not fewest:
            break
        is_down = sweep % 2 == 0
        current = _swept(current if is_down else current[::-1], above if is_down else below)
        current = current if is_down else current[::-1]
        if nodes + len(paths) <= LARGE:
            current = _exchanged(current, above, below)
        crossings = _crossings(current, below)
        if crossings < fewest:
            best, fewest = current, crossings
    return best


def _swept(rows: list[list[int]], neighbours: list[list[int]]) -> list[list[int]]:
    """Each row sorted by the mean position of the neighbours in the row before it."""
    position: dict[int, float] = {}
    found = []
    for row in rows:
        here = {node: index / max(1, len(row) - 1) for index, node in enumerate(row)}
        key = {node: _mean([position[n] for n in neighbours[node]], here[node]) for node in row}
        ordered = sorted(row, key=lambda node: (key[node], here[node]))
        position.update((node, index / max(1, len(row) - 1)) for index, node in enumerate(ordered))
        found.append(ordered)
    return found


def _exchanged(rows: list[list[int]], above: list[list[int]], below: list[list[int]]) -> list[list[int]]:
    """Rows in which no two neighbours would cross less the other way round, as far as a few passes find them."""
    position = {node: index for row in rows for index, node in enumerate(row)}
    found = [list(row) for row in rows]
    for row in found * 2:
        for index in range(len(row) - 1):
            left, right = row[index], row[index + 1]
            now = sum(_inversions(side[left], side[right], position) for side in (above, below))
            if now > sum(_inversions(side[right], side[left], position) for side in (above, below)):
                row[index], row[index + 1] = right, left
                position[left], position[right] = index + 1, index
    return found


def _inversions(left: list[int], right: list[int], position: dict[int, int]) -> int:
    return sum(position[a] > position[b] for a in left for b in right)


def _mean(values: list[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _crossings(rows: list[list[int]], below: list[list[int]]) -> int:
    """How many pairs of lines cross between neighbouring rows."""
    total = 0
    for upper, lower in itertools.pairwise(rows):
        position = {node: index for index, node in enumerate(lower)}
        ends: list[int] = []
        for node in upper:
            here = sorted(position[target] for target in below[node])
            total += sum(len(ends) - bisect_right(ends, end) for end in here)
            for end in here:
                insort(ends, end)
    return total

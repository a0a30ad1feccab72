"""Where does everything go?

What      : coordinates for boxes, arrows and strata, from the rows and orders of layers.py.
Idea      : a node wants to stand at the mean of its neighbours; keeping order and distance, the nearest positions in
            the sense of least squares are found by pooling neighbours that push each other. A few sweeps settle it.
Invariant : boxes do not overlap; arrows leave a box at its lower edge and enter at the upper edge of another.
Never     : no text and no colours (svg.py).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tidelog.cli.drawing.layers import layers

GAP_X, GAP_Y, JOINT, MARGIN, BAND = 28.0, 78.0, 6.0, 36.0, 32.0
SWEEPS = 12

Point = tuple[float, float]
Size = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Layout:
    """The upper left corners of boxes, the points of each arrow, upper and lower edge of each stratum, and the size."""

    corners: tuple[Point, ...]
    routes: tuple[tuple[Point, ...], ...]
    bands: tuple[tuple[int, float, float], ...]
    width: float
    height: float


def lay_out(sizes: Sequence[Size], strata: Sequence[int], arrows: Sequence[tuple[int, int]]) -> Layout:
    """The layout of boxes with their sizes and strata, and of the arrows between them."""
    placed = layers(strata, arrows)
    nodes = len(sizes) + sum(len(path) - 2 for path in placed.paths)
    widths = [sizes[node][0] if node < len(sizes) else JOINT for node in range(nodes)]
    centres = _centres(placed.rows, placed.paths, widths)
    shift = MARGIN - min((centres[node] - widths[node] / 2 for node in range(nodes)), default=0.0)
    centres = [centre + shift for centre in centres]
    tops, bottoms, bands = _heights(placed.rows, sizes, strata)
    row_of = {node: index for index, row in enumerate(placed.rows) for node in row}
    corners = tuple((centres[box] - width / 2, tops[row_of[box]]) for box, (width, _) in enumerate(sizes))
    routes = _routes(
        placed.paths, centres, corners, sizes, [(tops[row_of[n]], bottoms[row_of[n]]) for n in range(nodes)]
    )
    width = max((centres[node] + widths[node] / 2 for node in range(nodes)), default=0.0) + MARGIN
    height = bands[-1][2] if bands else 0.0
    return Layout(corners, routes, bands, width, height)


def _centres(rows: list[list[int]], paths: list[list[int]], widths: list[float]) -> list[float]:
    neighbours: list[list[int]] = [[] for _ in widths]
    for path in paths:
        for upper, lower in itertools.pairwise(path):
            neighbours[upper].append(lower)
            neighbours[lower].append(upper)
    centres = [0.0] * len(widths)
    for row in rows:
        total = sum(widths[node] + GAP_X for node in row)
        left = -total / 2
        for node in row:
            centres[node] = left + widths[node] / 2
            left += widths[node] + GAP_X
    for sweep in range(SWEEPS if len(widths) < 3000 else 2):
        for row in rows if sweep % 2 == 0 else reversed(rows):
            wanted = [_wanted(node, neighbours[node], centres, widths) for node in row]
            weights = [4.0 if widths[node] == JOINT else 1.0 for node in row]
            for node, centre in zip(row, _separated(wanted, weights, [widths[node] for node in row])):
                centres[node] = centre
    return centres


def _wanted(node: int, neighbours: list[int], centres: list[float], widths: list[float]) -> float:
    """The mean of the neighbours' positions; joints weigh more, so that long arrows run straight."""
    weights = [1.0 + 3.0 * (widths[node] == JOINT) + 3.0 * (widths[other] == JOINT) for other in neighbours]
    if not neighbours:
        return centres[node]
    return sum(weight * centres[other] for weight, other in zip(weights, neighbours)) / sum(weights)


def _separated(wanted: list[float], weights: list[float], widths: list[float]) -> list[float]:
    """The positions nearest to the wanted ones that keep the order and the gaps (pool adjacent violators)."""
    offsets = [0.0]
    for left, right in itertools.pairwise(widths):
        offsets.append(offsets[-1] + (left + right) / 2 + GAP_X)
    pools: list[tuple[float, float, int]] = []
    for want, weight, offset in zip(wanted, weights, offsets):
        mean, total, count = want - offset, weight, 1
        while pools and pools[-1][0] > mean:
            other, other_total, members = pools.pop()
            mean = (mean * total + other * other_total) / (total + other_total)
            total, count = total + other_total, count + members
        pools.append((mean, total, count))
    levelled = [mean for mean, _, count in pools for _ in range(count)]
    return [level + offset for level, offset in zip(levelled, offsets)]


def _heights(
    rows: list[list[int]], sizes: Sequence[Size], strata: Sequence[int]
) -> tuple[list[float], list[float], tuple[tuple[int, float, float], ...]]:
    """Upper and lower edges of rows, and the bands of strata around them."""
    tops: list[float] = []
    bottoms: list[float] = []
    bands: list[tuple[int, float, float]] = []
    y = 0.0
    for row in rows:
        stratum = next(strata[node] for node in row if node < len(sizes))
        is_new = not bands or bands[-1][0] != stratum
        if is_new:
            bands.append((stratum, y, y))
        y += BAND + 8.0 if is_new else GAP_Y
        tops.append(y)
        y += max(sizes[node][1] for node in row if node < len(sizes))
        bottoms.append(y)
        is_last = len(tops) == len(rows) or all(strata[n] != stratum for n in rows[len(tops)] if n < len(sizes))
        if is_last:
            y += BAND
        bands[-1] = (stratum, bands[-1][1], y)
    return tops, bottoms, tuple(bands)


def _routes(
    paths: list[list[int]],
    centres: list[float],
    corners: tuple[Point, ...],
    sizes: Sequence[Size],
    spans: list[tuple[float, float]],
) -> tuple[tuple[Point, ...], ...]:
    """The points of each arrow: a port, two points per joint, a port."""
    leaving = _ports(((path[0], centres[path[1]], index) for index, path in enumerate(paths)), centres, sizes)
    entering = _ports(((path[-1], centres[path[-2]], index) for index, path in enumerate(paths)), centres, sizes)
    routes = []
    for index, path in enumerate(paths):
        source, target = path[0], path[-1]
        points = [(leaving[index], corners[source][1] + sizes[source][1])]
        for joint in path[1:-1]:
            points += [(centres[joint], spans[joint][0]), (centres[joint], spans[joint][1])]
        routes.append((*points, (entering[index], corners[target][1])))
    return tuple(routes)


def _ports(ends: Iterator[tuple[int, float, int]], centres: list[float], sizes: Sequence[Size]) -> dict[int, float]:
    """Where arrows touch a box: side by side, in the order of where they come from or go to."""
    by_box: dict[int, list[tuple[float, int]]] = {}
    for box, towards, arrow in ends:
        by_box.setdefault(box, []).append((towards, arrow))
    found = {}
    for box, touching in by_box.items():
        step = min(26.0, sizes[box][0] * 0.7 / max(1, len(touching)))
        for index, (_, arrow) in enumerate(sorted(touching)):
            found[arrow] = centres[box] + (index - (len(touching) - 1) / 2) * step
    return found

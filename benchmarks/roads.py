"""Shortest paths by recursive `min`, beside SciPy's Dijkstra: `python -m benchmarks.roads`.

What      : a road-like graph (a grid with some crossings missing, lengths that vary) of about 100,000 edges; the first
            materialisation from one source, then edges of the shortest-path tree deleted and inserted again one by one.
Idea      : deletions are drawn from the tree, because every other edge changes nothing but one candidate.
Invariant : every distance is compared with SciPy's, at the start and at the end.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable, Sequence
from functools import partial
from statistics import median, quantiles

import numpy as np
import pyarrow as pa
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import dijkstra

import tidelog as tl

RULES = """
dist(y, m) :- node(y), m = min c : { step(y, c) }.
step(y, c + w) :- dist(x, c), e(x, y, w).
step(x, 0) :- source(x).
"""
Edge = tuple[int, int, int]


def roads(edges: int, seed: int) -> list[Edge]:
    """A grid with two directed edges per street; a tenth of the streets is missing."""
    rng = random.Random(seed)
    side = int((edges / 3.6) ** 0.5)
    found = []
    for row in range(side):
        for column in range(side):
            here = row * side + column
            for there in (here + 1 if column + 1 < side else -1, here + side if row + 1 < side else -1):
                if there >= 0 and rng.random() < 0.9:
                    length = rng.randint(50, 400)
                    found += [(here, there, length), (there, here, length)]
    return found


def matrix(edges: Sequence[Edge], nodes: int) -> csr_matrix:
    """The graph as SciPy wants it."""
    start, end, length = (np.array(part) for part in zip(*edges))
    return csr_matrix((length.astype(np.float64), (start, end)), shape=(nodes, nodes))


def distances(edges: Sequence[Edge], nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """SciPy's distances from node 0, and the node before each on its shortest path."""
    found, before = dijkstra(matrix(edges, nodes), indices=0, return_predecessors=True)
    return found, before


def check(engine: tl.Engine, edges: Sequence[Edge], nodes: int) -> None:
    """Every distance is SciPy's."""
    found = distances(edges, nodes)[0]
    wanted = [(node, int(found[node])) for node in range(nodes) if np.isfinite(found[node])]
    if sorted(engine["dist"]) != wanted:
        raise SystemExit("the distances differ from SciPy's")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--edges", type=int, default=100_000)
    parser.add_argument("--deletions", type=int, default=50)
    parser.add_argument("--strategy", default="auto")
    parser.add_argument("--cpu", action="store_true", help="processor time, where others use the machine, too")
    chosen = parser.parse_args(arguments)
    clock = time.process_time if chosen.cpu else time.perf_counter
    edges = roads(chosen.edges, 1)
    nodes = max(max(one[:2]) for one in edges) + 1
    graph = matrix(edges, nodes)
    theirs = min(_timed(lambda: dijkstra(graph, indices=0), clock) for _ in range(5))
    _start(roads(2_000, 2), 600, chosen.strategy)  # kernels are compiled by now
    engine, ours = _timed_start(edges, nodes, chosen.strategy, clock)
    check(engine, edges, nodes)
    print(f"{len(edges):,} edges, {nodes:,} nodes; SciPy {theirs * 1e3:.1f} ms")
    print(f"first materialisation {ours * 1e3:.0f} ms, {ours / theirs:.1f} times SciPy's")
    before = distances(edges, nodes)[1]
    tree = [edge for edge in edges if before[edge[1]] == edge[0]]
    rng, deleted, inserted = random.Random(3), [], []
    for edge in rng.sample(tree, chosen.deletions):
        deleted.append(_timed(partial(engine.apply, delete={"e": [edge]}), clock))
        inserted.append(_timed(partial(engine.apply, insert={"e": [edge]}), clock))
    check(engine, edges, nodes)
    for word, taken in (("deleted", deleted), ("inserted", inserted)):
        high = quantiles(taken, n=10)[-1]
        share = 100 * median(taken) / ours
        print(
            f"one edge of the tree {word}: {median(taken) * 1e3:.2f} ms ({share:.2f} % of the first),"
            f" p90 {high * 1e3:.1f} ms, most {max(taken) * 1e3:.0f} ms"
        )


def _start(edges: Sequence[Edge], nodes: int, strategy: str) -> tl.Engine:
    engine = tl.Engine(RULES, strategy=strategy)
    columns = pa.table({f"c{at}": pa.array(part) for at, part in enumerate(zip(*edges))})
    engine.apply(insert={"e": columns, "node": [(node,) for node in range(nodes)]})
    engine.apply(insert={"source": [(0,)]})
    return engine


def _timed_start(
    edges: Sequence[Edge], nodes: int, strategy: str, clock: Callable[[], float]
) -> tuple[tl.Engine, float]:
    """The engine, and how long the distances took once the graph was there."""
    engine = tl.Engine(RULES, strategy=strategy)
    columns = pa.table({f"c{at}": pa.array(part) for at, part in enumerate(zip(*edges))})
    engine.apply(insert={"e": columns, "node": [(node,) for node in range(nodes)]})
    return engine, _timed(lambda: engine.apply(insert={"source": [(0,)]}), clock)


def _timed(work: Callable[[], object], clock: Callable[[], float]) -> float:
    begun = clock()
    work()
    return clock() - begun


if __name__ == "__main__":
    main()

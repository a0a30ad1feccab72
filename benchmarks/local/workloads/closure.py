"""Transitive closure: two given graphs, and random, sparse and power-law graphs up to ten million results.

What      : T(x, z) :- E(x, y), T(y, z), the right-linear form that most engines use in their own benchmarks.
Idea      : a dense graph derives every result many times (look-ups of known facts), a sparse one about once (memory).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.local.workloads.workload import Workload

DATA = Path(__file__).parents[2] / "data" / "graphs"

RULES = "path(x, y) :- edge(x, y).\npath(x, z) :- edge(x, y), path(y, z).\n"
ASP = "path(X, Y) :- edge(X, Y).\npath(X, Z) :- edge(X, Y), path(Y, Z).\n"
SQL = """WITH RECURSIVE path(a, b) AS (
    SELECT a, b FROM edge UNION SELECT edge.a, path.b FROM edge JOIN path ON edge.b = path.a
) SELECT count(*) FROM path"""


def _workload(name: str, edges: np.ndarray, expected: int | None = None, repeats: int = 3) -> Workload:
    edges = np.unique(edges, axis=0)
    return Workload(
        name, RULES, {"edge": edges}, "path", ASP, SQL, is_closure=True, expected=expected, repeats=repeats,
        souffle_types={"path": 2},
    )  # fmt: skip


def from_file(name: str, expected: int) -> Workload:
    """One of the two given graphs."""
    return _workload(name, np.loadtxt(DATA / f"{name}.tsv", dtype=np.int64, delimiter="\t"), expected)


def dense(name: str, nodes: int, probability: float) -> Workload:
    """A random graph in which everything reaches everything."""
    source = np.random.default_rng(1)
    return _workload(name, np.argwhere(source.random((nodes, nodes)) < probability))


def sparse(name: str, nodes: int, degree: float) -> Workload:
    """A random graph with less than one edge per node: many short paths, nearly every result derived once."""
    source = np.random.default_rng(2)
    edges = source.integers(0, nodes, (int(nodes * degree), 2))
    return _workload(name, edges, repeats=3 if nodes < 1_000_000 else 2)


def power_law(name: str, nodes: int, edges: int) -> Workload:
    """Few nodes with very many edges; numbers are shuffled so that they say nothing."""
    source = np.random.default_rng(3)
    ends = (nodes * source.random((edges, 2)) ** 2.5).astype(np.int64)
    return _workload(name, source.permutation(nodes)[ends], repeats=2)


WORKLOADS: dict[str, Callable[[], Workload]] = {
    "rand1k": partial(from_file, "rand1k", 11_532),
    "rmat1k": partial(from_file, "rmat1k", 262_144),
    "dense250": partial(dense, "dense250", 250, 0.04),
    "dense500": partial(dense, "dense500", 500, 0.02),
    "dense1k": partial(dense, "dense1k", 1_000, 0.01),
    "dense2k": partial(dense, "dense2k", 2_000, 0.005),
    "sparse20k": partial(sparse, "sparse20k", 9_000, 0.7),
    "sparse200k": partial(sparse, "sparse200k", 90_000, 0.7),
    "sparse2m": partial(sparse, "sparse2m", 400_000, 0.85),
    "sparse10m": partial(sparse, "sparse10m", 1_850_000, 0.85),
    "power100k": partial(power_law, "power100k", 1_000, 700),
    "power1m": partial(power_law, "power1m", 4_000, 3_000),
    "power3m": partial(power_law, "power3m", 40_000, 12_000),
}

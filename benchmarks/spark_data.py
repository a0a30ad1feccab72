"""What the Spark benchmarks run on: graphs, LUBM-like data of any size, and the data of rule set 2.

Invariant : the same arguments give the same facts; constants are whole numbers, so that handing them over costs every
            contender the same.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
CLOSURE = "p(x, y) :- e(x, y). p(x, z) :- e(x, y), p(y, z)."
RDFS = """
    t(a, 0, c) :- t(a, 0, b), t(b, 0, c).      t(a, 1, c) :- t(a, 1, b), t(b, 1, c).
    t(x, 4, d) :- t(x, 4, c), t(c, 0, d).      t(x, q, y) :- t(x, p, y), t(p, 1, q).
    t(x, 4, c) :- t(x, p, y), t(p, 2, c).      t(y, 4, c) :- t(x, p, y), t(p, 3, c).
"""
RULE_SET_2 = (HERE.parent / "tests/programs/zodiacedge/rs2/program.dl").read_text()
Data = dict[str, np.ndarray]


def random_graph(nodes: int, edges: int) -> Data:
    """Distinct random edges."""
    codes = np.random.default_rng(1).choice(nodes * nodes, edges, replace=False)
    return {"e": np.column_stack([codes // nodes, codes % nodes]).astype(np.int64)}


def acyclic_graph(nodes: int, edges: int) -> Data:
    """Random edges from smaller to larger numbers, so that recursive SQL ends."""
    found = random_graph(nodes, edges)["e"]
    return {"e": np.array(sorted({(int(min(x, y)), int(max(x, y))) for x, y in found if x != y}), np.int64)}


def lubm(copies: int) -> Data:
    """LUBM(1) a number of times: one schema, and copies of the data with names of their own."""
    schema = np.loadtxt(HERE / "data" / "lubm1" / "tbox.tsv", dtype=np.int64)
    with gzip.open(HERE / "data" / "lubm1" / "abox.tsv.gz") as file:
        data = np.loadtxt(file, dtype=np.int64)
    shared = np.isin(data, schema) | (np.arange(3) == 1)
    step = int(max(data.max(), schema.max())) + 1
    parts = [np.where(shared, data, data + copy * step) for copy in range(copies)]
    return {"t": np.vstack([schema, *parts])}


def rule_set_2(nodes: int) -> Data:
    """Blocks of twenty nodes, so that closures are cliques of that size."""
    chosen = np.random.default_rng(2)

    def pairs(count: int) -> np.ndarray:
        left = chosen.integers(0, nodes, count)
        right = left // 20 * 20 + chosen.integers(0, 20, count)
        return np.array(sorted({*zip(left.tolist(), right.tolist())}), np.int64)

    return {"p1": pairs(2 * nodes), "p2": pairs(2 * nodes), "p3": pairs(nodes), "p5": pairs(nodes)}

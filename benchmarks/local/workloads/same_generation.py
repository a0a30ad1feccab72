"""Same generation: who has an ancestor in common, equally far up, in a full tree.

What      : non-linear in the data, linear in the rules; the result grows with the square of a level.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from benchmarks.local.workloads.workload import Workload

RULES = """
same(x, y) :- parent(x, p), parent(y, p).
same(x, y) :- parent(x, p), same(p, q), parent(y, q).
"""
ASP = """
same(X, Y) :- parent(X, P), parent(Y, P).
same(X, Y) :- parent(X, P), same(P, Q), parent(Y, Q).
"""
SQL = """WITH RECURSIVE same(a, b) AS (
    SELECT one.a, other.a FROM parent one JOIN parent other ON one.b = other.b
    UNION
    SELECT one.a, other.a FROM parent one JOIN same ON one.b = same.a JOIN parent other ON other.b = same.b
) SELECT count(*) FROM same"""


def tree(name: str, children: int, depth: int) -> Workload:
    """A tree in which every inner node has the same number of children."""
    nodes = np.arange(1, sum(children**level for level in range(depth + 1)))
    parents = np.column_stack([nodes, (nodes - 1) // children])
    expected = sum(children ** (2 * level) for level in range(1, depth + 1))
    return Workload(
        name, RULES, {"parent": parents}, "same", ASP, SQL, expected=expected, souffle_types={"same": 2}
    )  # fmt: skip


WORKLOADS: dict[str, Callable[[], Workload]] = {
    "generation300k": partial(tree, "generation300k", 8, 3),
    "generation2m": partial(tree, "generation2m", 6, 4),
}

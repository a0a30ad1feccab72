"""Points-to in the style of Andersen: which variable may hold which object, through fields.

What      : two mutually recursive relations, rules of three atoms, over a random program.
"""

from __future__ import annotations

import numpy as np

from benchmarks.local.workloads.workload import Workload

RULES = """
holds(v, o) :- new(v, o).
holds(v, o) :- assign(v, u), holds(u, o).
holds(v, o) :- load(v, b, f), holds(b, h), field(h, f, o).
field(h, f, o) :- store(b, f, u), holds(b, h), holds(u, o).
"""
ASP = """
holds(V, O) :- new(V, O).
holds(V, O) :- assign(V, U), holds(U, O).
holds(V, O) :- load(V, B, F), holds(B, H), field(H, F, O).
field(H, F, O) :- store(B, F, U), holds(B, H), holds(U, O).
"""


def random_program(variables: int = 200_000, objects: int = 60_000, fields: int = 40) -> Workload:
    """A program with three assignments for four variables, and fewer loads and stores."""
    source = np.random.default_rng(4)

    def draw(count: int, *sizes: int) -> np.ndarray:
        return np.unique(np.column_stack([source.integers(0, size, count) for size in sizes]), axis=0)

    facts = {
        "new": draw(objects, variables, objects),
        "assign": draw(3 * variables // 4, variables, variables),
        "load": draw(variables // 12, variables, variables, fields),
        "store": draw(variables // 12, variables, fields, variables),
    }
    return Workload("points_to", RULES, facts, "holds", ASP, souffle_types={"holds": 2, "field": 3})


WORKLOADS = {"points_to": random_program}

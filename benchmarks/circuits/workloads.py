"""The programs and facts of the DYRE paper's evaluation, and one that has prefixes to keep.

What      : `WORKLOADS` by name; each has a program, the facts that stay, and those of which a batch is taken.
Source    : de Lima et al. 2024, section 5: LUBM under RDFS, transitive closure of a sparse and a denser graph. A graph
            of 1,000 nodes, each edge with probability 1 %, is ours.
"""

from __future__ import annotations

import csv
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.maintenance.workloads.lubm import RDFS, ontology, university

DATA = Path(__file__).parents[1] / "data"
CLOSURE = "path(x, y) :- edge(x, y). path(x, z) :- edge(x, y), path(y, z)."
TWO_STEPS = "path(x, y) :- edge(x, y). path(x, w) :- edge(x, y), edge(y, z), path(z, w)."
Fact = tuple[int, ...]


@dataclass(frozen=True)
class Workload:
    """A program and its facts."""

    program: str
    relation: str
    fixed: tuple[Fact, ...]
    changing: tuple[Fact, ...]


def graph(name: str) -> tuple[Fact, ...]:
    """The edges of a stored graph, in a random but fixed order."""
    rows = csv.reader((DATA / "graphs" / f"{name}.tsv").read_text().splitlines(), delimiter="\t")
    edges = [tuple(map(int, row)) for row in rows]
    random.Random(5).shuffle(edges)
    return tuple(edges)


def dense() -> tuple[Fact, ...]:
    """A random graph: 1,000 nodes, each edge with probability 1 %."""
    rng = random.Random(7)
    edges = [(a, b) for a in range(1000) for b in range(1000) if rng.random() < 0.01]
    rng.shuffle(edges)
    return tuple(edges)


WORKLOADS: Mapping[str, Callable[[], Workload]] = {
    "LUBM(1) RDFS": lambda: Workload(RDFS, "t", ontology(), university()),
    "rand1k": lambda: Workload(CLOSURE, "edge", (), graph("rand1k")),
    "rmat1k": lambda: Workload(CLOSURE, "edge", (), graph("rmat1k")),
    "dense1k": lambda: Workload(CLOSURE, "edge", (), dense()),
    "rand1k, two steps": lambda: Workload(TWO_STEPS, "edge", (), graph("rand1k")),
}
"""Each is made when it is asked for."""
OWL = "LUBM(1) OWL 2 RL"
"""The workload that has no program of its own (owl.py)."""

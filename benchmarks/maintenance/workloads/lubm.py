"""LUBM(1) under RDFS: sparse, shallow, few derivations per fact.

What      : the triples of one university and of its ontology, as integers, and the six RDFS rules.
Source    : DYRE, equation (5); the vocabulary is 0 subClassOf, 1 subPropertyOf, 2 domain, 3 range, 4 type.
Never     : the ontology is never among the deletions.
"""

from __future__ import annotations

import csv
import gzip
import random
from functools import cache
from pathlib import Path

from benchmarks.maintenance.workloads.workload import Fact, Workload, shuffled

DATA = Path(__file__).parents[2] / "data" / "lubm1"

RDFS = """
domain: t(y, 4, x) :- t(a, 2, x), t(y, a, z).
range: t(z, 4, x) :- t(a, 3, x), t(y, a, z).
subproperties: t(x, 1, z) :- t(x, 1, y), t(y, 1, z).
subclasses: t(x, 0, z) :- t(x, 0, y), t(y, 0, z).
subclass: t(z, 4, y) :- t(x, 0, y), t(z, 4, x).
subproperty: t(x, b, y) :- t(a, 1, b), t(x, a, y).
"""


@cache
def ontology() -> tuple[Fact, ...]:
    """The triples of the ontology."""
    return _triples((DATA / "tbox.tsv").read_text())


@cache
def university() -> tuple[Fact, ...]:
    """The triples of the university, in a random but fixed order."""
    triples = list(_triples(gzip.decompress((DATA / "abox.tsv.gz").read_bytes()).decode()))
    random.Random(1).shuffle(triples)
    return tuple(triples)


def lubm() -> Workload:
    """Deletions of triples of the university."""
    order = shuffled({"t": university()}, random.Random(2))
    return Workload(
        "LUBM(1), RDFS", RDFS, {"t": ontology() + university()}, order, (1, 100, 1_000, 5_000, 20_000, 40_000)
    )


def _triples(text: str) -> tuple[Fact, ...]:
    return tuple(tuple(map(int, row)) for row in csv.reader(text.splitlines(), delimiter="\t"))

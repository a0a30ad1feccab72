"""LUBM(1) under OWL 2 RL: the fourth workload of the DYRE paper, as a knowledge graph.

What      : `measure` gives the same figures as measured.py for `rdf.Graph(..., reasoning="owl-rl")`.
Idea      : axioms are rules, so there is no fixed program; data come as parsed triples, which is what files become.
Invariant : the ontology is never part of a share or a batch.
"""

from __future__ import annotations

import gzip
import random
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.lubm.files import ONTOLOGY, PUBLISHED
from benchmarks.maintenance.measure import cpu, milliseconds, there_and_back
from tidelog import rdf
from tidelog.planning.lowered import is_of_rewrites
from tidelog.rdf.quads import merged
from tidelog.rdf.read import read_quads


def measure(strategy: str, shares: Sequence[int], batches: Mapping[str, float]) -> dict[str, Any]:
    """All figures of one strategy."""
    lines = gzip.decompress(PUBLISHED.read_bytes()).splitlines(keepends=True)
    random.Random(5).shuffle(lines)
    found: dict[str, Any] = {"materialise ms": {}}
    _graph(lines, strategy)  # compiles what is needed
    for share in shares:
        seconds, kg = _graph(lines[: len(lines) * share // 100], strategy)
        found["materialise ms"][str(share)] = milliseconds([seconds])
    store = kg.engine._backend.store
    rewrites = sum(one.alive for name, one in store.relations.items() if is_of_rewrites(name))
    found |= {"bytes": store.nbytes, "rewrites": rewrites, "facts": len(kg)}
    found["batches"] = {
        label: _batch(lines, max(1, round(share * len(lines))), strategy) for label, share in batches.items()
    }
    return found


def _graph(lines: Sequence[bytes], strategy: str) -> tuple[float, rdf.Graph]:
    """A graph of the ontology and some data, and the CPU seconds of storing and reasoning."""
    quads = merged([*read_quads(ONTOLOGY), *_parsed(lines)])
    return cpu(lambda: rdf.Graph(quads, reasoning="owl-rl", strategy=strategy))


def _parsed(lines: Sequence[bytes]) -> list[Any]:
    """Lines of N-Triples, parsed."""
    with tempfile.NamedTemporaryFile(suffix=".nt") as file:
        file.write(b"".join(lines))
        file.flush()
        return list(read_quads(Path(file.name)))


def _batch(lines: Sequence[bytes], size: int, strategy: str) -> dict[str, float]:
    initial, kg = _graph(lines[size:], strategy)
    batch = merged(_parsed(lines[:size]))
    kg.apply(insert=batch)
    trips = there_and_back(partial(kg.apply, delete=batch), partial(kg.apply, insert=batch), strategy)  # type: ignore[arg-type]
    return {"initial": milliseconds([initial]), "+": milliseconds(trips.back), "-": milliseconds(trips.there)}

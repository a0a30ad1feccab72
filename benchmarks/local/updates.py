"""Small updates and memory of the local backend: `python -m benchmarks.local.updates QUESTION`.

What      : five questions. `flat`: does inserting one fact that derives k facts cost the same while the store grows
            from 10^4 to 10^7 facts? `single`: what does one fact cost on LUBM(1) RDFS and on closures, inserted and
            deleted? `files`: how long from the files of LUBM(1) to its materialisation? `bytes`: how many bytes does a
            binary fact take, indexes included, at 10^7 facts? `compile`: how long does the first call of every kernel
            take when nothing is cached?
Idea      : updates on distinct facts, the median of many; the first ones build indexes and are told apart.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.local.workloads import WORKLOADS
from tidelog.changes.files import read_facts
from tidelog.engine import Engine

CHAIN = 100
SOUFFLE_REFERENCE = 0.165
"""CPU seconds of Souffle's interpreter for the same files, whole process, on the machine of the project's anchors."""


def flat(sizes: Iterable[int] = (10_000, 100_000, 1_000_000, 10_000_000)) -> list[dict[str, float]]:
    """One fact that derives CHAIN facts beside stores of growing size."""
    found = []
    for size in sizes:
        nodes = size // 2
        engine = Engine("reach(x, y) :- start(x), edge(x, y).\nreach(x, z) :- reach(x, y), edge(y, z).\n")
        chain = np.column_stack([np.arange(CHAIN), np.arange(1, CHAIN + 1)])
        noise = np.random.default_rng(5).integers(CHAIN + 1, nodes + CHAIN + 1, (size, 2))
        engine.apply(insert={"edge": np.vstack([chain, noise])})
        first = _milliseconds(engine.apply, insert={"start": [(0,)]})
        times = []
        for _ in range(60):
            engine.apply(delete={"start": [(0,)]})
            times.append(_milliseconds(engine.apply, insert={"start": [(0,)]}))
        assert len(engine["reach"]) == CHAIN
        found.append({"facts": size, "derived": CHAIN, "first_ms": first, "cpu_ms": round(statistics.median(times), 3)})
    return found


def single() -> list[dict[str, Any]]:
    """One explicit fact deleted and inserted again, on two workloads."""
    found = []
    for name in ("lubm1", "rmat1k", "sparse2m"):
        workload = WORKLOADS[name]()
        relation, facts = next(iter(workload.facts.items()))
        engine = Engine(workload.rules)
        initial = _milliseconds(engine.apply, insert=workload.facts)
        chosen = np.random.default_rng(6).choice(len(facts), 30, replace=False)
        times: dict[str, list[float]] = {"delete": [], "insert": []}
        for at in chosen:
            fact = [tuple(facts[at].tolist())]
            times["delete"].append(_milliseconds(engine.apply, delete={relation: fact}))
            times["insert"].append(_milliseconds(engine.apply, insert={relation: fact}))
        for word, some in times.items():
            later = sorted(some[5:])
            found.append(
                {
                    "workload": name,
                    "update": word,
                    "initial_ms": initial,
                    "cpu_ms": round(statistics.median(later), 3),
                    "p90_ms": round(later[int(len(later) * 0.9)], 3),
                    "first_ms": some[0],
                }
            )
    return found


def per_fact() -> dict[str, float]:
    """Bytes per fact of a binary relation of ten million facts with an index on each column."""
    size = 10_000_000
    source = np.random.default_rng(7)
    engine = Engine("hit(x, y) :- edge(x, y), probe(x).\nhit(x, y) :- edge(x, y), probe(y).\n")
    engine.apply(insert={"edge": source.integers(0, size // 4, (size, 2))})
    bare = engine._backend.store.relations["edge"]
    without = bare.nbytes / bare.count
    engine.apply(insert={"probe": [(1,)]})
    return {
        "facts": bare.count,
        "bytes_without_indexes": round(without, 1),
        "bytes": round(bare.nbytes / bare.count, 1),
    }


def files() -> dict[str, float]:
    """LUBM(1) RDFS from TSV files to the finished materialisation, the best of five; imports are not counted."""
    workload = WORKLOADS["lubm1"]()
    best: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        np.savetxt(Path(folder) / "t.tsv", workload.facts["t"], fmt="%d", delimiter="\t")
        for _ in range(5):
            wall, cpu = time.perf_counter(), time.process_time()
            engine = Engine(workload.rules)
            engine.apply(insert=read_facts(folder, {"t": ("number",) * 3}))
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            assert len(engine["t"]) == workload.expected
            if not best or cpu < best["cpu"]:
                best = {"cpu": round(cpu, 4), "wall": round(wall, 4)}
    return {**best, "souffle_reference": SOUFFLE_REFERENCE, "ratio": round(best["cpu"] / SOUFFLE_REFERENCE, 2)}


def compile_seconds() -> dict[str, float]:
    """The first materialisation and maintenance of a process; with an empty cache that is the compile time."""
    started, cpu = time.perf_counter(), time.process_time()
    engine = Engine("p(x, z) :- e(x, y), e(y, z), !q(x), z > 1.\nn(c) :- c = count : { p(x, _) }.\n")
    engine.apply(insert={"e": [(1, 2), (2, 3)]})
    engine.apply(delete={"e": [(1, 2)]}, insert={"q": [("a",)]})
    return {"wall": round(time.perf_counter() - started, 2), "cpu": round(time.process_time() - cpu, 2)}


def _milliseconds(action: Callable[..., object], **arguments: object) -> float:
    """CPU milliseconds of a call."""
    before = time.process_time()
    action(**arguments)
    return round(1000 * (time.process_time() - before), 3)


QUESTIONS: dict[str, Callable[[], object]] = {
    "flat": flat,
    "single": single,
    "bytes": per_fact,
    "files": files,
    "compile": compile_seconds,
}

if __name__ == "__main__":
    print(json.dumps(QUESTIONS[sys.argv[1]]()))

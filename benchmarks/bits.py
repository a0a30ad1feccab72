"""Words of bits against rows and DuckDB, and deletions in dense stages: `python -m benchmarks.bits [--repeats N]`

What      : the closures of rmat1k and dense1k, RS2, and cliques: CPU milliseconds from encoded facts to a readable
            result, by rows, in bits, and by DuckDB if it is installed; then the first deletions from each with `auto`,
            as a share of what rows take from scratch. Last, what a row costs in an index, beside the price that `auto`
            uses for it.
Idea      : ratios in one run mean something on any machine. The runs of one case take turns, and the best counts.
Never     : a case is left out because it looks bad.
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec

import numpy as np

from benchmarks.local.engines import ENGINES
from benchmarks.local.workloads import WORKLOADS
from benchmarks.local.workloads.workload import Workload
from tidelog.backends.local.bits.rows_or_bits import Way, computing
from tidelog.backends.local.kernels.interpreting import compile_from_now_on
from tidelog.backends.local.relations.index import Index
from tidelog.engine import Engine
from tidelog.maintenance.choose import INDEXED

SYMMETRIC = "p(x, y) :- e(x, y).\np(x, y) :- p(y, x).\np(x, z) :- p(x, y), p(y, z), x != z.\n"
DERIVATION = 20e-9
"""Seconds: the unit of prices (maintenance/prices.py)."""


def neighbours(turbines: int) -> Workload:
    """A chain of neighbours, symmetric and transitive: in the end a clique."""
    chain = np.column_stack([np.arange(turbines - 1), np.arange(1, turbines)])
    return Workload(f"turbines{turbines}", SYMMETRIC, {"e": chain}, "p", expected=turbines * (turbines - 1))


def cliques(count: int, size: int) -> Workload:
    """Cliques apart from each other: too many values for one matrix, so they stay with rows."""
    starts = size * np.arange(count)[:, None, None]
    steps = np.column_stack([np.arange(size - 1), np.arange(1, size)])
    return Workload(f"cliques{count}x{size}", SYMMETRIC, {"e": (starts + steps).reshape(-1, 2)}, "p")


CASES: dict[str, Callable[[], Workload]] = {
    **{name: WORKLOADS[name] for name in ("rmat1k", "dense1k", "rand1k", "power3m", "sparse200k", "rs2")},
    "turbines400": partial(neighbours, 400),
    "cliques1000x30": partial(cliques, 1000, 30),
}


def derived(workload: Workload, way: Way) -> tuple[float, int, Engine]:
    """The seconds from encoded facts to a result whose size is known, that size, and the engine."""
    with computing(way):
        engine = Engine()
        engine.apply(insert=workload.facts)
        gc.collect()
        started = time.process_time()
        engine.apply(add_rules=workload.rules)
        size = len(engine[workload.output])
        return time.process_time() - started, size, engine


def deleted(workload: Workload, engine: Engine, count: int = 5) -> list[float]:
    """The seconds of the first deletions, each of one fact from the middle of a relation."""
    name, facts = next(iter(workload.facts.items()))
    found = []
    for at in range(count):
        fact = tuple(facts[(len(facts) // 2 + 7 * at) % len(facts)].tolist())
        started = time.process_time()
        engine.apply(delete={name: [fact]})
        found.append(time.process_time() - started)
    return found


def by_duckdb(workload: Workload) -> float | None:
    """The seconds that DuckDB takes from a table of facts, if it is installed and the case has a query for it."""
    if find_spec("duckdb") is None or workload.sql is None:
        return None
    derive = ENGINES["duckdb"].load(workload)
    started = time.process_time()
    derive()
    return time.process_time() - started


def measure(name: str, repeats: int) -> None:
    """Print one case."""
    workload = CASES[name]()
    best: dict[str, float] = {}
    sizes, slowest = set[int](), 0.0
    for _ in range(repeats):
        for way in (Way.AUTO, Way.ROWS):
            seconds, size, engine = derived(workload, way)
            best[way] = min(best.get(way, seconds), seconds)
            sizes.add(size)
            if way is Way.AUTO:
                slowest = max(deleted(workload, engine))
                best["deletion"] = min(best.get("deletion", slowest), slowest)
            del engine
        other = by_duckdb(workload)
        if other is not None:
            best["duckdb"] = min(best.get("duckdb", other), other)
    assert len(sizes) == 1, f"{name}: {sizes}"
    auto, rows = best[Way.AUTO], best[Way.ROWS]
    against = f"{best['duckdb'] * 1e3:9.1f} {best['duckdb'] / auto:6.1f}x" if "duckdb" in best else " " * 17
    deletion = f"{best['deletion'] * 1e3:9.2f} {100 * best['deletion'] / rows:6.2f} %"
    print(f"{name:15} {max(sizes):10,} {rows * 1e3:9.1f} {auto * 1e3:9.1f} {rows / auto:6.1f}x {against} {deletion}")


def index_price() -> float:
    """What it takes to enter a row into an index, in derivations."""
    rows = np.random.default_rng(1).integers(0, 1000, (1_000_000, 2)).astype(np.int32)
    started = time.process_time()
    Index((0,), rows, len(rows), len(rows))
    return (time.process_time() - started) / len(rows) / DERIVATION


def main() -> None:
    """Measure every case."""
    arguments = argparse.ArgumentParser(prog="python -m benchmarks.bits", description=__doc__.split("\n")[0])
    arguments.add_argument("cases", nargs="*", default=list(CASES))
    arguments.add_argument("--repeats", type=int, default=3)
    options = arguments.parse_args()
    compile_from_now_on()
    for warm in (Way.BITS, Way.ROWS):
        deleted(neighbours(40), derived(neighbours(40), warm)[2])
        derived(WORKLOADS["rand1k"](), warm)
    print("CPU ms, best of the repeats; deletion: the slowest of the first five, and its share of rows from scratch")
    names = f"{'case':15} {'facts':>10} {'rows':>9} {'auto':>9} {'ratio':>7}"
    print(f"{names} {'DuckDB':>9} {'ratio':>7} {'deletion':>9} {'share':>8}")
    for name in options.cases:
        measure(name, options.repeats)
    print(f"a row in an index: {index_price():.2f} derivations; auto reckons with {INDEXED}")


if __name__ == "__main__":
    main()

"""One thread beside several: `python -m benchmarks.threads [CASE ...] [--threads N] [--repeats N]`

What      : seconds on the wall of loading and deriving with one thread and with N, and their ratio; then CPU seconds of
            both, and those of the calling thread alone with N. Last, what two engines gain that share nothing.
Idea      : ratios in one run mean something on any machine. The runs of one case take turns; the median counts. The
            wall is what threads are for, so the machine must have N cores to spare. On a busy one look at the CPU
            seconds: if all threads together take as long as one alone, and the caller a part of it, work was shared.
Never     : a case is left out because it looks bad.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from threading import Thread

import numpy as np

from benchmarks.local.workloads import WORKLOADS
from tidelog import rdf
from tidelog.backends.local.kernels.interpreting import compile_from_now_on
from tidelog.backends.local.kernels.workers import every_core
from tidelog.engine import Engine

Case = Callable[[int], Callable[[], int]]
"""Prepares a run with a number of threads; what it gives runs it and says how many facts there are then."""


def derived(name: str) -> Case:
    """A workload from encoded facts to its result."""
    workload = WORKLOADS[name]()

    def prepare(threads: int) -> Callable[[], int]:
        engine = Engine(threads=threads)
        engine.apply(insert=workload.facts)

        def run() -> int:
            engine.apply(add_rules=workload.rules)
            return len(engine[workload.output])

        return run

    return prepare


def loaded(facts: int = 10_000_000, values: int = 2_000_000) -> Case:
    """Pairs of integers from an array."""
    pairs = np.random.default_rng(5).integers(0, values, (facts, 2))

    def prepare(threads: int) -> Callable[[], int]:
        engine = Engine(threads=threads)

        def run() -> int:
            engine.apply(insert={"edge": pairs})
            return len(engine["edge"])

        return run

    return prepare


def decoded(facts: int = 5_000_000) -> Case:
    """A relation of integers and strings as an Arrow table."""
    import pyarrow as pa

    numbers = np.random.default_rng(6).permutation(facts)
    table = pa.table({"a": numbers, "b": pa.array(numbers // 2).cast(pa.string())})

    def prepare(threads: int) -> Callable[[], int]:
        engine = Engine(threads=threads)
        engine.apply(insert={"named": table})
        return lambda: len(engine["named"].to_arrow())

    return prepare


def university(count: int = 10) -> Case:
    """LUBM under OWL 2 RL, from triples that are read already."""
    from benchmarks.lubm.files import ONTOLOGY
    from benchmarks.lubm.generate import write
    from tidelog.rdf.quads import merged
    from tidelog.rdf.read import read_quads

    with tempfile.TemporaryDirectory() as folder:
        paths = [ONTOLOGY, *write(Path(folder), count)]
        quads = merged([part for path in paths for part in read_quads(path)])

    def run(threads: int) -> int:
        graph = rdf.Graph(quads, reasoning="owl-rl", threads=threads)
        return sum(len(graph.engine[name]) for name in graph.relations)

    return lambda threads: partial(run, threads)


CASES: dict[str, Callable[[], Case]] = {
    "sparse10m": partial(derived, "sparse10m"),
    "sparse2m": partial(derived, "sparse2m"),
    "power3m": partial(derived, "power3m"),
    "points_to": partial(derived, "points_to"),
    "lubm10": university,
    "load10m": loaded,
    "decode5m": decoded,
}


def measure(name: str, threads: int, repeats: int) -> None:
    """Print one case."""
    case = CASES[name]()
    wall: dict[int, list[float]] = {1: [], threads: []}
    cpu: dict[int, list[float]] = {1: [], threads: []}
    caller: list[float] = []
    facts = set[int]()
    for _ in range(repeats):
        for number in wall:
            run = case(number)
            gc.collect()
            started, used, mine = time.perf_counter(), time.process_time(), time.thread_time()
            facts.add(run())
            wall[number].append(time.perf_counter() - started)
            cpu[number].append(time.process_time() - used)
            mine = time.thread_time() - mine
            del run
        caller.append(mine)
    assert len(facts) == 1, f"{name}: {facts}"
    one, several = statistics.median(wall[1]), statistics.median(wall[threads])
    used = " ".join(f"{statistics.median(some):8.3f}" for some in (cpu[1], cpu[threads], caller))
    print(f"{name:12} {max(facts):12,} {one:8.3f} {several:8.3f} {one / several:6.2f}x {used}", flush=True)


def apart(name: str, repeats: int) -> float:
    """How many times faster two engines derive beside each other than one after the other: what can be gained here.

    They share nothing but the machine: its memory, its cache and, perhaps, a core that looks like two.
    """
    case, ratios = derived(name), list[float]()
    for _ in range(repeats):
        one, *both = case(1), case(1), case(1)
        started = time.perf_counter()
        one()
        alone = time.perf_counter() - started
        threads = [Thread(target=run) for run in both]
        started = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        ratios.append(2 * alone / (time.perf_counter() - started))
    return statistics.median(ratios)


def main() -> None:
    """Measure the cases that are asked for."""
    arguments = argparse.ArgumentParser(prog="python -m benchmarks.threads", description=__doc__.split("\n")[0])
    arguments.add_argument("cases", nargs="*", default=list(CASES))
    arguments.add_argument("--threads", type=int, default=max(2, every_core()))
    arguments.add_argument("--repeats", type=int, default=3)
    options = arguments.parse_args()
    compile_from_now_on()
    for threads in (1, options.threads):
        derived("sparse200k")(threads)()
    print(f"median seconds of {options.repeats}; {options.threads} threads beside one")
    names = f"{'case':12} {'facts':>12} {'1, wall':>8} {'N, wall':>8} {'ratio':>7}"
    print(f"{names} {'1, CPU':>8} {'N, CPU':>8} {'caller':>8}")
    for name in options.cases:
        measure(name, options.threads, options.repeats)
    for name in ("sparse2m", "power3m"):
        print(f"two engines beside each other, {name}: {apart(name, options.repeats):.2f}x", flush=True)


if __name__ == "__main__":
    main()

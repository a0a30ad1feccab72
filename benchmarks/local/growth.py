"""How time grows: with the size of the result, and with the number of threads.

What      : `FAMILIES` are closures of one kind in several sizes; `exponents` says how the CPU time of each engine grows
            within a family; `python -m benchmarks.local.growth` prints the seconds on the wall by number of threads.
Idea      : time = c * size^k is a straight line where both axes are logarithmic; k is its slope (least squares). At 1,
            twice the facts take twice the time. Threads are for the wall, so the machine must have the cores to spare.
Never     : one size alone has no exponent.
"""

from __future__ import annotations

import gc
import json
import math
import statistics
import time
from collections.abc import Iterator
from typing import Any

from benchmarks.threads import CASES
from tidelog.backends.local.kernels.interpreting import compile_from_now_on
from tidelog.backends.local.kernels.workers import every_core

FAMILIES = {
    "sparse": ("sparse20k", "sparse200k", "sparse2m", "sparse10m"),
    "dense": ("dense250", "dense500", "dense1k", "dense2k"),
    "power law": ("power100k", "power1m", "power3m"),
}
SHARED = ("sparse2m", "sparse10m", "power3m", "points_to", "load10m")
"""The cases that are run with 1, 2, 4, ... threads, up to the number of cores (at least two)."""


def points(runs: list[dict[str, Any]], family: str, engine: str) -> list[tuple[int, float]]:
    """Sizes of results and CPU seconds of one engine within a family."""
    wanted = [run for run in runs if run["workload"] in FAMILIES[family] and run["engine"] == engine]
    return sorted((run["results"], run["cpu"]) for run in wanted if "failed" not in run and run["cpu"] > 0)


def exponent(points: list[tuple[int, float]]) -> float | None:
    """The slope of time by size, both in logarithms."""
    if len(points) < 2:
        return None
    sizes, times = ([math.log(point[at]) for point in points] for at in range(2))
    return statistics.linear_regression(sizes, times).slope


def exponents(runs: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """By family and engine."""
    engines = dict.fromkeys(run["engine"] for run in runs)
    found = {
        family: {engine: exponent(points(runs, family, engine)) for engine in engines} for family in FAMILIES
    }  # fmt: skip
    return {
        family: {engine: round(slope, 2) for engine, slope in some.items() if slope is not None}
        for family, some in found.items()
    }


def by_threads(repeats: int = 3) -> list[dict[str, Any]]:
    """Seconds on the wall of every shared case with a growing number of threads; the runs take turns."""
    compile_from_now_on()
    numbers = [1]
    while 2 * numbers[-1] <= max(2, every_core()):
        numbers.append(2 * numbers[-1])
    found = []
    for name in SHARED:
        case, wall = CASES[name](), {number: list[float]() for number in numbers}
        for turn in range(repeats + 1):  # the first turn loads kernels
            for number in numbers:
                run = case(number)
                gc.collect()
                started = time.perf_counter()
                run()
                if turn:
                    wall[number].append(time.perf_counter() - started)
                del run
        for number, some in wall.items():
            found.append({"case": name, "threads": number, "wall": round(statistics.median(some), 4)})
    return found


def lines(runs: list[dict[str, Any]], threads: object) -> Iterator[str]:
    """Exponents and threads as text."""
    yield "growth: CPU time ~ size of the result to the power of"
    for family, some in exponents(runs).items():
        yield f"  {family:<12}" + "".join(f"{engine:>10} {slope:.2f}" for engine, slope in some.items())
    yield "threads: seconds on the wall, and how many times faster than one thread"
    one: dict[str, float] = {}
    for line in threads if isinstance(threads, list) else ():
        first = one.setdefault(line["case"], line["wall"])
        yield f"  {line['case']:<12}{line['threads']:>3} {line['wall']:>9.3f} {first / line['wall']:>6.2f}"


if __name__ == "__main__":
    print(json.dumps(by_threads()))

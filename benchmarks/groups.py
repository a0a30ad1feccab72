"""What one fact costs that comes into a large group, or goes.

What      : `python -m benchmarks.groups` prints, for each aggregate and size of a group, the median time of an update
            of one fact, beside that of the same program without the aggregate (its rule with the body of the aggregate
            in its place).
Idea      : facts come in and go out again in turn, in the middle of the group's values and as the new extreme, so that
            the group keeps its size. The first change of a group, which makes its ledger, is not among them.
Never     : no judgement; docs/benchmarks.md quotes what was measured.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable, Sequence
from statistics import median

import pyarrow as pa

import tidelog as tl
from tidelog.maintenance.registry import STRATEGIES

AGGREGATES = ("count", "sum", "mean", "min", "max", "median")
_SIZES = (10**3, 10**4, 10**5, 10**6)
_WARM, _ROUNDS = 20, 200
_WITHOUT = "none"
Clock = Callable[[], float]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=_SIZES)
    parser.add_argument("--aggregates", nargs="+", choices=AGGREGATES, default=AGGREGATES)
    parser.add_argument("--strategy", choices=STRATEGIES, default="auto")
    parser.add_argument("--cpu", action="store_true", help="processor time, where others use the machine, too")
    parser.add_argument("--floats", action="store_true", help="aggregate floats instead of integers")
    chosen = parser.parse_args(arguments)
    clock = time.process_time if chosen.cpu else time.perf_counter
    print("microseconds")
    print(f"{'members':>10} {'aggregate':>10} {'one fact':>10} {'more':>8} {'extreme':>10} {'more':>8}")
    for size in chosen.sizes:
        without = measured(_WITHOUT, size, chosen.strategy, clock, floats=chosen.floats)
        for aggregate in (_WITHOUT, *chosen.aggregates):
            found = without
            if aggregate != _WITHOUT:
                found = measured(aggregate, size, chosen.strategy, clock, floats=chosen.floats)
            cells = (f"{one:10.0f} {one - other:8.0f}" for one, other in zip(found, without))
            print(f"{size:10,} {aggregate:>10} {' '.join(cells)}", flush=True)


def program(aggregate: str) -> str:
    """A rule with the aggregate, or without one."""
    if aggregate == _WITHOUT:
        return "result(g, v) :- group(g), member(g, _i, v)."
    if aggregate == "count":
        return "result(g, n) :- group(g), n = count : { member(g, _i, _v) }."
    return f"result(g, n) :- group(g), n = {aggregate} v : {{ member(g, _i, v) }}."


def measured(aggregate: str, size: int, strategy: str, clock: Clock, *, floats: bool) -> tuple[float, float]:
    """The median microseconds of an update of one fact in the middle, and of one that is the new extreme."""
    engine = tl.Engine(program(aggregate), strategy=strategy)
    kind = pa.float64() if floats else pa.int64()
    numbers = pa.array(range(size), pa.int64())
    members = {"c1": pa.repeat("g", size), "c2": numbers, "c3": pa.array(random.sample(range(size), size)).cast(kind)}
    engine.apply(insert={"group": [("g",)], "member": pa.table(members)})
    middle = [size // 2 + step for step in range(_WARM + _ROUNDS)]
    if aggregate == "min":
        extreme = [-1 - step for step in range(_WARM + _ROUNDS)]
    else:
        extreme = [size + step for step in range(_WARM + _ROUNDS)]
    given = [[float(one) if floats else one for one in values] for values in (middle, extreme)]
    found = [_updates(engine, size, values, clock) for values in given]
    engine.close()
    return found[0], found[1]


def _updates(engine: tl.Engine, size: int, values: Sequence[float], clock: Clock) -> float:
    """The median microseconds of an insertion and a deletion of one fact."""
    taken = []
    for step, value in enumerate(values):
        fact = [("g", size + step, value)]
        for update in ({"insert": {"member": fact}}, {"delete": {"member": fact}}):
            begun = clock()
            engine.apply(**update)
            taken.append(clock() - begun)
    return median(taken[2 * _WARM :]) * 1e6


if __name__ == "__main__":
    main()

"""What one fact costs that comes into a large group, or goes.

What      : `python -m benchmarks.groups` prints, for each aggregate and size of a group, how much longer an update of
            one fact takes than with the same program without the aggregate (its rule with the body of the aggregate in
            its place): medians of facts that come in and that go out, and the mean of both.
Idea      : facts come in and go out again in turn, in the middle of the group's values and as the new extreme, so that
            the group keeps its size. The first change of a group, which makes its ledger, is not among them. Both
            programs get the same facts: each has an identity, and as the new extreme a value, that neither has met,
            because a value that was never there takes 20 to 40 microseconds more than a known one, in any program.
Never     : no judgement; docs/benchmarks.md quotes what was measured.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from statistics import median

import pyarrow as pa

import tidelog as tl
from tidelog.maintenance.registry import STRATEGIES

AGGREGATES = ("count", "sum", "mean", "min", "max", "median")
_SIZES = (10**3, 10**4, 10**5, 10**6)
_WARM, _ROUNDS = 20, 200
_WITHOUT = "none"
_FIRST, _NUMBERS = 10**9, count()
"""The facts of all runs are numbered from here on."""
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
    print("microseconds: without the aggregate, and how much more with it, in the middle and as the new extreme")
    print(f"{'members':>10} {'aggregate':>10}" + 2 * f"{'without':>10} {'more':>8} {'in':>8} {'out':>8}")
    for size in chosen.sizes:
        without = Group(_WITHOUT, size, chosen.strategy, floats=chosen.floats)
        for aggregate in chosen.aggregates:
            group = Group(aggregate, size, chosen.strategy, floats=chosen.floats)
            cells = []
            for is_extreme in (False, True):
                other, one = compared([without, group], clock, facts(aggregate, size, is_extreme=is_extreme))
                more = [f"{with_it - without_it:8.0f}" for with_it, without_it in zip(one, other)]
                cells.append(f"{other[0]:10.0f} {' '.join(more)}")
            print(f"{size:10,} {aggregate:>10}{''.join(cells)}", flush=True)
            group.engine.close()


def program(aggregate: str) -> str:
    """A rule with the aggregate, or without one."""
    if aggregate == _WITHOUT:
        return "result(g, v) :- group(g), member(g, _i, v)."
    if aggregate == "count":
        return "result(g, n) :- group(g), n = count : { member(g, _i, _v) }."
    return f"result(g, n) :- group(g), n = {aggregate} v : {{ member(g, _i, v) }}."


class Group:
    """An engine with one large group."""

    def __init__(self, aggregate: str, size: int, strategy: str, *, floats: bool) -> None:
        self.floats = floats
        self.engine = tl.Engine(program(aggregate), strategy=strategy)
        kind = pa.float64() if floats else pa.int64()
        values = pa.array(random.sample(range(size), size)).cast(kind)
        members = {"c1": pa.repeat("g", size), "c2": pa.array(range(size), pa.int64()), "c3": values}
        self.engine.apply(insert={"group": [("g",)], "member": pa.table(members)})

    def update(self, number: int, value: float, clock: Clock) -> list[float]:
        """How long one fact takes to come, and to go again."""
        fact = [("g", number, float(value) if self.floats else value)]
        taken = []
        for update in ({"insert": {"member": fact}}, {"delete": {"member": fact}}):
            begun = clock()
            self.engine.apply(**update)
            taken.append(clock() - begun)
        return taken


def facts(aggregate: str, size: int, *, is_extreme: bool) -> Iterator[tuple[int, int]]:
    """Numbers that no member has had, each with a value in the middle, or beyond all that there have been."""
    for step in range(_WARM + _ROUNDS):
        number = next(_NUMBERS)
        yield (
            _FIRST + number,
            (-1 - number if aggregate == "min" else size + number) if is_extreme else size // 2 + step,
        )


def compared(
    groups: Sequence[Group], clock: Clock, given: Iterable[tuple[int, int]]
) -> list[tuple[float, float, float]]:
    """The microseconds of an update of one fact: the mean of in and out, and the medians of each.

    Engines take turns, so that all meet the same noise.
    """
    taken: list[list[list[float]]] = [[] for _ in groups]
    for number, value in given:
        for one, times in zip(groups, taken):
            times.append(one.update(number, value, clock))
    found = []
    for times in taken:
        come, gone = (median(part) * 1e6 for part in zip(*times[_WARM:]))
        found.append(((come + gone) / 2, come, gone))
    return found


if __name__ == "__main__":
    main()

"""How the reports measure.

What      : CPU time of one action, engines that are loaded and warm, and medians of a few repetitions.
Idea      : the machine may be shared, so CPU time and not the wall clock, and only ratios of one run are stated. What
            `auto` pays until it has settled is measured too: its warm-up counts in the time of a whole workload.
Invariant : kernels are compiled before the first measurement counts; facts are handed over as Arrow tables.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import TypeVar

import pyarrow as pa

import tidelog as tl
from benchmarks.maintenance.workloads.workload import Fact
from tidelog.changes.change import Change, Stats
from tidelog.maintenance import registry

R = TypeVar("R")
_COMPILED: set[str] = set()
"""Programs that ran before in this process."""
STRATEGIES = ("recompute", "dred", "bf", "counting", "circuit", "auto")
REPETITIONS, MOST = 3, 400
"""How often an update is measured at least, and at most."""
_SPAN = 0.4
"""Seconds for which an update is repeated, so that the median of short ones outlasts a busy moment of the machine."""
_LONG = 0.2
"""Seconds from which on the last run of the warm-up is the measurement."""
WARM_UP, LEAST_WARM_UP, _WARM_SECONDS = 200, 16, 4.0
"""How often `auto` does and undoes an update before it is measured: 16 times at least, then 200 times or 4 seconds."""


def cpu(action: Callable[[], R]) -> tuple[float, R]:
    """The CPU seconds that an action takes, and its result. The collector of garbage is not at work meanwhile."""
    was_enabled = gc.isenabled()
    gc.disable()
    started = time.process_time()
    result = action()
    seconds = time.process_time() - started
    if was_enabled:
        gc.enable()
    return seconds, result


def tables(facts: Mapping[str, Sequence[Fact]]) -> dict[str, pa.Table]:
    """Facts as Arrow tables, so that handing them over costs little."""
    return {
        relation: pa.table({f"c{at}": pa.array(column) for at, column in enumerate(zip(*some))})
        for relation, some in facts.items()
    }


def compile_kernels() -> None:
    """Let every strategy insert and delete something, so that no report measures a compiler."""
    program = "t(x, y) :- e(x, y). t(x, z) :- t(x, y), t(y, z). s(y, x) :- t(x, y), !e(x, y)."
    ring, spoke = [(at, (at + 1) % 9) for at in range(9)], {"e": [(4, 5)]}
    for strategy in registry.STRATEGIES:
        engine = tl.Engine(program, strategy=strategy)
        for facts in ({"e": ring}, tables({"e": [("a", "b"), ("b", "c")]})):
            engine.apply(insert=facts)
        for update in ({"delete": spoke}, {"insert": spoke}, {"remove_rules": ["t(x, y) :- e(x, y)."]}):
            engine.apply(**update)


def loaded(program: str, facts: Mapping[str, pa.Table], strategy: str) -> tuple[float, tl.Engine]:
    """An engine with its facts, and the CPU seconds of the materialisation; what compiles or is short runs again."""
    for _ in range(3):
        engine = tl.Engine(program, strategy=strategy)
        seconds, _ = cpu(partial(engine.apply, insert=facts))
        if program in _COMPILED and seconds > _LONG:
            break
        _COMPILED.add(program)
    return seconds, engine


@dataclass(frozen=True)
class Trips:
    """An update done and undone again and again."""

    there: list[float]
    """Seconds of doing it, when warm."""
    back: list[float]
    """Seconds of undoing it."""
    warm_up: list[float]
    """Seconds of doing and undoing it before."""
    change: Change
    """What the last one changed."""

    @property
    def steady(self) -> float:
        """Seconds of doing and undoing it once, when warm."""
        return median(self.there) + median(self.back)

    @property
    def number(self) -> int:
        """How often it was done, the warm-up included."""
        return len(self.warm_up) + len(self.there)

    @property
    def whole(self) -> float:
        """Seconds of all of them."""
        return sum(self.warm_up) + sum(self.there) + sum(self.back)


def there_and_back(there: Callable[[], Change], back: Callable[[], Change], strategy: str = "auto") -> Trips:
    """Do and undo an update until it is warm and then a few times more.

    `auto` tries what it does not know, and begins to count when that would have paid: its warm-up is long.
    """
    gc.collect()
    warm_up: list[float] = []
    while not warm_up or (strategy == "auto" and not _is_warm(warm_up)):
        seconds, change = cpu(there)
        undone, _ = cpu(back)
        warm_up.append(seconds + undone)
    if seconds > _LONG:
        return Trips([seconds], [undone], warm_up[:-1], change)
    forth, undo = [], []
    for _ in range(min(MOST, max(REPETITIONS, round(_SPAN / warm_up[-1])))):
        seconds, change = cpu(there)
        forth.append(seconds)
        undo.append(cpu(back)[0])
    return Trips(forth, undo, warm_up, change)


def _is_warm(warm_up: Sequence[float]) -> bool:
    return len(warm_up) >= WARM_UP or (len(warm_up) >= LEAST_WARM_UP and sum(warm_up) > _WARM_SECONDS)


def against_best(costs: Mapping[str, float]) -> float:
    """What `auto` costs against the cheapest of those that it chooses from."""
    return costs["auto"] / min(cost for name, cost in costs.items() if name not in ("auto", "circuit"))


def worst(ratios: Mapping[str, float]) -> str:
    """The greatest ratio, and where it is."""
    where = max(ratios, key=ratios.__getitem__)
    return f"{ratios[where]:.2f} ({where})"


def milliseconds(seconds: Sequence[float]) -> float:
    """The median, in milliseconds."""
    return round(median(seconds) * 1_000, 3)


def counters(stats: Stats) -> dict[str, int]:
    """The papers' counters."""
    names = ("overdeleted", "rederived", "checked", "backward", "forward", "deletions", "insertions", "marks", "rounds")
    return {name: getattr(stats, name) for name in names}

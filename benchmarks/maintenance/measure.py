"""How the reports measure.

What      : CPU time of one action, engines that are loaded and warm, and medians of a few repetitions.
Idea      : the machine may be shared, so CPU time and not the wall clock, and only ratios of one run are stated.
Invariant : kernels are compiled before the first measurement counts; facts are handed over as Arrow tables.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from statistics import median
from typing import TypeVar

import pyarrow as pa

import tidelog as tl
from benchmarks.maintenance.workloads.workload import Fact
from tidelog.changes.change import Change, Stats

R = TypeVar("R")
_WARM: set[str] = set()
"""Programs that ran before in this process."""
STRATEGIES = ("recompute", "dred", "bf", "auto")
REPETITIONS, MANY = 3, 21
"""How often an update is measured, and how often if it takes less than _SHORT."""
_SHORT = 0.02
_LONG = 0.2
"""Seconds from which on the last run of the warm-up is the measurement."""


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


def loaded(program: str, facts: Mapping[str, pa.Table], strategy: str) -> tuple[float, tl.Engine]:
    """An engine with its facts, and the CPU seconds of the materialisation; what compiles or is short runs again."""
    for _ in range(3):
        engine = tl.Engine(program, strategy=strategy)
        seconds, _ = cpu(partial(engine.apply, insert=facts))
        if program in _WARM and seconds > _LONG:
            break
        _WARM.add(program)
    return seconds, engine


def there_and_back(
    there: Callable[[], Change], back: Callable[[], Change], strategy: str = "auto"
) -> tuple[list[float], list[float], Change]:
    """Do and undo a few times: the seconds of both (the first time warms up and is left out), and the last change.

    `auto` needs a few rounds more until it has tried what it wants to try, and counted what it recomputes again and
    again; these are part of the warm-up.
    """
    gc.collect()
    for _ in range(6 if strategy == "auto" else 1):
        seconds, change = cpu(there)
        undone, _ = cpu(back)
    if seconds > _LONG:
        return [seconds], [undone], change
    forth, undo = [], []
    for _ in range(REPETITIONS if seconds > _SHORT else MANY):
        seconds, change = cpu(there)
        forth.append(seconds)
        undo.append(cpu(back)[0])
    return forth, undo, change


def milliseconds(seconds: Sequence[float]) -> float:
    """The median, in milliseconds."""
    return round(median(seconds) * 1_000, 3)


def counters(stats: Stats) -> dict[str, int]:
    """The papers' counters."""
    names = ("overdeleted", "rederived", "checked", "backward", "forward", "deletions", "insertions", "marks", "rounds")
    return {name: getattr(stats, name) for name in names}

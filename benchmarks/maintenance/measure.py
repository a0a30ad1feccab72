"""How the reports measure.

What      : CPU time of one action, engines that are loaded and warm, and medians of a few repetitions.
Idea      : the machine may be shared, so CPU time and not the wall clock, and only ratios of one run are stated.
Invariant : kernels are compiled before the first measurement counts; facts are handed over as Arrow tables.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import TypeVar

import pyarrow as pa

import tidelog as tl
from benchmarks.maintenance.workloads.workload import Fact
from tidelog.changes.change import Change, Stats

R = TypeVar("R")
STRATEGIES = ("recompute", "dred", "bf", "auto")
REPETITIONS = 5
_LONG = 1.0
"""Seconds after which an action is repeated less often."""


def cpu(action: Callable[[], R]) -> tuple[float, R]:
    """The CPU seconds that an action takes, and its result."""
    gc.collect()
    gc.disable()
    started = time.process_time()
    result = action()
    seconds = time.process_time() - started
    gc.enable()
    return seconds, result


def tables(facts: Mapping[str, Sequence[Fact]]) -> dict[str, pa.Table]:
    """Facts as Arrow tables, so that handing them over costs little."""
    return {
        relation: pa.table({f"c{at}": pa.array(column) for at, column in enumerate(zip(*some))})
        for relation, some in facts.items()
    }


def loaded(program: str, facts: Mapping[str, pa.Table], strategy: str) -> tuple[float, tl.Engine]:
    """An engine with its facts, and the CPU seconds of the materialisation; the first of its kind warms up unseen."""
    warm = tl.Engine(program, strategy=strategy)
    warm.apply(insert=facts)
    engine = tl.Engine(program, strategy=strategy)
    seconds, _ = cpu(lambda: engine.apply(insert=facts))
    return seconds, engine


def there_and_back(
    there: Callable[[], Change], back: Callable[[], Change], repetitions: int = REPETITIONS
) -> tuple[list[float], list[float], Change]:
    """Do and undo a few times: the seconds of both (the first time warms up and is left out), and the last change.

    `auto` needs a few rounds more until it has tried what it wants to try; these are part of the warm-up.
    """
    for _ in range(3):
        seconds, change = cpu(there)
        cpu(back)
    repetitions = repetitions if seconds < _LONG else 1
    forth, undo = [], []
    for _ in range(repetitions):
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

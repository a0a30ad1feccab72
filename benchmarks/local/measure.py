"""One measurement in a process of its own: `python -m benchmarks.local.measure ENGINE WORKLOAD`.

What      : prints one JSON object: CPU and wall seconds of loading and deriving, the result's size, peak memory.
Idea      : a fresh process per engine and workload, so that nobody pays for another's memory; compiled kernels are
            loaded, and every engine has derived something small, before the clock starts. The best of a few repeats
            counts, because the machine is shared.
"""

from __future__ import annotations

import gc
import json
import sys
import time

import numpy as np

from benchmarks.local.engines import ENGINES, cpu_seconds, peak_megabytes
from benchmarks.local.workloads import WORKLOADS
from benchmarks.local.workloads.workload import Workload
from tidelog.backends.local.kernels.interpreting import compile_from_now_on

LONG, SHORT = 5.0, 0.3
"""Seconds after which a measurement is not repeated, and up to which it is: what takes milliseconds varies much."""


def measure(engine: str, workload: Workload) -> dict[str, float | int | str]:
    """The best of a few runs."""
    runner = ENGINES[engine]
    _warm_up(engine, workload)
    before = peak_megabytes()
    best: dict[str, float | int | str] = {}
    begun, done = time.perf_counter(), 0
    while done < workload.repeats or time.perf_counter() - begun < SHORT:
        gc.collect()
        done += 1
        started, cpu = time.perf_counter(), cpu_seconds()
        derive = runner.load(workload)
        loaded, loaded_cpu = time.perf_counter(), cpu_seconds()
        results = derive()
        ended, ended_cpu = time.perf_counter(), cpu_seconds()
        if not best or ended_cpu - loaded_cpu < float(best["cpu"]):
            best = {
                "load_cpu": round(loaded_cpu - cpu, 4),
                "load_wall": round(loaded - started, 4),
                "cpu": round(ended_cpu - loaded_cpu, 4),
                "wall": round(ended - loaded, 4),
                "results": results,
            }
        del derive
        if ended - started > LONG:
            break
    return {"engine": engine, "workload": workload.name, **best, "megabytes": round(peak_megabytes() - before, 1)}


def _warm_up(engine: str, workload: Workload) -> None:
    few = {name: facts[:3] for name, facts in workload.facts.items()}
    small = Workload(
        workload.name, workload.rules, few, workload.output, workload.asp, workload.sql,
        souffle_types=workload.souffle_types,
    )  # fmt: skip
    compile_from_now_on()  # our kernels would be interpreted for so few facts
    ENGINES[engine].load(small)()


if __name__ == "__main__":
    np.seterr(all="ignore")
    print(json.dumps(measure(sys.argv[1], WORKLOADS[sys.argv[2]]())))

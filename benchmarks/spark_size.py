"""A bill of materials at size on Spark: load, save, small updates, and opening in a new process.

What      : `python -m benchmarks.spark_size 1000000` loads that many parts and prices as strings, derives what contains
            what, saves, updates, and opens the state again in other processes, one of which is killed. For each step:
            seconds, processor seconds of all processes, Spark's jobs, and the most memory that the Python driver has
            held; and the same load on the local backend.
Idea      : the table of sizes in docs/scaling.md, as one command; `make bench-spark` runs it with a million.
Invariant : the same size gives the same facts and updates. Nothing is asserted: a shared machine proves no time.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from signal import SIGKILL
from statistics import median
from threading import Timer
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import tidelog as tl
from benchmarks.spark_measure import measured
from tidelog.backends.spark.cluster.session import close, session

RULES = """
    has(x, y) :- part(x, y, _).
    has(x, z) :- part(x, y, _), has(y, z).
    priced(x, y, p) :- has(x, y), price(y, p).
    dear(x, y) :- priced(x, y, p), p > 900.
"""
UPDATES = 100


def main() -> None:
    """Load, save and update here; open and update in others, one of which is killed; print what each step took."""
    explicit, *rest = sys.argv[1:] or ["1000000"]
    if rest:
        print(json.dumps(opened(Path(rest[0]), int(explicit), dies=rest[1:] == ["dies"])), flush=True)
        return
    with tempfile.TemporaryDirectory(prefix="tidelog-bench-") as folder:
        state = Path(folder) / "state"
        rows = loaded(state, int(explicit))
        print(json.dumps(rows), flush=True)
        rows["opened"] = _in_another_process(explicit, state)
        _in_another_process(explicit, state, "dies")
        rows["opened after kill -9"] = _in_another_process(explicit, state)
        rows["local backend"] = _local(int(explicit))
    print(json.dumps(rows))


def loaded(state: Path, explicit: int) -> dict[str, Any]:
    """A first process: from strings in DataFrames to a saved state."""
    spark = _session()
    engine = tl.Engine(RULES, backend="spark", spark=spark)
    rows: dict[str, Any] = {"load": _step(spark, lambda: engine.apply(insert=data(spark, explicit)))}
    rows["facts"] = {name: len(engine[name]) for name in engine.relations}
    rows["save"] = _step(spark, lambda: engine.save(state))
    rows["updates"] = _updates(spark, engine, state, explicit, seed=1)
    engine.close()
    close(spark)
    return rows


def opened(state: Path, explicit: int, *, dies: bool = False) -> dict[str, Any]:
    """Another process: from a saved state to further updates; it ends well, or is killed in the middle of an update."""
    spark = _session()
    found: list[tl.Engine] = []
    rows: dict[str, Any] = {
        "open": _step(spark, lambda: found.append(tl.Engine.open(state, backend="spark", spark=spark)))
    }
    rows["version"] = found[0].version
    if dies:
        Timer(5.0, os.kill, (os.getpid(), SIGKILL)).start()
    rows["updates"] = _updates(spark, found[0], state, explicit, seed=2 + rows["version"])
    found[0].close()
    close(spark)
    return rows


def _session() -> SparkSession:
    spark = session("local[2]", app="tidelog-bench", options={"spark.driver.memory": "8g"})
    spark.range(1000).count()
    return spark


def _in_another_process(explicit: str, state: Path, *more: str) -> dict[str, Any]:
    """What another process prints; nothing if it is one that dies."""
    command = [sys.executable, "-m", "benchmarks.spark_size", explicit, str(state), *more]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=not more)
    return json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else {}


def _local(explicit: int) -> dict[str, Any]:
    """The same load on the local backend, from Arrow tables."""
    spark = _session()
    tables = {name: frame.toArrow() for name, frame in data(spark, explicit).items()}
    close(spark)
    engine = tl.Engine(RULES)
    engine.apply(insert={"part": tables["part"].slice(0, 10_000)})  # kernels are loaded
    engine.apply(delete={"part": tables["part"].slice(0, 10_000)})
    _, taken = measured(lambda: engine.apply(insert=tables))
    return {**taken, "driver MB": _peak()}


def data(spark: SparkSession, explicit: int) -> dict[str, DataFrame]:
    """Trees of ten parts each, and prices for a quarter of the parts."""
    numbers = spark.range(explicit)
    parts = numbers.where("id % 10 < 8").selectExpr(
        f"{_name('id')} as x", f"{_name('id + 1 + (id * 7919) % 2')} as y", "id % 5 as q"
    )
    return {
        "part": parts,
        "price": numbers.where("id % 4 = 1").selectExpr(f"{_name('id')} as y", "(id * 31) % 1000 as p"),
    }


def _name(number: str) -> str:
    return f"concat('part-', lpad(cast({number} as string), 9, '0'))"


def _updates(spark: SparkSession, engine: tl.Engine, state: Path, explicit: int, seed: int) -> dict[str, Any]:
    """Five facts come and five go in every update; every tenth one is saved."""
    chosen, seconds, saves, before = random.Random(seed), [], [], _jobs(spark)
    for number in range(UPDATES):
        roots = [chosen.randrange(explicit // 10 - 1) * 10 for _ in range(5)]
        come = [(f"part-{root:09d}", f"part-{root + 5:09d}", 9) for root in roots]
        gone = [(f"part-{at:09d}", f"part-{at + 1 + at * 7919 % 2:09d}", at % 5) for at in (root + 3 for root in roots)]
        started = time.perf_counter()
        engine.apply(insert={"part": come}, delete={"part": gone})
        seconds.append(time.perf_counter() - started)
        if number % 10 == 9:
            started = time.perf_counter()
            engine.save(state)
            saves.append(time.perf_counter() - started)
    return {
        "median": round(median(seconds), 4),
        "slowest": round(max(seconds), 3),
        "median of the last half": round(median(seconds[UPDATES // 2 :]), 4),
        "jobs": _jobs(spark) - before,
        "median of saves": round(median(saves), 4),
        "driver MB": _peak(),
    }


def _step(spark: SparkSession, action: Callable[[], object]) -> dict[str, Any]:
    before = _jobs(spark)
    _, taken = measured(action)
    return {**taken, "jobs": _jobs(spark) - before, "driver MB": _peak()}


def _jobs(spark: SparkSession) -> int:
    context = spark.sparkContext._jsc.sc()
    context.listenerBus().waitUntilEmpty()
    return int(context.statusStore().jobsList(None).size())


def _peak() -> int:
    """The most megabytes that this process has held; the system's own count begins with the parent's."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) >> 10 for line in lines if line.startswith("VmHWM"))


if __name__ == "__main__":
    main()

"""A bill of materials at size on Spark: load, save, changes of one per cent, small updates, opening in a new process.

What      : `python -m benchmarks.spark_size 1000000` loads that many parts and prices as strings from Parquet files,
            derives what contains what, saves, inserts and deletes one per cent and saves after each, updates, and opens
            the state again in other processes, one of which is killed. For each step: seconds, processor seconds of all
            processes, Spark's jobs, and the most memory that the Python driver has held. The load also runs with one
            core, and on the local backend with one thread. Every process that loads has loaded a few facts before,
            except one: the first load of a session. The figures go to results/spark_size.json.
Idea      : the table of sizes in docs/scaling.md, as one command; `make bench-spark` runs it with one million and five.
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
from collections.abc import Callable, Mapping
from pathlib import Path
from signal import SIGKILL
from statistics import median
from threading import Timer
from typing import Any

import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

import tidelog as tl
from benchmarks.spark_cases import say
from benchmarks.spark_measure import measured
from tidelog.backends.spark.cluster.session import close, session

RULES = """
    has(x, y) :- part(x, y, _).
    has(x, z) :- part(x, y, _), has(y, z).
    priced(x, y, p) :- has(x, y), price(y, p).
    dear(x, y) :- priced(x, y, p), p > 900.
"""
RESULTS = Path(__file__).parent / "results" / "spark_size.json"
UPDATES, MORE = 100, 1000
"""Updates of a process that has opened the state, and of the one that has loaded it."""
FEW = 10_000
"""Facts of each relation that are loaded before a load is measured, so that kernels are in memory."""


def main() -> None:
    """Load, save and update here; open and update in others, one of which is killed; print what each step took."""
    explicit, *rest = sys.argv[1:] or ["1000000"]
    if rest:
        where, what = Path(rest[0]), rest[1]
        if what == "files":
            done = write_data(where, int(explicit))
        elif what == "one core":
            done = _loaded_alone(where, cores=1)
        elif what == "first":
            done = _loaded_alone(where, is_warm=False)
        elif what == "local":
            done = _local(where)
        else:
            done = opened(where, int(explicit), dies=what == "dies")
        print(json.dumps(done), flush=True)
        return
    with tempfile.TemporaryDirectory(prefix="tidelog-bench-") as folder:
        data, state = f"{folder}/data", Path(folder) / "state"
        _in_another_process(explicit, data, "files")
        rows = loaded(Path(data), state, int(explicit))
        say(json.dumps(rows))
        rows["opened"] = _in_another_process(explicit, str(state), "opens")
        _in_another_process(explicit, str(state), "dies")
        rows["opened after kill -9"] = _in_another_process(explicit, str(state), "opens")
        rows["load with one core"] = _in_another_process(explicit, data, "one core")
        rows["the first load of a session"] = _in_another_process(explicit, data, "first")
        rows["local backend"] = _in_another_process(explicit, data, "local")
    say(table(rows))
    known: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    RESULTS.write_text(json.dumps({**known, explicit: rows}, indent=1) + "\n")
    print(json.dumps(rows))


def table(rows: Mapping[str, Any]) -> str:
    """The figures as a table in Markdown: a line for each step, its seconds, processor seconds, jobs and memory."""
    steps = {name: row for name, row in rows.items() if "cpu" in row}
    for name in ("opened", "opened after kill -9"):
        steps[name] = rows[name]["open"]
    load, columns = rows["load"]["cpu"], ("seconds", "cpu", "jobs", "driver MB")
    lines = ["| step | seconds | processor seconds | of the load | jobs | driver MB |", "|---|---|---|---|---|---|"]
    for name, row in steps.items():
        seconds, cpu, jobs, memory = (row.get(column, "") for column in columns)
        lines.append(f"| {name} | {seconds} | {cpu} | {cpu / load:.1%} | {jobs} | {memory} |")
    for name, row in (("updates", rows["updates"]), ("updates, opened", rows["opened"]["updates"])):
        lines.append(f"| {name} | {', '.join(f'{key} {value}' for key, value in row.items())} | | | | |")
    faster = rows["load with one core"]["seconds"] / rows["load"]["seconds"]
    times = load / rows["local backend"]["cpu"]
    lines.append(f"| two cores against one | {faster:.2f} times faster | | | | |")
    lines.append(f"| processor seconds of the load against the local backend | {times:.2f} times | | | | |")
    return "\n".join(lines)


def loaded(data: Path, state: Path, explicit: int) -> dict[str, Any]:
    """A first process: from strings in files to a saved state, and further changes."""
    spark = _session()
    _warm_up(spark, data)
    engine = tl.Engine(RULES, backend="spark", spark=spark)
    rows: dict[str, Any] = {"load": _step(spark, lambda: engine.apply(insert=_frames(spark, data)))}
    rows["facts"] = {name: len(engine[name]) for name in engine.relations}
    rows["save"] = _step(spark, lambda: engine.save(state))
    come, gone = one_per_cent(explicit)
    rows["insert one per cent"] = _step(spark, lambda: engine.apply(insert={"part": come}))
    rows["save the insertion"] = _step(spark, lambda: engine.save(state))
    rows["delete one per cent"] = _step(spark, lambda: engine.apply(delete={"part": gone}))
    rows["save the deletion"] = _step(spark, lambda: engine.save(state))
    rows["updates"] = _updates(spark, engine, state, explicit, seed=1, count=MORE)
    engine.close()
    close(spark)
    return rows


def one_per_cent(explicit: int) -> tuple[list[tuple[str, str, int]], list[tuple[str, str, int]]]:
    """Facts to insert and facts to delete, each as many as one per cent of all explicit ones."""
    roots = random.Random(0).sample(range(explicit // 10 - 1), explicit // 100)
    come = [(f"part-{10 * root:09d}", f"part-{10 * root + 5:09d}", 9) for root in roots]
    inner = (10 * root + 3 for root in roots)
    return come, [(f"part-{at:09d}", f"part-{at + 1 + at * 7919 % 2:09d}", at % 5) for at in inner]


def _loaded_alone(data: Path, cores: int = 2, *, is_warm: bool = True) -> dict[str, Any]:
    """The load and nothing else."""
    spark = _session(cores)
    if is_warm:
        _warm_up(spark, data)
    engine = tl.Engine(RULES, backend="spark", spark=spark)
    taken = _step(spark, lambda: engine.apply(insert=_frames(spark, data)))
    engine.close()
    close(spark)
    return taken


def _warm_up(spark: SparkSession, data: Path) -> None:
    """Load and delete a few facts with another engine, as the local backend does before it is measured."""
    with tl.Engine(RULES, backend="spark", spark=spark) as engine:
        few = {name: frame.limit(FEW) for name, frame in _frames(spark, data).items()}
        engine.apply(insert=few)
        engine.apply(delete=few)


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


def _session(cores: int = 2) -> SparkSession:
    options = {"spark.driver.memory": "8g", "spark.sql.shuffle.partitions": "2"}
    spark = session(f"local[{cores}]", app="tidelog-bench", options=options)
    spark.range(1000).count()
    return spark


def _in_another_process(explicit: str, where: str, what: str) -> dict[str, Any]:
    """What another process prints; nothing if it is one that dies."""
    command = [sys.executable, "-m", "benchmarks.spark_size", explicit, where, what]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=what != "dies")
    return json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else {}


def _local(data: Path) -> dict[str, Any]:
    """The same load on the local backend, by one thread, from Arrow tables; reading the files counts."""
    engine = tl.Engine(RULES, threads=1)
    few = {name: pq.read_table(data / name).slice(0, FEW) for name in ("part", "price")}
    engine.apply(insert=few)  # kernels are loaded
    engine.apply(delete=few)

    def load() -> None:
        engine.apply(insert={name: pq.read_table(data / name, use_threads=False) for name in few})

    _, taken = measured(load)
    return {**taken, "driver MB": _peak()}


def write_data(folder: Path, explicit: int) -> dict[str, Any]:
    """Files with trees of ten parts each, and prices for a quarter of the parts."""
    spark = _session()
    numbers = spark.range(explicit)
    parts = numbers.where("id % 10 < 8").selectExpr(
        f"{_name('id')} as x", f"{_name('id + 1 + (id * 7919) % 2')} as y", "id % 5 as q"
    )
    prices = numbers.where("id % 4 = 1").selectExpr(f"{_name('id')} as y", "(id * 31) % 1000 as p")
    for name, frame in (("part", parts), ("price", prices)):
        frame.write.parquet(str(folder / name))
    close(spark)
    return {}


def _frames(spark: SparkSession, folder: Path) -> dict[str, DataFrame]:
    return {name: spark.read.parquet(str(folder / name)) for name in ("part", "price")}


def _name(number: str) -> str:
    return f"concat('part-', lpad(cast({number} as string), 9, '0'))"


def _updates(
    spark: SparkSession, engine: tl.Engine, state: Path, explicit: int, seed: int, count: int = UPDATES
) -> dict[str, Any]:
    """Five facts come and five go in every update; every tenth one is saved."""
    chosen, seconds, saves, before = random.Random(seed), [], [], _jobs(spark)
    for number in range(count):
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
        "median of the first hundred": round(median(seconds[:100]), 4),
        "median of the last hundred": round(median(seconds[-100:]), 4),
        "jobs": _jobs(spark) - before,
        "median of saves": round(median(saves), 4),
        "slowest save": round(max(saves), 3),
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

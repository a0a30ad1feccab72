"""A stream of updates on real executors, which die in the middle of jobs.

What      : `python -m tests.faults.cluster WAY KILLS` starts two executors (`local-cluster`), applies updates to an
            engine on Spark and to one in this process, kills an executor with `kill -9` while a job of an update
            runs, every second time, and prints what came of it, a line of JSON per update; at last
            it stops the session under the engines.
Idea      : WAY forces how the engine works on small data: `bulk` derives every stage where its facts are and keeps it
            in files that executors write, `blocks` is the same without files and loses both executors at once.
            Whatever the driver looks up in files runs no job, so that no executor can be missed there.
Invariant : after every update the facts equal those of the other engine, or an error was raised that has a code and
            the facts are those of the version before; then the update is applied again.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import SparkSession

from tests.backends.spark.engines import BULK, driver
from tidelog import Engine, TidelogError
from tidelog.backends.spark.cluster.session import close, session
from tidelog.backends.spark.cluster.table_files import SETTING

PROGRAM = "path(x, y) :- edge(x, y). path(x, z) :- path(x, y), path(y, z). ends(x) :- path(x, y), !edge(y, _)."
NODES = 12
# An executor here lives for seconds: Java's dear compiler and its threads for garbage took half of the time.
JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


def executors(spark: SparkSession) -> list[int]:
    """The processes that are executors of this session."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_text().split("\0")
        except OSError:
            continue
        if (
            "org.apache.spark.executor.CoarseGrainedExecutorBackend" in words
            and spark.sparkContext.applicationId in words
        ):
            found.append(int(folder.name))
    return sorted(found)


class Killer(threading.Thread):
    """Kills some executors as soon as a job runs; nobody if none has run until the update is over."""

    def __init__(self, spark: SparkSession, victims: int) -> None:
        super().__init__(daemon=True)
        self._spark, self._victims, self._over = spark, victims, threading.Event()
        self.killed: list[int] = []

    def run(self) -> None:
        """Wait for a job, then kill."""
        tracker = self._spark.sparkContext.statusTracker()
        while not tracker.getActiveJobsIds():
            if self._over.wait(0.001):
                return
        for process in executors(self._spark)[: self._victims]:
            os.kill(process, signal.SIGKILL)
            self.killed.append(process)

    def end(self) -> None:
        """The update is over."""
        self._over.set()
        self.join()


def updates(count: int) -> list[dict[str, dict[str, list[tuple[int, int]]]]]:
    """A chain, then edges that go and come."""
    chain = [(node, node + 1) for node in range(NODES)]
    turns = (
        {"delete" if number % 2 else "insert": {"edge": [(number % 6, number % 6 + 2)]}} for number in range(count)
    )
    return [{"insert": {"edge": chain}}, *turns]


def facts(engine: Engine) -> dict[str, set[tuple[object, ...]]]:
    """Everything that the engine holds."""
    return {name: set(engine[name]) for name in engine.relations}


def follow(spark: SparkSession, kills: int, victims: int) -> Engine:
    """Apply the updates; an executor dies in every second one."""
    engine, other = Engine(PROGRAM, backend="spark", spark=spark), Engine(PROGRAM)
    for number, update in enumerate(updates(2 * kills - 1)):
        killer = Killer(spark, victims) if number % 2 else None
        code, before = None, facts(other)
        if killer is not None:
            killer.start()
        try:
            engine.apply(**update)
        except TidelogError as error:
            code = error.code
        if killer is not None:
            killer.end()
        other.apply(**update)
        row = {"update": number, "killed": len(killer.killed) if killer is not None else 0, "code": code}
        row["is right"] = _is_right(engine, before if code is not None else facts(other))
        print(json.dumps(row), flush=True)
        if code is not None:
            engine.apply(**update)
    engine.verify()
    return engine


def stop(spark: SparkSession, engine: Engine) -> None:
    """End the session under two engines: one that has its facts on Spark, and one whose few facts the driver holds."""
    held = Engine(PROGRAM, backend="spark", spark=spark)
    held.apply(insert={"edge": [(1, 2)]})
    close(spark)
    row = {"update": _code(lambda: held.apply(insert={"edge": [(2, 3)]})), "version": held.version}
    row |= {"read from the driver": sorted(held["path"]), "read from Spark": _code(lambda: set(engine["path"]))}
    print(json.dumps(row), flush=True)


def _code(action: Callable[[], object]) -> str | None:
    try:
        action()
    except TidelogError as error:
        return f"{error.code} {error.problems[0].remedy}"
    return None


def _is_right(engine: Engine, expected: object) -> bool | str:
    try:
        return facts(engine) == expected
    except TidelogError as error:
        return error.code


def main() -> None:
    """Run one way of working."""
    way, kills = sys.argv[1], int(sys.argv[2])
    options = {"spark.default.parallelism": "2", "spark.executor.extraJavaOptions": JAVA}
    spark = session("local-cluster[2,1,1024]", app="tidelog-faults", options=options)
    if way == "blocks":
        spark.conf.set(SETTING, "")
    try:
        with driver(spark, BULK, partitions=2):
            engine = follow(spark, kills, victims=2 if way == "blocks" else 1)
        stop(spark, engine)
    finally:
        if SparkSession.getActiveSession() is not None:
            close(spark)


if __name__ == "__main__":
    main()

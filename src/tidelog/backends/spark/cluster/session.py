"""Start a Spark session that is quiet, deterministic and fit for small jobs, or take the one that is there.

What      : `session` gives a SparkSession; `close` ends it if `session` started it.
Idea      : one place for every setting, each with its reason, so that results and figures do not depend on who started
            Spark. Users who bring their own session keep their own settings.
Invariant : a session that was there before is returned untouched and is never stopped.
Never     : no rules and no facts here; nothing is asked of a session that is given, so that it may be one of Spark
            Connect.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from weakref import WeakSet

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tidelog.backends.spark.cluster.failures import cause
from tidelog.backends.spark.cluster.java import use_java
from tidelog.backends.spark.cluster.master import problem
from tidelog.errors import PipelineError

_own: WeakSet[SparkSession] = WeakSet()
"""The sessions that were started here."""
_QUIET_LOGS = Path(__file__).with_name("log4j2.properties")

_TIERS = (("Invocation", 100_000), ("MinInvocation", 12_000), ("Compile", 300_000), ("BackEdge", 800_000))
_QUICK = " ".join(f"-XX:Tier4{name}Threshold={number}" for name, number in _TIERS)
"""Java compiles with its dear compiler what has run twenty times as often as it usually waits for. Our kernels compute,
Java carries batches: its compilers together took 25 of the 71 processor seconds of a small load. Without the dear one
a large load took twice as long in Java's tasks (docs/scaling.md). Who has much to do in Java itself sets
`spark.driver.extraJavaOptions`, which replaces this; on a cluster Java is left as it is."""

_MEMORY = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 31), "ARROW_DEFAULT_MEMORY_POOL": "system"}
"""Python workers keep memory that they have freed for the next array. Most arrays of a task are large; asking the
system for the pages of each, and giving them back, took an eighth of the processor time of workers."""

ALWAYS: Mapping[str, str] = {
    "spark.ui.enabled": "false",  # no port is opened unless the user asks for it
    "spark.ui.showConsoleProgress": "false",  # our own progress goes to stderr
    "spark.sql.ansi.enabled": "true",  # overflow raises, it never wraps
    "spark.sql.session.timeZone": "UTC",  # the same facts give the same text everywhere
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.execution.arrow.localRelationThreshold": "64KB",  # larger tables stay out of the plan
}
"""Settings for every session that we start."""


def session(master: str = "local[*]", app: str = "tidelog", options: Mapping[str, str] | None = None) -> SparkSession:
    """The session that is there, as it is, else a new one on `master`; `options` win over our settings.

    A program that spark-submit has started runs where spark-submit says, with the settings that it was given.
    """
    there = running()
    if there is not None:
        return there
    given = _submitted()
    wrong = problem(master) or nameless_user() if given is None else None
    if wrong is not None:
        raise PipelineError.of("E709", wrong[0], remedy=wrong[1])
    if given is None and master.startswith("local"):
        use_java()
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers run in this environment, not in another one
        os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    chosen = {"spark.app.name": app, "spark.master": master}
    if given is None and master.startswith("local"):  # spark-submit may bring us to workers as a file of its own
        chosen["spark.python.daemon.module"] = "tidelog.backends.spark.worker_daemon"
    chosen |= settings((given or chosen).get("spark.master", master), options)
    builder = SparkSession.builder
    for key, value in (chosen | (given or {})).items():
        builder = builder.config(key, value)
    try:
        made = builder.getOrCreate()
    except (PySparkException, Py4JError, ValueError) as error:
        raise PipelineError.of(
            "E709",
            f"Spark cannot be started on {master}: {cause(str(error)) or type(error).__name__}",
            remedy="check spark.master and spark.options; --verbose shows Spark's stack",
        ) from error
    _own.add(made)
    return made


def nameless_user() -> tuple[str, str] | None:
    """What is wrong, and what to do, if the system has no name for this user: Java then finds no home and gives up."""
    try:
        import pwd
    except ImportError:  # Windows: users have names there
        return None
    number = os.getuid()
    try:
        pwd.getpwuid(number)
    except KeyError:
        sentence = f"Spark cannot be started by user {number}, who has no name on this system"
        return sentence, "run as a user that /etc/passwd has; in a container leave --user out, or add a line for it"
    return None


def running() -> SparkSession | None:
    """The session of this thread, else the one that any part of this process has started."""
    found = SparkSession.getActiveSession() or getattr(SparkSession, "_instantiatedSession", None)
    if found is not None and getattr(found, "_sc", None) is not None and found._sc._jsc is None:
        found = None  # it was stopped
    if found is None and getattr(SparkContext, "_active_spark_context", None) is not None:
        return SparkSession.builder.getOrCreate()  # somebody's context that has no session yet
    return found


def _submitted() -> dict[str, str] | None:
    """The settings that spark-submit was given; None if it did not start this program."""
    if "PYSPARK_GATEWAY_PORT" not in os.environ:
        return None
    SparkContext._ensure_initialized()
    return dict(SparkConf().getAll())


def settings(master: str, options: Mapping[str, str] | None = None) -> dict[str, str]:
    """Every setting for a session on `master`: ours, those that only make sense on one machine, then the user's."""
    quiet = f"-Dlog4j2.configurationFile={_QUIET_LOGS.as_uri()} {_stacks()}".strip()
    chosen = {**ALWAYS, "spark.driver.extraJavaOptions": f"{quiet} {_QUICK}" if master.startswith("local") else quiet}
    if master.startswith("local"):
        chosen |= {
            "spark.driver.host": "127.0.0.1",  # no guess at host names, and no warning about the guess
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.sql.shuffle.partitions": str(os.cpu_count() or 2),  # a round costs a task per partition
            **{f"spark.executorEnv.{name}": value for name, value in _MEMORY.items()},
            "spark.sql.adaptive.enabled": "false",  # with as many partitions as cores, it only adds a job per exchange
        }
    return chosen | dict(options or {})


def _stacks() -> str:
    """The option that makes Spark's log show stacks: only if somebody asked for them (`--verbose`)."""
    return "-Dtidelog.stacks=full" if os.environ.get("TIDELOG_TRACEBACK") else ""


def close(spark: SparkSession) -> None:
    """Stop a session that `session` started; leave any other alone."""
    if spark in _own:
        _own.discard(spark)
        spark.stop()

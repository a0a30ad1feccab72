"""Start a Spark session that is quiet, deterministic and fit for small jobs, or take the one that is there.

What      : `session` gives a SparkSession; `close` ends it if `session` started it.
Idea      : one place for every setting, each with its reason, so that results and figures do not depend on who started
            Spark. Users who bring their own session keep their own settings.
Invariant : a session that was there before is returned untouched and is never stopped.
Never     : no rules and no facts here; no `sparkContext`, so that a Spark Connect session can be brought along.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tidelog.backends.spark.cluster.failures import cause
from tidelog.backends.spark.cluster.java import use_java
from tidelog.backends.spark.cluster.master import problem
from tidelog.errors import PipelineError

_STARTED_BY_US = "spark.tidelog.started"
_QUIET_LOGS = Path(__file__).with_name("log4j2.properties")

ALWAYS: Mapping[str, str] = {
    _STARTED_BY_US: "true",
    "spark.ui.enabled": "false",  # no port is opened unless the user asks for it
    "spark.ui.showConsoleProgress": "false",  # our own progress goes to stderr
    "spark.sql.ansi.enabled": "true",  # overflow raises, it never wraps
    "spark.sql.session.timeZone": "UTC",  # the same facts give the same text everywhere
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.execution.arrow.localRelationThreshold": "64KB",  # larger tables stay out of the plan
}
"""Settings for every session that we start."""


def session(master: str = "local[*]", app: str = "tidelog", options: Mapping[str, str] | None = None) -> SparkSession:
    """The active session if there is one, else a new one on `master`; `options` win over our settings."""
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    wrong = problem(master)
    if wrong is not None:
        raise PipelineError.of("E709", wrong[0], remedy=wrong[1])
    if master.startswith("local"):
        use_java()
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers run in this environment, not in another one
        os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(app).master(master)
    for key, value in settings(master, options).items():
        builder = builder.config(key, value)
    try:
        return builder.getOrCreate()
    except (PySparkException, Py4JError, ValueError) as error:
        raise PipelineError.of(
            "E709",
            f"Spark cannot be started on {master}: {cause(str(error)) or type(error).__name__}",
            remedy="check spark.master and spark.options; --verbose shows Spark's stack",
        ) from error


def settings(master: str, options: Mapping[str, str] | None = None) -> dict[str, str]:
    """Every setting for a session on `master`: ours, those that only make sense on one machine, then the user's."""
    quiet = f"-Dlog4j2.configurationFile={_QUIET_LOGS.as_uri()} {_stacks()}".strip()
    chosen = {**ALWAYS, "spark.driver.extraJavaOptions": quiet}
    if master.startswith("local"):
        chosen |= {
            "spark.driver.host": "127.0.0.1",  # no guess at host names, and no warning about the guess
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.sql.shuffle.partitions": str(os.cpu_count() or 2),  # a round costs a task per partition
        }
    return chosen | dict(options or {})


def _stacks() -> str:
    """The option that makes Spark's log show stacks: only if somebody asked for them (`--verbose`)."""
    return "-Dtidelog.stacks=full" if os.environ.get("TIDELOG_TRACEBACK") else ""


def close(spark: SparkSession) -> None:
    """Stop a session that `session` started; leave any other alone."""
    if spark.conf.get(_STARTED_BY_US, "false") == "true":
        spark.stop()

"""What every test can rely on: one Spark session per group, and marks that follow from what a test uses."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests.store import bucket, endpoint  # noqa: F401 - fixtures

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Importing `benchmarks` compiles kernels from the start, unless somebody has chosen; tests choose nothing.
os.environ.setdefault("TIDELOG_KERNELS", "")

# Sessions of tests live for minutes and carry little: Java's dear compiler and its threads for garbage repay nothing.
# Without the dear compiler Java has 48 MB for compiled code; plans of a few minutes fill them, and it compiles no more.
JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=240m"
os.environ.setdefault("SPARK_SUBMIT_OPTS", JAVA)

# The default run is repeatable, so that a red build is red for everybody; `make test-long` explores. Neither judges by
# time: machines are shared, and a slow example is no fault.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None)
settings.load_profile("repeatable")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that use a session are marked so, and share two: one below `backends`, one for all that stands on it.

    All of them in one worker take longer than everything else together, and a session for each of many workers costs
    more than it saves. Tests that start processes of their own are no part of that; they fill the time that is left.
    """
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            folders = item.nodeid.partition("::")[0].split("/")
            item.add_marker(pytest.mark.spark)
            item.add_marker(pytest.mark.xdist_group("spark-backend" if "backends" in folders else "spark-above"))


def pytest_collection_finish() -> None:
    """What was imported stays: looking for garbage in it, over and over, took a quarter of the random agreement."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 50)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A quiet session on two cores with three shuffle partitions, so that facts really move between partitions."""
    from tidelog.backends.spark.cluster.session import close, session

    options = {"spark.sql.shuffle.partitions": "3", "spark.default.parallelism": "3"}
    started = session("local[2]", app="tidelog-tests", options=options)
    yield started
    close(started)

"""Engines on Spark for tests: settings that force each way of working, on data that are small.

What      : `with_settings` gives the session settings for a block, `driver` those of how much the driver may hold; the
            others ask Spark what it holds.
Idea      : `PAGED` brings nothing as a whole and forgets everything after each update, so that every look-up goes to
            files; `CROWDED` has room for some facts, so that stages turn out to be too large while somebody works on
            them; `BULK` lets nothing be small, so that every stage is derived where its facts are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyspark.sql import DataFrame, SparkSession

HELD: Mapping[str, int] = {}
PAGED: Mapping[str, int] = {"relation": 0, "kept": 0, "overlay": 0}
CROWDED: Mapping[str, int] = {**PAGED, "change": 8, "facts": 60}
BULK: Mapping[str, int] = {"relation": 0, "kept": 0, "overlay": 0, "change": 0, "facts": 1, "written": 0}


@contextmanager
def with_settings(spark: SparkSession, options: Mapping[str, str]) -> Iterator[None]:
    """The session with these settings; afterwards it has those of before."""
    before = {name: spark.conf.get(name, None) for name in options}
    for name, value in options.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, earlier in before.items():
            if earlier is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, earlier)


@contextmanager
def driver(
    spark: SparkSession, capacity: Mapping[str, int], partitions: int = 3, options: Mapping[str, str] | None = None
) -> Iterator[None]:
    """The session with these capacities, the given number of partitions and further settings."""
    settings = dict(options or {})
    settings |= {f"spark.tidelog.driver.{name}": str(value) for name, value in capacity.items()}
    settings["spark.sql.shuffle.partitions"] = str(partitions)
    settings["spark.sql.adaptive.enabled"] = (
        "false"  # adaptive shuffles take a job each, which small facts do not repay
    )
    with with_settings(spark, settings):
        yield


def kept_by(spark: SparkSession) -> int:
    """How many sets of blocks Spark keeps."""
    return int(spark.sparkContext._jsc.getPersistentRDDs().size())


def blocks_of(spark: SparkSession) -> int:
    """How many blocks Spark keeps in all, as its user interface counts them."""
    context = spark.sparkContext._jsc.sc()
    context.listenerBus().waitUntilEmpty()
    return sum(int(each.numCachedPartitions()) for each in context.getRDDStorageInfo())


def plan_size(frame: DataFrame) -> int:
    """How many operators the plan of a DataFrame has."""
    return len(frame._jdf.queryExecution().optimizedPlan().toString().splitlines())


def jobs_of(spark: SparkSession) -> int:
    """How many jobs Spark has run so far, as its user interface counts them."""
    context = spark.sparkContext._jsc.sc()
    context.listenerBus().waitUntilEmpty()
    return int(context.statusStore().jobsList(None).size())

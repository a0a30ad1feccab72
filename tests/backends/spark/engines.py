"""Engines on Spark for tests: settings that force each way of working, on data that are small.

What      : `driver` sets how much the driver may hold while a test runs; `counted` tells what Spark keeps.
Idea      : `PAGED` brings nothing as a whole and forgets everything after each update, so that every look-up goes to Spark;
            `BULK` lets nothing be small, so that every stage is derived where its facts are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyspark.sql import SparkSession

HELD: Mapping[str, int] = {}
PAGED: Mapping[str, int] = {"relation": 0, "kept": 0, "overlay": 0}
BULK: Mapping[str, int] = {"relation": 0, "kept": 0, "overlay": 0, "change": 0, "facts": 1}


@contextmanager
def driver(spark: SparkSession, capacity: Mapping[str, int], partitions: int = 3) -> Iterator[None]:
    """The session with these capacities and so many partitions."""
    before = spark.conf.get("spark.sql.shuffle.partitions")
    names = [f"spark.tidelog.driver.{name}" for name in capacity]
    for name, value in zip(names, capacity.values()):
        spark.conf.set(name, str(value))
    spark.conf.set("spark.sql.shuffle.partitions", str(partitions))
    try:
        yield
    finally:
        for name in names:
            spark.conf.unset(name)
        spark.conf.set("spark.sql.shuffle.partitions", before or "3")


def kept_by(spark: SparkSession) -> int:
    """How many sets of blocks Spark keeps."""
    return int(spark.sparkContext._jsc.getPersistentRDDs().size())


def jobs_of(spark: SparkSession) -> int:
    """How many jobs Spark has run so far, as its user interface counts them."""
    context = spark.sparkContext._jsc.sc()
    context.listenerBus().waitUntilEmpty()
    return int(context.statusStore().jobsList(None).size())

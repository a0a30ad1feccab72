"""Table files: results that survive a lost executor.

What      : `folder` is where a session keeps files that every executor reaches; `write` puts a DataFrame there and
            gives it back as one that reads the files; `remove` deletes them; `exists` asks for any file.
Idea      : blocks that executors hold are gone with the executor. What reads table files is computed again from them,
            so Spark's own repetition of tasks heals the loss. With a master `local[...]` the executor is the driver's
            own process: it cannot be lost alone, and blocks are enough.
Invariant : files are written once, whole, under a name of their own, and nobody but their owner deletes them.
Never     : no relations, no user's names in paths.
"""

from __future__ import annotations

import os
import re
import tempfile
import uuid

from py4j.java_gateway import JavaObject  # type: ignore[import-untyped]
from pyspark import SparkContext, StorageLevel
from pyspark.sql import DataFrame, SparkSession

from tidelog.backends.spark.cluster.own_folder import own_folder
from tidelog.state.file_systems import for_spark

SETTING = "spark.tidelog.directory"
_IN_PROCESS = re.compile(r"local(\[.*\])?")


def folder(spark: SparkSession) -> str | None:
    """Where every executor reads and writes: a folder of this process, in the one that is set, else in Spark's
    checkpoint directory, else in a temporary one.

    A temporary folder serves executors on this machine only; None if no folder is known that all executors reach, or
    if the setting is empty.
    """
    parent = _parent(spark)
    return own_folder(parent) if parent else None


def _parent(spark: SparkSession) -> str | None:
    chosen = spark.conf.get(SETTING, None)
    context = _context(spark)
    if chosen is not None or context is None:
        return chosen
    if (given := context.getCheckpointDir()) is not None:
        return str(given)
    return _temporary(context) if str(context.master).startswith("local") else None


def loses_executors(spark: SparkSession) -> bool:
    """Whether executors are processes of their own, which can be lost without the driver."""
    context = _context(spark)
    return context is None or _IN_PROCESS.fullmatch(str(context.master)) is None


def write(frame: DataFrame, where: str) -> tuple[DataFrame, str]:
    """Write a DataFrame; one that reads the files, held in memory once it is read, and the path of the files."""
    path = for_spark(f"{where.rstrip('/')}/tidelog-{uuid.uuid4().hex}")
    frame.write.parquet(path)
    return frame.sparkSession.read.schema(frame.schema).parquet(path).persist(StorageLevel.MEMORY_AND_DISK), path


def remove(frame: DataFrame, path: str) -> None:
    """Free what `write` has given back, and delete its files."""
    frame.unpersist()
    address, system = _hadoop(frame.sparkSession, path)
    system.delete(address, True)


def exists(spark: SparkSession, path: str) -> bool:
    """Whether there is anything at a path or an address, as Spark finds it."""
    address, system = _hadoop(spark, for_spark(path))
    return bool(system.exists(address))


def _hadoop(spark: SparkSession, path: str) -> tuple[JavaObject, JavaObject]:
    """A path for Spark's own file systems, and the one that it is in."""
    context = spark.sparkContext
    address = context._jvm.org.apache.hadoop.fs.Path(path)  # type: ignore[union-attr]
    return address, address.getFileSystem(context._jsc.hadoopConfiguration())


def _context(spark: SparkSession) -> SparkContext | None:
    """The context of a session in this process; None with Spark Connect."""
    return getattr(spark, "_sc", None)


def _temporary(context: SparkContext) -> str:
    """Where Spark keeps its own passing files, if that is set: /tmp may be small, or a part of memory."""
    given = os.environ.get("SPARK_LOCAL_DIRS") or context.getConf().get("spark.local.dir", None) or ""
    folders = [folder.strip() for folder in given.split(",")]
    return next((folder for folder in folders if os.access(folder, os.W_OK | os.X_OK)), tempfile.gettempdir())

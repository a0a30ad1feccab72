"""DataFrames that stay: made from arrays, cut from their lineage, released when replaced.

What      : small tables become DataFrames; results are kept and forget how they were made; what is replaced is freed.
Idea      : a plan that grows with every round doubles its planning time (measured: 1.2 s in the first round of a loop,
            66 s in the tenth). So every kept result is cut off from how it was made: it becomes blocks where no
            executor can be lost, else table files, and blocks on two executors where no folder for table files is
            known.
Invariant : a kept DataFrame reads stored blocks or files only. Facts are columns c0, c1, ... of longs: names of users
            never become Spark's.
Never     : no relations, no marks.
"""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark import StorageLevel
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from tidelog.backends.spark.cluster import table_files
from tidelog.backends.spark.cluster.jobs import Jobs
from tidelog.backends.spark.values.ids import Ids


def names(width: int) -> list[str]:
    """The columns of facts."""
    return [f"c{number}" for number in range(width)]


def of_ids(spark: SparkSession, ids: Ids, extra: dict[str, pa.Array] | None = None) -> DataFrame:
    """Rows of ids as a DataFrame, with further columns."""
    columns = {f"c{at}": pa.array(np.ascontiguousarray(ids[:, at])) for at in range(ids.shape[1])}
    return spark.createDataFrame(pa.table({**columns, **(extra or {})}))


def to_ids(table: pa.Table, columns: Sequence[str]) -> Ids:
    """Columns of longs as rows of ids."""
    if not table.num_rows or not columns:
        return np.empty((table.num_rows, len(columns)), np.int64)
    return np.column_stack([table.column(name).to_numpy() for name in columns]).astype(np.int64, copy=False)


def keep(jobs: Jobs, frame: DataFrame) -> DataFrame:
    """The same rows, computed now and cut from their lineage; a lost executor loses none of them if files can help."""
    if not table_files.loses_executors(jobs.spark):
        return jobs.run(lambda: frame.localCheckpoint(eager=True))
    where = table_files.folder(jobs.spark)
    if where is None:
        return jobs.run(lambda: frame.localCheckpoint(eager=True, storageLevel=StorageLevel.MEMORY_AND_DISK_2))
    kept, path = jobs.run(lambda: table_files.write(frame, where))
    _paths[kept] = path
    return kept


def part(kept: DataFrame, columns: Sequence[str], *, is_distinct: bool = True) -> DataFrame:
    """Some columns of a kept DataFrame, each row once; releasing the part releases the whole."""
    chosen = kept.select(*columns) if is_distinct else kept.select(*columns).distinct()
    _wholes[chosen] = kept
    return chosen


def release(frame: DataFrame | None) -> None:
    """Free what a kept DataFrame holds; harmless if it is gone."""
    if frame is None:
        return
    whole = _wholes.pop(frame, frame)
    path = _paths.pop(whole, None)
    try:
        if path is not None:
            table_files.remove(whole, path)
        else:
            whole._jdf.queryExecution().logical().rdd().unpersist(False)
    except (Py4JError, PySparkException, AttributeError, TypeError, OSError):
        return  # a session that is stopped, or that has no such blocks, holds nothing


_paths: WeakKeyDictionary[DataFrame, str] = WeakKeyDictionary()
_wholes: WeakKeyDictionary[DataFrame, DataFrame] = WeakKeyDictionary()

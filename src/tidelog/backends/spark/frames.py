"""DataFrames that stay: made from arrays, cut from their lineage, released when replaced.

What      : small tables become DataFrames; results are kept and forget how they were made; what is replaced is freed.
Idea      : SPARK.md, fixpoint loops: a plan that grows with every round doubles its planning time, so every kept result
            is a checkpoint, a reliable one where the session has a directory for that.
Invariant : a kept DataFrame reads stored blocks only. Facts are columns c0, c1, ... of longs: names of users never
            become Spark's.
Never     : no relations, no marks.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from tidelog.backends.spark.ids import Ids
from tidelog.backends.spark.jobs import Jobs


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
    """The same rows, computed now and cut from their lineage."""
    context = getattr(jobs.spark, "_sc", None)
    is_reliable = context is not None and context.getCheckpointDir() is not None
    return jobs.run(lambda: frame.checkpoint(eager=True) if is_reliable else frame.localCheckpoint(eager=True))


def release(frame: DataFrame | None) -> None:
    """Free the blocks of a kept DataFrame; harmless if they are gone."""
    if frame is None:
        return
    try:
        frame._jdf.queryExecution().logical().rdd().unpersist(False)
    except (Py4JError, PySparkException, AttributeError, TypeError):
        frame.unpersist()

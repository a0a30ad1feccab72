"""Aggregates of whole relations on Spark.

What      : the aggregate facts of all groups of a relation.
Idea      : counts are Spark's own; other aggregates are computed group by group in Arrow tasks by language/values.py,
            because sums of floats must be exact and mixed values have none.
Invariant : a group without members has no aggregate fact.
Never     : no job is started here.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from tidelog.backends.spark.values import ids
from tidelog.backends.spark.values.expressions import text_of, value_of
from tidelog.backends.spark.values.ids import Naming
from tidelog.language.partial import aggregate
from tidelog.planning.lowered import GroupRule


def grouped(rule: GroupRule, body: DataFrame, texts: DataFrame, naming: Naming) -> DataFrame:
    """A row for every group: columns c0, ..., the last with the result, and x with its text, if it needs one.

    A group whose members have no aggregate has null for its result.
    """
    keys = [f"c{at}" for at in range(rule.group)]
    if rule.function == "count":
        counts = body.groupBy(*keys).agg(F.count(F.lit(1)).alias("size")).where(F.col("size") > 0)
        number, text = F.shiftleft("size", 2), F.lit(None).cast("string")
        return counts.select(*keys, number.alias(f"c{rule.group}"), text.alias("x"))
    value = f"c{rule.body_arity - 1}"
    members = body.select(*keys, F.col(value).alias("id")).join(texts, "id", "left").withColumn("one", F.lit(0))
    shape = "".join(f"{key} long, " for key in keys) + f"c{rule.group} long, x string"
    return members.groupBy("one", *keys).applyInArrow(_aggregated(rule.function, keys, f"c{rule.group}", naming), shape)


def _aggregated(function: str, keys: list[str], result: str, naming: Naming) -> Callable[[pa.Table], pa.Table]:
    """An Arrow task: one group in, one row out. (A closure: Spark counts the arguments of a function.)"""

    def run(group: pa.Table) -> pa.Table:
        pairs = zip(group.column("id").to_pylist(), group.column("text").to_pylist())
        value = aggregate(function, [value_of(number, text) for number, text in pairs])
        columns = {key: group.column(key).slice(0, 1).combine_chunks() for key in keys}
        number = None if value is None else ids.of_value(value, naming)
        columns[result] = pa.array([number], pa.int64())
        columns["x"] = pa.array([text_of(number, value)], pa.string())
        return pa.table(columns)

    return run

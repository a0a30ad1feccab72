"""The yardstick on Spark: semi-naive loops as a person would write them with DataFrames.

What      : transitive closure, the six RDFS rules and rule set 2 by join, `distinct`, `left_anti` and
            `localCheckpoint`.
Idea      : straightforward and correct, with small sides broadcast; nothing that a user of PySpark would not think
            of. Spark SQL's `WITH RECURSIVE` is beside it; it has no duplicate elimination, so it needs acyclic data.
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

Facts = dict[str, DataFrame]


def semi_naive(start: DataFrame, step: Callable[[DataFrame, DataFrame], DataFrame]) -> DataFrame:
    """All facts that follow by `step(new facts, all facts)`, round by round."""
    everything = new = start.distinct().localCheckpoint()
    while not new.isEmpty():
        found = step(new, everything).distinct()
        new = found.join(everything, everything.columns, "left_anti").localCheckpoint()
        everything = everything.union(new).localCheckpoint()
    return everything


def closure(facts: Facts) -> Facts:
    """p(x, z) :- e(x, y), p(y, z)."""
    edges = F.broadcast(facts["e"].toDF("x", "y"))

    def step(new: DataFrame, _: DataFrame) -> DataFrame:
        return new.toDF("y", "z").join(edges, "y").select(F.col("x").alias("c0"), F.col("z").alias("c1"))

    return {"p": semi_naive(facts["e"], step)}


def rdfs(facts: Facts) -> Facts:
    """The six rules over t(s, p, o); predicates are the numbers 0 to 4, shifted as ids are."""
    sub_class, sub_property, domain, range_, kind = (number << 2 for number in range(5))

    def schema(frame: DataFrame, predicate: int) -> DataFrame:
        found = frame.where(F.col("c1") == predicate)
        return F.broadcast(found.select(F.col("c0").alias("a"), F.col("c2").alias("b")))

    def once(data: DataFrame, rules: DataFrame) -> DataFrame:
        typed = data.where(F.col("c1") == kind)
        by_class, by_property = schema(rules, sub_class), schema(rules, sub_property)
        by_domain, by_range = schema(rules, domain), schema(rules, range_)
        of_kind = F.lit(kind).alias("c1")
        parts = [typed.join(by_class, typed.c2 == by_class.a).select("c0", "c1", F.col("b").alias("c2"))]
        parts.append(data.join(by_property, data.c1 == by_property.a).select("c0", F.col("b").alias("c1"), "c2"))
        parts.append(data.join(by_domain, data.c1 == by_domain.a).select("c0", of_kind, F.col("b").alias("c2")))
        parts.append(
            data.join(by_range, data.c1 == by_range.a).select(F.col("c2").alias("c0"), of_kind, F.col("b").alias("c2"))
        )
        for predicate in (sub_class, sub_property):
            one = data.where(F.col("c1") == predicate)
            other = schema(rules, predicate)
            parts.append(one.join(other, one.c2 == other.a).select("c0", "c1", F.col("b").alias("c2")))
        found = parts[0]
        for part in parts[1:]:
            found = found.unionAll(part)
        return found

    def step(new: DataFrame, everything: DataFrame) -> DataFrame:
        return once(new, everything).unionAll(once(everything, new))

    return {"t": semi_naive(facts["t"], step)}


def rule_set_2(facts: Facts) -> Facts:
    """Rule set 2 of the ZodiacEdge paper, component by component."""

    def turned(frame: DataFrame) -> DataFrame:
        return frame.select(F.col("c1").alias("c0"), F.col("c0").alias("c1"))

    def joined(left: DataFrame, right: DataFrame) -> DataFrame:
        return left.toDF("c0", "y").join(right.toDF("y", "c1"), "y").select("c0", "c1")

    def transitive(new: DataFrame, everything: DataFrame) -> DataFrame:
        return joined(new, everything).unionAll(joined(everything, new)).where("c0 != c1")

    def without(left: DataFrame, right: DataFrame, absent: DataFrame) -> DataFrame:
        kept = right.join(absent, ["c0", "c1"], "left_anti")
        return joined(left, kept).distinct().localCheckpoint()

    found: Facts = {}
    found["p11"] = semi_naive(facts["p1"], lambda new, all_: turned(new).unionAll(transitive(new, all_)))
    found["p12"] = semi_naive(facts["p2"], transitive)
    found["p13"] = semi_naive(facts["p3"], lambda new, _: turned(new))
    found["p14"] = found["p13"]
    together = found["p11"].unionAll(found["p12"]).unionAll(found["p13"])
    found["p20"] = found["p21"] = found["p22"] = semi_naive(together, lambda new, _: new)
    found["p25"] = without(found["p11"], found["p12"], facts["p5"])
    found["p26"] = without(found["p12"], turned(found["p13"]), turned(facts["p5"]))
    found["p30"] = joined(found["p22"], found["p21"]).distinct().localCheckpoint()
    sources = found["p26"].select(F.col("c0").alias("c1")).distinct()
    found["p31"] = found["p25"].join(sources, "c1", "left_semi").select("c0", "c1").localCheckpoint()
    return found


def recursive_sql(spark: SparkSession, edges: DataFrame) -> int:
    """How many closure facts Spark SQL's recursive query finds; the edges must have no cycle."""
    edges.createOrReplaceTempView("benchmark_edges")
    text = """WITH RECURSIVE p(x, y) AS (
        SELECT c0, c1 FROM benchmark_edges UNION ALL SELECT p.x, e.c1 FROM p JOIN benchmark_edges e ON p.y = e.c0
    ) SELECT count(*) FROM (SELECT DISTINCT x, y FROM p)"""
    return int(spark.sql(text).first()[0])

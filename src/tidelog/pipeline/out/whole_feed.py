"""The change feed of a whole version: every fact of it came.

What      : `whole_feed` gives the rows for all facts of an engine, for the version that loads the sources.
Idea      : what fits the driver goes through it as Arrow; a relation too large for that is spelled by Spark where it
            lies.
Invariant : the rows are those that feed.py would give. Departure: in a relation too large for the driver a column that
            mixes types is spelled as strings, as Spark holds it.
Never     : no relation of millions of facts is brought to the driver of a Spark engine.
"""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from tidelog.pipeline.engine_or_graph import Kept
from tidelog.pipeline.out.feed import feed_of_relations
from tidelog.pipeline.out.triple_frames import frame_of

LARGE = 1_000_000
"""A relation with more facts than this stays on Spark."""


def whole_feed(engine: Kept, spark: SparkSession, large: int = LARGE) -> pa.Table | DataFrame:
    """Rows for every fact of the engine."""
    names = engine.relations
    stays = [name for name in names if engine.backend == "spark" and engine.size(name) > large]
    tables = {name: (engine[name].to_arrow(), engine.size(name)) for name in names if name not in stays}
    rows = feed_of_relations(tables, engine.version)
    if not stays:
        return rows
    frame = spark.createDataFrame(rows)
    for name in stays:
        frame = frame.unionByName(_spelled(engine, name, spark))
    return frame


def _spelled(engine: Kept, relation: str, spark: SparkSession) -> DataFrame:
    facts = frame_of(engine, relation, spark)
    facts = facts.toDF(*(f"v{number}" for number in range(len(facts.columns))))
    values = F.concat(F.lit("["), F.concat_ws(", ", *(_json(F.col(name)) for name in facts.columns)), F.lit("]"))
    return facts.select(
        F.lit(engine.version).cast("bigint").alias("version"),
        F.lit(None).cast("bigint").alias("batch"),
        F.lit(relation).alias("relation"),
        F.lit("insert").alias("op"),
        values.alias("values"),
    )


def _json(value: Column) -> Column:
    """A value as JSON: Spark spells arrays, so it gets an array of one, whose brackets are taken off."""
    return F.regexp_replace(F.to_json(F.array(value)), r"^\[|\]$", "")

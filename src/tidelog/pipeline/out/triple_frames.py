"""Relations on Spark as frames, triples among them.

What      : `frame_of` gives a relation of a Spark engine as a DataFrame of values, and so the triples of a graph, which
            are in the relations of classes and properties.
Invariant : no fact of a large relation passes through the driver.
Never     : nothing is written here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from pyspark.sql import DataFrame, SparkSession

from tidelog.backends.spark.large.fact_frames import Widened, widened
from tidelog.engine import Engine
from tidelog.pipeline.engine_or_graph import Kept
from tidelog.pipeline.settings.config import TRIPLE

if TYPE_CHECKING:
    from tidelog.rdf.graph_engine import GraphEngine


def frame_of(engine: Kept, relation: str, spark: SparkSession) -> DataFrame:
    """All facts of a relation."""
    if isinstance(engine, Engine) or relation != TRIPLE or not engine.is_split:
        return cast(DataFrame, engine[relation].to_spark())
    return _triples(engine, spark, engine[relation].columns)


def _triples(graph: GraphEngine, spark: SparkSession, columns: Sequence[str]) -> DataFrame:
    from tidelog.rdf.layouts import relation_terms

    parts: list[Widened] = []
    for name, held in graph.parts.items():
        predicate, kind = relation_terms(name, held.arity)
        parts.append((held.table, (0, predicate, 1 if kind is None else kind)))  # type: ignore[arg-type]
    if not parts:
        return spark.createDataFrame([], ", ".join(f"{name} string" for name in columns))
    return widened(parts, columns)

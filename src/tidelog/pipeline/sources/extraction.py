"""From sources to explicit facts.

What      : `extract` reads, cleans and counts every source and deals with bad records; `load` hands the facts over.
Idea      : each source is one cached Spark frame, counted once; facts then go to the driver as Arrow (local backend)
            or stay where they are (Spark backend). Of a graph that is reasoned over, tasks have packed the triples
            (packed_triples.py).
Invariant : facts + rejects + filtered = records; the counts are logged.
Never     : no rule is looked at beyond the declared types of relations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from tidelog.engine import Engine
from tidelog.language.terms import Program
from tidelog.pipeline.engine_or_graph import Kept
from tidelog.pipeline.settings.config import FactSource
from tidelog.pipeline.sources.cleaning import Cleaned, clean
from tidelog.pipeline.sources.packed_triples import Packed, found_in, packed_frame, packed_records, together
from tidelog.pipeline.sources.records import HEADER, SPARK_ERRORS, lines_of, read_records, unreadable
from tidelog.pipeline.sources.rejects import RejectsTable, rejected, unsplit_files


@dataclass(frozen=True, slots=True)
class Extracted:
    """The facts of one source, cleaned or packed, and how many there are; duplicates count as often as they occur."""

    facts: Cleaned | Packed
    count: int
    types: tuple[str, ...]

    @property
    def cells(self) -> int:
        """How many values the facts have together."""
        return self.count * len(self.types)


@contextmanager
def extract(
    spark: SparkSession,
    sources: tuple[FactSource, ...],
    program: Program,
    rejects: RejectsTable,
    *,
    packs: bool = False,
) -> Iterator[Mapping[str, Extracted]]:
    """The facts of all sources by relation, cached while the context lasts; with `packs` RDF is triples of a graph."""
    declared = {one.relation: [kind for _, kind in one.columns] for one in program.declarations}
    found: dict[str, Extracted] = {}
    kept: list[DataFrame] = []
    try:
        for source in sources:
            if packs and source.format == "rdf":
                kept.append(_packed(spark, source).persist())
                triples = _counted(spark, source, kept[-1], rejects)
                found[source.relation] = Extracted(triples, triples.count, ("any",) * 3)
                continue
            cleaned = clean(read_records(spark, source), source, declared.get(source.relation))
            kept.append(cleaned.frame.persist())
            found[source.relation] = Extracted(cleaned, _count(spark, source, cleaned, rejects), cleaned.types)
        yield found
    finally:
        for frame in kept:
            frame.unpersist()


def load(engine: Kept, sources: Mapping[str, Extracted]) -> None:
    """Give an engine, or a graph, the facts of all sources as its first version."""
    is_far = engine.backend == "spark"
    insert: dict[str, object] = {}
    for relation, source in sources.items():
        if isinstance(source.facts, Cleaned) and source.types:
            insert[relation] = source.facts.facts if is_far else source.facts.to_local()
    if isinstance(engine, Engine):
        engine.apply(insert=insert)
        return
    packed = [one.facts for one in sources.values() if isinstance(one.facts, Packed)]
    whole = together(packed) if packed else None
    engine.load(None if whole is None else whole.to_far() if is_far else whole.to_local(), insert)


def _packed(spark: SparkSession, source: FactSource) -> DataFrame:
    """The records of an RDF source with its triples packed; a source with filters is cleaned first."""
    if source.columns is None and not source.where and source.types is None:
        try:
            return packed_records(spark, lines_of(spark, source), source.path or "", source.options)
        except SPARK_ERRORS as error:
            raise unreadable(source, error) from error
    return packed_frame(clean(read_records(spark, source), source, ["any"] * 3).frame)


def _counted(spark: SparkSession, source: FactSource, frame: DataFrame, rejects: RejectsTable) -> Packed:
    """What tasks have found in the triples of a source; bad records go to the rejects."""
    try:
        packed, bad = found_in(frame)
    except SPARK_ERRORS as error:
        raise unreadable(source, error) from error
    if bad:
        with unsplit_files(spark):
            rejects.take_frame(f"facts-{source.relation}", rejected(spark, source, frame), bad)
    return packed


def _count(spark: SparkSession, source: FactSource, cleaned: Cleaned, rejects: RejectsTable) -> int:
    """How many facts there are; bad records go to the rejects."""
    try:
        counted = cleaned.frame.groupBy("problem").count().toArrow().to_pylist()
    except SPARK_ERRORS as error:
        raise unreadable(source, error) from error
    by_problem = {row["problem"]: row["count"] for row in counted}
    facts: int = by_problem.pop(None, 0)
    headers = by_problem.pop(HEADER, 0)
    bad = sum(by_problem.values()) + max(headers - cleaned.headers, 0)
    if bad:
        with unsplit_files(spark):
            rejects.take_frame(f"facts-{source.relation}", rejected(spark, source, cleaned.frame), bad)
    return facts

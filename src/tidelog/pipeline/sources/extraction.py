"""From sources to explicit facts.

What      : `extract` reads, cleans and counts every source, deals with bad records, and hands over the facts.
Idea      : each source is one cached Spark frame, counted once; facts then go to the driver as Arrow (local backend)
            or stay where they are (Spark backend).
Invariant : facts + rejects + filtered = records; the counts are logged.
Never     : no rule is looked at beyond the declared types of relations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from pyspark.sql import SparkSession

from tidelog.language.terms import Program
from tidelog.pipeline.settings.config import FactSource
from tidelog.pipeline.sources.cleaning import Cleaned, clean
from tidelog.pipeline.sources.records import HEADER, SPARK_ERRORS, read_records, unreadable
from tidelog.pipeline.sources.rejects import RejectsTable, rejected, unsplit_files


@dataclass(frozen=True, slots=True)
class Extracted:
    """The cleaned facts of one source, and how many there are; duplicates count as often as they occur."""

    cleaned: Cleaned
    count: int

    @property
    def cells(self) -> int:
        """How many values the facts have together."""
        return self.count * len(self.cleaned.types)


@contextmanager
def extract(
    spark: SparkSession, sources: tuple[FactSource, ...], program: Program, rejects: RejectsTable
) -> Iterator[Mapping[str, Extracted]]:
    """The facts of all sources by relation, cached while the context lasts."""
    declared = {one.relation: [kind for _, kind in one.columns] for one in program.declarations}
    found: dict[str, Extracted] = {}
    try:
        for source in sources:
            cleaned = clean(read_records(spark, source), source, declared.get(source.relation))
            cleaned.frame.persist()
            found[source.relation] = Extracted(cleaned, _count(spark, source, cleaned, rejects))
        yield found
    finally:
        for extracted in found.values():
            extracted.cleaned.frame.unpersist()


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

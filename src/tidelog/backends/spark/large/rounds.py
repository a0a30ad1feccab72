"""The fixpoint of a stage as rounds of DataFrame joins.

What      : `Fixpoint.run` derives all facts of a stage from its explicit facts and the relations below it.
Idea      : semi-naive rounds, all rules of the stage in one job; new facts are found by grouping what is known with
            what was derived and keeping the least round of each fact, which was measured twice as fast as distinct
            and anti-join. The facts of all relations of the stage are one DataFrame with the number of their relation.
Invariant : works for every rule and for facts of any size. The lineage is cut every round, so that no plan grows.
Never     : no marks, no versions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from tidelog.backends.spark.cluster import frames
from tidelog.backends.spark.cluster.jobs import Jobs
from tidelog.backends.spark.large import joins
from tidelog.backends.spark.values.constants import Constants, MovedError
from tidelog.backends.spark.values.expressions import Texts
from tidelog.language.terms import Atom
from tidelog.planning.join_order import Estimates
from tidelog.planning.lowered import LoweredRule, Stage
from tidelog.planning.plan import Absent, Join, Plan
from tidelog.planning.planner import plan_all, plan_literal


class Fixpoint:
    """One stage on its way to the fixpoint."""

    def __init__(
        self, jobs: Jobs, constants: Constants, stage: Stage, below: Mapping[str, DataFrame], estimates: Estimates
    ) -> None:
        self._jobs, self._constants, self._stage, self._below = jobs, constants, stage, below
        self._estimates = estimates
        self._numbers = {name: number for number, name in enumerate(sorted(stage.relations))}
        self._arities = {rule.head.relation: len(rule.head.terms) for rule in stage.rules}
        self._width = max(1, *self._arities.values()) if self._arities else 1
        self._all = {rule: plan_all(rule, estimates) for rule in stage.rules}
        self._makes = any(joins.computes(plan) for plan in self._all.values())

    def run(
        self, explicit: Mapping[str, DataFrame], ask_budget: Callable[[], None]
    ) -> tuple[Mapping[str, DataFrame], DataFrame]:
        """The facts of every relation of the stage (columns of ids), and the frame that holds them all.

        `ask_budget` is called once per round.
        """
        known = self._start(explicit)
        number = 0
        while True:
            ask_budget()
            candidates = list(self._round(known, number))
            if not candidates:
                break
            number += 1
            try:
                merged, is_done = self._merged(known, candidates, number)
            finally:
                frames.release(known)
            known = merged
            if is_done or not self._stage.is_recursive:
                break
        return {name: self._of(known, name) for name in self._numbers}, known

    def _start(self, explicit: Mapping[str, DataFrame]) -> DataFrame:
        self._width = max(self._width, *(len(facts.columns) for facts in explicit.values()))
        parts = [self._tagged(name, facts, 0) for name, facts in explicit.items()]
        return frames.keep(self._jobs, reduce(DataFrame.unionAll, parts))

    def _round(self, known: DataFrame, number: int) -> Iterator[DataFrame]:
        """The derivations of a round: all of them at first, then those with a fact of the last round."""
        frame = self._constants.frame if self._makes or self._tests else self._no_texts()
        texts = Texts(frame, self._constants.naming)
        for rule in self._stage.rules:
            for plan, driving in self._plans(rule, known, number):
                found = joins.heads(plan, driving, self._source(known), texts)
                yield self._tagged(rule.head.relation, found, number + 1, carries=True)

    def _plans(self, rule: LoweredRule, known: DataFrame, number: int) -> Iterator[tuple[Plan, DataFrame]]:
        if number == 0:
            yield self._all[rule], self._jobs.spark.range(1)
            return
        last = known.where(F.col("round") == number)
        for position, literal in enumerate(rule.body):
            if isinstance(literal, Atom) and literal.relation in self._stage.relations:
                yield plan_literal(rule, position, self._estimates), self._of(last, literal.relation)

    def _source(self, known: DataFrame) -> joins.Source:
        def source(step: Join | Absent) -> DataFrame:
            if step.relation in self._stage.relations:
                return self._of(known, step.relation)
            return self._below[step.relation]

        return source

    def _merged(self, known: DataFrame, candidates: list[DataFrame], number: int) -> tuple[DataFrame, bool]:
        """Known facts and candidates as one, each fact with its first round; whether the last round found nothing."""
        columns = ["relation", *frames.names(self._width)]
        texts = [f"x{at}" for at in range(self._width)] if self._makes else []
        known = known.select(*columns, "round", *(F.lit(None).cast("string").alias(name) for name in texts))
        everything = reduce(DataFrame.unionAll, [known, *(part.select(*known.columns) for part in candidates)])
        first = [F.min("round").alias("round"), *(F.min(name).alias(name) for name in texts)]
        first += [F.max(name).alias(f"other {name}") for name in texts]  # two texts with one id make one fact here
        merged = frames.keep(self._jobs, everything.groupBy(*columns).agg(*first))
        fresh = merged.where(F.col("round") == number)
        found = self._jobs.run(lambda: fresh.limit(1).toArrow()).num_rows
        if texts:  # of all facts that were derived, known ones too: their ids may stand for other texts
            parts = [
                merged.select(F.col(f"c{at}").alias("id"), F.col(f"{which}x{at}").alias("text"))
                for at in range(self._width)
                for which in ("", "other ")
            ]
            try:
                self._constants.add(reduce(DataFrame.unionAll, parts).where(F.col("text").isNotNull()))
            except MovedError:
                frames.release(merged)
                raise
        return merged, not found

    def _tagged(self, name: str, facts: DataFrame, number: int, *, carries: bool = False) -> DataFrame:
        """Facts of one relation in the common shape: relation, columns, round, and texts if there are computed ones."""
        present = set(facts.columns)
        zero, nothing = F.lit(0).cast("long"), F.lit(None).cast("string")
        columns = [(F.col(c) if c in present else zero).alias(c) for c in frames.names(self._width)]
        texts = []
        if carries and self._makes:
            texts = [(F.col(x) if x in present else nothing).alias(x) for x in (f"x{n}" for n in range(self._width))]
        relation = F.lit(self._numbers[name]).alias("relation")
        return facts.select(relation, *columns, F.lit(number).alias("round"), *texts)

    def _of(self, known: DataFrame, name: str) -> DataFrame:
        return known.where(F.col("relation") == self._numbers[name])

    @property
    def _tests(self) -> bool:
        return any(joins.needs_values(plan) for plan in self._all.values())

    def _no_texts(self) -> DataFrame:
        return self._jobs.spark.createDataFrame([], "id long, text string")

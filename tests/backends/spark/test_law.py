"""The law on Spark: random and golden cases equal recomputation, whatever the driver holds and how facts are spread.

Four ways of working are forced on small data: everything on the driver between commits, every look-up through Spark,
a driver with room for some facts, and every stage derived in bulk. A way that is only taken by millions of facts would
otherwise never be tested for truth.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from pyspark.sql import SparkSession

from tests.backends.spark.engines import BULK, CROWDED, HELD, PAGED, driver
from tests.differential.case import Case
from tests.differential.engines import public_engines
from tests.differential.harness import agree
from tests.differential.updates import draw_case
from tests.programs.golden import Golden, golden_cases
from tidelog.language.parser import parse

GOLDEN = golden_cases()
STRATEGIES = ("auto", "bf", "dred", "recompute", "counting", "bf-mark", "dred-mark", "circuit")


def _agree(spark: SparkSession, seed: int, capacity: Mapping[str, int], partitions: int, *strategies: str) -> None:
    with driver(spark, capacity, partitions):
        agree(draw_case(seed), public_engines(strategies, backend="spark", spark=spark))


@pytest.mark.parametrize("seed", range(10))
def test_random_cases_on_the_driver(spark: SparkSession, seed: int) -> None:
    """What is small is worked on by the driver and written to Spark by and by."""
    _agree(spark, seed, HELD, (1, 2, 3, 8)[seed % 4], *STRATEGIES)


@pytest.mark.parametrize(("seed", "strategy"), [(1, "bf"), (7, "dred")])
def test_random_cases_through_spark(spark: SparkSession, seed: int, strategy: str) -> None:
    """Nothing stays on the driver: every fact that an update touches is looked up."""
    _agree(spark, seed, PAGED, 2, strategy)


@pytest.mark.parametrize(("seed", "strategy"), [(3, "auto"), (5, "recompute")])
def test_random_cases_with_little_room(spark: SparkSession, seed: int, strategy: str) -> None:
    """Stages turn out to be too large for the driver while a strategy works on them."""
    _agree(spark, seed, CROWDED, 2, strategy)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 124))
def test_more_random_cases_through_spark(spark: SparkSession, seed: int) -> None:
    """As above, for every strategy and number of partitions."""
    _agree(spark, seed, PAGED, (1, 2, 3, 8)[seed % 4], STRATEGIES[seed % len(STRATEGIES)])


@pytest.mark.long
@pytest.mark.parametrize("seed", range(200, 212))
def test_random_cases_in_bulk(spark: SparkSession, seed: int) -> None:
    """Every stage is derived as a whole where its facts are: rules of all kinds, as DataFrames and in Arrow tasks."""
    _agree(spark, seed, BULK, (1, 2, 3, 8)[seed % 4], "auto")


ASKED = """
    .decl e(c0: symbol, c1: symbol)
    .decl f(c0: symbol, c1: symbol)
    .decl g(c0: any)
    .decl p(c0: symbol, c1: symbol)
    .decl q(c0: symbol, c1: symbol)
    e("c", "c"). e("b", "b"). p("c", "c"). p("b", "b").
    f("c", "c"). f("c", "b"). f("c", "d"). f("a", "b").
    g(1). g(2). g(3). g(4).
    p(y, x) :- e(x, y).
    q(y, x) :- p(x, x), f(x, y), x >= y.
    q(y, y) :- g(x), p(y, y), x >= 0.
"""


def test_a_text_in_a_relation_that_every_shard_has_where_numbers_are_asked(spark: SparkSession) -> None:
    """The shard stopped before it could say that values are needed, and the job failed: case 1016, made small."""
    with driver(spark, BULK, 1):
        agree(Case(parse(ASKED), ()), public_engines(["auto"], backend="spark", spark=spark))


def _check(golden: Golden, spark: SparkSession, capacity: Mapping[str, int]) -> None:
    with driver(spark, capacity):
        agree(golden.case, public_engines(["auto"], backend="spark", spark=spark))


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda golden: golden.name)
def test_golden_programs(spark: SparkSession, golden: Golden) -> None:
    """One case, every backend, one expected output."""
    _check(golden, spark, HELD)


@pytest.mark.long
@pytest.mark.parametrize("golden", GOLDEN, ids=lambda golden: golden.name)
def test_golden_programs_through_spark(spark: SparkSession, golden: Golden) -> None:
    """The same with every look-up through Spark."""
    _check(golden, spark, PAGED)

"""Facts that come, many but few beside what their relation has, are followed and no stage is derived anew.

The returned change is compared with that of the local backend, fact by fact. A test of the facts alone would pass if
the stages were derived anew, so the strategies that ran are asked, too.
"""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.backends.spark.engines import PAGED, driver
from tidelog import Engine
from tidelog.backends.spark.driver.capacity import Capacity
from tidelog.changes.strategy_choice import Reason

RULES = """
    has(x, y) :- part(x, y).
    has(x, z) :- part(x, y), has(y, z).
    top(x) :- part(x, _), !inner(x).
    inner(y) :- part(_, y).
"""
PARTS = [(f"p{10 * tree + at}", f"p{10 * tree + at + 1}") for tree in range(20) for at in range(8)]
COME = [(f"p{10 * tree}", f"p{10 * tree + 9}") for tree in range(18)]
GONE = [PARTS[8 * tree + 3] for tree in range(18)]


def _frame(spark: SparkSession, facts: list[tuple[str, str]]) -> DataFrame:
    return spark.createDataFrame(facts, "x string, y string")


@pytest.mark.parametrize(("size", "most"), [(0, 10), (39, 10), (60, 15), (160, 40), (1000, 40)])
def test_how_many_facts_are_followed(size: int, most: int) -> None:
    """A quarter of the relation, between one and four times `change`."""
    assert Capacity(change=10).followed(size) == most


@pytest.mark.parametrize(("change", "is_followed"), [(5, True), (4, False)], ids=["followed", "too many"])
def test_a_large_change_is_exact_whichever_way_it_goes(spark: SparkSession, change: int, is_followed: bool) -> None:
    """18 facts come to 160: they are followed up to four times `change`. As many that go are derived anew."""
    with driver(spark, {**PAGED, "change": change}):
        engine, expected = Engine(RULES, backend="spark", spark=spark), Engine(RULES)
        engine.apply(insert={"part": _frame(spark, PARTS)})
        expected.apply(insert={"part": PARTS})
        for update in ({"insert": COME}, {"delete": GONE}, {"insert": GONE, "delete": COME}):
            frames = {how: {"part": _frame(spark, facts)} for how, facts in update.items()}
            found = engine.apply(**frames)
            wanted = expected.apply(**{how: {"part": facts} for how, facts in update.items()})
            for name in ("part", "has", "top", "inner"):
                assert set(found.inserted[name]) == set(wanted.inserted[name])
                assert set(found.deleted[name]) == set(wanted.deleted[name])
            in_bulk = [choice for choice in found.stats.choices if choice.reason is Reason.BULK]
            assert bool(in_bulk) is not (is_followed and "delete" not in update)
            engine.verify()

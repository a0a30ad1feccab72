"""A driver with room for some of the facts, so that stages turn out to be too large while a strategy works.

Taught by a deletion that left a closure empty. Most of what it read was gone, so it was recomputed; the first call of
that found no room for the stage's facts on the driver and made them large, and the calls behind it worked on a driver
that no longer had them. Neither a driver with room for all nor one with room for none comes to that place.
"""

from __future__ import annotations

import random

import pytest
from pyspark.sql import SparkSession

from tests.backends.spark.engines import PAGED, driver
from tidelog import Engine

RULES = """
    has(x, y) :- part(x, y).
    has(x, z) :- has(x, y), part(y, z).
    top(x) :- part(x, _), !inner(x).
    inner(y) :- part(_, y).
    size(n) :- n = count : { has(_, _) }.
"""
NAMES = ("part", "has", "top", "inner", "size")


@pytest.mark.parametrize(("facts", "seed"), [pytest.param(600, 1, marks=pytest.mark.long), (300, 2), (1200, 3)])
def test_a_stage_that_turns_out_to_be_large_is_derived_anew(spark: SparkSession, facts: int, seed: int) -> None:
    """Deletions of a third of the facts; what came and what went are exact, too."""
    chosen = random.Random(seed)
    parts = sorted({(chosen.randint(0, 40), chosen.randint(0, 40)) for _ in range(90)})
    with driver(spark, {**PAGED, "change": 8, "facts": facts}, 1):
        engines = Engine(RULES), Engine(RULES, backend="spark", spark=spark)
        for engine in engines:
            engine.apply(insert={"part": parts})
        for step in range(3):
            gone = chosen.sample(sorted(engines[0]["part"]), 25)
            for update in ({"delete": {"part": gone}}, {"insert": {"part": parts[step * 10 : step * 10 + 30]}}):
                expected, found = (engine.apply(**update) for engine in engines)
                for name in NAMES:
                    assert set(engines[1][name]) == set(engines[0][name]), (step, name)
                    assert set(found.inserted[name]) == set(expected.inserted[name]), (step, name)
                    assert set(found.deleted[name]) == set(expected.deleted[name]), (step, name)
        engines[1].verify()

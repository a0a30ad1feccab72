"""The same on Spark, by the same code; where a local transaction turns back, one on Spark begins again."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

import tidelog as tl
from tests.arrivals.scheduler import Overlapped, explicit, facts, failed
from tests.arrivals.test_random import consecutive
from tests.differential.updates import draw_case
from tidelog.language.printer import print_program

RULES = "path(x, y) :- edge(x, y). path(x, z) :- edge(x, y), path(y, z). quiet(x) :- node(x), !path(x, _)."
CHAIN = [(at, at + 1) for at in range(12)]
UPDATES: list[dict[str, Any]] = [
    {"insert": {"edge": CHAIN, "node": [(1,), (40,)]}},
    {"delete": {"edge": CHAIN}},
    {"insert": {"edge": [(3, 4), (4, 5)]}},
    {"insert": {"edge": [(50, 51)]}, "urgent": True},
    {"delete": {"edge": [(50, 51), (3, 4)]}},
    {"add_rules": "loop(x) :- path(x, x)."},
]


@pytest.mark.parametrize("steps", [(1, 2, 1, 3, 1), pytest.param((4, 1, 5, 2, 2), marks=pytest.mark.long)])
def test_updates_that_meet_on_spark(spark: Any, steps: tuple[int, ...]) -> None:
    """Opposites, an urgent update and rules; then a frame, which has a version of its own."""
    twin = tl.Engine(RULES, strategy="recompute")
    for update in UPDATES:
        twin.apply(**{key: value for key, value in update.items() if key != "urgent"})
    engine = tl.Engine(RULES, backend="spark", spark=spark)
    run = Overlapped(engine, UPDATES, steps)
    assert not any(map(failed, run.futures))
    assert (facts(engine), explicit(engine), engine.rules) == (facts(twin), explicit(twin), twin.rules)
    change = engine.submit(insert={"edge": spark.createDataFrame([(7, 8)], "a long, b long")}).result()
    assert (change.updates, len(change.inserted["edge"])) == (1, 1)
    engine.verify()
    engine.close()


def check(spark: Any, seed: int, options: dict[str, Any]) -> None:
    """A random stream, as in test_random.py, on Spark."""
    case, rng = draw_case(seed), Random(seed)
    program = print_program(case.program)
    updates = [dict(update.arguments) for update in case.updates]
    for update in updates:
        update["urgent"] = not (update["add_rules"] or update["remove_rules"]) and rng.random() < 0.3
    twin, refused = consecutive(program, updates)
    engine = tl.Engine(program, backend="spark", spark=spark, **options)
    run = Overlapped(engine, updates, [rng.choice((0, 1, 2, 4, 8)) for _ in updates[1:]])
    assert [failed(future) for future in run.futures] == refused, f"seed {seed}"
    assert facts(engine) == facts(twin), f"seed {seed}"
    assert explicit(engine) == explicit(twin), f"seed {seed}"
    engine.verify()
    engine.close()


def test_random_arrivals_on_spark(spark: Any) -> None:
    """Recursion, negation, aggregates, rules, refusals, urgent updates: one after the other gives the same."""
    check(spark, 41, {})


@pytest.mark.long
def test_many_random_arrivals_on_spark(spark: Any) -> None:
    """The long tier of the same."""
    for seed in range(100, 140):
        check(spark, seed, {"strategy": ("auto", "dred", "bf", "counting")[seed % 4]})

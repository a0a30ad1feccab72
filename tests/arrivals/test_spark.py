"""The same on Spark, by the same code; where a local transaction turns back, one on Spark begins again."""

from __future__ import annotations

from typing import Any

import pytest

import tidelog as tl
from tests.arrivals.scheduler import Overlapped, explicit, facts, failed

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

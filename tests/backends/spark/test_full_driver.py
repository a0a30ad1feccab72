"""A driver that holds as much as it may: what has to be brought is brought, and the rest is derived where it is.

Found by random cases with a capacity of one fact, and by random interrupts of saves.
"""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from tests.backends.spark.engines import BULK, HELD, driver
from tidelog import Engine

FACTS = {"e": [(0, 2), (1, 2), (2, 3)], "f": [(3, "b"), (4, "c")], "r": [()]}


def test_a_fact_without_columns_is_deleted_after_others(spark: SparkSession) -> None:
    """Case 1019: to look for it was taken for reading a whole relation, for which there was no room (E705)."""
    rules = "p(x, z) :- e(x, y), e(y, z), r()."
    with driver(spark, BULK):
        engine, expected = Engine(rules, backend="spark", spark=spark), Engine(rules)
        for one in (engine, expected):
            one.apply(insert=FACTS)
            one.apply(delete={"e": [(0, 2)], "f": [(3, "b")], "r": [()]})
        for name in ("e", "f", "p"):
            assert set(engine[name]) == set(expected[name])
        engine.verify()


def test_an_aggregate_begins_while_the_driver_is_full(spark: SparkSession) -> None:
    """Case 1034: a pause in reading the members asked for room, outside of any strategy that could be given up."""
    program = "e(0, 2). e(1, 2). e(2, 3). e(3, 4). most(m) :- m = max y : { e(_, y) }. n(k) :- k = count : { e(_, _) }."
    with driver(spark, BULK):
        engine = Engine(program, backend="spark", spark=spark)
        assert set(engine["most"]) == {(4,)}
        assert set(engine["n"]) == {(4,)}


def test_a_save_after_a_fetch_that_failed_holds_the_last_version(spark: SparkSession, tmp_path: Path) -> None:
    """The driver forgets what it holds in the middle of the save. Relations that only it knew have no facts; they were
    listed, and then not found (KeyError here, E802 for a reader).
    """
    program = "n(k) :- k = count : { e(_, _) }."
    with driver(spark, HELD):
        engine = Engine(program, backend="spark", spark=spark)
        engine.apply(insert={"e": FACTS["e"]})
        engine.apply(insert={"e": [(5, 6)]}, delete={"e": [(0, 2)]})
        engine._backend.store.near.relation("made and given up", 1)
        engine._backend.store.supply.is_spoiled = True
        assert engine.relations == ("e", "n")
        engine.save(tmp_path / "state")
        with Engine.open(tmp_path / "state") as opened:
            assert set(opened["e"]) == {(1, 2), (2, 3), (5, 6)}
            assert set(opened["n"]) == {(3,)}
            opened.verify()

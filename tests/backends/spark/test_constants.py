"""Constants on Spark: two with one hash are told apart, and the driver forgets those that it no longer needs."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import SparkSession

from tests.backends.spark.engines import BULK, PAGED, driver
from tidelog import Engine
from tidelog.backends.local.constants.dictionary import Dictionary
from tidelog.backends.spark.cluster.jobs import Jobs
from tidelog.backends.spark.files.file_store import FileStore
from tidelog.backends.spark.values import constants, ids
from tidelog.backends.spark.values.constants import Constants
from tidelog.backends.spark.values.ids import Naming
from tidelog.backends.spark.values.kept_texts import KeptTexts

PROGRAM = """
    path(x, y) :- edge(x, y).
    path(x, z) :- edge(x, y), path(y, z).
    named(cat(x, "!")) :- edge(x, _).
    from_n3(y) :- path("n3", y).
"""
EDGES = [(f"n{at}", f"n{at + 1}") for at in range(24)]


def test_a_text_that_is_moved_twice_gets_a_third_id() -> None:
    """Every move gives an id that the text has not had."""
    naming, seen = Naming(), [ids.of_text("sa")]
    for _ in range(5):
        naming = naming.with_moved("sa")
        seen.append(ids.of_text("sa", naming))
    assert len(set(seen)) == 6
    assert {number & ids.TAG for number in seen} == {ids.STRING}
    assert ids.of_text("sb", naming) == ids.of_text("sb")


@pytest.mark.parametrize(
    "capacity", [pytest.param(PAGED, id="paged"), pytest.param(BULK, id="bulk", marks=pytest.mark.long)]
)
def test_constants_with_one_hash_are_told_apart(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capacity: Mapping[str, int]
) -> None:
    """With sixteen hashes for fifty strings every way in meets collisions: frames, updates, tasks, rules, opening."""
    monkeypatch.setattr(ids, "DIGITS", 1)
    monkeypatch.setattr(constants, "_FEW", 0)  # many new strings are named together until two clash
    expected = Engine(PROGRAM, backend="local")
    with driver(spark, capacity, partitions=2):
        engine = Engine(PROGRAM, backend="spark", spark=spark)
        engine.apply(insert={"edge": spark.createDataFrame(EDGES, "x string, y string")})
        expected.apply(insert={"edge": EDGES})
        update = {"insert": {"edge": [("m1", "n3"), ("n5", "m2"), ("m3", "m4")]}, "delete": {"edge": [("n9", "n10")]}}
        change, wanted = engine.apply(**update), expected.apply(**update)  # type: ignore[arg-type]
        assert {name: set(table) for name, table in change.inserted.items()} == {
            name: set(table) for name, table in wanted.inserted.items()
        }
        engine.save(tmp_path / "state")
        opened = Engine.open(tmp_path / "state", backend="spark", spark=spark)
        for one in (engine, opened):
            assert {name: set(one[name]) for name in one.relations} == {
                name: set(expected[name]) for name in expected.relations
            }
            assert ("n1", "n5") in one["path"]
            assert ("n1", "nobody") not in one["path"]
        moved = engine._backend.store.constants.naming.moved  # type: ignore[attr-defined]
        assert len(moved) > 20
        assert len(set(moved.values())) == len(moved)


def test_texts_that_spark_keeps_tell_those_that_clash(spark: SparkSession) -> None:
    """Where there is no folder for files: the text that was first keeps its id, and nothing is added with a clash."""
    texts = KeptTexts(Jobs(spark))

    def added(*rows: tuple[int, str]) -> list[str]:
        return texts.add(spark.createDataFrame(list(rows), "id long, text string"))

    def found() -> dict[int, str]:
        table = texts.find(np.array([1, 5, 9]))
        return dict(zip(table.column("id").to_pylist(), table.column("text").to_pylist()))

    assert added((1, "sm"), (5, "sb"), (1, "sm")) == []
    assert added((1, "sa"), (9, "sc")) == ["sa"]
    assert added((9, "sd"), (9, "sc")) == ["sd"]
    assert found() == {1: "sm", 5: "sb"}
    assert added((9, "sc"), (1, "sm")) == []
    assert found() == {1: "sm", 5: "sb", 9: "sc"}
    texts.close()


def test_constants_with_one_hash_are_told_apart_without_files(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Relations and texts are frames that Spark keeps; sixteen hashes for forty strings."""
    monkeypatch.setattr(ids, "DIGITS", 1)
    with driver(spark, PAGED, partitions=2, options={"spark.tidelog.directory": ""}):
        engine = Engine("path(x, y) :- edge(x, y). path(x, z) :- edge(x, y), path(y, z).", backend="spark", spark=spark)
        assert isinstance(engine._backend.store.constants.texts, KeptTexts)  # type: ignore[attr-defined]
        engine.apply(insert={"edge": [(f"n{at}", f"n{at + 1}") for at in range(0, 40, 2)]})
        assert set(engine["path"]) == set(engine["edge"]) == {(f"n{at}", f"n{at + 1}") for at in range(0, 40, 2)}
        engine.close()


def test_the_driver_forgets_constants_and_tables_stay_readable(spark: SparkSession) -> None:
    """Over a stream that names ever new constants the dictionary stays small; what was given out keeps its own."""
    with driver(spark, {**PAGED, "constants": 50, "overlay": 20}, partitions=2):
        engine = Engine(PROGRAM, backend="spark", spark=spark)
        expected = Engine(PROGRAM, backend="local")
        sizes, changes = [], []
        for turn in range(12):
            edges = [(f"t{turn}-{at}", f"t{turn}-{at + 1}") for at in range(8)]
            changes.append(engine.apply(insert={"edge": edges}))
            expected.apply(insert={"edge": edges})
            sizes.append(len(engine._backend.store.constants.dictionary))  # type: ignore[attr-defined]
        assert max(sizes) < 150
        assert sum(later < earlier for earlier, later in pairwise(sizes)) >= 2
        assert ("t0-0", "t0-8") in set(changes[0].inserted["path"])
        assert changes[0].inserted["edge"].to_spark().count() == 8
        assert {name: set(engine[name]) for name in engine.relations} == {
            name: set(expected[name]) for name in expected.relations
        }


def test_aggregates_read_the_numbers_that_constants_have_after_the_driver_forgot_them(spark: SparkSession) -> None:
    """They went on with the dictionary that was forgotten: the values of one update were read as those of another."""
    program = """
        most(x, m) :- score(x, _), m = max y : { score(x, y) }.
        total(x, s) :- score(x, _), s = sum y : { score(x, y) }.
    """
    with driver(spark, {**PAGED, "constants": 50}, partitions=2):
        engine, expected = Engine(program, backend="spark", spark=spark), Engine(program)
        for turn in range(6):
            scores = [(f"team {at % 4}", 1000 * turn + 7 * at * at) for at in range(30)]
            for one in (engine, expected):
                one.apply(insert={"score": scores})
            for name in ("most", "total"):
                assert set(engine[name]) == set(expected[name])
        engine.verify()


def test_what_the_driver_forgot_it_learns_again(spark: SparkSession) -> None:
    """Texts that wait, and texts that are stored."""
    jobs = Jobs(spark)
    constants = Constants(jobs, Dictionary(), FileStore.of(jobs, 0))
    values = ["a", "b", 2**62, 1.5, 7, True]
    numbers = constants.ids_of(constants.dictionary.encode(values))
    for step in (constants.flush, lambda: None):
        constants.renew(Dictionary())
        assert constants.dictionary.decode(constants.local_of(numbers)) == values
        step()
    assert np.array_equal(constants.ids_of(constants.dictionary.encode(values)), numbers)
    constants.close()

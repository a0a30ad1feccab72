"""A state and the files of a Spark engine: nothing is collected to be saved, and nothing is loaded to be opened.

Taught by an engine of 2.4 million facts that materialised on Spark and could not be saved (E705), because a save
brought every fact to the driver. Here `driver` is set so that every relation is in files, however small.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from tests.backends.spark.engines import PAGED, driver
from tidelog import Engine
from tidelog.backends.spark.driver.supply import DriverSupply
from tidelog.backends.spark.files import changed_file
from tidelog.errors import StateError, TidelogError
from tidelog.state import reading
from tidelog.state.failpoints import FailpointError, raising
from tidelog.state.far import FOLDER
from tidelog.state.log import StateLog
from tidelog.state.reading import read_state

CLOSURE = "path(x, y) :- edge(x, y). path(x, z) :- edge(x, y), path(y, z)."
VALUES: list[tuple[Any, ...]] = [(1, "1"), (1.0, True), (2**62, "é"), (-0.25, "1"), (False, -(2**63))]
EDGES = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "b")]
OVERLAID = {**PAGED, "overlay": 100}


def loaded(spark: SparkSession, rules: str = CLOSURE) -> Engine:
    """An engine with all relations in files."""
    engine = Engine(rules, backend="spark", spark=spark, strategy="dred")
    engine.apply(insert={"edge": EDGES, "path": [("z", "z")], "value": VALUES, "flag": [()]})
    return engine


def facts(engine: Engine) -> dict[str, set[tuple[object, ...]]]:
    """All facts, with the types of their values."""
    return {name: {tuple((type(value), value) for value in fact) for fact in engine[name]} for name in engine.relations}


@pytest.mark.parametrize("least", [changed_file._LEAST, 0])
def test_a_state_of_files_opens_on_both_backends_and_goes_on(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, least: int
) -> None:
    """Saved from Spark, continued on Spark and in process, and back: facts, flags and versions are the same.

    Also where every save puts what has changed into a file of its own.
    """
    monkeypatch.setattr(changed_file, "_LEAST", least)
    with driver(spark, {**PAGED, "written": 0}, partitions=2):  # by executors
        engine = loaded(spark)
        engine.save(tmp_path / "state")
        expected = facts(engine)
        engine.close()
    with driver(spark, OVERLAID, partitions=2):
        opened = Engine.open(tmp_path / "state", backend="spark", spark=spark)
        assert facts(opened) == expected
        change = opened.apply(insert={"edge": [("d", "e")]}, delete={"edge": [("b", "c")], "path": [("z", "z")]})
        assert change.stats.jobs == 0
        opened.save(tmp_path / "state")
        opened.apply(insert={"edge": [("b", "c")], "value": [("new", 2)]}, delete={"value": [(1, "1")]})
        opened.save(tmp_path / "state")
        second = facts(opened)
        opened.verify()
        assert any((tmp_path / "state" / FOLDER).glob("*-changed.parquet")) == (not least)
        local = Engine.open(tmp_path / "state")
        assert facts(local) == second
        local.apply(insert={"edge": [("e", "f")]}, delete={"flag": [()]})
        local.save(tmp_path / "state")
        again = Engine.open(tmp_path / "state", backend="spark", spark=spark)
        assert facts(again) == facts(local)
        assert set(again.explicit("edge")) == set(local.explicit("edge"))
        assert set(again.explicit("path")) == set()
        again.apply(delete={"edge": [("a", "b")]})
        again.verify()
        assert facts(Engine.open(tmp_path / "state", version=2, backend="spark", spark=spark)) != second
        assert facts(Engine.open(tmp_path / "state", version=3, backend="spark", spark=spark)) == second
    assert facts(Engine.open(tmp_path / "state", version=1)) == expected


def test_the_folder_of_an_engine_and_its_state_may_be_addresses(spark: SparkSession, tmp_path: Path) -> None:
    """Executors, the driver and Spark read and write the same files under a `file:` address."""
    folder = {"spark.tidelog.directory": (tmp_path / "store").as_uri()}
    with driver(spark, {**PAGED, "written": 0}, partitions=2, options=folder):
        engine = loaded(spark)
        assert list((tmp_path / "store").glob("*/store/*.parquet"))
        engine.apply(insert={"edge": [("d", "e")]}, delete={"edge": [("a", "b")]})
        engine.save((tmp_path / "state").as_uri())
        opened = Engine.open((tmp_path / "state").as_uri(), backend="spark", spark=spark)
        opened.apply(insert={"edge": [("e", "f")]})
        opened.verify()
        engine.apply(insert={"edge": [("e", "f")]})
        assert facts(opened) == facts(engine)
        opened.close()
        engine.close()


def test_neither_saving_nor_opening_brings_relations_to_the_driver(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Saving twice and opening read no whole relation; the second save adds one small file and links none anew."""
    with driver(spark, OVERLAID | {"overlay": 5}, partitions=2):
        engine = Engine(CLOSURE, backend="spark", spark=spark)
        engine.apply(insert={"edge": [(f"n{at}", f"n{at + 1}") for at in range(40)]})
        with monkeypatch.context() as watched:
            watched.setattr(DriverSupply, "whole", lambda *_: pytest.fail("a relation was brought"))
            engine.save(tmp_path / "state")
            linked = {path.name for path in (tmp_path / "state" / FOLDER).iterdir()}
            engine.apply(insert={"edge": [("x", "y")]})
            engine.save(tmp_path / "state")
            assert {path.name for path in (tmp_path / "state" / FOLDER).iterdir()} == linked
            stored = read_state(tmp_path / "state", is_far=True)
            assert {one.relation: len(one.states) for one in stored.far} == {"edge": 1, "path": 1}
            assert not stored.relations
            opened = Engine.open(tmp_path / "state", backend="spark", spark=spark)
            assert len(opened["path"]) == 40 * 41 // 2 + 1
            assert len(opened.apply(delete={"edge": [("n20", "n21")]}).deleted["path"]) == 21 * 20


def test_any_reader_of_delta_tables_sees_every_fact_once_as_values(spark: SparkSession, tmp_path: Path) -> None:
    """Files of ids and of other orders are no part of the table."""
    with driver(spark, PAGED, partitions=2):
        loaded(spark).save(tmp_path / "state")
    files = DeltaTable(tmp_path / "state").file_uris()
    rows = [row for file in files for row in pq.read_table(file).to_pylist()]
    seen = [(row["relation"], json.dumps(row["values"])) for row in rows if row["relation"] != "@program"]
    assert (
        len(seen) == len(set(seen)) == sum(count for _, count in read_state(tmp_path / "state").info.relations.values())
    )
    texts = {cell["text"] for row in rows if row["relation"] == "path" for cell in row["values"]}
    assert texts == {"a", "b", "c", "d", "z"}
    assert {row["sign"] for row in rows} == {1}


def test_a_save_that_fails_does_not_hide_what_changed(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file of changes that it has written is described by the next save, which knows that more came later."""
    monkeypatch.setattr(changed_file, "_LEAST", 0)
    with driver(spark, OVERLAID, partitions=2):
        engine = loaded(spark)
        engine.save(tmp_path / "state")
        for number in range(6):
            engine.apply(
                insert={"edge": [(f"n{number}", f"n{number + 1}")]}, delete={"edge": EDGES[number : number + 1]}
            )
            if number % 2:
                with raising("files-written"), pytest.raises(FailpointError):
                    engine.save(tmp_path / "state")
            else:
                engine.save(tmp_path / "state")
                opened = Engine.open(tmp_path / "state", backend="spark", spark=spark)
                assert facts(opened) == facts(engine) == facts(Engine.open(tmp_path / "state"))


def test_what_waits_beside_files_that_no_save_knew_is_saved(spark: SparkSession, tmp_path: Path) -> None:
    """Between two saves files are written anew, and then a few facts change: rows since the first save say which."""
    with driver(spark, {**PAGED, "overlay": 3}, partitions=2):
        engine = Engine(backend="spark", spark=spark)
        engine.apply(insert={"edge": EDGES})
        engine.save(tmp_path / "state")
        engine.apply(insert={"edge": [(f"n{number}", "z") for number in range(9)]})
        engine.apply(insert={"edge": [("y", "z")]}, delete={"edge": EDGES[:1]})
        [overlaid] = [each.overlaid for each in engine._backend.far.relations().values()]  # type: ignore[union-attr]
        assert overlaid == 2
        engine.save(tmp_path / "state")
        assert facts(Engine.open(tmp_path / "state", backend="spark", spark=spark)) == facts(engine)


def test_forgetting_removes_the_files_that_only_old_versions_need(spark: SparkSession, tmp_path: Path) -> None:
    """Every update rewrites its relations here; after forgetting, the last version opens and the first is refused."""
    with driver(spark, PAGED, partitions=2):
        engine = loaded(spark)
        engine.save(tmp_path / "state")
        for number in range(3):
            engine.apply(insert={"edge": [("d", f"e{number}")]})
            engine.save(tmp_path / "state")
        before = len(list((tmp_path / "state" / FOLDER).iterdir()))
        with StateLog(tmp_path / "state") as log:
            count, size = log.forget(engine.version)
        assert (count > 0, size > 0) == (True, True)
        assert len(list((tmp_path / "state" / FOLDER).iterdir())) < before
        assert facts(Engine.open(tmp_path / "state", backend="spark", spark=spark)) == facts(engine)
        with pytest.raises(StateError, match=r"forgotten|not stored|damaged"):
            Engine.open(tmp_path / "state", version=1, backend="spark", spark=spark)


def test_a_save_that_fails_leaves_nothing_behind(spark: SparkSession, tmp_path: Path) -> None:
    """The first one, and one whose relations are in new files; what was saved before stays, and saving again works."""
    state = tmp_path / "state"
    with driver(spark, PAGED, partitions=2):
        engine = loaded(spark)
        for _ in range(2):
            before = {path.name for path in state.rglob("*.*")} - {"_tidelog.lock"} if state.exists() else set()
            with raising("files-written"), pytest.raises(FailpointError):
                engine.save(state)
            assert {path.name for path in state.rglob("*.*")} - {"_tidelog.lock"} == before
            engine.save(state)
            engine.apply(insert={"edge": [("d", "f")]})
        engine.save(state)
        assert facts(Engine.open(state, backend="spark", spark=spark)) == facts(engine)


def test_a_missing_or_cut_file_is_said_when_the_state_is_opened(spark: SparkSession, tmp_path: Path) -> None:
    """Opening reads no facts, but looks at the size of every file."""
    with driver(spark, PAGED, partitions=2):
        loaded(spark).save(tmp_path / "state")
        victim = max((tmp_path / "state" / FOLDER).glob("*.parquet"), key=lambda path: path.stat().st_size)
        content = victim.read_bytes()
        victim.unlink()
        for remains in (None, content[:-10]):
            if remains is not None:
                victim.write_bytes(remains)
            with pytest.raises(StateError) as caught:
                Engine.open(tmp_path / "state", backend="spark", spark=spark)
            assert caught.value.code == "E603"
        assert len(Engine.open(tmp_path / "state")["edge"]) == len(EDGES)


def test_a_large_state_without_files_is_read_by_executors(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Saved in process, in several versions, opened on Spark: as folded there, floats and flags included."""
    local = Engine(CLOSURE)
    local.apply(insert={"edge": EDGES, "path": [("z", "z"), ("a", "b")], "value": VALUES, "flag": [()]})
    local.save(tmp_path / "state")
    local.apply(
        delete={"edge": [("b", "c")], "value": [(1.0, True)], "path": [("a", "b")]}, insert={"edge": [("e", "a")]}
    )
    local.save(tmp_path / "state")
    local.apply(insert={"value": [(1.0, True)], "edge": [("b", "c")]}, delete={"flag": [()]})
    local.save(tmp_path / "state")
    monkeypatch.setattr(reading, "NEAR", 0)
    with driver(spark, OVERLAID, partitions=2):
        opened = Engine.open(tmp_path / "state", backend="spark", spark=spark)
        assert facts(opened) == facts(local)
        assert {name: set(opened.explicit(name)) for name in ("edge", "path")} == {
            name: set(local.explicit(name)) for name in ("edge", "path")
        }
        opened.apply(delete={"edge": [("d", "b")]})
        opened.verify()
        opened.save(tmp_path / "state")
        assert facts(Engine.open(tmp_path / "state")) == facts(opened)


def test_a_file_that_is_lost_while_an_engine_runs_is_named(spark: SparkSession) -> None:
    """The update is refused with a code and leaves the version as it was."""
    with driver(spark, PAGED, partitions=2):
        engine = loaded(spark)
        (_, segments) = engine._backend.far._in_files()["edge"]  # type: ignore[union-attr]
        for file in segments.described()[1]:
            Path(file.address).rename(f"{file.address}.away")
        engine._backend.store.files.reader.close()  # type: ignore[attr-defined]
        with pytest.raises(TidelogError) as caught:
            engine.apply(delete={"edge": [("a", "b")]})
        assert caught.value.code == "E710"
        for file in segments.described()[1]:
            Path(f"{file.address}.away").rename(file.address)
        assert engine.version == 1
        assert len(engine.apply(delete={"edge": [("a", "b")]}).deleted["edge"]) == 1


def test_a_state_that_cannot_fit_is_refused_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of facts is known before any is read."""
    engine = Engine(CLOSURE)
    engine.apply(insert={"edge": EDGES})
    engine.save(tmp_path / "state")
    monkeypatch.setattr(reading, "_FACT_BYTES", 10**15)
    with pytest.raises(StateError) as caught:
        Engine.open(tmp_path / "state")
    assert caught.value.code == "E614"
    assert "backend" in str(caught.value)


def test_a_state_of_the_first_format_opens_and_goes_on(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its commits know nothing of files beside the table; executors make them, and the next save names them."""
    monkeypatch.setattr(reading, "NEAR", 0)
    state, engine = tmp_path / "state", Engine(CLOSURE)
    engine.apply(insert={"edge": EDGES, "path": [("z", "z")], "value": VALUES, "flag": [()]})
    engine.save(state)
    engine.apply(insert={"edge": [("d", "e")]}, delete={"edge": [("a", "b")]})
    engine.save(state)
    for entry in (state / "_delta_log").glob("*.json"):
        said = entry.read_text().replace('"tidelog":{"format":2,', '"tidelog":{"format":1,')
        said = said.replace(',"store":""', "")
        assert '"format":1' in said
        assert '"store"' not in said
        entry.write_text(said)
    with driver(spark, {**PAGED, "written": 0}, partitions=2):
        opened = Engine.open(state, backend="spark", spark=spark)
        assert facts(opened) == facts(engine)
        assert set(opened.explicit("path")) == {("z", "z")}
        opened.apply(insert={"edge": [("e", "f")]}, delete={"path": [("z", "z")]})
        opened.verify()
        opened.save(state)
        info = read_state(state).info
        assert info.store
        assert '"format":2' in sorted((state / "_delta_log").glob("*.json"))[-1].read_text()
        again = Engine.open(state, backend="spark", spark=spark)
        assert facts(again) == facts(opened) == facts(Engine.open(state))
        assert facts(Engine.open(state, version=2)) == facts(engine)

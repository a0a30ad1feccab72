"""A state in a store of objects: the same promises as in a directory, without its locks, links and renames.

Here no lock keeps two writers apart. What does is the table's own rule: of two saves that want to be the next entry of
the log one succeeds, and the other is refused, whatever both have written before.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.backends.spark.engines import PAGED, driver
from tests.state.streams import sight
from tests.store import environment, files
from tidelog import Engine
from tidelog.cli import main
from tidelog.errors import StateError
from tidelog.rdf import Graph
from tidelog.state import log as log_module
from tidelog.state.claims import FOLDER
from tidelog.state.failpoints import FAILPOINTS, VARIABLE, FailpointError, raising
from tidelog.state.file_systems import place
from tidelog.state.log import StateLog
from tidelog.state.reading import read_versions
from tidelog.state.table import Table

RULES = """
path(x, y) :- edge(x, y).
path(x, z) :- edge(x, y), path(y, z).
"""
SAVES = """
import sys
from tidelog import Engine
from tidelog.state import log
log.FAN_OUT, log.LEAST_CHANGES = 2, int(sys.argv[2])
engine = Engine.open(sys.argv[1])
engine.apply(insert={"edge": [(3, 4)]})
engine.save(sys.argv[1])
"""


def started(state: str, saves: int = 2) -> Engine:
    """An engine that was saved."""
    engine = Engine(RULES)
    for number in range(1, saves + 1):
        engine.apply(insert={"edge": [(number, number + 1)]})
        engine.save(state)
    return engine


def refused(code: str, action: Any, *arguments: Any) -> str:
    """The message with which an action is refused."""
    with pytest.raises(StateError) as found:
        action(*arguments)
    assert found.value.code == code
    return str(found.value)


def unnamed(state: str) -> list[str]:
    """Files of rows and of segments that no commit names, and claims."""
    table = Table(StateLog(state).directory)
    named = table.added_since(0) | {"_tidelog.lock"}
    return [name for name in files(state) if not name.startswith("_delta_log/") and name not in named]


# -- what a directory does as well -------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["s3", "s3a"])
def test_a_state_is_saved_opened_listed_and_forgotten(bucket, monkeypatch, capsys, scheme):
    """Incremental saves, merges, a new base, old versions, and the command line."""
    monkeypatch.setattr(log_module, "FAN_OUT", 2)
    state = f"{bucket.replace('s3', scheme, 1)}/deep/state"
    engine, seen = Engine(RULES), {}
    for number in range(6):
        monkeypatch.setattr(log_module, "LEAST_CHANGES", 0 if number == 4 else 1000)
        engine.apply(insert={"edge": [(number, number + 1)]}, delete={"edge": [(0, 1)]} if number == 3 else None)
        engine.save(state, batch=number)
        seen[engine.version] = sight(engine)
    assert {info.kind for info in read_versions(state)} == {"base", "changes", "merge"}
    for version, wanted in seen.items():
        assert sight(Engine.open(state, version=version)).facts == wanted.facts
    with StateLog(state) as log:
        assert (log.last_batch(), log.has_batch(5), log.has_batch(6)) == (5, True, False)
    assert main(["state", state, "--at", "6"]) == 0
    assert "version 6, batch updates 5" in capsys.readouterr().out
    assert main(["state", state, "--forget-before", "5"]) == 0
    refused("E604", lambda: Engine.open(state, version=2))
    assert sight(Engine.open(state, version=5)).facts == seen[5].facts
    opened = Engine.open(state)
    opened.apply(insert={"edge": [(8, 9)]})
    opened.save(state)
    assert sight(Engine.open(state)) == sight(opened)
    assert unnamed(state) == []


def test_what_is_not_there_is_named(bucket):
    """A missing state, an address that is none, a store that does not answer."""
    assert "there is no state" in refused("E601", Engine.open, f"{bucket}/nowhere")
    refused("E616", Engine.open, "nonsense://bucket/state")
    refused("E616", Engine.open, f"{bucket}/a%41")
    assert files(bucket) == []


def test_a_store_that_cannot_be_reached_is_no_empty_state(bucket, monkeypatch):
    """Nobody may take it for a directory without a state, and begin a new one."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    assert "cannot be reached" in refused("E616", Engine(RULES).save, f"{bucket}/state")


def test_a_knowledge_graph_stays_in_a_directory(bucket):
    """Its notes are beside the table and no part of a commit, so it needs a lock."""
    refused("E616", Graph().save, f"{bucket}/graph")
    assert files(bucket) == []


# -- two writers -------------------------------------------------------------------------------------------------------


def test_an_engine_that_was_overtaken_is_refused(bucket):
    """Two engines open one version; the second to save would undo what the first one saved."""
    state = f"{bucket}/state"
    started(state)
    first, second = Engine.open(state), Engine.open(state)
    with StateLog(state) as held:
        first.apply(insert={"edge": [(7, 8)]})
        first.save(state)  # a log that is open keeps nobody out
        second.apply(insert={"edge": [(8, 9)]})
        assert "moved on to version 3" in refused("E608", second.save, held)
    refused("E608", second.save, state)
    refused("E608", Engine(RULES).save, state)
    assert sight(Engine.open(state)) == sight(first)
    assert unnamed(state) == []


@pytest.mark.parametrize("saves", [0, 2])
def test_of_two_engines_that_commit_at_once_one_is_refused(bucket, monkeypatch, saves):
    """Both have looked, both have written their files; the log takes one of them. Also for the first version."""
    state = f"{bucket}/state"
    if saves:
        started(state, saves)
    engines = [Engine.open(state) if saves else Engine(RULES) for _ in range(2)]
    for number, engine in enumerate(engines):
        engine.apply(insert={"edge": [(7 + number, 8)]})
    commit = Table.commit

    def late(table, info, added, removed):
        monkeypatch.setattr(Table, "commit", commit)
        engines[1].save(state)
        commit(table, info, added, removed)

    monkeypatch.setattr(Table, "commit", late)
    assert "moved on" in refused("E608", engines[0].save, state)
    refused("E608", engines[0].save, state)
    assert sight(Engine.open(state)) == sight(engines[1])
    assert len(read_versions(state)) == saves + 1
    assert unnamed(state) == [], "what the loser wrote is gone as soon as the next writer looks"


def test_a_writer_at_work_loses_nothing(bucket, monkeypatch):
    """Meanwhile another one looks for what dead ones have left, and forgets old versions."""
    state = f"{bucket}/state"
    started(state, 4)
    slow, commit = Engine.open(state), Table.commit
    slow.apply(insert={"edge": [(7, 8)]})

    def late(table, info, added, removed):
        monkeypatch.setattr(Table, "commit", commit)
        assert main(["state", state, "--forget-before", "3"]) == 0
        commit(table, info, added, removed)

    monkeypatch.setattr(Table, "commit", late)
    slow.save(state)
    assert sight(Engine.open(state)) == sight(slow)


@pytest.mark.parametrize("saves", [0, 2])
def test_an_answer_that_was_lost_is_found_in_the_log(bucket, monkeypatch, saves):
    """A store may take a commit and fail to say so: repeating it is refused, but it was our own."""
    state = f"{bucket}/state"
    engine, commit = started(state, saves) if saves else Engine(RULES), Table.commit
    engine.apply(insert={"edge": [(7, 8)]})

    def lost(table, info, added, removed):
        monkeypatch.setattr(Table, "commit", commit)
        commit(table, info, added, removed)
        raise StateError.of("E606", "the connection was lost")

    monkeypatch.setattr(Table, "commit", lost)
    engine.save(state)
    engine.apply(insert={"edge": [(8, 9)]})
    engine.save(state)
    assert sight(Engine.open(state)) == sight(engine)
    assert len(read_versions(state)) == saves + 2


def test_a_state_in_the_place_of_another_is_noticed(bucket):
    """A log that ends at the same entry, but is somebody else's: no lock tells, so the entry itself is looked at."""
    state = f"{bucket}/state"
    engine, other = started(state), started(f"{bucket}/other")
    with StateLog(state) as log:
        system, there = place(state)
        for name in files(state):
            system.delete_file(f"{there}/{name}")
        for name in files(f"{bucket}/other"):
            system.copy_file(f"{place(bucket)[1]}/other/{name}", f"{there}/{name}")
        engine.apply(insert={"edge": [(7, 8)]})
        refused("E608", engine.save, log)
    assert sight(Engine.open(state)) == sight(other)


# -- crashes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("failpoint", FAILPOINTS)
def test_a_killed_save_leaves_the_version_before_or_after(bucket, failpoint):
    """At every place; the next writer goes on, and removes what is left over once its own save is in."""
    state = f"{bucket}/state"
    started(state)
    before = sight(Engine.open(state)).facts
    is_base = failpoint.startswith("base")
    call = [sys.executable, "-c", SAVES, state, "0" if is_base else "1000"]
    ended = subprocess.run(call, env={**os.environ, VARIABLE: failpoint}, check=False)
    assert ended.returncode == -signal.SIGKILL
    engine = Engine.open(state)
    assert (sight(engine).facts == before) == (failpoint not in ("committed", "acknowledged"))
    engine.apply(insert={"edge": [(9, 9)]})
    engine.save(state)
    assert sight(Engine.open(state)) == sight(engine)
    assert unnamed(state) == []


@pytest.mark.parametrize("failpoint", ["file-half-written", "files-written"])
def test_a_save_that_fails_removes_what_it_wrote(bucket, failpoint):
    """And can be repeated."""
    state = f"{bucket}/state"
    engine = started(state)
    engine.apply(insert={"edge": [(7, 8)]})
    with raising(failpoint), pytest.raises(FailpointError):
        engine.save(state)
    assert unnamed(state) == []
    engine.save(state)
    assert sight(Engine.open(state)) == sight(engine)


def test_a_claim_is_forgotten_by_age_in_the_log_alone(bucket):
    """While the log has not passed the entry that a dead writer claimed, nobody can tell that it is dead."""
    state = f"{bucket}/state"
    started(state)
    call = [sys.executable, "-c", SAVES, state, "1000"]
    subprocess.run(call, env={**os.environ, VARIABLE: "files-written"}, check=False)
    StateLog(state).close()
    claims = [name for name in files(state) if name.startswith(FOLDER)]
    assert len(claims) == 1
    assert len(unnamed(state)) == 2


# -- Spark -------------------------------------------------------------------------------------------------------------


def test_a_spark_engine_saves_and_opens_there(
    spark: SparkSession, bucket: str, endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Executors write the base, the files of relations are copied, and an engine in process reads all of it."""
    for name, value in environment(endpoint).items():
        monkeypatch.setitem(spark.sparkContext.environment, name, value)
    state, folder = f"{bucket}/state", {"spark.tidelog.directory": str(tmp_path)}
    with (
        driver(spark, {**PAGED, "written": 0}, partitions=2, options=folder),
        Engine(RULES, backend="spark", spark=spark) as engine,
    ):
        engine.apply(insert={"edge": [("a", "b"), ("b", "c")], "path": [("z", "z")]})
        engine.save(state)
        assert any("_segments/" in name for name in files(state))
        assert sight(Engine.open(state)) == sight(engine)
    with driver(spark, {"kept": 0, "overlay": 100, "relation": 1000}, partitions=2, options=folder):
        opened = Engine.open(state, backend="spark", spark=spark)
        change = opened.apply(insert={"edge": [("c", "d")]}, delete={"edge": [("a", "b")]})
        assert change.stats.jobs == 0
        opened.save(state)
        local = Engine.open(state)
        assert {version.store for version in read_versions(state)} != {""}
        assert sight(local).facts == sight(opened).facts
        other = Engine(RULES, backend="spark", spark=spark)
        other.apply(insert={"edge": [("a", "b")]})
        with raising("files-written"), pytest.raises(FailpointError):
            other.save(f"{bucket}/another")
        assert files(f"{bucket}/another") == []

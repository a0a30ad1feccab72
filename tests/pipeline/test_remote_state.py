"""A pipeline whose state is in a store of objects: killed anywhere, it goes on, and every version reaches every sink.

Spark needs a package of Hadoop's for such addresses, which is not here; so its checkpoint and rejects are in folders.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import tidelog as tl
from tests.pipeline.places import Place, facts, summed
from tests.store import files
from tidelog.errors import PipelineError, StateError
from tidelog.pipeline import job
from tidelog.pipeline.out.feed import SCHEMA
from tidelog.pipeline.out.outbox import Outbox
from tidelog.state import failpoints
from tidelog.state.failpoints import FailpointError
from tidelog.state.remote import Remote

SAVES = ["1" * 32, "2" * 32, "3" * 32]


def rows(version: int) -> pa.Table:
    return pa.table([[version], [None], ["edge"], ["insert"], [f"[{version}]"]], schema=SCHEMA)


@pytest.fixture
def place(bucket: str, tmp_path: Path) -> Place:
    """A pipeline with its state in a bucket."""
    made = Place(tmp_path / "p", updates='checkpoint = "checkpoint"')
    text = (made.folder / "pipeline.toml").read_text()
    made.write("pipeline.toml", text.replace('state = "state"', f'state = "{bucket}/state"'))
    return made


@pytest.mark.parametrize("failpoint", [*job.FAILPOINTS, "files-written", "committed"])
def test_a_run_that_breaks_off_is_continued(spark: SparkSession, place: Place, bucket, monkeypatch, failpoint) -> None:
    """At every place between two durable effects."""
    place.run(spark)
    place.update("1", {"insert": [["edge", "c", "d"]]})
    with monkeypatch.context() as inside:
        inside.setattr(failpoints, "_raising", {failpoint})
        with pytest.raises(FailpointError):
            place.run(spark)
    place.update("2", {"insert": [["edge", "d", "e"]], "delete": [["edge", "a", "b"]]})
    engine, _ = place.run(spark)
    assert engine.version == 3
    assert summed(place.feed()) == facts(engine) == facts(tl.Engine.open(f"{bucket}/state"))
    assert [name for name in files(f"{bucket}/state/_pipeline") if name.startswith("outbox")] == []


def test_of_two_jobs_on_one_state_one_stops_and_publishes_nothing(
    spark: SparkSession, place: Place, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one has stored another version under the number that both wanted; its rows are what is published."""
    place.run(spark)
    place.update("1", {"insert": [["edge", "c", "d"]]})
    store = job.Job._store

    def late(self, feeds, batch, source="stream"):
        monkeypatch.setattr(job.Job, "_store", store)
        other = tl.Engine.open(f"{bucket}/state")
        other.apply(insert={"edge": [("x", "y")]})
        other.save(f"{bucket}/state")
        store(self, feeds, batch, source)

    monkeypatch.setattr(job.Job, "_store", late)
    with pytest.raises(StateError, match="E608"):
        place.run(spark)
    assert {version for version, *_ in place.feed()} == {1}
    engine, _ = place.run(spark)
    assert ("c", "d") in engine["edge"]
    assert {version for version, *_ in place.feed()} == {1, 3}, (
        "what another program saved is not this job's to publish"
    )


def test_rows_of_a_save_that_another_one_forestalled_are_dropped(bucket: str) -> None:
    """Those of a later version stay: their job may be at work."""
    outbox = Outbox(Remote.at(f"{bucket}/outbox"))
    outbox.put(1, rows(1), SAVES[0])
    outbox.put(2, rows(22), SAVES[1])
    outbox.put(2, rows(2), SAVES[2])
    outbox.put(3, rows(3), SAVES[1])
    outbox.put_whole(4, SAVES[1])
    found = list(outbox.waiting(2, lambda: {SAVES[0], SAVES[2]}))
    assert [(version, table["values"].to_pylist()) for version, table in found] == [(1, ["[1]"]), (2, ["[2]"])]
    assert len(files(f"{bucket}/outbox")) == 4
    outbox.done(1)
    outbox.done(2)
    assert files(f"{bucket}/outbox") == [f"3.{SAVES[1]}.feed", f"4.{SAVES[1]}.whole"]
    assert list(outbox.waiting(4, lambda: {SAVES[1]}))[1] == (4, None)


def test_a_graph_that_reasons_is_refused_such_a_state(place: Place) -> None:
    """Before anything is read."""
    text = (place.folder / "pipeline.toml").read_text()
    place.write("pipeline.toml", f'reasoning = "rdfs"\n{text}')
    with pytest.raises(PipelineError, match="E725"):
        place.pipeline()


def test_without_updates_nobody_looks_for_a_checkpoint(spark: SparkSession, bucket: str, tmp_path: Path) -> None:
    """Spark knows no such address here; a state there can be begun and continued all the same."""
    made = Place(tmp_path / "p")
    text = (made.folder / "pipeline.toml").read_text().replace('state = "state"', f'state = "{bucket}/alone"')
    made.write("pipeline.toml", text.replace('[updates]\npath = "updates"\n', ""))
    made.run(spark)
    engine, _ = made.run(spark)
    assert facts(engine) == facts(tl.Engine.open(f"{bucket}/alone")) == summed(made.feed())

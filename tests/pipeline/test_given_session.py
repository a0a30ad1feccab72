"""A session that is given is as it was when a run is over, and its user can read in Spark's interface what ran.

Taught by jobs of a user that appeared as "tidelog: materialise has" long after the last call, and by two settings that
a load with bad records left behind.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import tidelog as tl
from tests.pipeline.places import Place
from tidelog.pipeline.follow import pieces


def properties(spark: SparkSession) -> dict[str, str]:
    """What the thread tells Spark about its jobs; names with underscores are Spark's notes to itself."""
    found = spark.sparkContext._jsc.sc().getLocalProperties()
    names = map(str, found.stringPropertyNames())
    return {name: str(found.getProperty(name)) for name in names if not name.startswith("__")}


def settings(spark: SparkSession) -> tuple[dict[str, str], dict[str, str]]:
    return dict(spark.conf.getAll), dict(spark.sparkContext.getConf().getAll())


def titles(spark: SparkSession, before: int) -> list[str]:
    """The titles of the jobs since then, as the user interface has them; a job without one has its call site."""
    context = spark.sparkContext._jsc.sc()
    context.listenerBus().waitUntilEmpty()
    jobs = context.statusStore().jobsList(None)
    found = [job for job in (jobs.apply(at) for at in range(jobs.size())) if job.jobId() >= before]
    told = [(job.description(), job.name()) for job in found]
    return [str(title.get()) if title.isDefined() else f"none: {site}" for title, site in told]


def next_job(spark: SparkSession) -> int:
    return int(spark.sparkContext._jsc.sc().dagScheduler().nextJobId())


@pytest.fixture(params=["theirs", "none"])
def named(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[str]:
    """A thread with titles of its own, and one without any."""
    context = spark.sparkContext
    if request.param == "theirs":
        context.setJobGroup("their group", "their work", interruptOnCancel=True)
    yield request.param
    for name in ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel"):
        context.setLocalProperty(name, None)  # type: ignore[arg-type]


def place_of(folder: Path, backend: str) -> Place:
    """Bad records in the source and in the updates, and both kinds of sinks."""
    place = Place(folder, on_bad="reject")
    text = (folder / "pipeline.toml").read_text().replace('backend = "local"', f'backend = "{backend}"')
    place.write("pipeline.toml", text + '[[sinks]]\nwhat = "relations"\nformat = "parquet"\npath = "out"\n')
    place.write("rules.dl", (folder / "rules.dl").read_text() + "many(n) :- n = count : { path(_, _) }.\n")
    place.write("edge.csv", "a,b\nb,c\nc,d,e\n")
    place.update("0", {"insert": [["edge", "c", "d"]]}, "poison", {"delete": [["edge", "a", "b"]]})
    return place


@pytest.mark.parametrize("backend", ["local", "spark"])
def test_a_run_leaves_nothing_behind_and_names_its_jobs(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str, backend: str
) -> None:
    """A load with rejects, updates, saves and sinks; the second run takes its micro-batch in pieces."""
    place = place_of(tmp_path / "p", backend)
    told, set_, first = properties(spark), settings(spark), next_job(spark)
    assert ("their group" in told.values()) == (named == "theirs")
    place.run(spark)
    monkeypatch.setattr(pieces, "PIECE", 50)
    place.update("1", *({"insert": [["edge", f"n{at}", "m"]]} for at in range(5)))
    engine, _ = place.run(spark)
    assert len(place.rejects()) == 2
    assert properties(spark) == told
    assert settings(spark) == set_
    found = titles(spark, first)
    assert [title for title in found if not title.startswith("tidelog: ") or "@" in title] == []
    wanted = {
        "tidelog: read p/edge.csv",
        "tidelog: keep the rejects of facts-edge",
        "tidelog: read micro-batch 0 of the updates",
        "tidelog: publish version 1",
        f"tidelog: publish path of version {engine.version}",
    }
    assert wanted <= set(found)


def test_an_engine_leaves_nothing_behind(spark: SparkSession, tmp_path: Path, named: str) -> None:
    """Materialise, update, save, ask: the next job is the user's own."""
    told, set_ = properties(spark), settings(spark)
    engine = tl.Engine("path(x, y) :- edge(x, y). path(x, z) :- edge(x, y), path(y, z).", backend="spark", spark=spark)
    engine.apply(insert={"edge": [("a", "b"), ("b", "c")]})
    engine.save(tmp_path / "state")
    engine.apply(delete={"edge": [("a", "b")]})
    engine.save(tmp_path / "state")
    assert set(engine["path"]) == {("b", "c")}
    assert (properties(spark), settings(spark)) == (told, set_)
    first = next_job(spark)
    spark.range(3).collect()
    assert [title.startswith("tidelog") for title in titles(spark, first)] == [False]
    assert named == "none" or titles(spark, first) == ["their work"]
    engine.close()


def test_settings_of_the_user_come_back(spark: SparkSession, tmp_path: Path) -> None:
    """Those that numbering lines needs, too, if the user had set them."""
    name = "spark.sql.files.maxPartitionBytes"
    spark.conf.set(name, "7m")
    try:
        place_of(tmp_path / "p", "local").run(spark)
        assert spark.conf.get(name) == "7m"
    finally:
        spark.conf.unset(name)

"""Formats that only Spark knows, sinks for people and programs, other streams, and what look-ahead is good for."""

import csv
import json

import pytest

import tidelog as tl
from tests.pipeline.places import Place, Recorder, facts, summed
from tidelog.pipeline.job import run_pipeline
from tidelog.pipeline.status import JsonEvents, Status

SINKS = """
[[sinks]]
format = "csv"
path = "out/changes"
relations = ["path"]
options = { header = true }
[[sinks]]
what = "relations"
format = "json"
path = "out/relations"
relations = ["path", "lonely"]
[[sinks]]
format = "console"
relations = ["lonely"]
[[sinks]]
what = "relations"
format = "console"
relations = ["node"]
"""


def rewritten(place, *changes):
    text = (place.folder / "pipeline.toml").read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    place.write("pipeline.toml", text)


def test_a_format_of_sparks_and_every_plain_sink(spark, tmp_path, capsys):
    """ORC in; CSV, JSON and lines for people out, each with what it was asked for."""
    place = Place(tmp_path / "p")
    frame = spark.createDataFrame([("a", "b"), ("b", "c")], "x string, y string")
    frame.write.orc(str(place.folder / "edges"))
    rewritten(
        place, ('format = "csv"\npath = "edge.csv"', 'format = "orc"\npath = "edges"'), ("[engine]", SINKS + "[engine]")
    )
    place.update("1", {"delete": [["edge", "a", "b"]]})
    engine, _ = place.run(spark)
    shown = capsys.readouterr().out
    assert '     1 + lonely("c")' in shown
    assert 'node("b")' in shown
    (file,) = (place.folder / "out/changes/version=2").glob("*.csv")
    rows = list(csv.DictReader(file.open()))
    assert {(row["op"], row["relation"], row["values"]) for row in rows} == {
        ("delete", "path", '["a", "b"]'),
        ("delete", "path", '["a", "c"]'),
    }
    (file,) = (place.folder / "out/relations/path/version=2").glob("*.json")
    assert [tuple(json.loads(line).values()) for line in file.read_text().splitlines()] == list(engine["path"])


def test_events_for_programs_have_stdout_to_themselves(spark, tmp_path, capsys):
    """With `--json` a console sink moves to stderr, so that every line on stdout is an event."""
    place = Place(tmp_path / "p")
    rewritten(place, ("[engine]", SINKS + "[engine]"))
    run_pipeline(place.pipeline(), Status(JsonEvents()), once=True, spark=spark)
    shown = capsys.readouterr()
    assert [json.loads(line)["event"] for line in shown.out.splitlines()][-1] == "stopped"
    assert "lonely" in shown.err


def test_updates_from_any_stream_with_the_three_columns(spark, tmp_path):
    """Rows of JSON files, whose schema Spark infers; a column of the user's says in which order they count."""
    place = Place(tmp_path / "p", updates='format = "json"\norder = ["at"]')
    rows = [
        {"at": 2, "op": "delete", "relation": "edge", "values": ["c", "d"]},
        {"at": 1, "op": "insert", "relation": "edge", "values": ["c", "d"]},
        {"at": 3, "op": "insert", "relation": "edge", "values": ["c", "e"]},
        {"at": 4, "op": "add_rules", "relation": "", "values": ["loop: loop(x) :- path(x, x)."]},
    ]
    place.write("updates/1.json", "".join(json.dumps(row) + "\n" for row in rows))
    spark.conf.set("spark.sql.streaming.schemaInference", "true")
    try:
        engine, _ = place.run(spark)
    finally:
        spark.conf.unset("spark.sql.streaming.schemaInference")
    assert ("c", "d") not in engine["edge"]
    assert ("a", "e") in engine["path"]
    assert "loop" in engine
    assert summed(place.feed()) == facts(engine)


@pytest.mark.parametrize("strategy", ["bf-mark", "dred-mark"])
def test_waiting_files_are_looked_at_in_advance(spark, tmp_path, strategy):
    """What the next file deletes is marked before it is applied, and the result is the same."""
    place = Place(tmp_path / "p", strategy=strategy)
    place.update("1", {"insert": [["edge", "c", "d"], ["edge", "a", "d"]]})
    place.update("2", {"delete": [["edge", "c", "d"]]})
    place.update("3", {"delete": [["edge", "a", "b"]]})
    changes = []
    engine = run_pipeline(
        place.pipeline(), Status(Recorder()), once=True, spark=spark, watch=lambda _, change: changes.append(change)
    )
    assert [change.stats.marks > 0 for change in changes] == [False, True, True]
    engine.verify()
    assert facts(engine) == summed(place.feed()) == facts(tl.Engine.open(tmp_path / "p/state"))

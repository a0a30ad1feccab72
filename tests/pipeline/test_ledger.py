"""Whole runs over streams whose columns are fixed: a source like Kafka's, and a table.

What is asked of files is asked of them as well: a restart goes on, a micro-batch that comes again changes nothing, and
a bad record is a reject with its place, or the end of the run.
"""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyspark.sql import SparkSession

from tests.pipeline.ledger import ledger, send
from tests.pipeline.places import Place, facts, summed
from tidelog.cli import main
from tidelog.errors import PipelineError
from tidelog.pipeline.follow import pieces, updates
from tidelog.pipeline.follow.arrival import MOST_MESSAGES

LEDGER = """
format = "ledger"
order = ["partition", "offset"]
{line}
[updates.options]
"kafka.bootstrap.servers" = "{folder}"
subscribe = "edge"
startingOffsets = "earliest"
{options}
{columns}
"""
COLUMNS = """
[updates.columns]
op = { always = "insert" }
relation = "topic"
values = ["key", "value"]
"""


def place_of(folder: Path, updates: str, *, on_bad: str = "reject", rules: str | None = None) -> Place:
    """A place whose updates come from elsewhere."""
    place = Place(folder, on_bad=on_bad, updates="# elsewhere")
    text = (folder / "pipeline.toml").read_text()
    place.write("pipeline.toml", text.replace('path = "updates"\n# elsewhere\n', updates))
    if rules is not None:
        place.write("rules.dl", rules)
    return place


def insert(source: str, target: str, key: str = "insert") -> tuple[None, bytes]:
    return None, json.dumps({key: [["edge", source, target]]}).encode()


def again(place: Place) -> None:
    """Have Spark bring the last micro-batch once more, as after a crash of the driver."""
    commits = place.folder / "state" / "_pipeline" / "checkpoint" / "commits"
    last = max(commits.glob("[0-9]*"), key=lambda file: int(file.name))
    last.unlink()
    last.with_name(f".{last.name}.crc").unlink(missing_ok=True)


@pytest.fixture(params=["small", "large"])
def size(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Micro-batches that the driver takes at once, and such that it takes in pieces."""
    if request.param == "large":
        monkeypatch.setattr(pieces, "PIECE", 300)
        monkeypatch.setattr(updates, "MOST_BYTES", 100)
    return str(request.param)


def test_messages_of_json(spark: SparkSession, tmp_path: Path, size: str) -> None:
    """Order within a partition, a restart, a replay, a poison record; Kafka's options arrive, and a bound with them."""
    spark.dataSource.register(ledger())
    topic = tmp_path / "topics" / "edge"
    updates = LEDGER.format(folder=topic.parent, line='line = "value"', options="", columns="")
    place = place_of(tmp_path / "p", updates)
    send(topic, 1, insert("x", "y"), (None, b"poison"), (None, b"\xff"), (None, None))
    send(topic, 0, insert("c", "d"), insert("c", "d", "delete"), insert("d", "e"))
    engine, _ = place.run(spark)
    assert set(engine["edge"]) == {("a", "b"), ("b", "c"), ("x", "y"), ("d", "e")}
    assert [(row["file"], row["line"], row["text"]) for row in place.rejects()] == [
        ("ledger", 5, "poison"),
        ("ledger", 6, "\\xff"),
    ]
    options = json.loads((topic / "options.json").read_text())
    assert (options["startingoffsets"], options["maxoffsetspertrigger"]) == ("earliest", str(MOST_MESSAGES))
    send(topic, 0, insert("d", "e", "delete"))
    assert main(["run", str(place.folder / "pipeline.toml"), "--once"]) == 0
    again(place)
    engine, events = place.run(spark)
    assert events.of("known")
    assert not events.of("batch")
    assert set(engine["edge"]) == {("a", "b"), ("b", "c"), ("x", "y")}
    assert summed(place.feed()) == facts(engine)
    assert (size == "large") == (engine.version > 3)


def test_a_bound_of_the_user_makes_more_micro_batches(spark: SparkSession, tmp_path: Path) -> None:
    """Two messages at a time; and with `fail` a bad one ends the run, until it is corrected."""
    spark.dataSource.register(ledger())
    topic = tmp_path / "topics" / "edge"
    options = "maxOffsetsPerTrigger = 2"
    updates = LEDGER.format(folder=topic.parent, line='line = "value"', options=options, columns="")
    place = place_of(tmp_path / "p", updates, on_bad="fail")
    send(topic, 0, insert("c", "d"), insert("d", "e"), insert("e", "f"), (None, b"poison"))
    with pytest.raises(PipelineError, match="E728"):
        place.run(spark)
    messages = (topic / "0.messages").read_text().splitlines(keepends=True)
    (topic / "0.messages").write_text("".join(messages[:3]))
    send(topic, 0, insert("f", "g"))
    engine, events = place.run(spark)
    assert {told["batch"] for told in events.of("batch")} == {1}
    assert len(engine["edge"]) == 6
    assert summed(place.feed()) == facts(engine)


def test_messages_in_columns(spark: SparkSession, tmp_path: Path, size: str) -> None:
    """Each message is a fact of the relation that is its topic; what is missing or no text is a reject."""
    spark.dataSource.register(ledger())
    topic = tmp_path / "topics" / "edge"
    types = '\ntypes = ["symbol", "number"]'
    updates = LEDGER.format(folder=topic.parent, line="", options="", columns=COLUMNS.rstrip() + types)
    place = place_of(tmp_path / "p", updates, rules="big(x) :- edge(x, n), n > 10.")
    place.write("edge.csv", "a,1\n")
    send(topic, 0, (b"b", b"20"), (b"\xff", b"1"), (None, b"2"), (b"c", b"many"), ("\u00e9".encode(), b"-3"))
    engine, _ = place.run(spark)
    assert set(engine["edge"]) == {("a", 1), ("b", 20), ("\u00e9", -3)}
    assert [(row["line"], row["reason"]) for row in sorted(place.rejects(), key=lambda row: row["line"])] == [
        (2, "the line is not UTF-8"),
        (3, "key has no value"),
        (4, "value is no number"),
    ]
    send(topic, 0, (b"d", b"30"))
    place.run(spark)
    again(place)
    engine, events = place.run(spark)
    assert events.of("known")
    assert set(engine["big"]) == {("b",), ("d",)}
    assert summed(place.feed()) == facts(engine)
    assert (size == "large") == (engine.version > 3)


@pytest.mark.parametrize("types", ["", 'types = ["symbol", "number"]'], ids=["as they are", "given"])
def test_a_table_with_columns(spark: SparkSession, tmp_path: Path, types: str) -> None:
    """A Delta table that grows: its files in order, each row an update; replayed, nothing changes."""
    columns = '[updates.columns]\nop = "kind"\nrelation = "name"\nvalues = ["x", "n"]\n'
    updates = f'format = "parquet"\npath = "table"\n{columns}{types}\n'
    place = place_of(tmp_path / "p", updates, rules="big(x) :- edge(x, n), n > 10.")
    place.write("edge.csv", "a,1\n")
    rows = [("insert", "edge", "b", 20), ("insert", "edge", "c", None), ("upsert", "edge", "d", 1)]
    table = pa.table([pa.array(column) for column in zip(*rows)], names=["kind", "name", "x", "n"])
    write_deltalake(str(place.folder / "table"), table)
    engine, _ = place.run(spark)
    assert set(engine["edge"]) == {("a", 1), ("b", 20)}
    assert sorted(row["line"] for row in place.rejects()) == [2, 3]
    more = pa.table([["delete", "insert"], ["edge", "edge"], ["a", "e"], [1, 11]], names=table.column_names)
    write_deltalake(str(place.folder / "table"), more, mode="append")
    place.run(spark)
    again(place)
    engine, events = place.run(spark)
    assert events.of("known")
    assert set(engine["big"]) == {("b",), ("e",)}
    assert summed(place.feed()) == facts(engine)


def test_columns_that_do_not_fit_are_named(spark: SparkSession, tmp_path: Path) -> None:
    """A column that is not there, one that holds no constants, and a folder that cannot tell its columns yet."""
    spark.dataSource.register(ledger())
    topic = tmp_path / "topics" / "edge"
    send(topic, 0)

    def refused(name: str, updates: str) -> str:
        with pytest.raises(PipelineError) as caught:
            place_of(tmp_path / name, updates).run(spark)
        assert caught.value.code == "E727"
        return str(caught.value)

    for name, old, new, words in (
        ("a", '"key"', '"body"', "no column body"),
        ("b", '"key"', '"timestamp"', "has the type timestamp"),
    ):
        columns = COLUMNS.replace(old, new)
        assert words in refused(name, LEDGER.format(folder=topic.parent, line="", options="", columns=columns))
    folder = f'format = "parquet"\npath = "table"\n{COLUMNS}'
    assert "types = [...]" in refused("c", folder)

"""How much a micro-batch brings: what waits is taken in pieces that fit the driver.

Taught by a file of 200 MB: it was one row, which took 2 GB of the driver, and 600 MB were not enough for Java.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.pipeline.places import Place, facts, summed
from tidelog.errors import PipelineError
from tidelog.pipeline.follow import arrival, pieces, updates
from tidelog.pipeline.settings.config import UpdateSource


@pytest.mark.parametrize(("options", "most"), [({}, 2), ({"maxFilesPerTrigger": "3"}, 3)], ids=["ours", "the user's"])
def test_files_that_wait_come_in_bounded_pieces(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, str], most: int
) -> None:
    """After a long stop everything waits; bytes are bounded, unless the user bounds files. Every line comes once."""
    (tmp_path / "updates").mkdir()
    texts = [json.dumps({"insert": [["edge", f"n{at}", "x" * 80]]}) for at in range(6)]
    for at, text in enumerate(texts):
        (tmp_path / "updates" / f"{at}.jsonl").write_text(text + "\n")
    monkeypatch.setattr(arrival, "MOST_BYTES", 2 * len(texts[0]) + 4)
    source = UpdateSource("jsonl", str(tmp_path / "updates"), options=options)
    seen: list[list[str]] = []

    def take(batch: DataFrame, _: int) -> None:
        seen.append([line.text for part in updates.parts_of(batch, source) for line in part.lines])

    stream = arrival.stream_of(spark, source).writeStream.foreachBatch(take)
    query = stream.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True).start()
    query.awaitTermination()
    assert max(map(len, seen)) == most
    assert sorted(text for batch in seen for text in batch) == texts


ORDERS = ["o1 int, o2 string", "o1 double", ""]


@pytest.mark.parametrize("order", ORDERS)
def test_a_large_micro_batch_has_the_order_of_a_small_one(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, order: str
) -> None:
    """Sorted by Spark in pieces or by the driver: missing values last, deletions first, then as Spark found them."""
    draw = random.Random(7)
    made = {
        "int": lambda: draw.randrange(4),
        "string": lambda: draw.choice("aAz\u00e9\U0001f600"),
        "double": draw.random,
    }
    kinds = [column.split()[1] for column in order.split(", ") if column]
    rows = [
        (draw.choice(["insert", "delete", "delete", None]), str(at), draw.choice("fF"), *(
            None if draw.random() < 0.2 else made[kind]() for kind in kinds)) for at in range(200)
    ]  # fmt: skip
    schema = "op string, relation string, file string" + (f", {order}" if order else "")
    batch = spark.createDataFrame(rows, schema).repartition(3, "relation").localCheckpoint()
    small = list(pieces.rows_in_order(batch))
    monkeypatch.setattr(pieces, "PIECE", 4_000)
    large = list(pieces.rows_in_order(batch))
    assert [row["relation"] for row in large] == [row["relation"] for row in small]
    assert {row["relation"] for row in large} == {row[1] for row in rows}


def test_what_is_small_is_one_job(spark: SparkSession, tmp_path: Path) -> None:
    """Nothing is counted, sorted or kept for the usual micro-batch of a small file."""
    (tmp_path / "u").mkdir()
    (tmp_path / "u" / "a.jsonl").write_text('{"insert": []}\n')
    store, seen = spark.sparkContext._jsc.sc().statusStore(), []

    def take(batch: DataFrame, _: int) -> None:
        before = store.jobsList(None).size()
        seen.extend(pieces.rows_in_order(batch))
        spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
        seen.append(store.jobsList(None).size() - before)

    stream = arrival.stream_of(spark, UpdateSource("jsonl", str(tmp_path / "u"))).writeStream.foreachBatch(take)
    stream.option("checkpointLocation", str(tmp_path / "c")).trigger(availableNow=True).start().awaitTermination()
    assert seen[-1] == 1


@pytest.fixture
def little(monkeypatch: pytest.MonkeyPatch) -> None:
    """A driver that takes 500 bytes at once."""
    monkeypatch.setattr(pieces, "PIECE", 500)
    monkeypatch.setattr(updates, "MOST_BYTES", 500)


@pytest.mark.usefixtures("little")
@pytest.mark.parametrize("latest", ["", "latest = true"], ids=["each", "latest"])
def test_a_large_file_is_several_versions(spark: SparkSession, tmp_path: Path, latest: str) -> None:
    """Cut between lines; facts, the feed, and the lines of rejects are those of the file as a whole."""
    place = Place(tmp_path / "p", on_bad="reject", updates=latest)
    lines: list[dict[str, object] | str] = [{"insert": [["edge", f"n{at}", f"n{at + 1}"]]} for at in range(40)]
    lines[20:20] = ["", "poison", json.dumps({"delete": [["edge", "n3", "n4"]]})]
    place.update("0", {"insert": [["edge", "c", "d"]]})
    place.update("1", *lines)
    engine, events = place.run(spark)
    assert {row["line"] for row in place.rejects()} == {22}
    assert len(engine["edge"]) == 2 + 1 + 40 - 1
    assert engine.version > 3
    assert summed(place.feed()) == facts(engine)
    assert sum(told["updates"] for told in events.of("batch")) == 42
    engine.verify()


@pytest.mark.usefixtures("little")
def test_a_large_micro_batch_comes_again(spark: SparkSession, tmp_path: Path) -> None:
    """The parts that are in are passed over: here all of them, and after a stop at a bad line those before it."""
    place = Place(tmp_path / "p")
    place.update("0", *({"insert": [["edge", f"n{at}", f"n{at + 1}"]]} for at in range(40)), "poison")
    with pytest.raises(PipelineError, match="E728") as caught:
        place.run(spark)
    assert caught.value.problems[0].place is not None
    assert caught.value.problems[0].place.line == 41
    place.update("0", *({"insert": [["edge", f"n{at}", f"n{at + 1}"]]} for at in range(40)))
    engine, events = place.run(spark)
    assert len(events.of("known")) == 2
    assert len(engine["edge"]) == 42
    for commit in (place.folder / "state" / "_pipeline" / "checkpoint" / "commits").iterdir():
        commit.unlink()
    version = engine.version
    engine, events = place.run(spark)
    assert engine.version == version
    assert len(events.of("known")) == 3
    assert summed(place.feed()) == facts(engine)


def test_only_parts_that_are_asked_for_are_made(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """What waits is held up to a number of bytes, however many parts there are."""
    monkeypatch.setattr(updates, "MOST_BYTES", 100)
    made: list[int] = []

    def parts() -> Iterator[updates.Part]:
        for at in range(50):
            made.append(at)
            yield updates.Part((), 30)

    waiting = updates.Waiting(parts())
    assert (len(waiting.first()), len(made)) == (1, 1)
    assert (len(waiting.first(50)), len(made)) == (4, 4)
    waiting.settled(3)
    assert (len(waiting.first(50)), len(made)) == (4, 7)


def test_bounds_of_messages_are_set_where_nobody_has_set_one() -> None:
    """Kafka's, for Kafka and for what takes its options; a user's own bound wins, and a least number is heeded."""

    def bound(form: str, **options: str) -> str | None:
        return arrival.bounded(UpdateSource(form, options=options)).get("maxOffsetsPerTrigger")

    assert bound("kafka") == str(arrival.MOST_MESSAGES)
    assert bound("ours", subscribe="updates") == str(arrival.MOST_MESSAGES)
    assert bound("rate") is None
    assert bound("kafka", minOffsetsPerTrigger="200000") == "200000"
    assert arrival.bounded(UpdateSource("kafka", options={"maxoffsetspertrigger": "7"})) == {
        "maxoffsetspertrigger": "7"
    }

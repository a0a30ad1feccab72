"""How much a micro-batch brings: what waits is taken in pieces that fit the driver."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from tidelog.pipeline.follow import updates
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
    monkeypatch.setattr(updates, "MOST_BYTES", 2 * len(texts[0]) + 4)
    source = UpdateSource("jsonl", str(tmp_path / "updates"), options=options)
    seen: list[list[str]] = []

    def take(batch: DataFrame, _: int) -> None:
        seen.append([line.text for part in updates.parts_of(batch, source) for line in part.lines])

    stream = updates.stream_of(spark, source).writeStream.foreachBatch(take)
    query = stream.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True).start()
    query.awaitTermination()
    assert max(map(len, seen)) == most
    assert sorted(text for batch in seen for text in batch) == texts

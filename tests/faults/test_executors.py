"""Executors and sessions that end: the result is the same, or the error is clear and the last version intact.

Figure 12 of the guarantees. Blocks that executors hold are gone with them, which Spark finds out only when a later job
needs them: an engine that keeps its relations that way answers correctly once more and is broken from then on. So the
stream goes on after every death, and all relations are read each time.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def lost(tmp_path: Path, way: str, kills: int) -> tuple[list[dict[str, object]], str]:
    """What `tests.faults.cluster` reports, update by update, and what it wrote to the error stream."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults.cluster", way, str(kills)],
        cwd=ROOT,
        env={**os.environ, "SPARK_WORKER_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    if way != "blocks":
        assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr


@pytest.mark.spark
@pytest.mark.parametrize("kills", [1, pytest.param(20, marks=pytest.mark.long)])
def test_a_lost_executor_costs_time_only_and_a_stopped_session_is_named(tmp_path: Path, kills: int) -> None:
    """Relations are table files, so Spark repeats what the executor was doing, and nobody notices."""
    *rows, end = lost(tmp_path, "bulk", kills)[0]
    assert sum(row["killed"] for row in rows) == kills  # type: ignore[misc]
    assert [row["is right"] for row in rows] == [True] * (2 * kills)
    assert {row["code"] for row in rows} == {None}
    # A stopped session: updates are refused; what the driver holds can be read, the rest says why not.
    refusal = "E706 start a session and open the last saved version"
    assert end == {"update": refusal, "version": 1, "read from the driver": [[1, 2]], "read from Spark": refusal}


@pytest.mark.long
@pytest.mark.spark
def test_without_a_folder_the_loss_of_all_executors_is_said(tmp_path: Path) -> None:
    """Blocks on two executors survive one of them; when both are gone, the error says what is lost and what to do."""
    rows, errors = lost(tmp_path, "blocks", 1)
    assert rows[-1]["killed"] == 2
    assert "E707" in (rows[-1]["code"], rows[-1]["is right"])
    assert "spark.tidelog.directory" in errors

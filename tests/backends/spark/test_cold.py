"""A base and what has changed since: the same facts, however many have changed and however Spark leaves these out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import SparkSession

from tidelog.backends.spark.cluster.jobs import Jobs
from tidelog.backends.spark.files.writing import write_here
from tidelog.backends.spark.large import cold as module
from tidelog.backends.spark.large.cold import ColdRelation
from tidelog.backends.spark.large.overlay import EXPLICIT, GONE, Level, Overlay

WIDTH = 5


@pytest.mark.parametrize("room", [1 << 20, 0])
def test_many_changed_facts_are_left_out_without_a_table_in_memory(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    """Four million facts of five columns waited, which a driver of usual size could not broadcast; and every later
    update failed, because writing the relation anew goes the same way.
    """
    monkeypatch.setattr(module, "_BROADCAST", room)
    facts = np.arange(WIDTH * 40, dtype=np.int64).reshape(-1, WIDTH)
    base = write_here(str(tmp_path), facts, np.ones(40, np.bool_), (0,))
    changed = np.concatenate([facts[:10], facts[:3] + 1000])
    overlay = Overlay(WIDTH, Level.of(changed, np.array([GONE] * 10 + [EXPLICIT] * 3)))
    frame = ColdRelation("r", WIDTH, base, 40, 33, overlay).frame(Jobs(spark))
    found = sorted(tuple(row)[:WIDTH] for row in frame.collect())
    assert found == sorted(map(tuple, np.concatenate([facts[10:], facts[:3] + 1000]).tolist()))
    plan = frame._jdf.queryExecution().executedPlan().toString()
    assert ("BroadcastHashJoin" in plan) == bool(room)


def test_wide_facts_wait_in_smaller_numbers() -> None:
    """What the driver has room for is bytes."""

    class Many(Overlay):
        """As many changed facts as somebody says."""

        def __init__(self, width: int, count: int) -> None:
            super().__init__(width)
            self._count = count

        def __len__(self) -> int:
            return self._count

    for width, count in ((3, 4_000_000), (20, 600_000)):
        for changed, is_ripe in ((count, False), (2 * count, True)):
            cold = ColdRelation("r", width, None, 10**9, 10**9, Many(width, changed))
            assert cold.is_ripe(0, 0) == is_ripe, (width, changed)

"""`kill -9` at every named place of a save whose relations are files: the state is the one before or the one after.

Figure 9 of the guarantees, on Spark: a driver dies, its Java with it, and another process opens what they left, on both
backends, and goes on. Executors write rows into the state, and the files of an engine are linked into it before
anything names them; so nothing may be left that no version names, either.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.backends.spark.engines import PAGED, driver
from tests.faults.stream import BATCHES_ON_SPARK
from tests.faults.test_kill import check, killed
from tidelog.state.failpoints import FAILPOINTS, FAR, FORGETTING

PLACES = (*FAILPOINTS, *FAR, *FORGETTING)
TIMES: Mapping[str, tuple[int, ...]] = {
    "file-half-written": (2, 5),
    "merge-begins": (1,),
    "merged-file-written": (1,),
    "base-begins": (1, 2),
    "base-written": (1, 2),
    "far-rows-written": (2, 5),
    "file-linked": (2, 9, 20),
    "rows-forgotten": (1, 2),
    "files-forgotten": (1, 2),
}
"""Which time of passing a place is the last one; other places are passed with every save, and chosen by the seed."""


def kill_on_spark(spark: SparkSession, place: str, seed: int, folder: Path) -> Counter[str]:
    """Kill a process at a place, look at what it left, and continue on Spark; what was done.

    The files of the engine itself are taken away before: a state is whole without them.
    """
    times = TIMES.get(place, (1, 2, 5))
    time = times[seed % len(times)]
    directory = folder / f"{place}-{seed}" / "state"
    acknowledged = killed(directory, seed, f"{place}:{time}", "spark")
    shutil.rmtree(f"{directory}-store")
    with driver(spark, PAGED, 2, {"spark.tidelog.directory": f"{directory}-next"}):
        check(directory, seed, acknowledged, BATCHES_ON_SPARK, backend="spark", spark=spark)
    return Counter({"kills": 1, f"at {place}": 1, "batches acknowledged": len(acknowledged)})


def test_a_killed_driver_leaves_a_version(spark: SparkSession, tmp_path: Path) -> None:
    """Between what names files and what names that."""
    assert kill_on_spark(spark, "description-written", 1, tmp_path)["kills"] == 1


@pytest.mark.long
@pytest.mark.parametrize("place", PLACES)
def test_a_killed_driver_always_leaves_a_version(spark: SparkSession, tmp_path: Path, place: str) -> None:
    """Three times per place."""
    for seed in range(3):
        kill_on_spark(spark, place, seed, tmp_path)

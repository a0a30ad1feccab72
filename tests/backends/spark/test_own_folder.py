"""What a driver writes beside its jobs goes with it, however it ends; what others write stays.

Taught by /tmp filling up: a driver that was killed left all relations of its engines, and nobody knew whose they were.
"""

from __future__ import annotations

import gc
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tests.backends.spark.engines import PAGED, driver
from tidelog import Engine
from tidelog.backends.spark.cluster import own_folder as module
from tidelog.backends.spark.cluster import table_files
from tidelog.backends.spark.cluster.jobs import Jobs
from tidelog.backends.spark.cluster.own_folder import OWNER, PREFIX, own_folder, sweep
from tidelog.backends.spark.files.parcels import PARCEL, PackFacts, Packing, shapes_of
from tidelog.backends.spark.files.writing import Write, into
from tidelog.errors import PipelineError

CLOSURE = "path(x, y) :- edge(x, y). path(x, z) :- edge(x, y), path(y, z)."
OWNS = f"""
import sys, time
from pathlib import Path
from {module.__name__} import own_folder
folder = Path(own_folder(sys.argv[1]))
(folder / "store").mkdir()
(folder / "store" / "facts.parquet.x.draft").write_text("half")
print(folder, flush=True)
sys.stdin.read()
"""


def owner_of(parent: Path) -> tuple[subprocess.Popen[str], Path]:
    """Another process with a folder, alive until its input ends."""
    started = subprocess.Popen([sys.executable, "-c", OWNS, str(parent)], stdin=-1, stdout=-1, text=True)
    assert started.stdout is not None
    return started, Path(started.stdout.readline().strip())


def open_files(folder: Path) -> list[str]:
    """What this process has open below a folder, deleted or not."""
    found = []
    for handle in Path("/proc/self/fd").iterdir():
        try:
            found.append(str(handle.readlink()))
        except OSError:
            continue
    return [one for one in found if one.startswith(str(folder)) and OWNER not in one]


def test_a_closed_engine_leaves_no_file_and_no_descriptor(spark: SparkSession, tmp_path: Path) -> None:
    """Look-ups keep files open, on the driver and for readers of other threads; a close gives them back."""
    with driver(spark, PAGED, partitions=2, options={table_files.SETTING: str(tmp_path)}):
        engine = Engine(CLOSURE, backend="spark", spark=spark)
        engine.apply(insert={"edge": [("a", "b"), ("b", "c")]})
        engine.apply(insert={"edge": [("c", "d")]})
        engine.apply(delete={"edge": [("a", "b")]})
        engine.save(tmp_path / "state")
        assert ("b", "d") in engine["path"]
        assert open_files(tmp_path)
        engine.close()
        del engine
        gc.collect()
        assert open_files(tmp_path) == []
        [own] = tmp_path.glob(f"{PREFIX}*")
        assert [path for path in own.rglob("*") if path.is_file()] == [own / OWNER]


def test_the_folder_of_a_killed_process_goes_and_that_of_a_living_one_stays(tmp_path: Path) -> None:
    """Only the lock tells them apart; drafts inside go with the folder."""
    alive, its = owner_of(tmp_path)
    killed, left = owner_of(tmp_path)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    assert left.exists()
    assert sweep(tmp_path) == [left]
    assert (its / "store" / "facts.parquet.x.draft").exists()
    alive.communicate("")
    assert not its.exists(), "it removes its folder when it ends"


def test_nothing_is_removed_that_is_not_provably_ours(tmp_path: Path) -> None:
    """A name is no proof; and a lock of another machine, or of one that was started anew, may not be seen here."""
    for name in ("mine", f"{PREFIX}plain", f"{PREFIX}other", f"{PREFIX}locked-elsewhere"):
        (tmp_path / name).mkdir()
    (tmp_path / f"{PREFIX}other" / OWNER).write_text("somebody else's file")
    (tmp_path / f"{PREFIX}locked-elsewhere" / OWNER).write_bytes(b"another-machine\n" + module._system())
    (tmp_path / f"{PREFIX}link").symlink_to(tmp_path / "mine")
    (tmp_path / f"{PREFIX}file").write_text("")
    before = sorted(tmp_path.rglob("*"))
    assert sweep(tmp_path) == []
    assert sorted(tmp_path.rglob("*")) == before


def test_a_process_has_one_folder_in_a_place(tmp_path: Path) -> None:
    """Engines share it; where nothing can be locked, nothing is made and nothing looked for."""
    assert own_folder(str(tmp_path)) == own_folder(str(tmp_path))
    assert own_folder(tmp_path.as_uri()).startswith(tmp_path.as_uri())
    assert own_folder("s3a://bucket/tmp?region=x").startswith("s3a://bucket/tmp?region=x/")
    assert not (tmp_path / "s3a:").exists()


def test_the_temporary_folder_is_where_spark_has_its_own(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first of Spark's local folders that can be written."""
    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{tmp_path / 'missing'}, {tmp_path}")
    found = table_files.folder(spark)
    assert found is not None
    assert Path(found).parent == tmp_path


def test_a_failed_writing_job_takes_its_files_along(spark: SparkSession, tmp_path: Path) -> None:
    """Files of tasks that were done, and drafts of those that were not, belong to nobody; others stay."""

    class Torn(Write):  # defined here, so that workers get it with the task
        def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            list(batches)
            for ending in ("parquet", "parquet.x.draft"):
                (Path(self.folder) / f"{self.identity}-0-0.{ending}").write_text("half")
            raise OSError("the disk is full")

    (tmp_path / "other-0-0.parquet").write_text("of another job")
    packing = Packing(shapes_of([(1, (0,))]), 1)
    parcels = spark.range(1).mapInArrow(PackFacts(packing, (0,)), PARCEL)
    with pytest.raises(PipelineError, match="E702"):
        into(Jobs(spark), parcels, Torn(str(tmp_path), "identity", packing))
    assert [path.name for path in tmp_path.iterdir()] == ["other-0-0.parquet"]

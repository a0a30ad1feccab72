"""Kernels that were compiled ahead: a wheel or an image brings them along, and nobody has to write beside them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tidelog.backends.local.kernels import compiling, kernel_cache


def _quadrupled(number: int) -> int:
    return 4 * number


_quadrupled.__module__ = "tidelog.planted"  # only kernels of ours are compiled ahead


@pytest.fixture
def way(monkeypatch, tmp_path):
    """What this process does with kernels that were compiled ahead; as before afterwards."""
    monkeypatch.setattr(kernel_cache._Way, "folder", tmp_path)
    monkeypatch.setattr(kernel_cache._Way, "is_written", False)
    return kernel_cache._Way


def made(**options):
    kernel = compiling.made(_quadrupled, {"cache": False, **options})
    assert kernel(11) == 44
    return kernel.stats


def test_a_kernel_is_loaded_from_the_folder_without_a_place_of_its_own(way, tmp_path, monkeypatch):
    """As in an image, where users may write nowhere: compiled once into the folder, then only read."""
    way.is_written = True
    monkeypatch.setattr(kernel_cache, "_PLAIN", _here())  # this process has compiled for its own processor before
    assert sum(made().cache_misses.values()) == 1
    assert {path.suffix for path in tmp_path.iterdir()} == {".nbi", ".nbc"}
    way.is_written = False
    before = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert sum(made().cache_misses.values()) == 0
    assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == before
    monkeypatch.setattr(kernel_cache, "_sources", lambda: b"another version")
    assert sum(made().cache_misses.values()) == 1


def test_plain_warming_leaves_the_folder_alone(way, tmp_path, monkeypatch):
    """What is compiled for this processor is not kept from compiling by what was compiled for all."""
    way.is_written = True
    monkeypatch.setattr(kernel_cache, "_PLAIN", _here())
    made()
    way.is_written = False
    kernel_cache.leave_ahead_alone()
    assert sum(made().cache_misses.values()) == 1


def test_code_for_this_processor_is_not_passed_on(way):
    """A folder that goes elsewhere holds code for every processor of the kind, or none."""
    way.is_written = True
    with pytest.raises(AssertionError):
        made()


def _here() -> tuple[str, str]:
    """The processor that this process compiles for."""
    from numba.core.registry import cpu_target

    return tuple(cpu_target.target_context.codegen().magic_tuple()[1:])


def test_a_folder_that_cannot_be_written_is_refused(tmp_path):
    """In one sentence, before anything is compiled."""
    (tmp_path / "file").write_text("")
    command = [sys.executable, "-m", "tidelog", "warm", "--portable", str(tmp_path / "file" / "kernels")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("E806")


@pytest.mark.long
def test_a_large_input_compiles_nothing_where_kernels_came_along(tmp_path):
    """The whole way: compiled ahead, brought along, loaded by an installation that may write nowhere."""
    package, home = tmp_path / "package", tmp_path / "home"
    source = Path(kernel_cache.__file__).parents[4]
    shutil.copytree(source / "tidelog", package / "tidelog", ignore=shutil.ignore_patterns("__pycache__", "ahead"))
    known = {**os.environ, "PYTHONPATH": str(package), "NUMBA_CACHE_DIR": str(home)}
    known.pop("TIDELOG_KERNELS", None)
    subprocess.run([sys.executable, "-m", "tidelog", "warm", "--portable"], env=known, check=True, cwd=tmp_path)
    code = """
import tidelog as tl
from tidelog.backends.local.kernels.compiling import counted
compiled = []
with counted(lambda: compiled.append(1)):
    engine = tl.Engine("path(x, y) :- edge(x, y). path(x, z) :- edge(x, y), path(y, z).")
    engine.apply(insert={"edge": [(n, n + 1) for n in range(300)]})
    engine.apply(delete={"edge": [(7, 8)]})
assert tl.__file__.startswith(PACKAGE), tl.__file__
print(len(compiled))
""".replace("PACKAGE", repr(str(package)))
    done = subprocess.run([sys.executable, "-c", code], env=known, capture_output=True, text=True, check=True)
    assert done.stdout == "0\n"

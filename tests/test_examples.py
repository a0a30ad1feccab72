"""Every example runs, in a process of its own and in an empty folder, and leaves nothing behind."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).resolve().parents[1] / "examples").glob("*.py"))


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_an_example_runs(file, tmp_path):
    """What a reader copies must work."""
    done = subprocess.run([sys.executable, str(file)], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert list(tmp_path.iterdir()) == []


def test_the_readme_of_examples_lists_them_all():
    """An example that nobody mentions is not found."""
    text = (EXAMPLES[0].parent / "README.md").read_text(encoding="utf-8")
    assert [file.name for file in EXAMPLES if f"({file.name})" not in text] == []

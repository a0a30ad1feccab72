"""Pages that the program writes say what it says today, and code in the pages about tasks runs."""

import re
import subprocess
import sys

import pytest

from tests.house.sources import ROOT
from tests.pages import mistakes, shell

PAGES = {
    "mistakes.md": mistakes.page,
    "shell.md": shell.page,
    "pictures/shell.svg": shell.picture,
    "pictures/proof.svg": shell.proof,
}
TASKS = sorted((ROOT / "docs" / "tasks").glob("*.md"))
PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_that_the_program_writes_is_up_to_date(name):
    """A changed message changes the page, or this test: `python -m tests.pages` writes it anew."""
    assert (ROOT / "docs" / name).read_text(encoding="utf-8") == PAGES[name]()


def test_every_mistake_has_an_answer():
    """Forty of them, each with a code."""
    found = [mistake for section in mistakes.SECTIONS.values() for mistake in section]
    assert len(found) == 40
    page = (ROOT / "docs" / "mistakes.md").read_text(encoding="utf-8")
    answers = page.split("\n$ tidelog ")[1:]
    assert len(answers) == 40
    assert all(re.search(r"\b[EW]\d{3}\b", answer.partition("```")[0]) for answer in answers)
    assert "E900" not in page


@pytest.mark.parametrize("page", TASKS, ids=lambda page: page.stem)
def test_the_code_on_a_page_runs(page, tmp_path):
    """All blocks of a page, one after the other, in an empty folder; what needs Spark is marked as text."""
    code = "\n".join(PYTHON.findall(page.read_text(encoding="utf-8")))
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr

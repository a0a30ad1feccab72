"""Tracked files name no machine: no absolute path of a developer and no package index of a network."""

import re

import pytest

from tests.house.sources import ROOT, tracked_files

# Written with character classes, so that this file does not contain what it looks for.
MACHINE = re.compile(
    r"(?<![\w.])/[w]ork/|/[r]oot/|/[h]ome/[a-z]|/[U]sers/[a-z]|[A-Z]:\\[U]sers"
    r"|--?(?:extra-)?[i]ndex-url|--[f]ind-links|[p]ypi\.org|[p]ythonhosted|[a]rtifactory|[d]evpi|file:///[a-z]"
)
TEXT_LIMIT = 2_000_000


def machine_names(text: str) -> list[str]:
    """What in a text belongs to one machine or one network."""
    return [match[0] for match in MACHINE.finditer(text)]


def test_no_tracked_file_names_a_machine():
    """What works only here works nowhere else."""
    found = []
    for path in tracked_files():
        content = path.read_bytes()
        if b"\0" not in content[:1024] and len(content) < TEXT_LIMIT:
            found += [f"{path.relative_to(ROOT)}: {name}" for name in machine_names(content.decode("utf-8", "replace"))]
    assert found == []


def test_the_constraints_are_plain_pins():
    """Every line pins one version; no address, no option and no editable path slips in from `pip freeze`."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert [line for line in pins if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+!]+", line)] == []
    assert len(pins) > 20


@pytest.mark.parametrize(
    "text",
    [
        "x = '/" + "root/.cache'",
        "cd /" + "work/main",
        "/ho" + "me/ann/x",
        "pip --ind" + "ex-url x",
        "https://py" + "pi.org",
    ],
)
def test_a_machine_name_is_found(text):
    """Planted in pieces, for the same reason as above."""
    assert machine_names(text)

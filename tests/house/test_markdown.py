"""Links in Markdown lead somewhere, and a heading has something under it."""

import re
from functools import cache
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.house.mentions import can_be_run, commands
from tests.house.sources import ROOT, modules, tracked_files

LINK = re.compile(r"!?\[[^\]]*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
HEADING = re.compile(r"^(#{1,6})\s+(.+?)\s*#*$")
NAMED_ELSEWHERE = {
    "pyiceberg": "a package that was measured and not chosen",
    "zipWithIndex": "PySpark's; it was not chosen",
}
FENCE = re.compile(r"^\s*(```|~~~)")


def prose(text: str) -> list[str]:
    """The lines outside code blocks; lines of code are kept as a placeholder so that they count as content."""
    lines, inside = [], False
    for line in text.splitlines():
        if FENCE.match(line):
            inside = not inside
            lines.append("(code)")
        else:
            lines.append("(code)" if inside else re.sub(r"`[^`]*`", "code", line) if "](" in line else line)
    return lines


def anchors(text: str) -> set[str]:
    """The names that headings can be linked by, made the way GitHub makes them."""
    found: set[str] = set()
    for line in prose(text):
        if heading := HEADING.match(line):
            words = re.sub(r"[^\w\- ]", "", heading[2].lower()).replace(" ", "-")
            found.add(words if words not in found else f"{words}-1")
    return found


def broken_links(path: Path) -> list[str]:
    """Relative links of a file whose target, or heading in the target, does not exist."""
    found = []
    for target in LINK.findall("\n".join(prose(path.read_text(encoding="utf-8")))):
        if re.match(r"[a-z][a-z0-9+.-]*:", target):
            continue
        name, _, anchor = unquote(target).partition("#")
        file = (path.parent / name) if name else path
        if not file.exists():
            found.append(f"{path.name}: {target}")
        elif anchor and file.suffix == ".md" and anchor not in anchors(file.read_text(encoding="utf-8")):
            found.append(f"{path.name}: {target} (no such heading)")
    return found


def empty_headings(text: str) -> list[str]:
    """Headings followed by nothing, or at once by a heading that is not below them."""
    found, open_heading = [], None
    for line in [*prose(text), "# end"]:
        heading = HEADING.match(line)
        if heading:
            if open_heading and len(heading[1]) <= len(open_heading[1]):
                found.append(open_heading[2])
            open_heading = heading
        elif line.strip():
            open_heading = None
    return found


def documents() -> list[Path]:
    """The Markdown files of the repository."""
    return [path for path in tracked_files() if path.suffix == ".md"]


def test_there_is_something_to_read():
    """The files that a newcomer looks for are there."""
    names = {str(path.relative_to(ROOT)) for path in documents()}
    assert {"README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/decisions/README.md"} <= names


def test_links_resolve():
    """Moving a file without its links breaks this test, not a reader."""
    assert [link for path in documents() for link in broken_links(path)] == []


def test_headings_have_content():
    """A heading with nothing under it promises what is not there."""
    assert [(path.name, heading) for path in documents() for heading in empty_headings(path.read_text())] == []


def test_commands_and_files_that_are_named_exist():
    """`make X` is a target of the Makefile, and a path from the root of the repository leads to something."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for path in documents():
        text = path.read_text(encoding="utf-8")
        assert set(re.findall(r"(?:`|^)make ([a-z-]+)", text, re.MULTILINE)) <= targets, path
        named = re.findall(r"`((?:src|tests|docs|examples|benchmarks)/[a-z0-9_/.-]*)`", text)
        assert [name for name in named if not (ROOT / name).exists()] == [], path
        assert [name for name in commands(text) if not can_be_run(name)] == [], path


def strangers(text: str) -> list[str]:
    """Files, folders and names in back quotes that the repository does not have; capitals and stars are blanks."""
    files = [f"/{file.relative_to(ROOT).as_posix()}" for file in tracked_files()]
    found = []
    for quoted in re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)):
        if re.fullmatch(r"[\w./-]+\.(?:py|md|lark|svg|txt)", quoted):
            is_known = any(file.endswith(f"/{quoted}") for file in files) or re.search(r"\b[A-Z]+\.", quoted)
        elif re.fullmatch(r"[\w/-]+/", quoted):
            is_known = any(f"/{quoted}" in file for file in files)
        elif re.fullmatch(r"[A-Za-z_][\w.]*(?:\(\))?", quoted):
            is_known = all(word in words() for word in re.findall(r"\w+", quoted))
        else:
            is_known = True  # a rule, an option, a command line
        found += [] if is_known or quoted in NAMED_ELSEWHERE else [quoted]
    return found


@cache
def words() -> frozenset[str]:
    """The words of the code, of the tests, their data and the settings."""
    texts = [path for path in tracked_files() if path.suffix in {".py", ".toml", ".lark", ".dl", ".txt", ""}]
    return frozenset(word for path in texts for word in re.findall(r"\w+", path.read_text(encoding="utf-8")))


def test_what_is_named_in_back_quotes_exists():
    """Decision records and pages follow when files move and names change."""
    found = {path.name: strangers(path.read_text(encoding="utf-8")) for path in documents()}
    assert {name: several for name, several in found.items() if several} == {}


def test_a_stranger_in_back_quotes_is_found():
    """Files, folders and names, but neither blanks to fill in nor rules."""
    unheard = "no" + "body_wrote_this"  # in two pieces: the words of this file count, too
    planted = ["gone.py", "local/gone.py", "no_such_folder/", unheard]
    assert strangers(", ".join(f"`{name}`" for name in planted) + f"\n```\n`{unheard}_either`\n```\n") == planted
    assert strangers("`planning/plan.py`, `plan.py`, `planning/`, `cli/NAME.py`, `Engine.apply`, `p(x) :- q(x)`") == []


def test_the_walk_names_every_folder():
    """A new folder gets a line in the tree of ARCHITECTURE.md."""
    walk = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    packages = [module.name for module in modules() if module.is_package and module.name != "tidelog"]
    folders = {name.partition(".")[2].replace(".", "/") for name in packages}
    assert [folder for folder in sorted(folders) if f"| `{folder}/` |" not in walk] == []


def test_every_decision_is_in_the_index():
    """A record that nobody can find might as well not exist."""
    folder = ROOT / "docs" / "decisions"
    index = (folder / "README.md").read_text(encoding="utf-8")
    records = [path.name for path in documents() if path.parent == folder and path.name != "README.md"]
    assert [name for name in records if f"({name})" not in index] == []
    assert [name for name in records if not re.fullmatch(r"\d{4}-[a-z0-9-]+\.md", name)] == []


@pytest.mark.parametrize("link", ["gone.md", "#no-such-heading", "README.md#nowhere", "dir/x.png"])
def test_a_broken_link_is_found(tmp_path, link):
    """Missing files and missing headings both count."""
    (tmp_path / "README.md").write_text(f"# One\n\nsee [this]({link})\n")
    assert broken_links(tmp_path / "README.md")


def test_good_links_and_code_are_left_alone(tmp_path):
    """Web addresses are not fetched; what looks like a link inside code is none."""
    text = (
        "# One two\n\n[a](#one-two) [b](https://example.org) [c](README.md)\n```\n[d](gone.md)\n```\n`[e](gone.md)`\n"
    )
    (tmp_path / "README.md").write_text(text)
    assert broken_links(tmp_path / "README.md") == []


def test_an_empty_heading_is_found():
    """A chapter may open with its first section; a section must say something."""
    assert empty_headings("# A\n## B\n## C\ntext\n# D\n") == ["B", "D"]

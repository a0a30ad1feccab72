"""`tidelog state` shows what is stored, now and then, and takes it out."""

from __future__ import annotations

import pytest

from tidelog import Engine, StateError
from tidelog.cli import main


@pytest.fixture
def state(tmp_path):
    """Three versions: facts, a batch, a rule."""
    engine = Engine("path(x, y) :- edge(x, y).", strategy="bf")
    engine.apply(insert={"edge": [("a", 1), ("b", 2.0)], "odd `name`": [(True,)], "rain": [()]})
    engine.save(tmp_path / "state")
    engine.apply(insert={"edge": [("c", 3)]}, delete={"edge": [("a", 1)]})
    engine.save(tmp_path / "state", batch=17)
    engine.apply(add_rules="r: path(x, x) :- edge(x, _).")
    engine.save(tmp_path / "state")
    return str(tmp_path / "state")


def test_versions_are_listed(state, capsys):
    """One line for each: number, time, batch, facts, what was written, program, strategy."""
    assert main(["state", state]) == 0
    heading, first, second, third = capsys.readouterr().out.splitlines()
    assert heading.split()[:1] == ["version"]
    assert first.split()[0] == "1"
    assert "base" in first
    assert "updates 17" in second
    assert second.split()[-2] != third.split()[-2], "another program has another fingerprint"
    assert third.split()[-1] == "bf"


def test_a_long_list_says_what_it_leaves_out(state, capsys):
    """Nobody wants ten thousand lines by surprise."""
    assert main(["state", state, "--last", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "2 older versions are not shown (--last 3 shows all)"
    assert len(lines) == 3


def test_an_old_version_can_be_read(state, capsys):
    """Sizes by relation, explicit and derived; hidden relations stay hidden."""
    assert main(["state", state, "--at", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("version 2, batch updates 17: 6 facts, 1 rules (")
    assert [line.split() for line in lines[2:]] == [
        ["edge", "2", "2", "2", "0"],
        ["`odd", "\\`name\\``", "1", "1", "1", "0"],
        ["path", "2", "2", "0", "2"],
        ["rain", "0", "1", "1", "0"],
    ]


def test_facts_and_rules_are_printed_as_a_program(state, capsys):
    """What is printed can be read again, types and all."""
    assert main(["state", state, "--at", "1", "--relation", "path"]) == 0
    assert sorted(capsys.readouterr().out.splitlines()) == ['path("a", 1).', 'path("b", 2.0).']
    assert main(["state", state, "--rules"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "r: path(x, x) :- edge(x, _)."


def test_a_version_can_be_taken_out(state, tmp_path, capsys):
    """Files that `tidelog materialize` reads."""
    engine = Engine("path(x, y) :- edge(x, y).")
    engine.apply(insert={"edge": [("a", 1)], "rain": [()]})
    engine.save(tmp_path / "other")
    assert main(["state", str(tmp_path / "other"), "--out", str(tmp_path / "out")]) == 0
    assert capsys.readouterr().out.startswith("3 facts of version 1 written to")
    assert (tmp_path / "out" / "edge.jsonl").read_text() == '["a", 1]\n'
    assert (tmp_path / "out" / "rain.jsonl").read_text() == "[]\n"
    assert (tmp_path / "out" / "program.dl").read_text() == "path(x, y) :- edge(x, y).\n"


def test_old_versions_can_be_forgotten(state, capsys):
    """With what only they need; here the files of the first are needed by the later ones."""
    assert main(["state", state, "--forget-before", "2"]) == 0
    assert capsys.readouterr().out == "0 files with 0 bytes removed; versions from 2 on can be read\n"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--at", "9"], "E604"),
        (["--forget-before", "9"], "E604"),
        (["--relation", "nothing"], "E802"),
        (["--out", "/dev/null/x"], "E806"),
    ],
)
def test_mistakes_are_explained(state, arguments, code, capsys):
    """Exit code 1, the reason on stderr, nothing on stdout."""
    assert main(["state", state, *arguments]) == 1
    shown = capsys.readouterr()
    assert shown.err.startswith(code)
    assert shown.out == ""


def test_a_wrong_directory_is_explained(tmp_path, capsys):
    """Nothing is created on the way."""
    assert main(["state", str(tmp_path / "none")]) == 1
    assert capsys.readouterr().err.startswith("E601")
    assert not (tmp_path / "none").exists()


def test_relations_that_no_file_can_have_the_name_of_are_taken_out(tmp_path, capsys):
    """One relation called `..` prevented every export, in every format; the others keep their names."""
    engine = Engine()
    names = ["edge", "..", "a/b", "n" * 250, "%2E%2E", "a\0b"]
    engine.apply(insert={name: [(number,)] for number, name in enumerate(names)})
    engine.save(tmp_path / "state")
    out = tmp_path / "out"
    assert main(["state", str(tmp_path / "state"), "--out", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "6 facts" in shown
    assert "a/b: a%2Fb.jsonl" in shown.replace("`", "")
    found = {path.name: path.read_text() for path in out.glob("*.jsonl")}
    assert len(found) == len(names)
    assert (found["edge.jsonl"], found["%2E%2E.jsonl"], found["a%2Fb.jsonl"]) == ("[0]\n", "[1]\n", "[2]\n")
    assert sorted(found.values()) == [f"[{number}]\n" for number in range(len(names))]
    assert all(path.parent == out for path in out.iterdir())


@pytest.mark.parametrize("name", ["n" * 300, "a\0b", "\ud800"], ids=["long", "NUL", "surrogate"])
def test_a_state_where_no_directory_can_be_is_refused(tmp_path, name, capsys):
    """Each was a fault of ours: OSError, ValueError, UnicodeEncodeError."""
    assert main(["state", f"{tmp_path}/{name}"]) == 1
    assert capsys.readouterr().err.startswith("E616")
    with pytest.raises(StateError, match="E616"):
        Engine().save(f"{tmp_path}/{name}")

"""`tidelog check` tells a user what is wrong, to the letter, or what the program is made of."""

import argparse
from pathlib import Path

import pytest

from tidelog.cli import check

PROGRAMS = Path(__file__).parents[1] / "programs"
SEMANTIC = sorted((PROGRAMS / "bad").glob("semantic-*.dl"))


def run(*files: str | Path, dialect: str | None = None, plans: bool = False) -> int:
    return check.run(argparse.Namespace(files=[str(file) for file in files], dialect=dialect, plans=plans))


@pytest.mark.parametrize("path", SEMANTIC, ids=[path.stem for path in SEMANTIC])
def test_a_bad_program_is_refused_to_the_letter(path, capsys, monkeypatch):
    """The message is part of the interface: place, code, sentence, the line, a caret, a remedy, related places."""
    monkeypatch.chdir(path.parent)
    assert run(path.name) == 1
    shown = capsys.readouterr()
    assert shown.err == path.with_suffix(".expected").read_text(encoding="utf-8")
    assert shown.out == ""


def test_there_are_enough_bad_programs():
    """An empty list of cases would pass silently."""
    assert len(SEMANTIC) >= 7


def test_the_style_guides_example(tmp_path, capsys, monkeypatch):
    """The error that the style guide shows, with its caret under the variable."""
    monkeypatch.chdir(tmp_path)
    Path("rules.dl").write_text("// 1\n// 2\n// 3\npath(x, z) :- edge(x, y).\n")
    assert run("rules.dl") == 1
    assert capsys.readouterr().err.splitlines()[:3] == [
        "rules.dl:4:9  E202  variable z occurs in the head but in no positive body atom",
        "  4 |  path(x, z) :- edge(x, y).",
        "               ^      let z occur in a positive atom of the body",
    ]


def test_a_summary_of_a_good_program(tmp_path, capsys, monkeypatch):
    """Relations in order of evaluation with types, rules, component, recursion and stratum."""
    monkeypatch.chdir(tmp_path)
    Path("p.dl").write_text(
        '.decl edge(x: symbol, y: symbol)\nedge("a", "b").\n'
        "path(x, y) :- edge(x, y).\npath(x, z) :- edge(x, y), path(y, z).\n"
        "far(n) :- n = count : { path(x, y) }.\nodd(x) :- thing(x), !even(x, 1).\n"
    )
    assert run("p.dl") == 0
    assert capsys.readouterr().out == (
        "p.dl: 6 relations, 4 rules, 1 fact, 3 components, 2 strata\n"
        "  relation  columns           kind      rules  facts  component  recursion  stratum\n"
        "  --------  ----------------  --------  -----  -----  ---------  ---------  -------\n"
        "  edge      (symbol, symbol)  explicit         1\n"
        "  thing     (?)               explicit\n"
        "  even      (?, number)       explicit\n"
        "  path      (symbol, symbol)  derived   2             1          linear     0\n"
        "  far       (number)          derived   1             2                     1\n"
        "  odd       (?)               derived   1             3                     0\n"
    )


def test_every_file_is_looked_at(tmp_path, capsys, monkeypatch):
    """One bad file among good ones gives exit code 1, and the others are still summarised; so is an empty program."""
    monkeypatch.chdir(tmp_path)
    Path("bad.dl").write_text("p(x) :- q(y).\n")
    Path("good.dl").write_text("p(x) :- q(x).\n")
    Path("empty.dl").write_text("// nothing\n")
    assert run("bad.dl", "missing.dl", "good.dl", "empty.dl") == 1
    shown = capsys.readouterr()
    assert "bad.dl: 1 problem\n" in shown.err
    assert "missing.dl: 1 problem\n" in shown.err
    assert "good.dl: 2 relations, 1 rule, 0 facts, 1 component, 1 stratum" in shown.out
    assert "empty.dl: 0 relations, 0 rules, 0 facts, 0 components, 0 strata\n" in shown.out


def test_both_dialects_of_a_rule_set_have_the_same_summary(capsys):
    """The `.rules` file and the `.dl` file mean the same program."""
    folder = PROGRAMS / "zodiacedge" / "rs3"
    assert run(folder / "program.dl") == run(folder / "program.rules") == 0
    first, second = capsys.readouterr().out.split("relations, ")[1:]
    assert first.splitlines()[:17] == second.splitlines()[:17]


def test_plans_are_printed_on_request(tmp_path, capsys, monkeypatch):
    """One line per driver: the order of the literals and the index of each; negation and arithmetic in their place."""
    monkeypatch.chdir(tmp_path)
    Path("p.dl").write_text("path(x, z) :- edge(x, y), path(y, z).\nend(x + 1) :- path(_, x), !edge(x, _), x < 9.\n")
    assert run("p.dl", plans=True) == 0
    assert capsys.readouterr().out.partition("plans\n")[2].splitlines() == [
        "1. path (recursive)",
        "   path(x, z) :- edge(x, y), path(y, z).",
        "     all instances     edge(x, y) scan > path(y, z) by 1",
        "     edge changes      edge(x, y) > path(y, z) by 1",
        "     path changes      path(y, z) > edge(x, y) by 2",
        "     supports of path  path(x, z) > edge(x, y) by 1 > path(y, z) whole",
        "2. end",
        "   end(x + 1) :- path(_, x), !edge(x, _), x < 9.",
        "     all instances    path(_, x) scan > x < 9 > !edge(x, _) by 1",
        "     path changes     path(_, x) > x < 9 > !edge(x, _) by 1",
        "     edge changes     !edge(x, _) > x < 9 > !edge(x, _) by 1 > path(_, x) by 2",
        "     supports of end  end(x + 1) > path(_, x) scan > x < 9 > !edge(x, _) by 1 > compare the head",
        "indexes",
        "   edge by 1",
        "   edge by 2",
        "   path by 1",
        "   path by 2",
    ]


def test_inline_relations_are_listed_by_themselves(tmp_path, capsys, monkeypatch):
    """They have rules, and neither component nor stratum."""
    monkeypatch.chdir(tmp_path)
    text = ".decl lt(x: number, y: number) inline\nlt(x, y) :- x < y.\nup(x, y) :- e(x, y), lt(x, y).\n"
    Path("rules.dl").write_text(text)
    assert run("rules.dl", plans=True) == 0
    shown = capsys.readouterr().out
    assert shown.splitlines()[0] == "rules.dl: 3 relations, 2 rules, 0 facts, 1 component, 1 stratum"
    (line,) = (line for line in shown.splitlines() if line.startswith("  lt "))
    assert line.split() == ["lt", "(number,", "number)", "inline", "1"]
    assert "lt(" not in shown.partition("plans")[2]

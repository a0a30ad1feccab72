"""`tidelog maintain`: one line per update, in order."""

import io
import json
import os
import threading

import pytest

from tidelog.cli import main
from tidelog.maintenance.registry import STRATEGIES

UPDATES = (
    '{"insert": [["edge", 3, 4]]}',
    '{"delete": [["edge", 1, 2], ["edge", 7, 7]]}',
    '{"add_rules": "back(y, x) :- path(x, y).", "remove_rules": ["r1"]}',
)


@pytest.fixture
def folder(tmp_path):
    """A closure over two edges, and three updates: insertion, deletion, change of rules."""
    (tmp_path / "p.dl").write_text("r1: path(x, y) :- edge(x, y).\nr2: path(x, z) :- edge(x, y), path(y, z).\n")
    (tmp_path / "edge.csv").write_text("1,2\n2,3\n")
    (tmp_path / "updates.jsonl").write_text("\n".join(UPDATES) + "\n")
    return tmp_path


def run(folder, *more):
    return main(
        ["maintain", str(folder / "p.dl"), "--facts", str(folder), "--updates", str(folder / "updates.jsonl"), *more]
    )


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_prints_the_same_counts(folder, capsys, strategy):
    """Update 0 is the initial materialisation; counts are net and do not depend on the strategy."""
    assert run(folder, "--json", "--verify", "--strategy", strategy) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["update"] for line in found] == [0, 1, 2, 3]
    assert [line["counts"]["inserted"] for line in found] == [
        {"edge": 2, "path": 3},
        {"edge": 1, "path": 3},
        {},
        {},
    ]
    assert [line["counts"]["deleted"] for line in found] == [{}, {}, {"edge": 1, "path": 3}, {"path": 3}]
    assert found[1]["inserted"]["edge"] == [[3, 4]]
    assert sorted(found[2]["deleted"]["path"]) == [[1, 2], [1, 3], [1, 4]]
    assert "inserted" not in found[0], "the initial materialisation may be large"


@pytest.fixture
def dividing(folder):
    """Two of three updates bring a division by zero, the last one takes it back."""
    (folder / "p.dl").write_text("r(x, z) :- edge(x, y), z = 10 / y.\n")
    updates = ['{"insert": [["edge", 3, 0]]}', '{"insert": [["edge", 4, 0]]}', '{"delete": [["edge", 3, 0]]}']
    (folder / "updates.jsonl").write_text("\n".join(updates) + "\n")
    return folder


def test_arithmetic_without_a_value_is_told(dividing, capsys):
    """How many instances of the new version, by rule, and the first."""
    assert run(dividing, "--json", "--verify") == 0
    found = [json.loads(line)["without_value"] for line in capsys.readouterr().out.splitlines()]
    assert [[one["count"] for one in each.values()] for each in found] == [[], [1], [2], [1]]
    assert run(dividing, "--rows", "0") == 0
    told = [line for line in capsys.readouterr().out.splitlines() if "?" in line]
    assert len(told) == 3
    assert "2 instances without a value, the first: division by zero: 10 / 0, for x = 3, y = 0" in told[1]


def test_arithmetic_without_a_value_can_be_refused(dividing, capsys):
    """The update is refused, with the rule; a word that is none as well."""
    assert run(dividing, "--arithmetic", "refuse") == 1
    assert "division by zero" in capsys.readouterr().err
    assert run(dividing, "--arithmetic", "ignore") == 1
    assert "E817" in capsys.readouterr().err


def test_lines_for_people(folder, capsys):
    """A heading, then number, strategy, inserted, deleted, milliseconds."""
    assert run(folder, "--strategy", "dred", "--rows", "0") == 0
    heading, *rest = capsys.readouterr().out.splitlines()
    assert heading.split() == ["update", "strategy", "inserted", "deleted", "ms"]
    assert [line.split()[:4] for line in rest][2] == ["2", "dred", "0", "4"]
    assert len(rest) == 4


def test_the_changes_themselves_are_printed(folder, capsys):
    """What came and what went, cut with a count."""
    assert run(folder, "--strategy", "dred", "--rows", "2") == 0
    shown = capsys.readouterr().out
    assert "        + edge(3, 4)\n" in shown
    assert "        - edge(1, 2)\n" in shown
    assert "... 1 more of path" in shown


def test_updates_come_from_a_fifo_and_from_standard_input(folder, capsys, monkeypatch):
    """As they come; facts need no folder."""
    fifo = folder / "fifo"
    os.mkfifo(fifo)
    writer = threading.Thread(target=lambda: fifo.write_text("\n".join(UPDATES[:2])))
    writer.start()
    program = ["maintain", str(folder / "p.dl"), "--json", "--updates"]
    assert main([*program, str(fifo)]) == 0
    writer.join()
    assert len(capsys.readouterr().out.splitlines()) == 3
    lines = io.TextIOWrapper(io.BytesIO(UPDATES[0].encode()))
    monkeypatch.setattr("sys.stdin", lines)
    assert main([*program, "-"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[1])["inserted"] == {"edge": [[3, 4]], "path": [[3, 4]]}


def test_a_bad_line_stops_after_the_good_ones(folder, capsys):
    """What came before is printed; the error has file and line."""
    (folder / "updates.jsonl").write_text(UPDATES[0] + "\n" + '{"insert": 3}\n')
    assert run(folder, "--json") == 1
    shown = capsys.readouterr()
    assert len(shown.out.splitlines()) == 2
    assert "updates.jsonl:2:" in shown.err


@pytest.mark.parametrize(
    ("update", "code"),
    [
        ('{"insert": [["edge", 3]]}', "E301"),
        ('{"remove_rules": ["nobody"]}', "E803"),
        ('{"insert": [["@edge", 3]]}', "E805"),
        ('{"add_rules": "z(q) :- edge(x, _)."}', "E202"),
    ],
)
def test_an_update_that_is_refused_has_a_line(folder, capsys, update, code):
    """What is found out only when an update is applied named neither file nor line; the place in a rule is kept."""
    (folder / "updates.jsonl").write_text(f"{UPDATES[0]}\n\n{update}\n{UPDATES[1]}\n")
    assert run(folder, "--json") == 1
    shown = capsys.readouterr()
    assert len(shown.out.splitlines()) == 2
    assert code in shown.err
    assert "updates.jsonl:3:1" in shown.err


def test_budgets_are_told_with_the_line(folder, capsys):
    """Which of many updates was too much."""
    (folder / "updates.jsonl").write_text(f'{{"insert": []}}\n{UPDATES[0]}\n')
    assert run(folder, "--limit-facts", "5") == 1
    assert "updates.jsonl:2:1  E401" in capsys.readouterr().err


def test_what_is_no_file_of_updates_is_told(folder, capsys):
    """A folder was said not to exist; a name that is too long, or with a NUL, was a fault of ours."""
    for name, reason in (
        (str(folder), "is a folder"),
        (str(folder / "nowhere"), "does not exist"),
        (str(folder / ("n" * 300)), "cannot be read: File name too long"),
        ("a\0b", "cannot be read: embedded null byte"),
    ):
        assert main(["maintain", str(folder / "p.dl"), "--updates", name]) == 1
        shown = capsys.readouterr().err
        assert ("E307" in shown, reason in shown) == (True, True), shown

"""`tidelog maintain`: one line per update, in order."""

import json

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
    assert [line["inserted"] for line in found] == [
        {"edge": 2, "path": 3},
        {"edge": 1, "path": 3},
        {},
        {},
    ]
    assert [line["deleted"] for line in found] == [{}, {}, {"edge": 1, "path": 3}, {"path": 3}]


def test_lines_for_people(folder, capsys):
    """A heading, then number, strategy, inserted, deleted, milliseconds."""
    assert run(folder, "--strategy", "dred") == 0
    heading, *rest = capsys.readouterr().out.splitlines()
    assert heading.split() == ["update", "strategy", "inserted", "deleted", "ms"]
    assert [line.split()[:4] for line in rest][2] == ["2", "dred", "0", "4"]
    assert len(rest) == 4


def test_a_bad_line_stops_after_the_good_ones(folder, capsys):
    """What came before is printed; the error has file and line."""
    (folder / "updates.jsonl").write_text(UPDATES[0] + "\n" + '{"insert": 3}\n')
    assert run(folder, "--json") == 1
    shown = capsys.readouterr()
    assert len(shown.out.splitlines()) == 2
    assert "updates.jsonl:2:" in shown.err

"""`tidelog explain`: a proof on stdout, or an error that says the fact is not there."""

import pytest

from tidelog.cli import main


@pytest.fixture
def folder(tmp_path):
    """A closure over a chain of four nodes."""
    (tmp_path / "p.dl").write_text("path(x, y) :- edge(x, y).\npath(x, z) :- edge(x, y), path(y, z).\n")
    (tmp_path / "edge.csv").write_text("a,b\nb,c\nc,d\n")
    return tmp_path


def run(folder, *more):
    return main(["explain", str(folder / "p.dl"), "--facts", str(folder), *more])


def test_a_proof_names_the_facts_that_it_rests_on(folder, capsys):
    """Every explicit fact of the only proof is printed."""
    assert run(folder, 'path("a", "d")') == 0
    shown = capsys.readouterr().out
    for fact in ('edge("a", "b")', 'edge("b", "c")', 'edge("c", "d")', 'path("a", "d")'):
        assert fact in shown


def test_a_pattern_is_explained_fact_by_fact(folder, capsys):
    """Up to `--most` proofs; the rest is counted."""
    assert run(folder, 'path("a", x)', "--most", "2") == 0
    assert "not shown: 1" in capsys.readouterr().out


def test_a_fact_that_is_not_there(folder, capsys):
    """Code 1 and E808; nothing on stdout."""
    assert run(folder, 'path("d", "a")') == 1
    shown = capsys.readouterr()
    assert "E808" in shown.err
    assert shown.out == ""


def test_an_absence_has_lines(folder, capsys):
    """The end of each line was printed as a backslash and an n: everything stood in one line."""
    assert run(folder, 'path("d", "a")') == 1
    shown = capsys.readouterr().err
    assert "\\n" not in shown
    assert len(shown.splitlines()) > 2


def test_a_number_of_proofs_is_none_below_zero(folder, capsys):
    """It was a fault of ours."""
    assert run(folder, 'path("a", x)', "--most", "-1") == 1
    assert "E801" in capsys.readouterr().err

"""What the user gives wrongly is told with a code and ends with 1: 2 says that the fault is ours."""

import bz2

import pytest

from tidelog.cli import main


@pytest.fixture
def folder(tmp_path):
    """A program and its facts."""
    (tmp_path / "p.dl").write_text("path(x, y) :- edge(x, y).\n")
    (tmp_path / "edge.csv").write_text("1,2\n2,3\n")
    (tmp_path / "u.jsonl").write_text('{"insert": [["edge", 3, 4]]}\n')
    return tmp_path


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["materialize", "p.dl", "--facts", "n" * 300, "--out", "out"], "E307"),
        (["materialize", "p.dl", "--facts", "a\0b", "--out", "out"], "E307"),
        (["query", "p.dl", "path(x, _)", "--facts", ".", "--rows", "-1"], "E801"),
        (["maintain", "p.dl", "--updates", "u.jsonl", "--rows", "-1"], "E801"),
        (["explain", "p.dl", "path(1, 2)", "--facts", ".", "--most", "-1"], "E801"),
        (["query", "path(x, _)", "--state", "n" * 300], "E616"),
        (["query", "path(x, _)", "--state", "a\0b"], "E616"),
        (["materialize", "long.dl", "--facts", ".", "--out", "out"], "E307"),
        (["materialize", "accent.dl", "--facts", ".", "--out", "out"], "E122"),
        (["materialize", "quote.dl", "--facts", ".", "--out", "out"], "E122"),
        (["materialize", "packed.dl", "--facts", ".", "--out", "out"], "E306"),
    ],
)
def test_the_fault_is_not_ours(folder, words, code, capsys, monkeypatch):
    """Each ended in E900: a fault of Tidelog, not of your input."""
    monkeypatch.chdir(folder)
    (folder / "long.dl").write_text(f'.input edge(filename="{"n" * 300}.csv")\npath(x, y) :- edge(x, y).\n')
    (folder / "accent.dl").write_text('.input edge(delimiter="é")\npath(x, y) :- edge(x, y).\n')
    (folder / "quote.dl").write_text('.input edge(delimiter="\\"", rfc4180=true)\npath(x, y) :- edge(x, y).\n')
    (folder / "packed.dl").write_text(".input packed\npath(x, y) :- packed(x, y).\n")
    (folder / "packed.csv.bz2").write_bytes(bz2.compress(b"1,2\n")[:-4])
    assert main(words) == 1
    shown = capsys.readouterr()
    assert code in shown.err, shown.err
    assert "E900" not in shown.err

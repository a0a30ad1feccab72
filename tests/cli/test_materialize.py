"""`tidelog materialize`: files in, files out, nothing half written."""

import pyarrow.parquet as pq
import pytest

from tidelog.cli import main

RULES = "path(x, y) :- edge(x, y).\npath(x, z) :- edge(x, y), path(y, z).\n"


@pytest.fixture
def folder(tmp_path):
    """A program and the facts of a chain of four nodes."""
    (tmp_path / "p.dl").write_text(RULES)
    (tmp_path / "facts").mkdir()
    (tmp_path / "facts" / "edge.csv").write_text("1,2\n2,3\n3,4\n")
    return tmp_path


def run(folder, *more):
    return main(
        ["materialize", str(folder / "p.dl"), "--facts", str(folder / "facts"), "--out", str(folder / "out"), *more]
    )


def lines(path):
    return sorted(path.read_text().splitlines())


def test_derived_relations_are_written_and_counted(folder, capsys):
    """Without `.output` every derived relation is written, and no explicit one; stdout says how much."""
    assert run(folder) == 0
    assert [path.name for path in (folder / "out").iterdir()] == ["path.csv"]
    assert lines(folder / "out" / "path.csv") == ["1,2", "1,3", "1,4", "2,3", "2,4", "3,4"]
    shown = capsys.readouterr()
    assert "3 facts read, 6 written" in shown.out
    assert "path: 6" in shown.out
    assert "materialising" in shown.err, "progress belongs to stderr"


def test_arithmetic_without_a_value_is_told(folder, capsys):
    """On stderr, by rule, with the first instance."""
    (folder / "p.dl").write_text("q(0). q(1). r(x, z) :- q(x), z = 1 / x.")
    assert main(["materialize", str(folder / "p.dl")]) == 0
    told = capsys.readouterr()
    assert told.out == "r(1, 1).\n"
    assert "1 instance without a value: division by zero: 1 / 0, for x = 0" in told.err


def test_directives_choose_relations_files_and_separators(folder):
    """`.input` may name file and separator, `.output` limits what is written."""
    (folder / "facts" / "edge.csv").unlink()
    (folder / "facts" / "lines.txt").write_text("1|2\n2|3\n")
    directives = '.decl edge(x: number, y: number)\n.input edge(filename="lines.txt", delimiter="|")\n.output path\n'
    (folder / "p.dl").write_text(directives + RULES + "end(y) :- path(_, y).\n")
    assert run(folder, "--format", "tsv") == 0
    assert [path.name for path in (folder / "out").iterdir()] == ["path.tsv"]
    assert lines(folder / "out" / "path.tsv") == ["1\t2", "1\t3", "2\t3"]


def test_columns_have_the_types_that_the_rules_need(folder):
    """A column compared with a string is read as strings even if it looks like numbers."""
    (folder / "p.dl").write_text('from_one(y) :- edge("1", y).\n')
    assert run(folder, "--format", "jsonl") == 0
    assert lines(folder / "out" / "from_one.jsonl") == ["[2]"]


def test_parquet(folder):
    """Parquet keeps types."""
    assert run(folder, "--format", "parquet") == 0
    table = pq.read_table(folder / "out" / "path.parquet")
    assert table.num_rows == 6
    assert {str(field.type) for field in table.schema} == {"int64"}


@pytest.mark.parametrize(
    ("more", "code"),
    [
        (("--limit-facts", "4"), "E401"),
        (("--limit-rounds", "1"), "E402"),
        (("--limit-bytes", "10"), "E404"),
        (("--limit-facts", "0"), "E840"),
        (("--strategy", "magic"), "E810"),
        (("--backend", "magic"), "E811"),
        (("--format", "xls"), "E801"),
    ],
)
def test_limits_and_wrong_options_end_in_their_own_error(folder, capsys, more, code):
    """Code 1, the problem on stderr, and no file written."""
    assert run(folder, *more) == 1
    assert code in capsys.readouterr().err
    assert not (folder / "out").exists()


def test_missing_facts_are_told(folder, capsys):
    """A folder that is not there, and an `.input` relation without a file."""
    (folder / "p.dl").write_text(".decl edge(x: number, y: number)\n.input edge\n" + RULES)
    (folder / "facts" / "edge.csv").unlink()
    assert run(folder) == 1
    assert "has no file with the facts of edge" in capsys.readouterr().err
    (folder / "facts").rmdir()
    assert run(folder) == 1
    assert "is no folder" in capsys.readouterr().err


def test_an_output_folder_that_cannot_be_made(folder, capsys):
    """The path is in the way of a file."""
    (folder / "out").write_text("I am a file")
    assert run(folder) == 1
    assert "E806" in capsys.readouterr().err


def test_a_file_that_is_larger_than_the_limit_is_not_read(folder, capsys, monkeypatch):
    """Its size says so before a byte of it is in memory."""
    monkeypatch.setattr("tidelog.cli.facts_folder.read_file", lambda *_, **__: pytest.fail("it was read"))
    assert run(folder, "--limit-bytes", "5") == 1
    assert "E404" in capsys.readouterr().err

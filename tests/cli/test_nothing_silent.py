"""Nothing silent: unused files, typos, headers and options each get a word, and `--strict` makes it an error."""

import gzip
import warnings

import pytest

import tidelog as tl
from tidelog.cli import main

RULES = "path(x, y) :- edge(x, y).\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "p.dl").write_text(RULES)
    (tmp_path / "facts").mkdir()
    return tmp_path


def materialize(folder, *more):
    return main(
        ["materialize", str(folder / "p.dl"), "--facts", str(folder / "facts"), "--out", str(folder / "out"), *more]
    )


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("egde.csv", ["W301", "egde.csv is not used", "did you mean edge.csv?", "W201", "edge has no facts"]),
        ("edge.txt", ["W301", "text is no format of facts", "edge.csv or .tsv"]),
        ("edge", ["W301", "a name without ending"]),
    ],
)
def test_a_file_is_used_or_named(folder, capsys, name, words):
    """And the relation that stays empty, too."""
    (folder / "facts" / name).write_text("1,2\n")
    assert materialize(folder) == 0
    shown = capsys.readouterr().err
    assert all(word in shown for word in words), shown
    assert materialize(folder, "--strict") == 1
    assert "because of --strict" in capsys.readouterr().err


@pytest.mark.parametrize("ending", [".csv.gz", ".tsv.bz2", ".jsonl.xz", ".facts.gz"])
def test_packed_files_are_read(folder, capsys, ending):
    """The second ending says the format."""
    import bz2
    import lzma

    text = {".csv": "1,2\n2,3\n", ".jso": "[1, 2]\n[2, 3]\n"}.get(ending[:4], "1\t2\n2\t3\n")
    pack = {"gz": gzip, "z2": bz2, "xz": lzma}[ending[-2:]]
    (folder / "facts" / f"edge{ending}").write_bytes(pack.compress(text.encode()))
    assert materialize(folder) == 0
    assert "2 facts read, 2 written" in capsys.readouterr().out


def test_a_damaged_packed_file_is_refused(folder, capsys):
    """With its name."""
    (folder / "facts" / "edge.csv.gz").write_bytes(gzip.compress(b"1,2\n" * 1000)[:20])
    assert materialize(folder) == 1
    assert "E306" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "is_header"),
    [
        ("source,target\na,b\nb,c\n", True),
        ("x,weight\na,1\nb,2\n", True),
        ("a,b\nb,c\n", False),
        ("1,2\n2,3\n", False),
        ("name,b\nb,name\nc,name\n", False),
    ],
)
def test_a_header_is_no_fact_without_a_word(folder, capsys, text, is_header):
    """`--header` leaves it out."""
    (folder / "facts" / "edge.csv").write_text(text)
    assert materialize(folder) == 0
    assert ("W302" in capsys.readouterr().err) is is_header
    assert materialize(folder, "--header") == 0
    assert "W302" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("directive", "word"),
    [
        ('.input edge(IO=sqlite, dbname="x")', "IO=sqlite"),
        (".input edge(IO=stdin)", "IO=stdin"),
        ('.input edge(columns="1:0")', "the option columns"),
        ('.input edge(delimiter="||")', "is not one character"),
        (".input edge(headers=maybe)", "headers"),
        ('.input edge(filename="../x.csv")', "leads out of the folder"),
        ('.input edge(filename="/etc/hostname")', "leads out of the folder"),
        (".input edge\n.input edge", "two .input directives"),
        (".output path(IO=sqlite)", "IO=sqlite"),
        ('.output path(filename="../x.csv")', "leads out of the folder"),
    ],
)
def test_options_are_obeyed_or_refused(folder, capsys, directive, word):
    """By name, in `check` and in the commands that read or write files; nothing is written."""
    (folder / "facts" / "edge.csv").write_text("1,2\n")
    (folder / "p.dl").write_text(f"{directive}\n{RULES}")
    assert materialize(folder) == 1
    assert word in capsys.readouterr().err
    assert main(["check", str(folder / "p.dl")]) == 1
    said = capsys.readouterr().err
    assert word in said
    assert "p.dl:" in said.partition("E122")[0]
    assert not (folder / "out").exists()


def test_options_that_are_obeyed(folder, capsys):
    """Quotes, headers and separators of inputs; names, separators and media of outputs."""
    (folder / "facts" / "e.txt").write_text('from;to\n"a;b";c\n')
    (folder / "p.dl").write_text(
        '.input edge(filename="e.txt", delimiter=";", rfc4180=true, headers=true)\n'
        '.output path(filename="sub/p.txt", delimiter="|")\n.output back(IO=stdout)\n.printsize size\n'
        f"{RULES}back(y, x) :- edge(x, y).\nsize(x) :- edge(x, _).\n"
    )
    assert materialize(folder) == 0
    assert (folder / "out" / "sub" / "p.txt").read_text() == "a;b|c\n"
    assert "c\ta;b" in capsys.readouterr().out
    assert [path.name for path in (folder / "out").iterdir()] == ["sub"]


def test_check_warns(folder, capsys):
    """Of a variable that occurs once and of a name that resembles another; `_` and `.decl` silence it."""
    (folder / "p.dl").write_text(
        "path(x, y) :- edge(x, y).\nfan(x) :- egde(x, alice).\n.decl edge(x: symbol, y: symbol)\n"
    )
    assert main(["check", str(folder / "p.dl")]) == 0
    shown = capsys.readouterr().err
    assert "p.dl:2:19  W202" in shown
    assert "did you mean edge?" in shown
    assert main(["check", "--strict", str(folder / "p.dl")]) == 1
    (folder / "p.dl").write_text("fan(x) :- edge(x, _alice).\n.decl edge(x: symbol, y: symbol)\n")
    assert main(["check", "--strict", str(folder / "p.dl")]) == 0


def test_an_engine_warns_once_and_only_when_facts_are_there():
    """A made engine is silent about what the next insertion may cure; a doubt is uttered once."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        engine = tl.Engine("path(x, y) :- egde(x, y).")
        assert caught == []
        engine.apply(insert={"edge": [(1, 2)]})
        engine.apply(insert={"edge": [(2, 3)]})
    assert [(one.category, one.message.code) for one in caught] == [(tl.TidelogWarning, "W201")]
    assert caught[0].filename == __file__
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        engine = tl.Engine("path(x, y) :- edge1(x, y), edge2(x, y).")
        engine.apply(insert={"edge1": [(1, 2)]})
        engine.apply(insert={"edge2": [(1, 2)]})
    assert caught == []


def test_a_warning_that_is_an_error_changes_nothing():
    """It is raised before the update, and comes again with the next attempt."""
    engine = tl.Engine("path(x, y) :- edge(x, y).")
    engine.apply(insert={"edge": [(1, 2)]})
    for _ in range(2):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(tl.TidelogWarning) as caught:
                engine.apply(insert={"egde": [(1, 2)]})
        assert caught.value.code == "W203"
        assert engine.version == 1

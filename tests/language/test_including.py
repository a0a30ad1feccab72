"""`.include` puts files of the program's folder together, and nothing else."""

import pytest

import tidelog as tl
from tidelog.language.read import read_program

MAIN = """.include "types.dl"
p(x) :- q(x).
// .include "gone.dl"
.include "sub/more.dl"
.include "types.dl"
r(x) :- p(x).
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "main.dl").write_text(MAIN)
    (tmp_path / "types.dl").write_text(".type Name <: symbol\n.decl q(x: Name)\n")
    (tmp_path / "sub" / "more.dl").write_text('.include "deep.dl"\ns(x) :- r(x).\n')
    (tmp_path / "sub" / "deep.dl").write_text(".decl t(x: Name)\nt(x) :- s(x).\n")
    return tmp_path


def test_files_are_put_together_once(folder):
    """Types of one file are known in the others; a file that is named twice is included once."""
    program = read_program(folder / "main.dl")
    assert [rule.head.relation for rule in program.rules] == ["p", "t", "s", "r"]
    assert [one.columns for one in program.declarations] == [(("x", "symbol"),)] * 2


def test_places_are_those_of_the_files(folder):
    """A mistake is shown where it was made, in the included file and behind it."""
    (folder / "sub" / "deep.dl").write_text("fine(x) :- s(x).\nbad(x :- s(x).\n")
    (folder / "main.dl").write_text(MAIN + "worse(x :- p(x).\n")
    with pytest.raises(tl.ProgramError) as caught:
        read_program(folder / "main.dl")
    found = [(problem.place.source, problem.place.line) for problem in caught.value.problems]
    assert sorted(found) == sorted([(str(folder / "sub" / "deep.dl"), 2), (str(folder / "main.dl"), 7)])


@pytest.mark.parametrize("name", ["/etc/hostname", "../outside.dl", "link.dl", "gone.dl", "sub"])
def test_only_files_of_the_folder(folder, name):
    """Not by an absolute path, a way up, a link that leads out, a folder, or a file that is not there."""
    (folder.parent / "outside.dl").write_text("x(1).")
    (folder / "link.dl").symlink_to(folder.parent / "outside.dl")
    (folder / "main.dl").write_text(f'p(1).\n.include "{name}"\n')
    with pytest.raises(tl.ProgramError) as caught:
        read_program(folder / "main.dl")
    assert caught.value.code == "E123"
    assert caught.value.problems[0].place.line == 2


def test_texts_include_nothing(folder, monkeypatch):
    """Neither a program given as text nor an update names files (promise 8)."""
    monkeypatch.chdir(folder)
    with pytest.raises(tl.ProgramError, match="E123"):
        tl.Engine('.include "types.dl"')
    engine = tl.Engine("p(x) :- q(x).")
    for text, code in (('.include "types.dl"', "E123"), (".input q", "E118"), ('.output p(filename="x")', "E118")):
        with pytest.raises(tl.ProgramError) as caught:
            engine.apply(add_rules=text)
        assert caught.value.code == code
    assert engine.version == 0

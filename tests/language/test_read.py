"""A file's dialect is chosen by its ending or by name, and never guessed."""

from __future__ import annotations

import pytest

from tidelog.errors import ProgramError
from tidelog.language.read import read_program


def test_the_ending_or_the_option_chooses_the_dialect(tmp_path):
    ours, theirs, other = tmp_path / "a.dl", tmp_path / "a.rules", tmp_path / "a.txt"
    ours.write_text("\ufeffp(x) :- q(x).")
    theirs.write_text("p(X) :- q(X) and r(X) .")
    other.write_text("p(X) :- q(X) and r(X) .")
    assert len(read_program(ours).rules[0].body) == 1
    assert len(read_program(theirs).rules[0].body) == 2
    assert read_program(other, dialect="zodiacedge") == read_program(str(theirs))


def test_what_cannot_be_read_is_a_program_error_that_names_the_file(tmp_path):
    unknown, broken, bad = tmp_path / "a.txt", tmp_path / "b.dl", tmp_path / "c.dl"
    unknown.write_text("p(x) :- q(x).")
    broken.write_bytes(b"p(\xff).")
    bad.write_text("p(x) :- \n")
    cases = [
        (unknown, None, "E116"),
        (bad, "prolog", "E116"),
        (broken, None, "E117"),
        (tmp_path / "no.dl", None, "E117"),
    ]
    for path, dialect, code in [*cases, (tmp_path, "tidelog", "E117"), (bad, None, "E102")]:
        with pytest.raises(ProgramError) as caught:
            read_program(path, dialect)
        assert caught.value.code == code
        assert code == "E116" or str(path) in str(caught.value)

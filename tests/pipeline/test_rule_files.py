"""An edited rule file is a change of rules, compared with what the file said before."""

import pytest

import tidelog as tl
from tidelog.pipeline.rule_files import Remembered, read_programs


@pytest.fixture
def files(tmp_path):
    file = tmp_path / "r.dl"

    def program(text):
        file.write_text(text)
        return read_programs([file])

    return program, Remembered(tmp_path / "own" / "rules.json")


def test_an_unchanged_file_asks_for_nothing(files):
    """Also when the stream has removed one of its rules since."""
    program, remembered = files
    first = program("a: p(x) :- q(x).\nq(1).")
    remembered.keep(first)
    engine = tl.Engine(first)
    engine.apply(remove_rules=["a"])
    assert remembered.difference(first, engine) is None


def test_an_edited_file_is_applied_once(files):
    """Rules and facts that came and went; what is there already is no difference."""
    program, remembered = files
    first = program("a: p(x) :- q(x).\nq(1). q(2).")
    remembered.keep(first)
    engine = tl.Engine(first)
    second = program(".decl s(x: number)\nb: p(x) :- q(x), x > 1.\nq(2). q(3).")
    difference = remembered.difference(second, engine)
    assert (difference.added, difference.removed) == (1, 1)
    engine.apply_update(difference.update)
    assert set(engine["p"]) == {(2,), (3,)}
    assert remembered.difference(second, engine) is None  # a crash before keep: nothing is asked for twice
    remembered.keep(second)
    assert remembered.difference(second, engine) is None
    engine.verify()

"""The number of columns belongs to a version.

Taught by three kinds of states that were acknowledged and then unreadable, or read as something else: a relation that
was emptied and came back with other columns, a rule that was removed and added with another head, an empty relation of
an opened state. A test whose relations keep their columns cannot see any of it.
"""

import random
import zipfile
from pathlib import Path

import pytest

from tests.state.streams import sight
from tidelog import Engine
from tidelog.errors import StateError
from tidelog.state import log
from tidelog.state.fold import fold
from tidelog.state.rows import PRESENT, to_rows

KILLED = Path(__file__).parent / "killed"


def test_a_relation_that_comes_back_with_other_columns(tmp_path):
    """`p()` saved, deleted, `p("hello")` saved, opened: not `p()`."""
    engine = Engine()
    for before, after in (((), ("hello",)), (("hello",), (1, 2)), ((1, 2), ())):
        engine.apply(insert={"p": [before]})
        engine.save(tmp_path / "state")
        engine.apply(delete={"p": [before]})
        engine.save(tmp_path / "state")
        engine.apply(insert={"p": [after]})
        engine.save(tmp_path / "state")
        opened = Engine.open(tmp_path / "state")
        assert (list(opened["p"]), opened["p"].arity) == ([after], len(after))
        engine.apply(delete={"p": [after]})
    assert list(Engine.open(tmp_path / "state", version=1)["p"]) == [()]
    assert list(Engine.open(tmp_path / "state", version=7)["p"]) == [(1, 2)]


@pytest.mark.parametrize("saves", [True, False])
def test_a_rule_that_comes_back_with_another_head(tmp_path, saves):
    """Saved in between or not: the facts of the present head are those that are opened."""
    engine = Engine("r: p(x, x) :- q(x). n(c) :- c = count : { p(_, _) }.")
    engine.apply(insert={"q": [(1,)]})
    engine.save(tmp_path / "state")
    engine.apply(remove_rules=["r", *(rule for rule in engine.rules if rule.startswith("n"))])
    if saves:
        engine.save(tmp_path / "state")
    engine.apply(add_rules="r: p(x) :- q(x). n(c) :- c = count : { p(_) }.")
    engine.save(tmp_path / "state")
    opened = Engine.open(tmp_path / "state")
    opened.verify()
    assert (list(opened["p"]), list(opened["n"])) == ([(1,)], [(1,)])


def test_an_empty_relation_of_an_opened_state_takes_other_columns(tmp_path):
    """What was opened without facts is filled with others, and saved by the engine that opened it."""
    engine = Engine()
    engine.apply(insert={"p": [(1, 2)]})
    engine.apply(delete={"p": [(1, 2)]})
    engine.save(tmp_path / "state")
    opened = Engine.open(tmp_path / "state")
    opened.apply(insert={"p": [("hello",)]})
    opened.save(tmp_path / "state")
    assert list(Engine.open(tmp_path / "state")["p"]) == [("hello",)]


@pytest.mark.parametrize("seed", range(4))
def test_columns_that_change_at_any_moment(tmp_path, monkeypatch, seed):
    """Random widths over merges and bases: what is opened is what was saved, now and for every old version."""
    monkeypatch.setattr(log, "FAN_OUT", 3)
    monkeypatch.setattr(log, "LEAST_CHANGES", 20)
    draw, engine, seen = random.Random(seed), Engine(), {}
    for _ in range(24):
        for name in ("p", "q"):
            if name in engine and len(engine[name]) and draw.random() < 0.6:
                engine.apply(delete={name: list(engine[name])})
            width = engine[name].arity if name in engine and len(engine[name]) else draw.randrange(4)
            engine.apply(insert={name: [tuple(draw.choice((1, 1.0, "1")) for _ in range(width)) for _ in range(3)]})
        engine.save(tmp_path / "state")
        seen[engine.version] = sight(engine)
        if draw.random() < 0.3:
            engine = Engine.open(tmp_path / "state")
        assert sight(Engine.open(tmp_path / "state")) == seen[engine.version]
    for version, expected in seen.items():
        assert sight(Engine.open(tmp_path / "state", version=version)) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("emptied", {"p": [("hello",)]}),
        ("narrowed", {"p": [("hello",)]}),
        ("reopened", {"p": [("hello",)]}),
        ("rule_head", {"p": [(1,)], "q": [(1,)]}),
        ("separators", {"a\u2028b": [("c\u2029d",)]}),
    ],
)
def test_states_that_were_killed_open_again(tmp_path, name, expected):
    """States as the release before wrote them (which could not open them, or opened `emptied` with `p()`)."""
    with zipfile.ZipFile(KILLED / f"{name}.zip") as packed:
        packed.extractall(tmp_path / "state")
    engine = Engine.open(tmp_path / "state")
    assert {relation: list(engine[relation]) for relation in engine.relations} == expected
    engine.verify()
    engine.apply(insert={"more": [(1,)]})
    engine.save(tmp_path / "state")
    assert sight(Engine.open(tmp_path / "state")) == sight(engine)


def test_facts_with_two_numbers_of_columns_are_damage(tmp_path):
    """If two of them are left, no guess is made."""
    import pyarrow as pa

    rows = [to_rows("p", pa.table({f"c{n}": [1] for n in range(width)}), width, PRESENT, True, 1) for width in (1, 2)]
    with pytest.raises(ValueError, match="1 and with 2 columns"):
        list(fold(pa.concat_tables(rows)))


@pytest.mark.parametrize("version", ["2", 1.0, True, 2**70, None.__class__])
def test_a_version_is_a_number(tmp_path, version):
    """Everything else has a code, instead of an error from the depths."""
    engine = Engine()
    engine.save(tmp_path / "state")
    with pytest.raises(StateError, match="E612"):
        Engine.open(tmp_path / "state", version=version)


@pytest.mark.parametrize(
    "named",
    [{"batch": 2**70}, {"batch": "1"}, {"batch": 1.5}, {"batch": 1, "source": 7}, {"batch": 1, "source": "\ud800"}],
)
def test_batches_and_sources_that_cannot_be_stored_are_refused(tmp_path, named):
    """Before anything is written."""
    engine = Engine()
    engine.save(tmp_path / "state")
    before = sorted(path.name for path in (tmp_path / "state").iterdir())
    engine.apply(insert={"p": [(1,)]})
    with pytest.raises(StateError, match="E612"):
        engine.save(tmp_path / "state", **named)
    assert sorted(path.name for path in (tmp_path / "state").iterdir()) == before
    engine.save(tmp_path / "state", batch=2**63 - 1)

"""What a state says about arithmetic without a value.

Taught by states of older releases: they had no facts about instances without a value, so `verify()` failed on an opened
state that was right, and nothing was counted until an update touched the rule.
"""

import pytest

from tests.state.streams import sight
from tidelog import Engine
from tidelog.errors import EvaluationError
from tidelog.planning.lowered import UNDEFINED_PREFIX
from tidelog.state.reading import read_versions
from tidelog.state.versions import VersionInfo

RULES = "r(x, z) :- q(x, y), z = 10 / y. s(n) :- n = sum(z) : { r(_, z) }."


@pytest.fixture
def older(tmp_path, monkeypatch):
    """A state as an older release left it: no such facts, and no word about them."""
    engine = Engine(RULES)
    engine.apply(insert={"q": [(1, 2), (2, 0), (3, 0)]})
    holder = engine._backend
    names = [name for name in holder.relations() if not name.startswith(UNDEFINED_PREFIX)]
    with monkeypatch.context() as patch:
        patch.setattr(holder, "relations", lambda: names)
        said = VersionInfo.to_json
        forgotten = {"arithmetic"}
        patch.setattr(VersionInfo, "to_json", lambda info: {k: v for k, v in said(info).items() if k not in forgotten})
        engine.save(tmp_path / "state", batch=7)
    assert not any(name.startswith(UNDEFINED_PREFIX) for name in read_versions(tmp_path / "state")[-1].relations)
    return tmp_path / "state"


def counts(engine):
    """How many instances lack a value."""
    return [lacking.count for lacking in engine.without_value.values()]


def test_an_older_state_is_counted_verified_and_continued(older):
    """The facts are found when it is opened, and are part of the next save, of the same version or of another."""
    engine = Engine.open(older)
    assert (counts(engine), engine.version) == ([2], 1)
    engine.verify()
    engine.save(older, batch=7)
    again = Engine.open(older)
    assert sight(again) == sight(engine)
    again.apply(delete={"q": [(2, 0)]})
    again.save(older, batch=8)
    last = Engine.open(older)
    last.verify()
    assert counts(last) == [1]


def test_an_older_state_can_be_continued_without_a_save_in_between(older):
    """The first save after an update writes what was found."""
    engine = Engine.open(older)
    assert counts(engine) == [2]
    assert engine.apply(insert={"q": [(4, 0)]}).stats.without_value[next(iter(engine.without_value))].count == 3
    engine.save(older, batch=8)
    last = Engine.open(older)
    last.verify()
    assert counts(last) == [3]


def test_what_becomes_of_such_instances_is_stored(tmp_path):
    """An engine that refuses refuses after it was opened, unless it is opened otherwise."""
    engine = Engine(RULES, arithmetic="refuse")
    engine.apply(insert={"q": [(1, 2)]})
    engine.save(tmp_path / "state")
    with pytest.raises(EvaluationError, match="division by zero"):
        Engine.open(tmp_path / "state").apply(insert={"q": [(1, 0)]})
    assert counts(Engine.open(tmp_path / "state")) == []
    other = Engine.open(tmp_path / "state", arithmetic="skip")
    other.apply(insert={"q": [(1, 0)]})
    other.save(tmp_path / "state")
    opened = Engine.open(tmp_path / "state", arithmetic="refuse")
    with pytest.raises(EvaluationError):
        opened.apply(insert={"q": [(1, 1)]})
    opened.apply(delete={"q": [(1, 0)]})

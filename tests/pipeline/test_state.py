"""A pipeline's engine applies every batch once, whatever is delivered twice, fails, or changes between two runs."""

from __future__ import annotations

import pytest

from tests.state.streams import sight
from tidelog import Engine
from tidelog.changes.update import Update
from tidelog.errors import StateError
from tidelog.pipeline.state import DurableEngine
from tidelog.state.failpoints import FailpointError, raising
from tidelog.state.reading import read_versions

RULES = "r1: p(x, y) :- e(x, y)."
CLOSURE = "r2: p(x, z) :- e(x, y), p(y, z)."


def inserting(*pairs: tuple[int, int]) -> Update:
    return Update.of({"e": list(pairs)})


def begin(directory) -> None:
    """A state with first facts and one batch."""
    with DurableEngine(directory, RULES) as durable:
        assert durable.is_new
        assert durable.last_batch is None
        durable.engine.apply(insert={"e": [(1, 2)]})
        durable.commit()
        durable.apply(inserting((2, 3)), batch=0)


def test_a_replayed_batch_changes_nothing(tmp_path):
    """In the same run and in the next; even if the replay came with other facts."""
    begin(tmp_path)
    with DurableEngine(tmp_path, RULES) as durable:
        before = sight(durable.engine)
        assert durable.last_batch == 0
        assert durable.apply(inserting((9, 9)), batch=0) is None
        assert sight(durable.engine) == before
        assert durable.apply(inserting((3, 4)), batch=1).inserted.total == 2
        assert durable.apply(inserting((3, 4)), batch=1) is None
    assert [info.batch for info in read_versions(tmp_path)] == [None, 0, 1]


def test_what_was_not_committed_is_loaded_again(tmp_path):
    """A pipeline that died while it loaded its first facts begins anew."""
    with DurableEngine(tmp_path, RULES) as durable:
        durable.engine.apply(insert={"e": [(1, 2)]})
    with DurableEngine(tmp_path, RULES) as durable:
        assert durable.is_new
        assert not len(durable.engine["e"])


@pytest.mark.parametrize("failpoint", ["save-begins", "files-written", "committed"])
def test_a_batch_whose_save_failed_is_applied_once_when_it_comes_again(failpoint, tmp_path):
    """The stream repeats a batch that was not acknowledged. Applied twice, its rule would be removed twice: an error.

    The repetition gives the change of the first attempt, even if only the acknowledgement was lost.
    """
    begin(tmp_path)
    update = Update.of({"e": [(5, 6)]}, add_rules=CLOSURE, remove_rules=["r1"])
    expected = Engine.open(tmp_path)
    change = expected.apply_update(update)
    with DurableEngine(tmp_path, RULES) as durable:
        with raising(failpoint), pytest.raises(FailpointError):
            durable.apply(update, batch=1)
        repeated = durable.apply(update, batch=1)
        assert repeated.deleted.total == change.deleted.total > 0
        assert durable.last_batch == 1
        assert durable.apply(inserting((7, 8)), batch=2) is not None
    assert [info.batch for info in read_versions(tmp_path)] == [None, 0, 1, 2]
    expected.apply_update(inserting((7, 8)))
    assert sight(Engine.open(tmp_path)) == sight(expected)


def test_an_empty_batch_is_remembered(tmp_path):
    """Nothing to do is done once, too."""
    begin(tmp_path)
    with DurableEngine(tmp_path, RULES) as durable:
        durable.commit(batch=1)
        assert durable.has_batch(1)
    with DurableEngine(tmp_path, RULES) as durable:
        assert durable.last_batch == 1


def test_only_the_wanted_versions_are_kept(tmp_path, monkeypatch):
    """A pipeline that runs for months does not fill the disk with its past."""
    monkeypatch.setattr("tidelog.pipeline.state.FORGET_EVERY", 10)
    with DurableEngine(tmp_path, RULES, keep_versions=5) as durable:
        for batch in range(130):
            durable.apply(inserting((batch, batch)), batch)
    versions = [info.version for info in read_versions(tmp_path)]
    assert versions[-1] == 130
    assert 100 <= versions[0] <= 125
    assert len(list(tmp_path.glob("*.parquet"))) < 60
    assert len(Engine.open(tmp_path, version=125)["e"]) == 125
    with DurableEngine(tmp_path, RULES) as durable:
        assert durable.last_batch == 129


def test_a_changed_rule_file_is_an_incremental_rule_change(tmp_path):
    """Nothing is loaded again; the change says what the new rule brought, and is durable before anything else."""
    begin(tmp_path)
    with DurableEngine(tmp_path, RULES + CLOSURE) as durable:
        assert not durable.is_new
        assert set(durable.rule_change.inserted["p"]) == {(1, 3)}
    with DurableEngine(tmp_path, RULES + CLOSURE) as durable:
        assert durable.rule_change is None
        durable.engine.verify()
    with DurableEngine(tmp_path, CLOSURE) as durable:
        assert durable.rule_change.deleted.total == 3


def test_facts_in_a_rule_file_come_and_go_with_it(tmp_path):
    """They are the user's facts like any others; a line that is added or removed is not overlooked."""
    with DurableEngine(tmp_path, RULES + "e(1, 2). e(1, 2.0).") as durable:
        durable.commit()
    with DurableEngine(tmp_path, RULES + "e(1, 2.0). e(7, 8).") as durable:
        assert set(durable.rule_change.inserted["e"]) == {(7, 8)}
        assert [tuple(map(repr, fact)) for fact in durable.rule_change.deleted["e"]] == [("1", "2")]
        durable.engine.verify()
    with DurableEngine(tmp_path, RULES + "e(7, 8). e(1, 2.0).") as durable:
        assert durable.rule_change is None


def test_rules_that_came_by_update_survive_a_restart(tmp_path):
    """The rule file is compared with what it was, not with what updates made of it."""
    begin(tmp_path)
    with DurableEngine(tmp_path, RULES) as durable:
        durable.apply(Update.of(add_rules=CLOSURE), batch=1)
    with DurableEngine(tmp_path, RULES) as durable:
        assert durable.rule_change is None
        assert len(durable.engine.rules) == 2
        durable.apply(Update.of(remove_rules=["r1"]), batch=2)
    with DurableEngine(tmp_path, "r3: q(x) :- e(x, _).") as durable:
        assert set(durable.engine.rules) == {CLOSURE, "r3: q(x) :- e(x, _)."}


def test_rules_in_another_spelling_are_the_same(tmp_path):
    """Names of variables, white space and order make no difference."""
    begin(tmp_path)
    with DurableEngine(tmp_path, "r1:   p(a, b)\n :- e(a, b). // the same") as durable:
        assert durable.rule_change is None


def test_a_changed_declaration_is_refused(tmp_path):
    """Facts were checked against it when they came."""
    with DurableEngine(tmp_path, ".decl e(x: number, y: number)") as durable:
        durable.commit()
    with pytest.raises(StateError) as found:
        DurableEngine(tmp_path, ".decl e(x: symbol, y: number)")
    assert found.value.code == "E605"
    DurableEngine(tmp_path, ".decl e(x: number, y: number)").close()


def test_a_state_that_no_pipeline_began_is_refused(tmp_path):
    """Nobody knows which of its rules came from a file."""
    Engine(RULES).save(tmp_path)
    with pytest.raises(StateError) as found:
        DurableEngine(tmp_path, RULES)
    assert found.value.code == "E605"

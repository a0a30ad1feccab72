"""One engine, one state: a copy of it, or an older one in its place, is another.

Taught by a state and its copy that one engine saved into by turns: both saves were acknowledged, and since each wrote
only what had changed since the other, each state lacked an update. The name of the writer had been right.
"""

import os
import shutil

import pytest

from tests.state.streams import sight
from tidelog import Engine
from tidelog.errors import StateError
from tidelog.state.failpoints import FailpointError, raising
from tidelog.state.log import StateLog


@pytest.fixture
def engine(tmp_path):
    """An engine with two versions in `state`, of which `copy` is a copy."""
    engine = Engine()
    for number in (1, 2):
        engine.apply(insert={"p": [(number,)]})
        engine.save(tmp_path / "state")
    shutil.copytree(tmp_path / "state", tmp_path / "copy")
    return engine


def refused(engine, directory):
    """Saving there is refused and changes nothing."""
    before = sight(Engine.open(directory))
    with pytest.raises(StateError) as caught:
        engine.save(directory)
    assert caught.value.code == "E611"
    assert "not the one that this engine last wrote" in str(caught.value)
    assert sight(Engine.open(directory)) == before


def test_a_copy_is_refused(engine, tmp_path):
    """After a save into one of the two, the other lacks it."""
    engine.apply(insert={"p": [(3,)]})
    engine.save(tmp_path / "state")
    engine.apply(insert={"p": [(4,)]})
    refused(engine, tmp_path / "copy")
    engine.save(tmp_path / "state")
    assert sight(Engine.open(tmp_path / "state")) == sight(engine)


def test_whichever_of_the_two_is_saved_first_stays_the_one(engine, tmp_path):
    """A copy that is saved into first has moved on with the engine, and the original is left behind."""
    engine.apply(insert={"p": [(3,)]})
    engine.save(tmp_path / "copy")
    refused(engine, tmp_path / "state")
    assert sight(Engine.open(tmp_path / "copy")) == sight(engine)


def test_copies_that_grew_by_as_many_saves_are_told_apart(engine, tmp_path):
    """Two engines, two copies, equally many commits: numbers of commits do not tell them apart, ids do."""
    other = Engine.open(tmp_path / "copy")
    other.apply(insert={"q": [(1,)]})
    other.save(tmp_path / "copy")
    engine.apply(insert={"p": [(3,)]})
    engine.save(tmp_path / "state")
    engine.apply(insert={"p": [(4,)]})
    refused(engine, tmp_path / "copy")


def test_a_restored_backup_is_refused(engine, tmp_path):
    """The backup has everything that its commits say, but not what came after it was made."""
    engine.apply(insert={"p": [(3,)]})
    engine.save(tmp_path / "state")
    shutil.rmtree(tmp_path / "state")
    shutil.copytree(tmp_path / "copy", tmp_path / "state")
    engine.apply(insert={"p": [(4,)]})
    refused(engine, tmp_path / "state")
    again = Engine.open(tmp_path / "state")
    again.apply(insert={"p": [(3,), (4,)]})
    again.save(tmp_path / "state")
    assert len(Engine.open(tmp_path / "state")["p"]) == 4


@pytest.mark.parametrize("in_place", [True, False])
def test_a_backup_restored_under_an_open_log_is_refused(engine, tmp_path, in_place):
    """A pipeline holds its state open; files that change under it are noticed before the next commit."""
    with StateLog(tmp_path / "state") as state:
        engine.apply(insert={"p": [(3,)]})
        engine.save(state)
        if in_place:
            shutil.rmtree(tmp_path / "state/_delta_log")
            shutil.copytree(tmp_path / "copy/_delta_log", tmp_path / "state/_delta_log")
        else:
            shutil.rmtree(tmp_path / "state")
            shutil.copytree(tmp_path / "copy", tmp_path / "state")
        engine.apply(insert={"p": [(4,)]})
        refused(engine, state)


def test_an_uncertain_commit_is_saved_again(engine, tmp_path):
    """An error after the commit: the state may have the version; saving again finds out, and loses nothing."""
    engine.apply(insert={"p": [(3,)]})
    with raising("committed"), pytest.raises(FailpointError):
        engine.save(tmp_path / "state")
    engine.apply(insert={"p": [(4,)]})
    engine.save(tmp_path / "state")
    assert sight(Engine.open(tmp_path / "state")) == sight(engine)


def test_an_uncertain_commit_and_a_copy(engine, tmp_path):
    """The engine goes on with the copy; then the commit of which it was not sure is none of its own any more."""
    engine.apply(insert={"p": [(3,)]})
    with raising("committed"), pytest.raises(FailpointError):
        engine.save(tmp_path / "state")
    engine.apply(insert={"p": [(4,)]})
    engine.save(tmp_path / "copy")
    assert sight(Engine.open(tmp_path / "copy")) == sight(engine)
    engine.apply(insert={"p": [(5,)]})
    refused(engine, tmp_path / "state")


def test_a_forked_process_is_told_that_it_cannot_use_states(tmp_path):
    """Its parent has used one. Taught by a panic of delta-rs, which is no Exception, with a stack of Rust."""
    Engine("p(1).").save(tmp_path / "state")
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        told = []
        for use in (lambda: Engine("p(2).").save(tmp_path / "other"), lambda: Engine.open(tmp_path / "state")):
            try:
                use()
            except StateError as error:
                told.append(error.code)
        os.write(writing, " ".join(told).encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        assert pipe.read() == "E618 E618"
    assert len(Engine.open(tmp_path / "state")["p"]) == 1

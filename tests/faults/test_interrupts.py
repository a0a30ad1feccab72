"""Interrupts and threads never leave an engine between two versions.

Taught by attacks: one random Ctrl-C in a hundred left new facts with the old version number, an endless kernel loop or
a segmentation fault, and two threads in `apply` corrupted the heap. Both run in processes of their own, because a
native crash has to be seen as a failed test and not as a lost test run.
"""

import json
import subprocess
import sys
import threading

import pytest

from tidelog import Engine
from tidelog.errors import UsageError
from tidelog.maintenance.registry import STRATEGIES

CLOSURE = "path(x, y) :- edge(x, y). path(x, z) :- edge(x, y), path(y, z)."


def run(*arguments: str) -> str:
    """What a fault program printed; it must end well."""
    command = [sys.executable, "-X", "faulthandler", "-m", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=250)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return done.stdout


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_an_interrupt_leaves_the_version_before_or_after(strategy):
    """Figure 17, fast tier: 304 hits over all strategies, half of them followed by a second one during the rollback."""
    found = run("tests.faults.interrupts", "--hits", "38", "--strategies", strategy)
    assert json.loads(found)["hits"] >= 38


@pytest.mark.parametrize("strategy", ["dred", "auto"])
def test_an_interrupt_in_shared_work_leaves_the_version_before_or_after(strategy):
    """The threads that share an update stop before anything is undone, also when a second hit ends the waiting."""
    found = run("tests.faults.interrupts", "--hits", "12", "--strategies", strategy, "--threads", "3")
    assert json.loads(found)["hits"] >= 12


@pytest.mark.parametrize("threads", ["2", "8"])
def test_writers_take_turns_and_readers_see_whole_versions(threads):
    """Figure 18, fast tier."""
    found = run("tests.faults.threads", "--seconds", "7", "--threads", threads)
    assert found.count('"wrong": []') == len(STRATEGIES)


@pytest.mark.long
def test_many_interrupts():
    """Figure 17, long tier; `python -m tests.records interrupts` makes it 20,000 and leaves a record."""
    for seed in range(10):
        run("tests.faults.interrupts", "--hits", "350", "--seed", str(seed * 100))
        run("tests.faults.interrupts", "--hits", "100", "--seed", str(seed * 100), "--threads", "3")


@pytest.mark.long
def test_many_threads():
    """Figure 18, long tier."""
    for seed in range(8):
        run("tests.faults.threads", "--seconds", "200", "--seed", str(seed))


def test_a_watcher_that_writes_is_refused_and_does_not_wait_for_itself():
    """A watcher runs inside the update that it watches: waiting for its turn there would be for ever."""
    engine = Engine(CLOSURE)
    engine.watcher = lambda facts: engine.apply(insert={"edge": [(7, 8)]})
    with pytest.raises(UsageError, match="E814"):
        engine.apply(insert={"edge": [(1, 2)]})
    engine.watcher = None
    assert engine.version == 0
    engine.apply(insert={"edge": [(1, 2)]})
    engine.verify()


@pytest.mark.parametrize("question", ["path(x, y), path(y, z), x < z", "n = count : { path(_, _) }", "!edge(1, 3)"])
def test_a_question_with_a_whole_body_is_answered_beside_a_writer(question):
    """It waited for the writer; now it sees the last version, while the writer is in the middle of the next."""
    engine = Engine(CLOSURE)
    engine.apply(insert={"edge": [(1, 2), (2, 3), (3, "x")]})
    expected = sorted(engine.query(question), key=str)
    began, may_end = threading.Event(), threading.Event()

    def watch(facts: int) -> None:
        began.set()
        may_end.wait(60)

    engine.watcher = watch
    writer = threading.Thread(target=engine.apply, kwargs={"insert": {"edge": [(n, n + 1) for n in range(1, 40)]}})
    writer.start()
    assert began.wait(60)
    try:
        assert sorted(engine.query(question), key=str) == expected
        assert writer.is_alive()
    finally:
        may_end.set()
        writer.join()
    engine.watcher = None
    engine.verify()
    assert len(engine["path"]) > 100


FORK = """
import os, threading
from tidelog import Engine
engine, idle = Engine("p(x) :- q(x). p(y) :- p(x), e(x, y)."), Engine("p(x) :- q(x).")
began, may_end = threading.Event(), threading.Event()
engine.watcher = lambda facts: (began.set(), may_end.wait(60))
facts = {"q": [(0,)], "e": [(n, n + 1) for n in range(40)]}
writer = threading.Thread(target=engine.apply, kwargs={"insert": facts})
writer.start()
assert began.wait(60)
child = os.fork()
if not child:
    code = 1
    try:
        assert idle.apply(insert={"q": [(1,)]}).inserted.total == 2
        for call in (lambda: engine.apply(insert=facts), lambda: list(engine["q"])):
            try:
                call()
            except Exception as error:
                print(error.code, flush=True)
        code = 0
    finally:
        os._exit(code)
assert os.waitpid(child, 0)[1] == 0
may_end.set()
writer.join()
assert len(engine["p"]) == 41
"""


def test_a_fork_in_the_middle_of_an_update_is_told_and_does_not_wait_for_ever():
    """The child waited for a lock whose owner, a thread of the parent, was not copied. Other engines work there."""
    command = [sys.executable, "-W", "ignore", "-c", FORK]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stdout.split()) == (0, ["E819", "E819"]), done.stderr


def test_a_watcher_may_read_the_last_version():
    """Readers inside a turn see what everybody else sees."""
    engine = Engine(CLOSURE)
    engine.apply(insert={"edge": [(1, 2)]})
    seen = []
    engine.watcher = lambda facts: seen.append(set(engine["path"]))
    engine.apply(insert={"edge": [(2, 3)]})
    assert seen
    assert all(facts == {(1, 2)} for facts in seen)


def test_a_reader_does_not_wait_for_a_writer():
    """While an update is in the middle of its work, another thread is answered about the version before."""
    engine = Engine(CLOSURE)
    engine.apply(insert={"edge": [(1, 2)]})
    answers, is_asked = [], threading.Event()

    def ask() -> None:
        answers.append(((1, 2) in engine["path"], len(engine["path"]), engine.version))
        is_asked.set()

    def watch(facts: int) -> None:
        if not answers:
            threading.Thread(target=ask).start()
            assert is_asked.wait(20)

    engine.watcher = watch
    engine.apply(insert={"edge": [(2, 3)]})
    assert answers == [(True, 1, 1)]


def test_what_an_interrupt_left_half_committed_is_finished_before_anybody_reads(monkeypatch):
    """The update was decided; the exception is raised, and the version after is there."""
    engine = Engine(CLOSURE)
    engine.apply(insert={"edge": [(1, 2)]})
    backend, commit = engine._backend, engine._backend.commit
    hits = iter([KeyboardInterrupt, KeyboardInterrupt])

    def interrupted() -> None:
        commit()
        for hit in hits:
            raise hit

    monkeypatch.setattr(backend, "commit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        engine.apply(insert={"edge": [(2, 3)]})
    with pytest.raises(KeyboardInterrupt):  # the second one hits the call that finishes it
        len(engine["path"])
    assert len(engine["path"]) == 3
    assert engine.version == 2
    engine.verify()


def test_what_an_interrupt_left_is_finished_before_relations_are_listed(monkeypatch):
    """They were listed as of the version before, and read as of the one after: a new relation was missing."""
    engine = Engine("p(x) :- q(x).")
    engine.apply(insert={"q": [(1,)]})
    commit = type(engine._backend).commit

    def interrupted(backend):
        monkeypatch.setattr(type(engine._backend), "commit", commit)
        commit(backend)
        raise KeyboardInterrupt

    for change, is_there in (({"add_rules": "r(x) :- q(x)."}, True), ({"remove_rules": ["r(x) :- q(x)."]}, False)):
        monkeypatch.setattr(type(engine._backend), "commit", interrupted)
        with pytest.raises(KeyboardInterrupt):
            engine.apply(**change)
        listed, rules = engine.relations, engine.rules
        assert {name: set(engine[name]) for name in listed if len(engine[name])}.get("r", set()) == (
            {(1,)} if is_there else set()
        )
        assert (len(rules) == 2) is is_there
    engine.verify()

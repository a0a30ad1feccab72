"""An interrupt in a save leaves the directory free for the next save.

Taught by random interrupts: three of four runs met one between taking the lock and the first `try` behind it. The
descriptor stayed open, and every later save of that process was refused because another writer, itself, held the state.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import Any

import pytest

import tidelog as tl
from tidelog.errors import StateError
from tidelog.state.lock import Lock
from tidelog.state.log import StateLog, opened
from tidelog.state.table import Table

PLACES = (Lock.__init__, Lock.release, StateLog.__init__, StateLog.__enter__, StateLog.__exit__, StateLog.close, opened)


def codes() -> Iterator[CodeType]:
    for place in PLACES:
        yield getattr(place, "__wrapped__", place).__code__


def interrupted(call: Callable[[], object], code: CodeType, line: int) -> BaseException | None:
    """Interrupt a call where it comes to a line; what came out."""

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code is not code:
            return trace if event == "call" else None
        if event == "line" and frame.f_lineno == line:
            sys.settrace(None)
            raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    except KeyboardInterrupt as error:
        return error
    finally:
        sys.settrace(before)
    return None


def test_a_save_follows_an_interrupted_one(tmp_path):
    """At every line, and also while the traceback of the interrupt is kept, as an interactive session keeps it."""
    engine = tl.Engine("p(1).")
    engine.save(tmp_path)
    kept = []
    for code in codes():
        for line in sorted({line for _, _, line in code.co_lines() if line}):
            engine.apply(insert={"p": [(len(kept) + 2,)]})
            kept.append(interrupted(lambda: engine.save(tmp_path), code, line))
            engine.save(tmp_path)
    assert sum(error is not None for error in kept) > 20
    assert set(tl.Engine.open(tmp_path)["p"]) == set(engine["p"])


def test_a_save_within_a_save_is_refused_and_the_outer_one_is_kept(tmp_path, monkeypatch):
    """As the handler of a signal may ask for it, in the same thread: the lock is in use, and not left over.

    Taught by a reading of the code that gives locks back: the inner save removed the files of the outer one, which was
    acknowledged all the same.
    """
    engine, other, told = tl.Engine("p(1)."), tl.Engine("p(7)."), []
    engine.save(tmp_path)
    engine.apply(insert={"p": [(2,)]})
    commit = Table.commit

    def interrupting(table, *arguments):
        with pytest.raises(StateError) as refused:
            other.save(tmp_path)
        told.append(refused.value.code)
        commit(table, *arguments)

    monkeypatch.setattr(Table, "commit", interrupting)
    engine.save(tmp_path)
    assert told == ["E607"]
    assert set(tl.Engine.open(tmp_path)["p"]) == {(1,), (2,)}


def test_a_forked_process_does_not_keep_the_directory_locked(tmp_path):
    """A file lock belongs to all processes that have the open file; children of a pool live long."""
    reading, writing = os.pipe()
    lock = Lock(tmp_path)
    child = os.fork()
    if not child:
        os.close(writing)
        os.read(reading, 1)  # until the parent has looked
        os._exit(0)
    lock.release()
    try:
        Lock(tmp_path).release()
    finally:
        os.close(writing)
        os.waitpid(child, 0)
        os.close(reading)


def test_a_closed_log_is_refused(tmp_path):
    engine = tl.Engine("p(1).")
    with StateLog(tmp_path) as log:
        engine.save(log)
    engine.apply(insert={"p": [(2,)]})
    with pytest.raises(StateError) as refused:
        engine.save(log)
    assert refused.value.code == "E607"


def test_a_log_that_is_kept_open_is_not_taken_back(tmp_path):
    """It may belong to a pipeline in the same thread."""
    with StateLog(tmp_path), pytest.raises(StateError) as refused:
        tl.Engine("p(1).").save(tmp_path)
    assert refused.value.code == "E607"

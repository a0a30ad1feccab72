"""A thread that dies before its first line is replaced, and a slow one does nothing twice."""

import _thread
from threading import Event, Thread

import pytest

from tidelog import beginning


def test_a_thread_that_never_begins_is_replaced(monkeypatch):
    """As when an exception that is injected into the caller hits the new thread."""
    start, started, done = _thread.start_new_thread, [], Event()

    def born_dead(function, arguments):
        started.append(function)
        if len(started) > 1:
            start(function, arguments)

    monkeypatch.setattr(_thread, "start_new_thread", born_dead)
    monkeypatch.setattr(beginning, "_PATIENCE", 0.01)
    beginning.begin(done.set)
    assert done.wait(10)
    assert len(started) >= 2


def test_work_is_done_once_however_slow_a_thread_begins(monkeypatch):
    """The thread that was given up begins at last, and finds nothing to do."""
    late, count, done = [], [], Event()
    start = _thread.start_new_thread

    def slow(function, arguments):
        late.append(function)
        if len(late) > 1:
            start(function, arguments)

    monkeypatch.setattr(_thread, "start_new_thread", slow)
    monkeypatch.setattr(beginning, "_PATIENCE", 0.01)
    beginning.begin(lambda: (count.append(None), done.set()))
    assert done.wait(10)
    late[0]()
    assert count == [None]


def test_a_thread_of_the_standard_library_is_started_by_another_one(monkeypatch):
    """What is injected into the caller hits that one at most, and the caller does not wait for ever."""
    start, started, done = _thread.start_new_thread, [], Event()

    def born_dead(function, arguments):
        started.append(function)
        if len(started) > 1:
            start(function, arguments)

    monkeypatch.setattr(_thread, "start_new_thread", born_dead)
    monkeypatch.setattr(beginning, "_PATIENCE", 0.01)
    thread = Thread(target=done.set)
    beginning.begin_thread(thread)
    assert done.wait(10)
    thread.join()


def test_a_thread_that_cannot_be_started_is_told_to_the_caller(monkeypatch):
    """As when there are too many."""
    monkeypatch.setattr(Thread, "start", lambda _: (_ for _ in ()).throw(RuntimeError("can't start new thread")))
    with pytest.raises(RuntimeError, match="can't start"):
        beginning.begin_thread(Thread())

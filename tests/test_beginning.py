"""A thread that dies before its first line is replaced, and a slow one does nothing twice."""

import _thread
from threading import Event, Thread

import pytest

from tidelog import beginning


@pytest.fixture
def stillborn(monkeypatch):
    """What threads were asked to do, the first of which never begins."""
    start, asked = _thread.start_new_thread, []

    def born_dead(function, arguments):
        asked.append(function)
        if len(asked) > 1:
            start(function, arguments)

    monkeypatch.setattr(_thread, "start_new_thread", born_dead)
    monkeypatch.setattr(beginning, "_PATIENCE", 0.01)
    return asked


def test_a_thread_that_never_begins_is_replaced(stillborn):
    """As when an exception that is injected into the caller hits the new thread."""
    done = Event()
    beginning.begin(done.set)
    assert done.wait(10)
    assert len(stillborn) >= 2


def test_work_is_done_once_however_slow_a_thread_begins(stillborn):
    """The thread that was given up begins at last, and finds nothing to do."""
    count, done = [], Event()
    beginning.begin(lambda: (count.append(None), done.set()))
    assert done.wait(10)
    stillborn[0]()
    assert count == [None]


def test_a_thread_of_the_standard_library_is_started_by_another_one(stillborn):
    """What is injected into the caller hits that one at most, and the caller does not wait for ever."""
    done = Event()
    thread = Thread(target=done.set)
    beginning.begin_thread(thread)
    assert done.wait(10)
    assert len(stillborn) >= 2
    thread.join()


def test_a_thread_that_cannot_be_started_is_told_to_the_caller(monkeypatch):
    """As when there are too many."""
    monkeypatch.setattr(Thread, "start", lambda _: (_ for _ in ()).throw(RuntimeError("can't start new thread")))
    with pytest.raises(RuntimeError, match="can't start"):
        beginning.begin_thread(Thread())

"""Threads end with the call that started them, whatever happens in it."""

from __future__ import annotations

import os
import threading
import time
from functools import partial

import pytest

from tidelog.backends.local.kernels import workers as module
from tidelog.backends.local.kernels.workers import Workers


def test_answers_come_in_the_order_of_the_tasks():
    """However long each of them takes, and however many threads there are."""
    for threads in (1, 2, 5, 40):
        tasks = [partial(lambda at: (time.sleep(0.001 * (at % 3)), at)[1], at) for at in range(20)]
        assert Workers(threads).run(tasks) == list(range(20))
    assert Workers(3).run([]) == []


def test_tasks_run_side_by_side():
    """Two tasks that wait for each other end only if both have begun."""
    meeting = threading.Barrier(2, timeout=20)
    assert sorted(Workers(2).run([meeting.wait, meeting.wait])) == [0, 1]


@pytest.mark.parametrize("aside", [True, False])
def test_the_first_failure_is_raised_and_ends_the_others(aside):
    """Of a thread or of the caller; tasks that nobody has begun are not begun."""
    caller, done, both = threading.get_ident(), [], threading.Barrier(2, timeout=20)

    def first() -> None:
        both.wait()
        if (threading.get_ident() != caller) == aside:
            raise ValueError("this one")
        time.sleep(0.05)

    with pytest.raises(ValueError, match="this one"):
        Workers(2).run([first, first, *(lambda: done.append(time.sleep(0.02)) for _ in range(200))])
    assert len(done) < 100


def test_an_interrupted_caller_waits_for_its_threads():
    """Whatever is undone after an interrupt must not be written to any more."""
    caller, running, ended = threading.get_ident(), threading.Event(), []

    def task() -> None:
        if threading.get_ident() == caller:
            assert running.wait(20)
            raise KeyboardInterrupt
        running.set()
        time.sleep(0.1)
        ended.append(True)

    with pytest.raises(KeyboardInterrupt):
        Workers(2).run([task, task])
    assert ended == [True]


def test_what_a_second_interrupt_leaves_is_waited_for_before_anything_is_undone():
    """The second one may end the waiting itself; `drain` is what a rollback begins with."""
    workers, running, ended = Workers(2), threading.Event(), []

    def task() -> None:
        running.set()
        time.sleep(0.1)
        ended.append(True)

    shift = module._Shift([task])  # as `run` leaves it when it is hit in the handler of a hit
    workers._shifts.add(shift)
    shift.start(1)
    assert running.wait(20)
    assert not ended
    workers.drain()
    assert ended == [True]
    assert not workers._shifts


def test_a_machine_without_threads_to_spare_does_the_work_alone(monkeypatch):
    """`start_new_thread` fails when a process has as many threads as it may have."""

    def refuse(*_: object) -> int:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(module, "start_new_thread", refuse)
    assert Workers(4).run([lambda: 1, lambda: 2]) == [1, 2]


def test_a_thread_that_is_hit_before_its_first_line_is_not_waited_for(monkeypatch):
    """CPython knows a new thread by the number of its maker at first: what is injected into the one may hit the other.

    The caller waited for ever then (found by `tests.faults.interrupts --threads 3`).
    """
    monkeypatch.setattr(module, "start_new_thread", lambda *_: 1)
    assert Workers(4).run([lambda: 1, lambda: 2]) == [1, 2]


def test_threads_are_at_work_in_a_child_of_a_fork():
    """And the child does not wait for threads that only the parent has."""
    workers = Workers(2)
    workers._shifts.add(left := module._Shift([]))
    left._begun.append([])
    child = os.fork()
    if not child:
        is_right = workers.run([lambda: 1, lambda: 2]) == [1, 2]
        workers.drain()
        os._exit(0 if is_right else 1)
    assert os.waitpid(child, 0)[1] == 0

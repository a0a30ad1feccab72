"""Threads that surely begin.

What      : `begin` starts a thread and returns when it is at work; `done_aside` waits for its answer. `begin_thread`
            starts one of the standard library, which has a name and for which the process waits, unless it is a daemon.
Idea      : an exception that is injected into a thread while it starts another may hit the new one before its first
            line, because CPython knows both by one number then. Python's own threads are waited for until they have
            begun, and so for ever. Here a thread that does not begin in time is replaced. One of Python's own is
            started by a thread that nobody else knows.
Invariant : the work is done by one thread, however slow another was to begin.
Never     : nothing is waited for once the work has begun; the process does not wait for what `begin` has started.
"""

from __future__ import annotations

import _thread
from collections.abc import Callable
from threading import Event, Thread
from typing import TypeVar

T = TypeVar("T")

_PATIENCE = 1.0
"""Seconds after which a thread that has not begun is given up; a busy machine takes a few milliseconds."""


def begin(work: Callable[[], None]) -> None:
    """Let a thread of its own do the work."""
    chances: list[None] = [None]
    begun = Event()

    def run() -> None:
        try:
            chances.pop()
        except IndexError:  # another thread has begun
            return
        begun.set()
        work()

    while not begun.is_set():
        _thread.start_new_thread(run, ())
        begun.wait(_PATIENCE)


def done_aside(work: Callable[[], T]) -> T:
    """The answer of work that a thread of its own does; what it raises is raised here."""
    answers, failures, ended = list[T](), list[BaseException](), Event()

    def run() -> None:
        try:
            answers.append(work())
        except BaseException as failure:  # it belongs to the caller
            failures.append(failure)
        finally:
            ended.set()

    begin(run)
    ended.wait()
    if failures:
        raise failures[0]
    return answers[0]


def begin_thread(thread: Thread) -> None:
    """Start a thread; what hinders it (there may be too many) is raised here."""
    done_aside(thread.start)

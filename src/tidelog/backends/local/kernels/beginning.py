"""Threads that surely begin.

What      : `begin` starts a thread and returns when it is at work.
Idea      : an exception that is injected into a thread while it starts another may hit the new one before its first
            line, because CPython knows both by one number then. Python's own threads are waited for until they have
            begun, and so for ever. Here a thread that does not begin in time is replaced.
Invariant : the work is done by one thread, however slow another was to begin.
Never     : nothing is waited for once the work has begun; the process does not wait for it when it ends.
"""

from __future__ import annotations

import _thread
from collections.abc import Callable
from threading import Event

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

"""Threads that work side by side on one call.

What      : `Workers` runs tasks in several threads of this process and answers when all of them are done.
Idea      : kernels release the interpreter lock, so plain threads use every core; Numba's own `parallel=True` aborts
            the process when two callers meet, and kills children of a fork. Threads are started for a call and end with
            it: a start takes 30 microseconds, what is worth a call takes milliseconds. So none is left behind, a fork
            copies none, and an engine that has little to do pays nothing.
Invariant : when `run` returns or raises, no thread is at work for it, and none begins a task later. The first failure
            is raised and stops the others before their next task; so does an interrupt of the caller, who waits for
            them before it goes on. A second interrupt may end that waiting: `drain` waits again, and is called before
            anything is undone. An exception that is injected into the caller while it starts a thread may hit the new
            thread before its first line (CPython knows both by one number then): such a thread is not waited for.
Never     : no task runs another set of tasks; no task is longer than a bounded kernel call.
"""

from __future__ import annotations

import os
from _thread import start_new_thread
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import pairwise
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

from tidelog.backends.local.kernels import interpreting

T = TypeVar("T")

LEAST = 1 << 16
"""Fewer rows than these are left to one thread. To start a thread takes 0.1 ms, but where every core is busy with
something else, its share may be late by some milliseconds, which is what these rows take."""
_PATIENCE = 0.01
"""Seconds after which a waiting thread looks again: an interrupt may have swallowed what would have woken it."""


class _Shift(Generic[T]):
    """Some tasks, and the threads that do them."""

    def __init__(self, tasks: Sequence[Callable[[], T]]) -> None:
        self.answers: list[Any] = [None] * len(tasks)
        self.failures: list[BaseException] = []
        self.is_stopped = False
        self.process = os.getpid()
        self._tasks = enumerate(tasks)
        self._begun: list[list[None]] = []
        self._bell: SimpleQueue[None] = SimpleQueue()

    def start(self, threads: int) -> None:
        """Start threads."""
        for _ in range(threads):
            start_new_thread(self._aside, ())

    def work(self) -> None:
        """Do the tasks that nobody has begun, one after the other."""
        for at, task in self._tasks:
            if self.is_stopped:
                return
            self.answers[at] = task()

    def wait(self) -> None:
        """Return when every thread that has begun has ended; who begins from now on finds nothing to do."""
        while not all(self._begun):
            with suppress(Empty):
                self._bell.get(timeout=_PATIENCE)

    def _aside(self) -> None:
        ended: list[None] = []
        try:
            self._begun.append(ended)
            self.work()
        except BaseException as failure:  # it belongs to the caller
            self.is_stopped = True
            self.failures.append(failure)
        finally:
            ended.append(None)
            self._bell.put(None)


class Workers:
    """The threads that calls of one store may use."""

    def __init__(self, threads: int = 1) -> None:
        self.threads = threads
        self._shifts: set[_Shift[Any]] = set()

    def takes(self, size: int) -> bool:
        """Whether work on that number of rows is shared."""
        return size >= LEAST and self.threads > 1

    def of(self, size: int) -> Workers:
        """These, if work on that number of rows is shared; else one thread."""
        return self if self.takes(size) else ALONE

    def run(self, tasks: Iterable[Callable[[], T]]) -> list[T]:
        """The answers of tasks, in their order; the caller works, too."""
        shift: _Shift[T] = _Shift(list(tasks))
        self._shifts.add(shift)
        try:
            with suppress(RuntimeError):  # no more threads can be started: those that were, and the caller, do it all
                shift.start(min(self.threads, len(shift.answers)) - 1)
            shift.work()
            shift.wait()
        except BaseException:
            shift.is_stopped = True
            while True:
                try:
                    shift.wait()
                    break
                except BaseException:  # noqa: S112 - one interrupt is reported, the others are the same
                    continue
            self._shifts.discard(shift)
            raise
        self._shifts.discard(shift)
        if shift.failures:
            raise shift.failures[0]
        return shift.answers

    def drain(self) -> None:
        """Return when no thread works any more for a caller that was interrupted; see `interpreting.drain`."""
        interpreting.drain()
        for shift in tuple(self._shifts):
            if shift.process == os.getpid():  # a fork has no threads of its parent
                shift.wait()
            self._shifts.discard(shift)


ALONE = Workers()
"""One thread: what everything uses that was not told otherwise, such as a task of Spark."""


def ranges(size: int, parts: int) -> list[tuple[int, int]]:
    """The numbers from 0 to `size` in ranges of nearly the same length."""
    return list(pairwise([size * part // parts for part in range(parts + 1)]))


def every_core() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

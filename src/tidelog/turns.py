"""Who may write to an engine, and what an interrupt leaves behind.

What      : `Turns` lets one writer work at a time, refuses a writer that calls from inside its own turn, and lets
            readers of other threads see one whole version.
Idea      : a transaction is decided by one assignment, that of `_finish`. A transaction that stops before this
            assignment is undone, one that stops after it is finished. The turn itself does so; if an interrupt (Ctrl-C,
            a signal, an exception that another thread injects) stops that too, the next turn does it before anything
            else.
Invariant : outside a turn there is nothing to undo or to finish, or the next turn knows of it. `undo` and what finishes
            a transaction can be called again.
Never     : no facts, no rules, no backend.

A lock is only ever taken by a `with` statement over a lock written in C: between taking it and guarding it there is no
moment at which an interrupt could leave it locked.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from threading import RLock
from typing import Any, Never, TypeVar
from weakref import WeakSet

from tidelog.errors import TidelogError, UsageError

T = TypeVar("T")


class NotCopied:
    """What has turns: a copy of it would share facts with it, and each would be wrong about the other's versions."""

    def __reduce_ex__(self, protocol: object) -> Never:
        del protocol
        raise UsageError.of(
            "E822",
            f"{type(self).__name__} cannot be copied or pickled",
            remedy="save it and use Engine.open; threads of one process share it as it is",
        )


_TRIES = 3
"""How often a reader begins again because a version came in between, before it waits for its turn."""


class Turns:
    """The turns of one engine's writers."""

    def __init__(self, undo: Callable[[bool], None]) -> None:
        """`undo` takes back what an unfinished transaction did; it is told whether that stopped in good order."""
        self._undo = undo
        self._lock = RLock()
        self._is_open = self._is_closed = self._is_orphan = self._is_taken = self.is_beside = False
        self._is_given_back = False
        self._finish: Callable[[], Any] | None = None
        self.settled = 0
        """How many transactions were finished."""
        _EVERYBODY.add(self)

    def take(self, work: Callable[[], T]) -> T:
        """Do some work as the only writer."""
        if self.is_mine:
            raise UsageError.of(
                "E814",
                "an update is asked for while this very thread is in the middle of one",
                remedy="a watcher or a callback may read; let it hand updates to another thread, or apply them later",
            )
        with self._lock:
            self.refuse_if_closed()
            self._is_taken = True
            try:
                self._mend()
                return work()
            finally:
                self._is_taken = False  # if an interrupt prevents it, dear readers stay beside until the next turn

    def close(self, work: Callable[[], None]) -> None:
        """Do the last work. Every later call is refused, except closing again, which does what was left undone."""

        def last() -> None:
            self._is_closed = True  # whatever becomes of it: readers could see a part, and take it for the whole
            work()
            self._is_given_back = True

        if self._is_given_back:
            return
        if not self._is_closed:
            self.take(last)
            return
        with self._lock:
            last()

    def transact(self, attempt: Callable[[], Callable[[], T]]) -> T:
        """Within a turn: `attempt` does what can fail or be stopped; what it returns makes it the next version."""
        self._is_open = True
        try:
            finish = attempt()
        except BaseException as error:
            self._undo(isinstance(error, TidelogError))
            self._is_open = False
            raise
        self._finish = finish  # decided
        return self._complete(finish)

    def beside(self, work: Callable[[], T]) -> T:
        """Within an open transaction: work with one that sees nothing of what it does, and is decided by itself.

        Whatever becomes of it, the first one stays open.
        """
        self.is_beside = True
        try:
            return work()
        finally:
            if self._finish is not None:
                self._complete(self._finish)
            self.__dict__.update(_is_open=True, is_beside=False)

    def read(self, ask: Callable[[], T], *, beside: Callable[[], T] | None = None, is_dear: bool = False) -> T:
        """The answer to a question about one version, in a turn; `beside` gives it without waiting for a writer.

        Where that `is_dear`, it is asked only while somebody else has a turn.
        """
        self.refuse_if_closed()
        if self.is_mine:  # a watcher asks: nothing is decided yet
            return ask()
        for _ in range(_TRIES if self._is_taken or not is_dear else 0):
            settled = self.settled
            if self._finish is not None or beside is None:
                break
            try:
                answer = beside()
            except Exception:
                self.refuse_if_closed()
                if self._has_moved_since(settled):
                    continue
                raise
            if not self._has_moved_since(settled):
                self.refuse_if_closed()
                return answer
        with self._lock:
            self.refuse_if_closed()
            self._is_taken = True  # another reader need not wait for this one
            try:
                self._mend()
                return ask()
            finally:
                self._is_taken = False

    def settle(self) -> None:
        """Finish or undo what an interrupt has left; nothing if somebody is at work."""
        if (self._finish is not None or self._is_open) and not self.is_mine and self._lock.acquire(blocking=False):
            try:
                self._mend()
            finally:
                self._lock.release()

    @property
    def is_mine(self) -> bool:
        """Whether this thread is in the middle of a turn."""
        return bool(self._lock._is_owned())  # type: ignore[attr-defined]

    @property
    def is_closed(self) -> bool:
        """Whether the last work was done, or is being done."""
        return self._is_closed

    @property
    def is_busy(self) -> bool:
        """Whether somebody has a turn, or a transaction was left open."""
        return self._is_open or self._is_taken

    def refuse_if_closed(self) -> None:
        """Raise E815 or E819 if nothing can be asked here any more."""
        if self._is_closed:
            raise UsageError.of("E815", "the engine is closed", remedy="open its saved state, or make another one")
        if self._is_orphan:
            raise UsageError.of(
                "E819",
                "this process is a copy (fork) of one that was in the middle of an update in another thread",
                remedy="fork while nothing is written, start processes by spawn, or open a saved state here",
            )

    def after_fork(self) -> None:
        """In the child of a fork: the threads of the parent are gone, and nobody will give back their lock."""
        if not self.is_mine:
            self._lock, self._is_orphan, self._is_taken = RLock(), self._is_open, False

    def _has_moved_since(self, settled: int) -> bool:
        return self._finish is not None or self.settled != settled

    def _complete(self, finish: Callable[[], T]) -> T:
        result = finish()
        self.__dict__.update(_finish=None, _is_open=False, settled=self.settled + 1)
        return result

    def _mend(self) -> None:
        """Finish or undo what an interrupt has left."""
        if self._finish is not None:
            self._complete(self._finish)
        elif self._is_open:
            self._undo(False)
            self._is_open = False


_EVERYBODY: WeakSet[Turns] = WeakSet()


def _after_fork() -> None:
    for turns in tuple(_EVERYBODY):
        turns.after_fork()


os.register_at_fork(after_in_child=_after_fork)

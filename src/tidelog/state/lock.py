"""One writer at a time.

What      : a lock on a state directory, held by one process until it lets go or dies; its file names the process, and
            the save that it last began.
Idea      : the system takes a file lock back from a dead process, however it died; so nothing has to be cleaned up
            before the next writer works. What the dead one was writing is known by the id of its save. In a process
            that lives on, a lock goes with the object that holds it; one that was taken for a single save, which an
            interrupt ended, is given back when its thread begins the next one. Processes that are forked from it let
            go at once.
Invariant : while a lock is held every other attempt is refused at once with a `StateError`, never made to wait.
Never     : readers take no lock: they read a version, and versions do not change.
"""

from __future__ import annotations

import fcntl
import os
import re
import sys
import threading
from collections.abc import Collection, Iterator
from io import FileIO
from pathlib import Path
from threading import get_ident
from types import FrameType
from typing import NamedTuple
from weakref import WeakSet

from tidelog.errors import StateError

NAME = "_tidelog.lock"
"""Readers of the open format pass over files that begin with an underscore."""

_LENGTH = 128
_ID = re.compile(r"[0-9a-f]{32}")


class Left(NamedTuple):
    """What a save that came to nothing may have left: files with its id, and others if it has named them."""

    identity: str
    files: Collection[str] | None


class Lock:
    """The right to write into a directory; the directory is made if it is missing."""

    is_exclusive = True
    announced: Collection[str] | None = None

    def __init__(self, directory: Path, *, for_one_save: bool = False) -> None:
        self._process, self._thread = os.getpid(), get_ident()
        self._directory, self._is_for_one_save = directory, for_one_save
        if for_one_save:
            _give_back(directory)
        with _GUARD:
            _HELD.add(self)
        if "%" in str(directory):  # delta-rs decodes %41 to A on its way to the file, and would miss it
            raise StateError.of("E606", f"a state cannot be kept in {directory}", remedy="use a path without %")
        try:
            directory.mkdir(parents=True, exist_ok=True)
            (directory / NAME).touch(exist_ok=True)
            self._file = FileIO(directory / NAME, "r+")
        except OSError as error:
            raise _unwritable(directory, error, "check the path") from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = (self._words() or ["unknown"])[0]
            self._file.close()
            raise StateError.of(
                "E607",
                f"another writer holds {directory} (process {holder})",
                remedy="wait until it ends, or use another directory",
            ) from error
        try:
            self.begin(next((word for word in self._words()[1:] if _ID.fullmatch(word)), ""))
        except BaseException:
            self.release()
            raise

    def begin(self, identity: str, commit: int = -1) -> None:
        """Note the id of a save before it writes anything; what was noted before stays if the disk is full.

        Which entry of the log it is to become (`commit`) is of no interest here: nobody else writes.
        """
        del commit
        note = f"{os.getpid()}\n{identity}\n".encode()
        try:
            os.pwrite(self._file.fileno(), note, 0)
            self._file.truncate(len(note))
        except OSError as error:
            raise _unwritable(self._directory, error, "look after the disk; the state is as it was") from error
        self.last_begun = identity

    def announce(self, files: Collection[str]) -> None:
        """Nothing is noted about files: all that no version names are left over when the next writer comes."""

    def end(self) -> None:
        """The note stays; the last version tells what became of the save."""

    def left(self, last: str | None, commit: int) -> Iterator[Left]:
        """What was last begun, if the last version is another one."""
        del commit
        if last != self.last_begun:
            yield Left(self.last_begun, None)

    def is_held(self) -> bool:
        """Whether the directory is still the one that was locked, and was not replaced by another."""
        try:
            there = os.stat(self._directory / NAME)  # noqa: PTH116 - beside fstat
        except OSError:
            return False
        return not self._file.closed and os.path.samestat(there, os.fstat(self._file.fileno()))

    def _words(self) -> list[str]:
        return os.pread(self._file.fileno(), _LENGTH, 0).decode(errors="replace").split()

    def release(self) -> None:
        """Let others write. Releasing twice does nothing."""
        if hasattr(self, "_file") and not self._file.closed:  # an interrupt may have come before it
            if self._process == os.getpid():
                fcntl.flock(self._file, fcntl.LOCK_UN)  # a forked process may still have the open file
            self._file.close()
        with _GUARD:
            _HELD.discard(self)

    def is_left_over(self, directory: Path) -> bool:
        """Whether this thread took it for a save of the directory that has ended: no call on its stack uses it."""
        if not self._is_for_one_save or (self._thread, self._directory) != (get_ident(), directory):
            return False
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            user = frame.f_locals.get("self")
            if getattr(user, "__dict__", {}).get("_lock") is self:  # the handler of a signal may save within a save
                return False
            frame = frame.f_back
        return True


_HELD: WeakSet[Lock] = WeakSet()
_GUARD = threading.Lock()
"""Held while the locks of this process are counted: threads come and go meanwhile."""


def _give_back(directory: Path) -> None:
    """Release what this thread took for an earlier save of the directory, which an interrupt has ended."""
    with _GUARD:
        locks = tuple(_HELD)
    for lock in locks:
        if lock.is_left_over(directory):
            lock.release()


def _let_go() -> None:
    """In a forked process: its copy of a lock would keep the directory locked when its parent has let go."""
    global _GUARD  # noqa: PLW0603 - another thread of the parent may have held it
    _GUARD = threading.Lock()
    for lock in tuple(_HELD):
        lock.release()


os.register_at_fork(after_in_child=_let_go)


def _unwritable(directory: Path, error: OSError, remedy: str) -> StateError:
    return StateError.of("E606", f"{directory} cannot be written: {error.strerror or error}", remedy=remedy)

"""One writer at a time.

What      : a lock on a state directory, held by one process until it lets go or dies; its file names the process, and
            the save that it last began.
Idea      : the system takes a file lock back from a dead process, however it died; so nothing has to be cleaned up
            before the next writer works. What the dead one was writing is known by the id of its save. In a process
            that lives on, a lock goes with the object that holds it; one that was taken for a single save, which an
            interrupt ended, is given back when its thread begins the next one.
Invariant : while a lock is held every other attempt is refused at once with a `StateError`, never made to wait.
Never     : readers take no lock: they read a version, and versions do not change.
"""

from __future__ import annotations

import fcntl
import os
import re
from io import FileIO
from pathlib import Path
from threading import get_ident
from weakref import WeakSet

from tidelog.errors import StateError

NAME = "_tidelog.lock"
"""Readers of the open format pass over files that begin with an underscore."""

_LENGTH = 128
_ID = re.compile(r"[0-9a-f]{32}")


class Lock:
    """The right to write into a directory; the directory is made if it is missing."""

    def __init__(self, directory: Path, *, for_one_save: bool = False) -> None:
        self._thread, self._directory = get_ident(), directory
        if for_one_save:
            _give_back(directory)
            _FOR_ONE_SAVE.add(self)
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

    def begin(self, identity: str) -> None:
        """Note the id of a save before it writes anything; what was noted before stays if the disk is full."""
        note = f"{os.getpid()}\n{identity}\n".encode()
        try:
            os.pwrite(self._file.fileno(), note, 0)
            self._file.truncate(len(note))
        except OSError as error:
            raise _unwritable(self._directory, error, "look after the disk; the state is as it was") from error
        self.last_begun = identity

    def is_held(self) -> bool:
        """Whether the directory is still the one that was locked, and was not replaced by another."""
        try:
            there = os.stat(self._directory / NAME)  # noqa: PTH116 - beside fstat
        except OSError:
            return False
        return os.path.samestat(there, os.fstat(self._file.fileno()))

    def _words(self) -> list[str]:
        return os.pread(self._file.fileno(), _LENGTH, 0).decode(errors="replace").split()

    def release(self) -> None:
        """Let others write. Releasing twice does nothing."""
        if hasattr(self, "_file"):  # an interrupt may have come before it
            self._file.close()
        _FOR_ONE_SAVE.discard(self)


_FOR_ONE_SAVE: WeakSet[Lock] = WeakSet()


def _give_back(directory: Path) -> None:
    """Release what this thread took for an earlier save of the directory: no thread saves twice at once."""
    for lock in tuple(_FOR_ONE_SAVE):
        if lock._thread == get_ident() and lock._directory == directory:
            lock.release()


def _unwritable(directory: Path, error: OSError, remedy: str) -> StateError:
    return StateError.of("E606", f"{directory} cannot be written: {error.strerror or error}", remedy=remedy)

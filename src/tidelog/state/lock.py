"""One writer at a time.

What      : a lock on a state directory, held by one process until it lets go or dies.
Idea      : the system takes a file lock back from a dead process, however it died; so nothing has to be cleaned up.
Invariant : while a lock is held every other attempt is refused at once with a `StateError`, never made to wait.
Never     : readers take no lock: they read a version, and versions do not change.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from tidelog.errors import StateError

NAME = "_tidelog.lock"
"""Readers of the open format pass over files that begin with an underscore."""


class Lock:
    """The right to write into a directory; the directory is made if it is missing."""

    def __init__(self, directory: Path) -> None:
        if "%" in str(directory):  # delta-rs decodes %41 to A on its way to the file, and would miss it
            raise StateError.of("E606", f"a state cannot be kept in {directory}", remedy="use a path without %")
        try:
            directory.mkdir(parents=True, exist_ok=True)
            self._file = os.open(directory / NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            reason = error.strerror or str(error)
            raise StateError.of("E606", f"{directory} cannot be written: {reason}", remedy="check the path") from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.pread(self._file, 32, 0).decode(errors="replace").strip() or "unknown"
            os.close(self._file)
            raise StateError.of(
                "E607",
                f"another writer holds {directory} (process {holder})",
                remedy="wait until it ends, or use another directory",
            ) from error
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, str(os.getpid()).encode(), 0)

    def release(self) -> None:
        """Let others write. Releasing twice does nothing."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

"""A folder of this process among those of others, and the removal of what dead processes have left.

What      : `own_folder` makes one folder per process below a given one, and removes it when the process ends; it
            also removes folders there whose owners are dead.
Idea      : a process that is killed removes nothing. Its folder has a file that it holds locked, and the system takes
            the lock back however the process ends; so who gets the lock knows that nobody works there any more.
Invariant : nothing is removed unless it has the name of such a folder, belongs to this user, and has a file of ours
            that names this very system and can be locked. A lock of another machine may not be seen here, so its
            folders stay; so do those of addresses that are no folders of this machine, where no lock exists.
Never     : no session, and no file that is written or read by jobs.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import shutil
import stat
import uuid
from contextlib import suppress
from functools import cache
from pathlib import Path

import pyarrow.fs

from tidelog.state.file_systems import place

PREFIX = "tidelog-spark-"
OWNER = "_owner.lock"

_locks: list[int] = []
"""Open as long as this process lives."""


@cache
def own_folder(parent: str) -> str:
    """The folder of this process below a path or an address; made, and those of dead processes removed, where it is
    on this machine.
    """
    made = f"{parent.rstrip('/')}/{PREFIX}{uuid.uuid4().hex}"
    system, path = place(made)
    if not isinstance(system, pyarrow.fs.LocalFileSystem):
        return made
    folder = Path(path)
    with suppress(OSError):  # a folder that cannot be written is found out by the first job that writes there
        _take(folder)
        sweep(folder.parent)
    return made


def _take(folder: Path) -> None:
    """Make a folder whose file is locked from the moment at which it appears."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    is_private = folder.parent.stat().st_mode & stat.S_ISVTX  # as /tmp: everybody's, and facts are nobody else's
    folder.mkdir(mode=0o700 if is_private else 0o777)
    atexit.register(_removed, folder)
    draft = folder / f"{OWNER}.draft"
    handle = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    _locks.append(handle)
    fcntl.flock(handle, fcntl.LOCK_EX)
    os.write(handle, _system())
    draft.rename(folder / OWNER)


def sweep(parent: Path) -> list[Path]:
    """Remove the folders of dead processes; which ones."""
    return [folder for folder in parent.glob(f"{PREFIX}*") if _is_left(folder) and _removed(folder)]


def _is_left(folder: Path) -> bool:
    """Whether the owner of a folder is dead, which only the lock can tell."""
    try:
        if folder.is_symlink() or folder.stat().st_uid != os.getuid():
            return False
        handle = os.open(folder / OWNER, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.pread(handle, 1000, 0) == _system()
    except OSError:
        return False
    finally:
        os.close(handle)


def _removed(folder: Path) -> bool:
    """Remove a folder, the file that tells its owner last: what an interrupt leaves can be swept by the next one."""
    with suppress(OSError):
        for path in folder.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            elif path.name != OWNER:
                path.unlink(missing_ok=True)
        if {path.name for path in folder.iterdir()} <= {OWNER}:
            shutil.rmtree(folder, ignore_errors=True)
    return not folder.exists()


def _system() -> bytes:
    """This machine since its last start: only here a lock tells who is alive."""
    try:
        started = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        started = ""
    return f"{os.uname().nodename}\n{started}\n".encode()

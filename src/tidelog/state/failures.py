"""What can go wrong with the files of a state, and how it is told.

What      : `reading` and `writing` turn the failures of files, Arrow and delta-rs into errors of ours; `damaged` is one
            for a state whose files can be read and are wrong.
Invariant : a failure while reading says that the state is damaged, one while writing that it is as it was; whether a
            commit at an address came through is asked by log.py. In a process that was forked from one that has used a
            state, both refuse.
Never     : nothing is read or written here.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
from deltalake.exceptions import DeltaError

from tidelog.errors import StateError
from tidelog.state.remote import Location


def damaged(directory: Location, what: object) -> StateError:
    """The error for a state that cannot be read."""
    return StateError.of(
        "E603", f"the state in {directory} is damaged: {what}", remedy="open an older version, or restore a copy"
    )


@contextmanager
def reading(directory: Location) -> Iterator[None]:
    """What goes wrong with reading means that the state is damaged."""
    refuse_if_forked(directory)
    try:
        yield
    except (OSError, pa.ArrowException, DeltaError, ValueError, KeyError) as error:
        raise damaged(directory, _first_line(error)) from error


@contextmanager
def writing(directory: Location) -> Iterator[None]:
    """What goes wrong with writing leaves the state as it was."""
    refuse_if_forked(directory)
    try:
        yield
    except (OSError, pa.ArrowException, DeltaError, ValueError) as error:
        # A ValueError is what the library makes of an interrupt while it looks at its arguments.
        raise StateError.of(
            "E606",
            f"{directory} cannot be written: {_first_line(error)}",
            remedy="look after the disk; the state is as it was, and saving again is safe",
        ) from error


def refuse_if_forked(directory: Location) -> None:
    """The threads of delta-rs do not come along to a forked process, where any call of it would end in a panic."""
    if _PROCESSES and os.getpid() not in _PROCESSES:
        raise StateError.of(
            "E618",
            f"{directory} cannot be used here: this process was forked from one that had used a state",
            remedy="start processes by spawn, or fork before a state is used",
        )
    _PROCESSES.add(os.getpid())


_PROCESSES: set[int] = set()
"""The process that uses states; a forked one finds its parent here."""


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0] or type(error).__name__

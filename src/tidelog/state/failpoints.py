"""Named places at which a process can be made to die.

What      : `reach(name)` does nothing, unless the environment or a test asks for a failure at that place.
Idea      : a promise about `kill -9` is worth what the places are worth at which it was tried; so every step between
            two durable effects has a name, and tests go through `FAILPOINTS` one by one.
Invariant : without a request nothing happens; `TIDELOG_FAILPOINT=name` kills the process with SIGKILL when the place is
            reached for the first time, `TIDELOG_FAILPOINT=name:3` for the third time.
Never     : no clean-up before the kill: that is the point.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

VARIABLE = "TIDELOG_FAILPOINT"

FAILPOINTS: tuple[str, ...] = (
    "save-begins",
    "file-half-written",
    "files-written",
    "committed",
    "acknowledged",
    "merge-begins",
    "merged-file-written",
    "base-begins",
    "base-written",
)
"""The places of every save, in the order in which it passes them; merges and bases lie before `files-written`."""

FAR: tuple[str, ...] = ("far-rows-written", "file-linked", "description-written")
"""Those of a save whose relations are in files beside the table (far.py), before `files-written`: the first is passed
for each relation of a base, the second for each file of a new description."""

FORGETTING: tuple[str, ...] = ("rows-forgotten", "files-forgotten")
"""Those of removing what only old versions need: files of rows go, then files beside the table, then entries."""

_passed: Counter[str] = Counter()
_raising: set[str] = set()


class FailpointError(Exception):
    """The failure that a test asked for with `raising`."""


def reach(name: str) -> None:
    """Die or raise here, if that was asked for."""
    if name in _raising:
        raise FailpointError(name)
    wanted = os.environ.get(VARIABLE)
    if wanted is None:
        return
    wanted_name, _, times = wanted.partition(":")
    if wanted_name == name:
        _passed[name] += 1
        if _passed[name] == int(times or 1):
            os.kill(os.getpid(), signal.SIGKILL)


@contextmanager
def raising(name: str) -> Iterator[None]:
    """While this context lasts, reaching the place raises a `FailpointError` in this process."""
    if name not in (*FAILPOINTS, *FAR, *FORGETTING):
        raise ValueError(f"there is no failpoint {name}")
    _raising.add(name)
    try:
        yield
    finally:
        _raising.discard(name)

"""Warnings on their way to the user.

What      : `warn` hands a problem to Python's warnings, as if the caller of Tidelog had raised it.
Idea      : a program that uses Tidelog filters, counts or turns warnings into errors with the tools it knows; the
            command line prints them like any other problem (`shown_on`), and `--strict` turns them into errors.
Invariant : a warning comes before anything is changed, because a filter may turn the warning into an exception.
Never     : no judgement about what deserves a warning.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TextIO

from tidelog.errors import Problem, TidelogWarning

_OURS = str(Path(__file__).resolve().parents[1])


def warn(problem: Problem) -> None:
    """Warn about a problem, at the place in the user's code from which Tidelog was called."""
    warnings.warn(TidelogWarning(problem), stacklevel=_depth_of_caller())


def _depth_of_caller() -> int:
    """How many frames lie between `warn` and the first one that is not Tidelog's."""
    frame: FrameType | None = sys._getframe(2)
    depth = 2
    while frame is not None and frame.f_code.co_filename.startswith(_OURS):
        frame, depth = frame.f_back, depth + 1
    return depth


@contextmanager
def shown_on(stream: TextIO, *, strict: bool = False) -> Iterator[None]:
    """Print every warning of Tidelog once, as a problem; with `strict` the first one is raised instead."""
    seen: set[str] = set()

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if not isinstance(message, TidelogWarning):
            usual(message, category, filename, lineno, file, line)
        elif str(message) not in seen:
            seen.add(str(message))
            print(message, file=stream, flush=True)

    with warnings.catch_warnings():
        usual = warnings.showwarning
        warnings.showwarning = show
        warnings.simplefilter("error" if strict else "always", TidelogWarning)
        yield

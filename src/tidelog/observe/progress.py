"""Progress: what a person sees while bulk work runs.

What      : a `Progress` opens named stages; inside a stage the work reports how much it has done.
Idea      : the work does not know who watches: a log file (`Lines`) or a terminal (`Bar`).
Invariant : a stage that is left, also by an error, is closed; progress goes to stderr only, so results stay pipeable.
Never     : no decision may depend on progress, and `rich` is imported only when a bar is drawn.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol, TextIO

from tidelog.visible import visible

Advance = Callable[[int], None]
"""Called with the number of further units of the stage that are done."""


class Progress(Protocol):
    """Shows how bulk work gets on."""

    def stage(self, name: str, total: int | None = None, unit: str = "facts") -> AbstractContextManager[Advance]:
        """Open a stage of `total` units (None: unknown); the value given back reports units as they are done."""


class Lines:
    """Plain lines for logs and pipes: one when a stage opens, one now and then, one when it ends."""

    def __init__(
        self, stream: TextIO | None = None, every: float = 5.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._stream = stream or sys.stderr
        self._every = every
        self._clock = clock

    @contextmanager
    def stage(self, name: str, total: int | None = None, unit: str = "facts") -> Iterator[Advance]:
        """A stage that prints its beginning, its state at most every few seconds, and its end."""
        started = spoken = self._clock()
        done = 0
        self._say(f"{name} ...")

        def advance(count: int) -> None:
            nonlocal done, spoken
            done += count
            now = self._clock()
            if now - spoken >= self._every:
                spoken = now
                share = f" of {total:,} ({done / total:.0%})" if total else ""
                self._say(f"{name}: {done:,}{share} {unit}, {now - started:.1f} s")

        ending = "stopped"
        try:
            yield advance
            ending = "done"
        finally:
            self._say(f"{name}: {ending}, {done:,} {unit}, {self._clock() - started:.1f} s")

    def _say(self, line: str) -> None:
        print(visible(line), file=self._stream, flush=True)


class Bar:
    """A moving bar on a terminal."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr

    @contextmanager
    def stage(self, name: str, total: int | None = None, unit: str = "facts") -> Iterator[Advance]:
        """A stage drawn as a bar with counts and elapsed time; it pulses while the total is unknown."""
        from rich.console import Console
        from rich.markup import escape
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Display

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn(escape(unit)),
            TimeElapsedColumn(),
        )
        with Display(*columns, console=Console(file=self._stream)) as display:
            task = display.add_task(escape(visible(name)), total=total)
            yield lambda count: display.advance(task, count)


def progress_for(stream: TextIO | None = None) -> Progress:
    """A bar when the stream (stderr unless told) is a terminal, plain lines when it is not."""
    target = stream or sys.stderr
    return Bar(target) if target.isatty() else Lines(target)

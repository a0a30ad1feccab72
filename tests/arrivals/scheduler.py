"""Arrivals at chosen steps of the engine, without clocks and sleeps.

What      : `overlapped` submits updates so that each arrives when the engine has asked its budget a given number of
            times, in the middle of whatever it is doing then.
Idea      : `engine.watcher` is called at every step of the worker's thread, which may submit. So an interleaving is a
            list of numbers, and all of them can be tried.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tidelog as tl
from tests.differential.harness import keys
from tidelog.arrivals.pending import PendingChange
from tidelog.errors import TidelogError


def facts(engine: tl.Engine) -> set[Any]:
    """Everything that holds."""
    return keys({name: list(engine[name]) for name in engine.relations})


def explicit(engine: tl.Engine) -> set[Any]:
    """Everything that is explicit."""
    return keys({name: list(engine.explicit(name)) for name in engine.relations})


class Overlapped:
    """Updates that arrive at chosen steps, and what became of them."""

    def __init__(self, engine: tl.Engine, updates: Sequence[dict[str, Any]], steps: Sequence[int]) -> None:
        """The first update arrives at once, each other one `steps[i]` steps after the one before it."""
        self.engine, self._updates, self._steps = engine, list(updates), [0, *steps]
        self.futures: list[PendingChange | TidelogError] = []
        self.seen, self.late = 0, 0
        before = facts(engine)
        engine.watcher = self._watch
        self._arrive()
        while True:
            engine.settle()
            if not self._updates:
                break
            self.late += 1
            self._arrive()  # the update before it had fewer steps
        engine.watcher = None
        self._check(before)

    def _watch(self, _: int) -> None:
        self.seen += 1
        self._arrive_if_due()

    def _arrive_if_due(self) -> None:
        if self._updates and self.seen >= self._steps[len(self.futures)]:
            self._arrive()

    def _arrive(self) -> None:
        with self.engine._worker.line.changed:  # the worker does not begin before the future is noted
            update = self._updates.pop(0)
            self.seen = 0
            try:
                self.futures.append(self.engine.submit(**update))
            except TidelogError as error:
                self.futures.append(error)

    def _check(self, before: set[Any]) -> None:
        """The changes of all versions, each once, lead from the facts before to the facts after."""
        changes = [
            future.result() for future in self.futures if isinstance(future, PendingChange) and not failed(future)
        ]
        by_version = {change.version: change for change in changes}
        for _, change in sorted(by_version.items()):
            inserted, deleted = keys(change.inserted), keys(change.deleted)
            assert not inserted & before
            assert deleted <= before
            before = (before - deleted) | inserted
            assert change.updates == sum(one.version == change.version for one in changes)
        assert before == facts(self.engine)


def failed(future: PendingChange | TidelogError) -> bool:
    """Whether an update was refused, at once or later."""
    return not isinstance(future, PendingChange) or future.exception() is not None

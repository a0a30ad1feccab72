"""What an engine has found out about the next update of a stream.

What      : holds what look-ahead has marked (maintenance/marking.py), places it, and takes it away.
Idea      : marks belong to one strategy and one version: a change of either ends them.
Invariant : what places or takes marks away returns the step that finishes it (turns.py), which cannot fail.
Never     : no result depends on it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tidelog.backends.backend import Backend
from tidelog.changes.update import Update
from tidelog.limits import Budget
from tidelog.maintenance import marking
from tidelog.maintenance.rule_book import RuleBook


class Foresight:
    """The marks that are placed now, if any."""

    def __init__(self) -> None:
        self.found: marking.Foreseen[Any] | None = None

    def look(
        self, upcoming: Update, backend: Backend[Any], book: RuleBook, budget: Budget, *, passes_on: bool
    ) -> Callable[[], None]:
        """Mark what an update will delete, in the place of what was marked before."""
        forget = self.forget(backend)
        backend.begin(budget)
        gone = {name: backend.find(name, facts, book.types(name), None) for name, facts in upcoming.delete.items()}
        found = marking.look_ahead(backend.store, book.schedule, gone, passes_on=passes_on)

        def finish() -> None:
            forget()
            self.found = found

        return finish

    def forget(self, backend: Backend[Any]) -> Callable[[], None]:
        """Take the marks away."""
        if self.found is not None:
            self.found.clear(backend.store)

        def finish() -> None:
            backend.commit()
            self.found = None

        return finish

    def undo(self, backend: Backend[Any], *, is_clean: bool) -> None:
        """Roll the backend back, and forget. After an interrupt nothing is believed that is made in many steps."""
        if not is_clean:
            self.found = None
            backend.distrust()
        backend.rollback()
        if self.found is not None:
            self.found.clear(backend.store)
            self.found = None
        backend.commit()  # gives back what the failed attempt took

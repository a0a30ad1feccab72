"""The change of a submitted update, once there is one.

What      : `PendingChange`, a future: ask it for its result, give it a callback, or await it.
Idea      : it is a `concurrent.futures.Future`, so that everything which waits for futures waits for it; a coroutine
            waits without holding its thread.
Invariant : it ends once: with the change of the version in which the update became visible, or with its own error.
            The thread that works on updates is refused to wait for one: it would be for ever.
Never     : no work is done here.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from concurrent.futures import Future
from typing import Any

from tidelog.changes.change import Change


class PendingChange(Future[Change]):
    """A change that will be there."""

    def __init__(self) -> None:
        super().__init__()
        self.ask_to_wait: Callable[[], None] | None = None
        """Raises if this thread must not wait; an engine sets it when it takes the update."""

    def result(self, timeout: float | None = None) -> Change:
        """The change; waits for it, or raises what the update ended with."""
        self._ask(timeout)
        return super().result(timeout)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """What the update ended with, None if that is a change; waits for it."""
        self._ask(timeout)
        return super().exception(timeout)

    def set_result(self, result: Change) -> None:
        """It ends with a change; nobody has to wait any more, and an engine need not live for that."""
        super().set_result(result)
        self.ask_to_wait = None

    def set_exception(self, exception: BaseException | None) -> None:
        """It ends with an error."""
        super().set_exception(exception)
        self.ask_to_wait = None

    def _ask(self, timeout: float | None) -> None:
        ask = self.ask_to_wait
        if ask is not None and timeout != 0 and not self.done():
            ask()

    def __await__(self) -> Generator[Any, None, Change]:
        from asyncio import wrap_future

        return wrap_future(self).__await__()

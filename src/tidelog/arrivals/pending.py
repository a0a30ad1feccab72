"""The change of a submitted update, once there is one.

What      : `PendingChange`, a future: ask it for its result, give it a callback, or await it.
Idea      : it is a `concurrent.futures.Future`, so that everything which waits for futures waits for it; a coroutine
            waits without holding its thread.
Invariant : it ends once: with the change of the version in which the update became visible, or with its own error.
Never     : no work is done here.
"""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import Future
from typing import Any

from tidelog.changes.change import Change


class PendingChange(Future[Change]):
    """A change that will be there."""

    def __await__(self) -> Generator[Any, None, Change]:
        from asyncio import wrap_future

        return wrap_future(self).__await__()

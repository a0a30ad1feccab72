"""A stream of updates with one update of look-ahead.

What      : `look_ahead` pairs every update with a question: is the next one here yet?
Idea      : marking and netting profit from knowing the next update, but must never wait for it. A list answers at
            once, a queue is asked without waiting, any other source is read one update ahead by a background thread.
Source    : Illich, Glimm 2025, Algorithm 1, lines 7 and 8: the next update is taken if it is available.
Invariant : updates come in order, each once; a source is read at most one update ahead; an error of the source is
            raised in the place of the update it would have given, after all earlier ones.
Never     : the current update never waits for the next one.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from tidelog.beginning import begin_thread
from tidelog.changes.update import Update
from tidelog.errors import TidelogError, UpdateError, expect

Next: TypeAlias = Callable[[], Update | None]
Source: TypeAlias = "Iterable[Update | Mapping[str, Any]] | queue.Queue[Update | Mapping[str, Any] | None]"

_KEYS = {"insert", "delete", "add_rules", "remove_rules"}


def look_ahead(updates: Source) -> Iterator[tuple[Update, Next]]:
    """Every update with a function that gives the next one if it is there already, else None.

    `updates` is any iterable, a generator that may block, or a `queue.Queue` that ends with None; its items are
    updates or mappings with the arguments of `Update.of`. The function is about the update it came with.
    """
    ahead = _ahead(updates)
    try:
        while (update := ahead.take()) is not None:
            yield update, ahead.peek
    finally:
        ahead.close()


class _Ahead(Protocol):
    """A source read one update ahead."""

    def take(self) -> Update | None:
        """The next update, waiting for it; None at the end."""
        ...

    def peek(self) -> Update | None:
        """What `take` would give, if that is known without waiting; None otherwise."""
        ...

    def close(self) -> None:
        """Stop reading."""
        ...


def _ahead(updates: Source) -> _Ahead:
    if isinstance(updates, queue.Queue):
        return _FromQueue(updates)
    expect(updates, Iterable, "a stream", "an iterable or a queue of updates")
    if isinstance(updates, Sequence):
        return _FromSequence(updates)
    return _FromThread(iter(updates))


def _update(item: object) -> Update:
    if isinstance(item, Update):
        return item
    if isinstance(item, Mapping) and item.keys() <= _KEYS:
        return Update.of(**item)
    raise UpdateError.of(
        "E305",
        f"the stream holds a {type(item).__name__} that is no update",
        remedy="give Update objects, or mappings with insert, delete, add_rules, remove_rules",
    )


class _Peeked:
    """The item last looked at, as an update: made once, since its facts may come from an iterator."""

    def __init__(self) -> None:
        self._held: tuple[object, Update | TidelogError] | None = None

    def look(self, item: object) -> Update | None:
        """The item as an update.

        None if there is no item, or if the item is not an update; for the latter `take` raises the error in its turn.
        """
        if item is None:
            return None
        if self._held is None or self._held[0] is not item:
            try:
                self._held = item, _update(item)
            except TidelogError as error:
                self._held = item, error
        found = self._held[1]
        return None if isinstance(found, TidelogError) else found

    def take(self, item: object) -> Update | None:
        """The item as an update, which is then forgotten."""
        update = self.look(item)
        held, self._held = self._held, None
        if update is None and held is not None and isinstance(held[1], TidelogError):
            raise held[1]
        return update


class _FromSequence:
    """A list: the next update is always there."""

    def __init__(self, updates: Sequence[Update | Mapping[str, Any]]) -> None:
        self._updates, self._at, self._peeked = updates, 0, _Peeked()

    def take(self) -> Update | None:
        item = self._item()
        self._at += 1
        return self._peeked.take(item)

    def peek(self) -> Update | None:
        return self._peeked.look(self._item())

    def close(self) -> None:
        """Nothing is held."""

    def _item(self) -> object:
        return self._updates[self._at] if self._at < len(self._updates) else None


class _FromQueue:
    """A queue with one reader: look at its head without taking it out, so that stopping early loses nothing."""

    def __init__(self, updates: queue.Queue[Update | Mapping[str, Any] | None]) -> None:
        self._queue, self._peeked = updates, _Peeked()

    def take(self) -> Update | None:
        return self._peeked.take(self._queue.get())

    def peek(self) -> Update | None:
        with self._queue.mutex:
            item = self._queue.queue[0] if self._queue.queue else None
        return self._peeked.look(item)

    def close(self) -> None:
        """Nothing is held."""


class _FromThread:
    """Any other source: a thread reads one update into a slot and waits until it is taken."""

    def __init__(self, updates: Iterator[Update | Mapping[str, Any]]) -> None:
        self._source = updates
        self._changed = threading.Condition()
        self._slot: list[Update] = []
        self._ended = self._closed = False
        self._error: BaseException | None = None
        begin_thread(threading.Thread(target=self._read, name="tidelog-look-ahead", daemon=True))

    def take(self) -> Update | None:
        with self._changed:
            self._changed.wait_for(lambda: self._slot or self._ended)
            if self._slot:
                self._changed.notify_all()
                return self._slot.pop()
            if self._error is not None:
                error, self._error = self._error, None
                raise error
            return None

    def peek(self) -> Update | None:
        with self._changed:
            return self._slot[0] if self._slot else None

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _read(self) -> None:
        """The thread: wait for room, read one update, offer it; then close the source, here where it runs."""
        error: BaseException | None = None
        try:
            while self._has_room():
                item = next(self._source, None)
                if item is None:
                    break
                self._offer(_update(item))
            if hasattr(self._source, "close"):
                self._source.close()
        except BaseException as raised:
            error = raised
        with self._changed:
            self._ended, self._error = True, error
            self._changed.notify_all()

    def _has_room(self) -> bool:
        """Wait until the slot is empty; False if nobody wants more."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or not self._slot)
            return not self._closed

    def _offer(self, update: Update) -> None:
        with self._changed:
            self._slot.append(update)
            self._changed.notify_all()

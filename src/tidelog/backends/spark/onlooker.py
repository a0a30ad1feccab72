"""Readers beside a writer on Spark.

What      : `Onlooker` answers readers of other threads from the last version while a writer is at work.
Idea      : the relations of a version are immutable, in files and in overlays. So they can be looked at through a
            second backend, which has a driver's store, constants and actions of its own, and brings there what readers
            ask for. It is made when the first of them asks, and forgotten with the version.
Invariant : nothing that the writer works with is touched, and an answer is of one version. Readers take turns among
            themselves; none waits for the writer, and he waits for none.
Never     : no writing, but for files in an order that a look-up lacks; no choice of who looks through it
            (tidelog/turns.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import RLock
from typing import Generic, TypeVar

from tidelog.backends.spark.large.cold import ColdRelation

B = TypeVar("B")
T = TypeVar("T")
Relations = Mapping[str, ColdRelation]


class Onlooker(Generic[B]):
    """The last version, for readers."""

    def __init__(self, relations: Callable[[], Relations], made_of: Callable[[Relations], B]) -> None:
        """`relations` are those of the last version; `made_of` gives a backend over them."""
        self._relations, self._made_of = relations, made_of
        self._lock = RLock()
        self._made: tuple[Relations, B] | None = None

    def ask(self, question: Callable[[B], T]) -> T:
        """The answer of the last version."""
        with self._lock:
            current, made = self._relations(), self._made
            if made is None or made[0] is not current:
                self._made = made = current, self._made_of(current)
                if self._relations() is not current:  # asked last: a version that ends from here on is forgotten
                    self._made = None
            try:
                return question(made[1])
            except BaseException:  # an interrupt may fall anywhere: nothing half brought is relied on
                self._made = None
                raise

    def forget(self) -> None:
        """A version is over: files that only readers hold can go."""
        self._made = None

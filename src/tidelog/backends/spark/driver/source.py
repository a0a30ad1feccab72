"""Where the facts are that the driver does not have.

What      : `Source`, what a driver's supply (supply.py) asks of the place that holds all committed facts.
Idea      : keys and facts are rows of the driver's own numbers, so that a supply knows nothing of Spark, of files or of
            how constants are stored there; a test can give it a dictionary of arrays.
Invariant : an answer holds every committed fact that was wanted; it may hold others, which are committed too.
Never     : no marks, and nothing of the running transaction.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from tidelog.backends.local.kernels.compiled import Array


class Wanted(NamedTuple):
    """Facts of one relation: those with the keys in the columns, or all of them if there are no columns."""

    relation: str
    columns: tuple[int, ...]
    keys: Array


class Brought(NamedTuple):
    """Committed facts of one relation, and which of them are explicit."""

    relation: str
    arity: int
    rows: Array
    explicit: Array


class Source(Protocol):
    """All committed facts, most of which are not on the driver."""

    def size(self, relation: str) -> int:
        """How many facts the relation has."""

    def arity(self, relation: str) -> int | None:
        """The number of its columns; None if nothing is known of the relation."""

    def distinct(self, relation: str, column: int) -> int:
        """About how many distinct values a column has; 0 if nobody has counted."""

    def is_away(self, relation: str) -> bool:
        """Whether the relation has facts that have to be fetched."""

    def is_derived(self, relation: str) -> bool:
        """Whether the relation has facts and none of them is explicit; False if nobody has counted."""

    def fetch(self, wanted: Sequence[Wanted]) -> Iterable[Brought]:
        """The facts of all look-ups together."""

    def at_hand(self) -> Iterable[Brought]:
        """The facts that need no fetching, because they changed a short while ago."""

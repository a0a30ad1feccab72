"""Sets of facts on this machine: row numbers per relation.

What      : what strategies hold in their hands; immutable.
Invariant : the rows of a relation are distinct.
Never     : no marks and no values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np

from tidelog.backends.local.kernels.compiled import Array
from tidelog.backends.local.relations.steps import joined, never


class LocalFacts:
    """Row numbers per relation; relations without rows are left out."""

    __slots__ = ("_size", "parts")

    def __init__(self, parts: Mapping[str, Array]) -> None:
        self.parts = {}
        self._size = 0
        for relation, rows in parts.items():
            if len(rows):
                self.parts[relation] = rows
                self._size += len(rows)

    def __len__(self) -> int:
        return self._size

    def __bool__(self) -> bool:
        return self._size > 0

    def __repr__(self) -> str:
        sizes = ", ".join(f"{relation}: {len(rows)}" for relation, rows in self.parts.items())
        return f"LocalFacts({sizes})"


NOTHING = LocalFacts({})


def union(parts: Iterable[LocalFacts], *, disjoint: bool = False, pause: Callable[[], None] = never) -> LocalFacts:
    """The union of sets."""
    sets = [facts for facts in parts if facts._size]  # every step of a strategy asks
    if len(sets) < 2:
        return sets[0] if sets else NOTHING
    pieces: dict[str, list[Array]] = {}
    for facts in sets:
        for relation, rows in facts.parts.items():
            pieces.setdefault(relation, []).append(rows)
    if disjoint:
        return gather(pieces, pause)
    return LocalFacts(
        {name: rows[0] if len(rows) == 1 else distinct(np.concatenate(rows)) for name, rows in pieces.items()}
    )


def gather(pieces: Mapping[str, list[Array]], pause: Callable[[], None] = never) -> LocalFacts:
    """Pieces that are known to be disjoint, as one set; many are put together in steps."""
    return LocalFacts({name: joined(rows, pause) for name, rows in pieces.items() if rows})


def distinct(rows: Array) -> Array:
    """The distinct numbers of an array, in order. (A sort and a mask: numpy's own `unique` is far slower.)"""
    if len(rows) < 2:
        return rows
    ordered = np.sort(rows)
    keep = np.empty(len(ordered), np.bool_)
    keep[0] = True
    np.not_equal(ordered[1:], ordered[:-1], out=keep[1:])
    return ordered[keep]

"""The relations of a store by name, as one version after the other.

What      : makes relations when they are first asked for, and ends transactions over all that were touched.
Idea      : a relation notes itself in `opened` when a transaction first touches it; commit and rollback visit those.
Invariant : `published` are the relations of the last version: replaced by a commit, never changed, so that readers of
            other threads can hold it. `commit` and `rollback` can be called again after an interrupt inside them.
Never     : no facts and no rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from contextlib import contextmanager

from tidelog.backends.local.kernels.workers import ALONE, Workers
from tidelog.backends.local.relations.relation import Latch, Relation
from tidelog.errors import UpdateError


class Catalogue:
    """Relations by name."""

    def __init__(self, latch: Latch, workers: Workers = ALONE) -> None:
        self._latch, self._workers = latch, workers
        self._opened: list[Relation] = []
        self.relations: dict[str, Relation] = {}
        self.published: dict[str, Relation] = {}
        self.has_new = False
        """Whether this transaction has made relations, which a rollback takes away."""

    def relation(self, name: str, arity: int) -> Relation:
        """The relation of that name, made when it is first asked for, or anew with other columns if it is empty."""
        found = self.relations.get(name)
        if found is None or (found.arity != arity and not found.alive and not len(found.journal)):
            self.has_new = True  # before there is one, so that a rollback after an interrupt looks for it
            found = self.relations[name] = Relation(name, arity, self._opened, self._latch, self._workers)
        if found.arity != arity:
            raise UpdateError.of(
                "E301", f"{name} has {found.arity} columns, not {arity}", remedy="use one number of them"
            )
        return found

    def has_touched(self, relations: Set[str]) -> bool:
        """Whether the transaction has stored or marked facts of one of the relations, or made any relation."""
        return self.has_new or any(relation.name in relations for relation in self._opened)

    @contextmanager
    def beside(self) -> Iterator[None]:
        """Let another transaction end by itself: what this one has touched is set aside meanwhile."""
        opened = self._opened.copy()
        self._opened.clear()
        try:
            yield
        finally:
            self._opened[:0] = opened

    def commit(self) -> bool:
        """What is NOW becomes OLD; whether the size of a relation has changed much since it was last noted."""
        has_outgrown = False
        with self._latch:
            for relation in self._opened:
                relation.commit()
                has_outgrown |= relation.note_growth()
            if self.has_new:
                self.published = dict(self.relations)
                self.has_new = False
            self._opened.clear()
        return has_outgrown

    def rollback(self) -> None:
        """What is OLD becomes NOW again; relations that the transaction has made are gone."""
        with self._latch:
            for name in [name for name, one in self.relations.items() if self.published.get(name) is not one]:
                if name in self.published:
                    self.relations[name] = self.published[name]
                else:
                    del self.relations[name]
            self.has_new = False
            self.stand_still()
            for relation in self._opened:  # they stay there, because the next commit gives back their room
                relation.rollback()

    def forget(self, is_worthless: Callable[[str], bool]) -> None:
        """Have no relations of these names any more, in no version."""
        for name in list(filter(is_worthless, self.relations)):
            del self.relations[name]
        self.published = {name: one for name, one in self.published.items() if not is_worthless(name)}

    def stand_still(self) -> None:
        """Nobody is told any more when rows move."""
        for relation in self.relations.values():
            relation.on_move = None

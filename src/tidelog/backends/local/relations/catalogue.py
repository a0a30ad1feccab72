"""The relations of a store by name, as one version after the other.

What      : makes relations when they are first asked for, and ends transactions over all that were touched.
Idea      : a relation notes itself in `opened` when a transaction first touches it; commit and rollback visit those.
Invariant : `published` are the relations of the last version: replaced by a commit, never changed, so that readers of
            other threads can hold it. `commit` and `rollback` can be called again after an interrupt inside them.
Never     : no facts and no rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Set
from contextlib import contextmanager
from threading import RLock

from tidelog.backends.local.kernels.compiled import Array
from tidelog.backends.local.kernels.workers import ALONE, Workers
from tidelog.backends.local.relations.relation import Relation
from tidelog.backends.local.relations.steps import SHARED_STORED, STORED, Pause, pieces
from tidelog.errors import UpdateError
from tidelog.planning.views import Mark, View

_FEW = 16
"""A list of no more names than that is looked through sooner than names are looked up."""


class Catalogue:
    """Relations by name."""

    def __init__(self, latch: RLock, workers: Workers = ALONE) -> None:
        self._latch, self.workers, self.pause = latch, workers, Pause(latch)
        self._opened: list[Relation] = []
        self.relations: dict[str, Relation] = {}
        self.published: dict[str, Relation] = {}
        self._noted: dict[str, int] = {}
        self._is_beside = False
        self._marked: dict[str, tuple[Array, Array]] = {}
        """What was committed beside an open transaction: by relation, rows and their marks before."""
        self.untidy: dict[str, Relation] = {}
        """What a commit has left for `tidy`."""
        self.has_new = False
        """Whether this transaction has made relations, which a rollback takes away."""

    def relation(self, name: str, arity: int) -> Relation:
        """The relation of that name, made when it is first asked for, or anew with other columns if it is empty."""
        found = self.relations.get(name)
        is_needed = found is not None and (found.alive or len(found.journal) or self._is_beside)
        if found is None or (found.arity != arity and not is_needed):
            self.has_new = True  # before there is one, so that a rollback after an interrupt looks for it
            found = self.relations[name] = Relation(name, arity, self._opened, self._latch, self.pause, self.workers)
        if found.arity != arity:
            raise UpdateError.of(
                "E301", f"{name} has {found.arity} columns, not {arity}", remedy="use one number of them"
            )
        return found

    def pieces(self, rows: Array, *, shared: bool = False) -> Iterable[Array]:
        """Rows in steps, with pauses between them; in longer ones if what is done with them is `shared`."""
        return pieces(rows, self.pause, self.workers if shared else ALONE)

    def stored(self, relation: Relation, table: Array, view: View, add: Mark) -> Iterable[Array]:
        """Store rows in steps; those in the view, with the marks."""
        if len(table) <= STORED:
            return (relation.store(table, view, add),)
        if not view.inside:
            relation.expect(len(table))
        steps = pieces(table, self.pause, self.workers, STORED, SHARED_STORED)
        return (relation.store(some, view, add) for some in steps)

    def opened(self, relations: Set[str]) -> list[str]:
        """Those of the relations of which the transaction may have stored or marked facts, in the order of names."""
        if len(self._opened) > _FEW + len(relations):  # a stage asks for its own, and there may be thousands of stages
            found = (self.relations.get(name) for name in relations)
            return sorted(relation.name for relation in found if relation is not None and relation.is_open)
        return sorted({relation.name for relation in self._opened if relation.name in relations})

    def has_touched(self, relations: Set[str]) -> bool:
        """Whether the transaction has stored or marked facts of one of the relations, or made one."""
        return any(relation.name in relations for relation in self._opened) or self.has_made(relations)

    def has_made(self, relations: Set[str]) -> bool:
        """Whether the transaction has made one of the relations."""
        return self.has_new and any(self.published.get(name) is not self.relations.get(name) for name in relations)

    def _made(self) -> dict[str, Relation]:
        return {name: one for name, one in self.relations.items() if self.published.get(name) is not one}

    @contextmanager
    def beside(self, changed: Set[str], read: Set[str], kept: Set[str]) -> Iterator[None]:
        """Set aside what the open transaction has touched, so that another one can run and end.

        Then the open one goes on as it was. In the relations that it has touched, and in `kept`, it does not see what
        the other one changed, until `straighten`.
        """
        used = changed | read
        aside = [relation for relation in self._opened if relation.name in used]
        opened = [relation for relation in self._opened if relation.name not in used]
        marks = {relation.name: relation.set_aside() for relation in aside}  # what fails here ends this transaction
        self._opened.clear()
        made = self._made() if self.has_new else {}
        for name in made:
            del self.relations[name]
        has_new, self.has_new, self._is_beside = self.has_new, False, True
        self._marked = {}
        try:
            yield
        finally:
            self._is_beside = False
            self._opened[:0] = opened
            self.relations.update(made)
            self.has_new |= has_new
            for name in marks.keys() - self._marked.keys():
                self.relations[name].resume(marks[name])
            for name in self._marked.keys() & (kept | marks.keys()):
                self.relations[name].turn(self._marked[name], marks.get(name))

    def commit(self, *, tidies: bool = True) -> bool:
        """What is NOW becomes OLD; whether the size of a relation has changed much since it was last noted.

        What is untidy then is tidied now, or noted for `tidy`.
        """
        has_outgrown = False
        with self._latch:
            for relation in self._opened:
                if self._is_beside and relation.journalled:  # which it is not if this is done again
                    self._marked[relation.name] = relation.journal.copy(), relation.marks.take(relation.journal)
                if relation.commit(tidies=tidies):
                    self.untidy[relation.name] = relation
                has_outgrown |= self._note_growth(relation)
            if self.has_new:
                self.published = dict(self.relations)
                self.has_new = False
            self._opened.clear()
        return has_outgrown

    def rebase(self) -> set[str]:
        """From here on OLD is what is NOW, as if the transaction had ended, in the relations that are returned."""
        for relation in self._opened:
            relation.rebase()
        return {relation.name for relation in self._opened}

    def straighten(self) -> set[str]:
        """OLD is the last version again, with everything that has passed, in the relations that are returned."""
        for relation in self._opened:
            relation.straighten()
        return {relation.name for relation in self._opened}

    def _note_growth(self, relation: Relation) -> bool:
        """Note the number of rows if it has doubled or halved since it was last noted; whether it has."""
        noted, count = self._noted.get(relation.name, 0), relation.count
        if count <= 2 * noted + 64 and noted <= 2 * count + 64:
            return False
        self._noted[relation.name] = count
        return True

    def tidy(self, pause: Callable[[], None]) -> None:
        """Between transactions: tidy what commits have left; a `pause` that raises ends it."""
        for name, relation in list(self.untidy.items()):
            if relation.is_untidy and self.relations.get(name) is relation:
                relation.tidy(pause)
            del self.untidy[name]

    def rollback(self) -> None:
        """What is OLD becomes NOW again; relations that the transaction has made are gone."""
        with self._latch:
            for name in self._made():
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

    def clear(self) -> None:
        """Between transactions: have no relations any more, in no version."""
        self.relations.clear()
        self.published = {}

    def stand_still(self) -> None:
        """Nobody is told any more when rows move."""
        for relation in self.relations.values():
            relation.on_move = None

"""The explicit facts of a transaction: what is asked, and what comes of it.

What      : `Explicit` carries updates of explicit facts out, one or several, and knows which facts became explicit and
            which ceased to be.
Idea      : what counts is the difference to the last version, and the last operation on a fact wins. So a fact that
            comes and goes in one transaction is neither asserted nor withdrawn.
Invariant : `asserted` and `withdrawn` are disjoint, and differ from the last version.
Never     : no rule is looked at (transaction.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Generic

from tidelog.maintenance.joining import Pair
from tidelog.maintenance.outcome import Outcome
from tidelog.maintenance.store import F, Store
from tidelog.planning.views import Mark, View

_EXPLICIT, _NOT_EXPLICIT = View(Mark.EXPLICIT), View(outside=Mark.EXPLICIT)
_WAS_EXPLICIT, _WAS_NOT_EXPLICIT = View(Mark.WAS_EXPLICIT), View(outside=Mark.WAS_EXPLICIT)
_WITHDRAWN, _ASSERTED = View(Mark.WAS_EXPLICIT, Mark.EXPLICIT), View(Mark.EXPLICIT, Mark.WAS_EXPLICIT)


class Explicit(Generic[F]):
    """What a transaction does to explicit facts."""

    def __init__(self, store: Store[F], outcome: Outcome[F]) -> None:
        self._store, self._outcome = store, outcome
        self.withdrawn: dict[str, F] = {}
        self.asserted: dict[str, F] = {}

    def once(self, delete: Mapping[str, F], insert: Mapping[str, F]) -> None:
        """Deletions first, then insertions.

        Deleting a fact that is not explicit, or inserting one that is, is ignored and counted.
        """
        store, counters = self._store, self._outcome.counters
        for relation, facts in delete.items():
            known = store.restrict(facts, _EXPLICIT)
            counters.add("ignored deletions", len(facts) - len(known))
            store.mark(known, remove=Mark.EXPLICIT)
            self.withdrawn[relation] = self._outcome.withdrawn[relation] = known
        for relation, facts in insert.items():
            new = store.restrict(facts, _NOT_EXPLICIT)
            counters.add("ignored insertions", len(facts) - len(new))
            store.mark(new, add=Mark.EXPLICIT)
            self.asserted[relation] = new
            if relation in delete:  # a fact that goes and comes again is neither
                self.asserted[relation] = store.restrict(new, _WAS_NOT_EXPLICIT)
                self.withdrawn[relation] = store.restrict(self.withdrawn[relation], _NOT_EXPLICIT)

    def in_turn(self, steps: Iterable[Pair[F]]) -> set[str]:
        """Several updates, one after the other; the relations in which explicit facts came or went."""
        store, counters, changed = self._store, self._outcome.counters, set[str]()
        for delete, insert in steps:
            for relation, facts in delete.items():
                known = store.restrict(facts, _EXPLICIT)
                counters.add("ignored deletions", len(facts) - len(known))
                store.mark(known, remove=Mark.EXPLICIT)
                asked = store.restrict(known, _WAS_EXPLICIT)
                self._outcome.withdrawn[relation] = store.union([self._of(self._outcome.withdrawn, relation), asked])
                self.withdrawn[relation] = store.union([self._of(self.withdrawn, relation), known])
                changed |= {relation} if known else set()
            for relation, facts in insert.items():
                new = store.restrict(facts, _NOT_EXPLICIT)
                counters.add("ignored insertions", len(facts) - len(new))
                store.mark(new, add=Mark.EXPLICIT)
                self.asserted[relation] = store.union([self._of(self.asserted, relation), new])
                changed |= {relation} if new else set()
        for relation in changed:
            self._net(relation, ())
        return changed

    def on_top(self, steps: Sequence[Pair[F]]) -> None:
        """Updates over what is explicit by now, whatever was explicit in the last version."""
        store, given = self._store, _by_relation(steps)
        for relation, parts in given.items():
            every = store.union(parts)
            self.withdrawn[relation], self.asserted[relation] = (
                store.restrict(every, view) for view in (_EXPLICIT, _NOT_EXPLICIT)
            )
        for delete, insert in steps:
            for facts in delete.values():
                store.mark(facts, remove=Mark.EXPLICIT)
            for facts in insert.values():
                store.mark(facts, add=Mark.EXPLICIT)
        for relation in given:
            self.withdrawn[relation] = store.restrict(self.withdrawn[relation], _NOT_EXPLICIT)
            self.asserted[relation] = store.restrict(self.asserted[relation], _EXPLICIT)

    def compare(self, steps: Sequence[Pair[F]]) -> set[str]:
        """An urgent update has changed the last version: compare explicit facts with it again, those of `steps` too.

        The answer is the relations concerned.
        """
        given = _by_relation(steps)
        for relation in {*given, *self.withdrawn, *self.asserted}:
            self._net(relation, given.get(relation, ()))
        for relation, facts in self._outcome.withdrawn.items():
            self._outcome.withdrawn[relation] = self._store.restrict(facts, _WAS_EXPLICIT)
        return {*given, *self.withdrawn, *self.asserted}

    def _net(self, relation: str, more: Iterable[F]) -> None:
        """Keep the facts of a relation that became or ceased to be explicit since the last version."""
        both = self._store.union([self._of(self.withdrawn, relation), self._of(self.asserted, relation), *more])
        self.withdrawn[relation] = self._store.restrict(both, _WITHDRAWN)
        self.asserted[relation] = self._store.restrict(both, _ASSERTED)

    def _of(self, facts: Mapping[str, F], relation: str) -> F:
        return facts[relation] if relation in facts else self._store.nothing()


def _by_relation(steps: Iterable[Pair[F]]) -> dict[str, list[F]]:
    """Everything that updates are about."""
    given: dict[str, list[F]] = {}
    for relation, facts in (named for step in steps for part in step for named in part.items()):
        given.setdefault(relation, []).append(facts)
    return given

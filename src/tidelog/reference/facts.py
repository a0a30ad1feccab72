"""Facts, sets of facts, and views on them.

What      : a ground fact is a relation's name and a tuple of keys; a key is what `values.identity` says, so that `1`,
            `1.0`, `True` and `"1"` stay different inside Python's own sets and tuples.
Idea      : the papers match every body atom in its own set of facts (`B^X`). A view is anything that can be matched:
            a `FactSet`, a `Union` of views, or one view `Without` others, such as `I \\ (O u N)`.
Invariant : iteration follows the order of insertion, so that every run of the reference counts the same.
Never     : no rules here (see evaluation.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol, cast

from tidelog.language.terms import Value
from tidelog.language.values import identity

Key = int | str | tuple[str, float | bool]
GroundFact = tuple[str, tuple[Key, ...]]
Bound = Mapping[int, Key]


def to_key(value: Value) -> Key:
    """The key of a constant."""
    return cast(Key, identity(value))


def from_key(key: Key) -> Value:
    """The constant of a key."""
    return key[1] if isinstance(key, tuple) else key


def to_fact(relation: str, values: Iterable[Value]) -> GroundFact:
    """A ground fact from Python values."""
    return relation, tuple(to_key(value) for value in values)


def from_fact(fact: GroundFact) -> tuple[str, tuple[Value, ...]]:
    """A ground fact's relation and its Python values."""
    return fact[0], tuple(from_key(key) for key in fact[1])


class View(Protocol):
    """A set of facts that an atom can be matched in."""

    def __contains__(self, fact: object) -> bool:
        """Whether the fact is in the view."""
        ...

    def matching(self, relation: str, bound: Bound) -> Iterator[GroundFact]:
        """The relation's facts that have the bound keys at the bound positions, each once."""
        ...

    def estimate(self, relation: str, bound: Bound) -> int:
        """At least as many as `matching` gives; small means that it is cheap to start here."""
        ...


class FactSet:
    """A set of facts, in order of insertion, with an index per relation, position and key (built when first asked)."""

    def __init__(self, facts: Iterable[GroundFact] = ()) -> None:
        self._relations: dict[str, dict[GroundFact, None]] = {}
        self._indexes: dict[tuple[str, int], dict[Key, dict[GroundFact, None]]] = {}
        self._size = 0
        self.update(facts)

    def add(self, fact: GroundFact) -> bool:
        """Add a fact; whether it is new."""
        relation, keys = fact
        known = self._relations.setdefault(relation, {})
        if fact in known:
            return False
        known[fact] = None
        self._size += 1
        for position, key in enumerate(keys):
            index = self._indexes.get((relation, position))
            if index is not None:
                index.setdefault(key, {})[fact] = None
        return True

    def discard(self, fact: GroundFact) -> bool:
        """Take a fact away; whether it was there."""
        relation, keys = fact
        if fact not in self:
            return False
        del self._relations[relation][fact]
        self._size -= 1
        for position, key in enumerate(keys):
            index = self._indexes.get((relation, position))
            if index is not None:
                del index[key][fact]
        return True

    def update(self, facts: Iterable[GroundFact]) -> None:
        """Add all facts."""
        for fact in facts:
            self.add(fact)

    def difference_update(self, facts: Iterable[GroundFact]) -> None:
        """Take all facts away."""
        for fact in list(facts):
            self.discard(fact)

    def relations(self) -> list[str]:
        """The relations that have facts here."""
        return [relation for relation, facts in self._relations.items() if facts]

    def copy(self) -> FactSet:
        """An independent set of the same facts in the same order."""
        return FactSet(self)

    def matching(self, relation: str, bound: Bound) -> Iterator[GroundFact]:
        """The relation's facts that have the bound keys at the bound positions."""
        for fact in list(self._bucket(relation, bound)):
            keys = fact[1]
            if all(position < len(keys) and keys[position] == key for position, key in bound.items()):
                yield fact

    def estimate(self, relation: str, bound: Bound) -> int:
        """The size of the smallest bucket that holds all matches."""
        return len(self._bucket(relation, bound))

    def _bucket(self, relation: str, bound: Bound) -> Mapping[GroundFact, None]:
        best = self._relations.get(relation, {})
        for position, key in bound.items():
            if len(best) <= 4:
                break
            found = self._index(relation, position).get(key, {})
            best = found if len(found) < len(best) else best
        return best

    def _index(self, relation: str, position: int) -> dict[Key, dict[GroundFact, None]]:
        index = self._indexes.get((relation, position))
        if index is None:
            index = self._indexes[relation, position] = {}
            for fact in self._relations.get(relation, {}):
                if position < len(fact[1]):
                    index.setdefault(fact[1][position], {})[fact] = None
        return index

    def __contains__(self, fact: object) -> bool:
        return fact in self._relations.get(cast(GroundFact, fact)[0], ())

    def __iter__(self) -> Iterator[GroundFact]:
        for facts in list(self._relations.values()):
            yield from list(facts)

    def __len__(self) -> int:
        return self._size

    def __repr__(self) -> str:
        return f"FactSet({list(self)!r})"


class JournaledFactSet(FactSet):
    """A set of facts that knows its net change since the last `commit` and can go back to it."""

    def __init__(self, facts: Iterable[GroundFact] = ()) -> None:
        self._was_present: dict[GroundFact, bool] = {}
        super().__init__(facts)
        self.commit()

    def add(self, fact: GroundFact) -> bool:
        """Add a fact; whether it is new."""
        is_new = super().add(fact)
        if is_new:
            self._was_present.setdefault(fact, False)
        return is_new

    def discard(self, fact: GroundFact) -> bool:
        """Take a fact away; whether it was there."""
        was_there = super().discard(fact)
        if was_there:
            self._was_present.setdefault(fact, True)
        return was_there

    def changes(self) -> tuple[list[GroundFact], list[GroundFact]]:
        """The facts inserted and deleted, net, since the last commit."""
        inserted = [fact for fact, was in self._was_present.items() if not was and fact in self]
        deleted = [fact for fact, was in self._was_present.items() if was and fact not in self]
        return inserted, deleted

    def commit(self) -> None:
        """Make the present facts the ones to go back to."""
        self._was_present = {}

    def rollback(self) -> None:
        """Go back to the last commit."""
        inserted, deleted = self.changes()
        self.difference_update(inserted)
        self.update(deleted)
        self.commit()


class Without:
    """The facts of one view that are in none of the others: `base \\ (first u second u ...)`."""

    def __init__(self, base: View, *excluded: View) -> None:
        self._base, self._excluded = base, excluded

    def __contains__(self, fact: object) -> bool:
        return fact in self._base and not any(fact in view for view in self._excluded)

    def matching(self, relation: str, bound: Bound) -> Iterator[GroundFact]:
        """The matches of the base that are not excluded."""
        for fact in self._base.matching(relation, bound):
            if not any(fact in view for view in self._excluded):
                yield fact

    def estimate(self, relation: str, bound: Bound) -> int:
        """As the base."""
        return self._base.estimate(relation, bound)


class Union:
    """The facts that are in at least one of the views."""

    def __init__(self, *views: View) -> None:
        self._views: Sequence[View] = views

    def __contains__(self, fact: object) -> bool:
        return any(fact in view for view in self._views)

    def matching(self, relation: str, bound: Bound) -> Iterator[GroundFact]:
        """The matches of all views, each once."""
        for number, view in enumerate(self._views):
            for fact in view.matching(relation, bound):
                if not any(fact in earlier for earlier in self._views[:number]):
                    yield fact

    def estimate(self, relation: str, bound: Bound) -> int:
        """The sum over the views."""
        return sum(view.estimate(relation, bound) for view in self._views)

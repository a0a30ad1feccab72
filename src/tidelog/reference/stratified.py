"""One stratum's share of an update: how positive algorithms are lifted to negation, aggregates and changing rules.

What      : strata are maintained in order. To a stratum everything below is a given dataset whose net change is part
            of its E- and E+; a `Step` holds that and enumerates the rule instances the papers' algorithms ask for.
Idea      : a changed relation under `!` or in an aggregate takes rule instances away and gives others; so does a
            removed or added rule. `lost` and `gained` enumerate them. All other instances are the papers' own.
Invariant : an instance of `lost` is never one of `affected`, one of `gained` never one of `affected`; a positive
            program whose rules stay has no lost and no gained instances, and the algorithm runs as printed.
Never     : it decides nothing; which facts to check, delete or add is the algorithm's business.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tidelog.language.terms import Atom, Rule, atoms
from tidelog.reference.evaluation import Instance, driven, holds, instances, positive_atoms, uniform
from tidelog.reference.facts import FactSet, GroundFact, Union, View, Without


@dataclass
class Step:
    """What one stratum sees of an update.

    `present` (I) holds the materialisation before the update when the step starts; the algorithm changes it into the
    one after. `explicit` (E) is without the deletions and without the insertions of this update.
    """

    level: int  # the number of the stratum, from the lowest
    present: FactSet
    explicit: FactSet
    delete: list[GroundFact]  # E-: explicit facts of this stratum, and the net deletions below that its rules read
    insert: list[GroundFact]  # E+
    own: frozenset[str]  # relations of this stratum
    below: frozenset[str]  # relations of lower strata, and those that no rule derives
    kept: tuple[Rule, ...]  # rules before and after the update
    added: tuple[Rule, ...]
    removed: tuple[Rule, ...]
    inserted_below: FactSet
    deleted_below: FactSet
    _readers: dict[tuple[bool, str], list[tuple[Rule, int]]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._before: View = Union(Without(self.present, self.inserted_below), self.deleted_below)
        self._after: View = Union(Without(self.present, self.deleted_below), self.inserted_below)
        self._changed = {*self.inserted_below.relations(), *self.deleted_below.relations()}
        self._heads = {rule.head.relation for rule in self.rules}
        self._readers = {}
        for rule in self.rules:
            for position in positive_atoms(rule):
                literal = rule.body[position]
                assert isinstance(literal, Atom)
                for only_kept in (True, False) if rule in self.kept else (False,):
                    self._readers.setdefault((only_kept, literal.relation), []).append((rule, position))

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules after the update."""
        return self.kept + self.added

    def is_given(self, fact: GroundFact) -> bool:
        """Whether a present fact needs no proof in this stratum once E- is gone: it is explicit or comes from below."""
        if fact[0] in self.below:
            return fact not in self.deleted_below
        return fact in self.explicit

    def is_derivable(self, fact: GroundFact) -> bool:
        """Whether a rule of this stratum could have the fact as head (the papers' implicit facts)."""
        return fact[0] in self._heads

    def affected(self, before: View, at: FactSet, after: View) -> Iterator[Instance]:
        """`H <- B1^before, ..., Bi^at, ..., Bn^after` for the kept rules and every i: DR2, lines 8 and 23.

        Negation and aggregates hold before and after the update; where they do not, see `lost` and `gained`.
        """
        for rule, views in self._driven(True, before, at, after, self._before):
            for instance in instances(rule, views):
                if self._holds(instance, self._after):
                    yield instance

    def derived(self, before: View, at: FactSet, after: View) -> Iterator[Instance]:
        """The same for all rules after the update, negation and aggregates as they are then: DR5, line 26."""
        for rule, views in self._driven(False, before, at, after, self._after):
            yield from instances(rule, views)

    def supports(self, fact: GroundFact, view: View) -> Iterator[Instance]:
        """The instances with a given head and all atoms in one view: DR4, line 16."""
        for rule in self.rules:
            if rule.head.relation == fact[0]:
                yield from instances(rule, uniform(rule, view, self._after), fact)

    def unconditional(self) -> list[Instance]:
        """The instances of rules without a positive atom, after the update."""
        bare = [rule for rule in self.rules if not positive_atoms(rule)]
        return [each for rule in bare for each in instances(rule, uniform(rule, self.present, self._after))]

    def lost(self) -> list[Instance]:
        """The instances over the facts before the update that end although their atoms may stay."""
        found = [each for rule in self.removed for each in instances(rule, uniform(rule, self.present, self.present))]
        for rule in self._touched():
            before = instances(rule, uniform(rule, self.present, self._before))
            found.extend(instance for instance in before if not self._holds(instance, self._after))
        return found

    def gained(self, view: View) -> list[Instance]:
        """The instances with atoms in the view that hold after the update but did not hold before it."""
        found = [each for rule in self.added for each in instances(rule, uniform(rule, view, self._after))]
        for rule in self._touched():
            after = instances(rule, uniform(rule, view, self._after))
            found.extend(instance for instance in after if not self._holds(instance, self._before))
        return found

    def _driven(
        self, only_kept: bool, before: View, at: FactSet, after: View, below: View
    ) -> Iterator[tuple[Rule, list[View]]]:
        for relation in at.relations():
            for rule, position in self._readers.get((only_kept, relation), ()):
                yield rule, driven(rule, position, before, at, after, below)

    def _touched(self) -> Iterable[Rule]:
        """The kept rules that negate or aggregate a relation that changed below."""
        return [rule for rule in self.kept if self._changed & _non_monotone(rule)]

    def _holds(self, instance: Instance, view: View) -> bool:
        """Whether the negated and aggregated literals of an instance are true in a view."""
        rule = instance.rule
        if not self._changed & _non_monotone(rule):
            return True
        substitution = dict(instance.substitution)
        return all(
            holds(literal, substitution, view)
            for literal in rule.body
            if any(not is_monotone for _, is_monotone in atoms(literal))
        )


def _non_monotone(rule: Rule) -> set[str]:
    """The relations that a rule negates or aggregates."""
    return {atom.relation for literal in rule.body for atom, is_monotone in atoms(literal) if not is_monotone}

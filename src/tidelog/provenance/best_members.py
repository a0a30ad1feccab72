"""What a recursive `min` or `max` stands on: the member that gives the best value.

What      : `best_members` adds the facts of such a member to the premises of an instance; `aggregated_in` tells which
            aggregates of which rules this concerns.
Idea      : `dist(y, m)` holds because a `step(y, m)` holds, and no step is less. The first half is a premise like any
            other, so that a proof goes on down to a source and never round a cycle of weight zero; the second half is
            a condition (conditions.py), as for the aggregates of lower strata.
Invariant : an instance has one premise for each atom of its rule, then one for each atom of a best member of every
            aggregate that reads the rule's own component.
Never     : other aggregates, whose members are final before the rule is asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product

from tidelog.analysis.components import components
from tidelog.analysis.optima import recursive_aggregates
from tidelog.language.terms import Aggregate, Atom, Rule
from tidelog.provenance.instances import Fact, Facts, Instance, given, members, scope_of


def aggregated_in(rules: Sequence[Rule]) -> Mapping[Rule, tuple[Aggregate, ...]]:
    """The aggregates of each rule that read its own component; rules without one are left out."""
    if not any(isinstance(literal, Aggregate) for rule in rules for literal in rule.body):
        return {}
    found = {}
    for component in components(rules):
        for rule in component.rules if component.is_recursive else ():
            own = tuple(recursive_aggregates(component, rule))
            if own:
                found[rule] = own
    return found


def best_members(instance: Instance, aggregates: Iterable[Aggregate], facts: Facts) -> Iterator[Instance]:
    """The instance with the facts of best members as further premises: once for each choice of these."""
    for chosen in product(*(list(_best(goal, instance, facts)) for goal in aggregates)):
        yield replace(instance, premises=(*instance.premises, *(fact for some in chosen for fact in some)))


def _best(goal: Aggregate, instance: Instance, facts: Facts) -> Iterator[tuple[Fact, ...]]:
    """The facts of each member that gives the value."""
    bound, scope = instance.bound, scope_of(instance.rule.body) | instance.bound.keys()
    atoms = [literal for literal in goal.body if isinstance(literal, Atom)]
    assert goal.value is not None
    for each in members(goal, bound, scope, facts):
        if given(goal.value, each) == given(goal.result, bound):
            yield tuple((atom.relation, tuple(given(term, each) for term in atom.terms)) for atom in atoms)

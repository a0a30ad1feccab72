"""Recomputation, as short as it can be said: the law that every engine is held to.

Idea      : component by component, apply every rule to everything until nothing is new.
Invariant : the result depends on the state only, never on how it came about.
Never     : no deltas, no indexes, nothing clever: what disagrees with this page is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tests.differential.case import State
from tidelog.analysis.components import Component, components
from tidelog.language.terms import Aggregate, Rule, atoms
from tidelog.reference.evaluation import FactSet, GroundFact, instances, to_fact, uniform
from tidelog.reference.undefined import without_value


def explicit(state: State) -> Iterator[GroundFact]:
    """The explicit facts of a state."""
    return (to_fact(relation, values) for (relation, _), values in state.facts.items())


def model(state: State) -> FactSet:
    """Everything that follows from a state: its (stratified) model."""
    facts = FactSet(explicit(state))
    for component in components(state.evaluated.rules):
        if _aggregates_itself(component):
            facts = _improved(component.rules, facts)
        else:
            _saturate(component.rules, facts)
    return facts


def _aggregates_itself(component: Component) -> bool:
    literals = (literal for rule in component.rules for literal in rule.body if isinstance(literal, Aggregate))
    return any(atom.relation in component.relations for literal in literals for atom, _ in atoms(literal))


def _improved(rules: Sequence[Rule], below: FactSet) -> FactSet:
    """A recursion through `min`: derive from the round before alone, until a round is like the one before."""
    before = below
    while True:
        after = FactSet(below)
        for rule in rules:
            after.update([instance.head for instance in instances(rule, uniform(rule, before, before))])
        if set(after) == set(before):
            return after
        before = after


def lacks(state: State, facts: FactSet) -> int:
    """How many instances over a model are none because a value is missing."""
    return sum(map(len, without_value(state.evaluated.rules, facts).values()))


def _saturate(rules: Sequence[Rule], facts: FactSet) -> None:
    size = -1
    while len(facts) != size:
        size = len(facts)
        for rule in rules:
            facts.update([instance.head for instance in instances(rule, uniform(rule, facts, facts))])

"""Recomputation, as short as it can be said: the law that every engine is held to.

Idea      : stratum by stratum, apply every rule to everything until nothing is new.
Invariant : the result depends on the state only, never on how it came about.
Never     : no deltas, no indexes, nothing clever: whoever disagrees with this page is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.differential.case import State
from tidelog.analysis.components import strata
from tidelog.language.terms import Rule
from tidelog.reference.evaluation import FactSet, GroundFact, instances, to_fact, uniform
from tidelog.reference.undefined import without_value


def explicit(state: State) -> Iterator[GroundFact]:
    """The explicit facts of a state."""
    return (to_fact(relation, values) for (relation, _), values in state.facts.items())


def model(state: State) -> FactSet:
    """Everything that follows from a state: its (stratified) model."""
    levels = strata(state.rules)
    facts = FactSet(explicit(state))
    for level in sorted(set(levels.values())):
        _saturate([rule for rule in state.rules if levels[rule.head.relation] == level], facts)
    return facts


def lacks(state: State, facts: FactSet) -> int:
    """How many instances over a model are none because a value is missing."""
    return sum(map(len, without_value(state.rules, facts).values()))


def _saturate(rules: list[Rule], facts: FactSet) -> None:
    size = -1
    while len(facts) != size:
        size = len(facts)
        for rule in rules:
            facts.update([instance.head for instance in instances(rule, uniform(rule, facts, facts))])

"""Naive materialisation.

Idea       : apply every rule to all facts until nothing is new: I0 = E, I(i+1) = Ii u P(Ii).
Source     : Illich, Glimm 2025, section 2.1 (the definition of mat(P, E)), stratum by stratum.
Invariant  : the result is the program's stratified model. Where a component takes the least or greatest of its own
             values, it is the least fixpoint in the order of values.
Cost       : every round repeats all derivations of the rounds before.
Departures : the paper has no aggregates. A component that aggregates itself (analysis/optima.py) is derived again from
             its explicit facts and the round before alone, so that a value is forgotten when a better one is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tidelog.analysis.components import Component, components, strata
from tidelog.analysis.optima import takes_optima
from tidelog.language.terms import Rule
from tidelog.reference.evaluation import instances, uniform
from tidelog.reference.facts import FactSet, GroundFact


def by_stratum(rules: Iterable[Rule]) -> Iterator[tuple[Rule, ...]]:
    """The rules of each stratum, lowest first."""
    ordered = tuple(rules)
    levels = strata(ordered)
    for level in range(max(levels.values(), default=-1) + 1):
        yield tuple(rule for rule in ordered if levels[rule.head.relation] == level)


def materialise(rules: Iterable[Rule], explicit: Iterable[GroundFact]) -> set[GroundFact]:
    """mat(P, E): all facts that follow from the explicit ones."""
    present, given = FactSet(explicit), tuple(rules)
    for component in components(given):
        if component.is_recursive and takes_optima(component):
            present = improve(component, present)
        else:
            _saturate(component.rules, present)
    return set(present)


def _saturate(rules: Iterable[Rule], present: FactSet) -> None:
    while True:
        derived = {each.head for rule in rules for each in instances(rule, uniform(rule, present, present))}
        new = [fact for fact in derived if fact not in present]
        if not new:
            break
        present.update(new)


def improve(component: Component, present: FactSet) -> FactSet:
    """The facts together with those of a component that aggregates itself: each round replaces the one before.

    Costs only get better, so the rounds end in the least fixpoint, if no cycle makes them better for ever.
    """
    before = present
    while True:
        after = FactSet(present)
        for rule in component.rules:
            after.update([each.head for each in instances(rule, uniform(rule, before, before))])
        if set(after) == set(before):
            return after
        before = after

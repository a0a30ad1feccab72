"""Naive materialisation.

Idea       : apply every rule to all facts until nothing is new: I0 = E, I(i+1) = Ii u P(Ii).
Source     : Illich, Glimm 2025, section 2.1 (the definition of mat(P, E)), stratum by stratum.
Invariant  : the result is the program's stratified model.
Cost       : every round repeats all derivations of the rounds before.
Departures : none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tidelog.analysis.components import strata
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
    present = FactSet(explicit)
    for stratum in by_stratum(rules):
        while True:
            derived = {each.head for rule in stratum for each in instances(rule, uniform(rule, present, present))}
            new = [fact for fact in derived if fact not in present]
            if not new:
                break
            present.update(new)
    return set(present)

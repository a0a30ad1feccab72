"""Semi-naive materialisation.

Idea       : in every round at least one atom is matched in the facts that the last round added.
Source     : Motik et al. 2015, step DR5 with the fix of section 3 ("Repeating Derivations"): atoms before i in I \\ N.
Invariant  : no rule instance is derived twice.
Cost       : grows with the derivations of the result, each counted once.
Departures : rules without a positive atom have no round of their own; they are applied once, first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from tidelog.language.terms import Rule
from tidelog.reference.evaluation import Instance, driven, instances, positive_atoms, uniform
from tidelog.reference.facts import FactSet, GroundFact, Without
from tidelog.reference.naive import by_stratum


def materialise(
    rules: Iterable[Rule], explicit: Iterable[GroundFact], counters: Counter[str] | None = None
) -> set[GroundFact]:
    """mat(P, E) with every rule instance derived once; `counters["derivations"]` counts them."""
    counters = Counter() if counters is None else counters
    present = FactSet(explicit)
    for stratum in by_stratum(rules):
        new = FactSet(present)
        heads = [each.head for rule in stratum if not positive_atoms(rule) for each in _all(rule, present)]
        counters["derivations"] += len(heads)
        new.update(fact for fact in heads if present.add(fact))
        while len(new):
            found = [each.head for rule in stratum for each in _round(rule, present, new)]
            counters["derivations"] += len(found)
            new = FactSet(fact for fact in found if fact not in present)
            present.update(new)
    return set(present)


def _all(rule: Rule, present: FactSet) -> Iterator[Instance]:
    return instances(rule, uniform(rule, present, present))


def _round(rule: Rule, present: FactSet, new: FactSet) -> Iterator[Instance]:
    """`H <- B1^(I \\ N), ..., Bi^N, ..., Bn^I` for every i."""
    for position in positive_atoms(rule):
        yield from instances(rule, driven(rule, position, Without(present, new), new, present, present))

"""Recomputation: the oracle.

Idea       : forget everything and materialise the present rules over the present explicit facts.
Source     : the definition of the incremental update in Motik et al. 2015, section 2.
Invariant  : it is what every other algorithm is compared with.
Cost       : the size of the result, whatever the update.
Departures : none.
"""

from __future__ import annotations

from tidelog.reference.algorithm import Algorithm
from tidelog.reference.facts import GroundFact
from tidelog.reference.seminaive import materialise
from tidelog.reference.stratified import Step

__all__ = ["Recompute", "materialise"]


class Recompute(Algorithm):
    """Materialises every stratum anew."""

    def maintain(self, step: Step) -> None:
        """Take the stratum's facts away and derive them again from the explicit facts and the facts below."""
        given = [fact for fact in step.present if fact[0] in step.below]
        after: set[GroundFact] = (set(given) | set(step.inserted_below)) - set(step.deleted_below)
        after |= {fact for fact in [*step.explicit, *step.insert] if fact[0] in step.own}
        wanted = {fact for fact in materialise(step.rules, after, self.counters) if fact[0] in step.own}
        step.present.difference_update([fact for fact in step.present if fact[0] in step.own and fact not in wanted])
        step.present.update(wanted)

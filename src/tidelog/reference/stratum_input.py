"""What a stratum is given, as one set of facts.

What      : the facts below that a stratum's rules read and the explicit facts of its own relations, after the update.
Idea      : an algorithm with a memory of its own (a circuit, a transition system) compares that set with what it was
            given before; it need not know what moved between strata.
Never     : it decides nothing and changes nothing.
"""

from __future__ import annotations

from tidelog.analysis.components import relations_read
from tidelog.reference.facts import GroundFact
from tidelog.reference.stratified import Step


def stratum_input(step: Step) -> tuple[set[GroundFact], set[str]]:
    """The facts that are given to a stratum after the update, and the relations that it is responsible for."""
    rules = (*step.rules, *step.removed)
    read = {relation for rule in rules for relation in relations_read(rule)}
    own = {rule.head.relation for rule in rules} | {fact[0] for fact in (*step.delete, *step.insert)} | read
    own -= step.below
    below = {fact for fact in step.present if fact[0] in step.below and fact[0] in read}
    below |= {fact for fact in step.inserted_below if fact[0] in step.below and fact[0] in read}
    below -= set(step.deleted_below)
    return below | {fact for fact in (*step.explicit, *step.insert) if fact[0] in own}, own

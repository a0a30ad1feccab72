"""What each rule cost in an update.

What      : a `RuleCost` says for a rule and a phase how long it ran, how often, and how much of its work was in vain.
Idea      : time alone does not say what to do. Many duplicates ask for another rule, many runs for a shorter recursion,
            and much time for few derivations for another order of joins (`engine.plan`).
Invariant : costs are ordered by time, the dearest first; together they are at most what the update took.
Never     : nothing is measured here (maintenance/profiled_store.py).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RuleCost:
    """What one rule cost in one phase of an update."""

    rule: str
    """The name or the text of the rule; a component for work that is done for all its rules together."""
    component: str
    """The relations that are maintained together with the rule's head."""
    phase: str
    seconds: float
    runs: int
    """In how many rounds the rule ran."""
    derivations: int
    duplicates: int
    """Derivations of facts that were there already, or that another derivation of this round gave."""

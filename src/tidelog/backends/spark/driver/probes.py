"""What a plan will look up, before it runs.

What      : for every join and absence test of a plan, the plan up to that step; its "head" are the keys of the look-up.
            The last probe looks up the heads of the rule themselves.
Idea      : the keys that a step needs are what the steps before it produce, so the same machine finds them.
Invariant : probe n gives the right keys once the facts for the probes before it are there.
Never     : no facts, no session.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tidelog.planning.plan import Absent, Driver, Join, Known, Plan, key_columns


@dataclass(frozen=True, eq=False)
class Probe:
    """A look-up of a relation by some columns; the heads of `plan` are the keys."""

    relation: str
    columns: tuple[int, ...]
    plan: Plan
    is_of_heads: bool = False
    """Whether it looks up the heads of the rule, whose instances are all known by then."""


def probes(plan: Plan) -> Iterator[Probe]:
    """The look-ups of a plan in order."""
    for at, step in enumerate(plan.steps):
        if isinstance(step, Join | Absent):
            keys = tuple(column.source for column in step.columns if isinstance(column, Known))
            yield Probe(step.relation, key_columns(step.columns), replace(plan, steps=plan.steps[:at], head=keys))
    if plan.driver is not Driver.HEAD:
        yield Probe(plan.rule.head.relation, tuple(range(len(plan.head))), plan, is_of_heads=True)

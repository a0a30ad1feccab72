"""Which columns rules look up.

What      : `looked_up` goes through the plans of a program and gives, for every relation, the sets of columns by which
            facts are looked up when an update drives a rule, or when a fact is derived anew.
Idea      : the same plans are run later, so the orders that they need can be written together with the relation.
Invariant : a hint: a plan that is made with other estimates may look up other columns, and then an order is added.
Never     : no facts, no files.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidelog.backends.spark.driver.probes import probes
from tidelog.language.terms import Atom, Negation
from tidelog.maintenance.schedule import Schedule
from tidelog.planning.join_order import Estimates
from tidelog.planning.planner import plan_head, plan_literal


def looked_up(schedule: Schedule, estimates: Estimates) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Relations and sets of their columns; whole facts are left out, because any order finds them."""
    rules = (rule for scheduled in schedule.stages for rule in scheduled.stage.rules)
    for rule in rules:
        widths = {atom.relation: len(atom.terms) for atom in (rule.head, *map(_atom, rule.body)) if atom is not None}
        plans = [plan_literal(rule, at, estimates) for at, each in enumerate(rule.body) if _atom(each) is not None]
        for plan in (*plans, plan_head(rule, estimates)):
            for probe in probes(plan):
                if 0 < len(probe.columns) < widths[probe.relation]:
                    yield probe.relation, probe.columns


def _atom(literal: object) -> Atom | None:
    match literal:
        case Atom():
            return literal
        case Negation(atom):
            return atom
    return None

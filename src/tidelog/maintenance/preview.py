"""What a rule change would cost, before it is made.

What      : the relations that can gain or lose facts, and an estimate of the rule instances to look at.
Idea      : impact analysis says where; the sizes of the relations that the changed rules read say how much.
Invariant : nothing is evaluated and nothing changes.
Never     : no promise: the estimate is an order of magnitude.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tidelog.analysis.impact import Impact
from tidelog.language.lexemes import spell_name
from tidelog.language.terms import Atom
from tidelog.maintenance.schedule import RuleChange, Schedule
from tidelog.maintenance.store import Store
from tidelog.planning.lowered import LoweredRule


@dataclass(frozen=True, slots=True)
class Preview:
    """What a rule change can do."""

    gaining: frozenset[str]
    losing: frozenset[str]
    added: int
    removed: int
    estimated_instances: int

    @property
    def relations(self) -> frozenset[str]:
        """Every relation that can change."""
        return self.gaining | self.losing

    def __repr__(self) -> str:
        counts = f"{self.added} rules added, {self.removed} removed"
        return f"<Preview: {counts}, {len(self.relations)} relations can change>"

    def __str__(self) -> str:
        lines = [
            f"{self.added} rules added, {self.removed} removed, about {self.estimated_instances:,} instances to look at"
        ]
        for word, relations in (("can gain", self.gaining), ("can lose", self.losing)):
            if relations:
                lines.append(f"  {word} facts: {', '.join(map(spell_name, sorted(relations)))}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from tidelog.changes.html import lines_html

        return lines_html(str(self))


def preview(touched: Impact, before: Schedule, after: Schedule, store: Store[Any]) -> Preview:
    """The preview of a change from one schedule to another."""
    change = RuleChange.between(before, after)
    instances = sum(_instances(rule, store) for rule in (*change.added, *change.removed))
    return Preview(touched.gaining, touched.losing, len(change.added), len(change.removed), instances)


def _instances(rule: LoweredRule, store: Store[Any]) -> int:
    """A rule is expected to have about as many instances as its largest body relation has facts."""
    return max((store.size(literal.relation) for literal in rule.body if isinstance(literal, Atom)), default=1)

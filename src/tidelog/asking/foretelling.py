"""What an engine would do, before it does it.

What      : `Foretelling` gives an engine `plan` and `preview`.
Idea      : how a rule would be evaluated, and what a rule change would touch, follow from the rules and the sizes of
            the relations.
Invariant : nothing is evaluated and nothing changes. A closed engine has no sizes and refuses.
Never     : no facts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tidelog.errors import expect

if TYPE_CHECKING:
    from tidelog.language.terms import Program
    from tidelog.maintenance.preview import Preview


class Foretelling:
    """Tells how a rule is evaluated and what a rule change would do."""

    def preview(self, add_rules: str | Program | None = None, remove_rules: Sequence[str] = ()) -> Preview:
        """Which relations a rule change would touch, and about at what cost, without doing it."""
        from tidelog.analysis.impact import impact
        from tidelog.analysis.program_check import check
        from tidelog.language.read import asked_rules
        from tidelog.maintenance.preview import preview
        from tidelog.maintenance.rule_book import RuleBook

        added, removed = asked_rules(add_rules, remove_rules)
        engine: Any = self
        engine._turns.refuse_if_closed()
        schedules = engine._book.schedule, RuleBook.of(check(engine._book.changed(added, removed))).schedule
        return preview(impact(engine.program, added.rules, removed), *schedules, engine._backend.store)

    def plan(self, rule: str) -> str:
        """How a rule, by name or text, is evaluated: what drives it, what is joined in which order, by which index."""
        from tidelog.asking.plans import plan

        expect(rule, str, "the rule", "a text: its name, or the rule itself")
        engine: Any = self
        engine._turns.refuse_if_closed()
        return plan(rule, engine.program, engine._backend.store)

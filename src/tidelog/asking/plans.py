"""How a rule is evaluated, in words.

What      : `plan` finds a rule by its name or text, or reads a new one, and describes its join plans for the facts that
            are there.
Idea      : the plans are made by the planner that evaluation uses, with the sizes of the present relations.
Invariant : every literal appears in every line, in the order in which it is evaluated.
Never     : nothing is evaluated.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tidelog.analysis.inlining import evaluated_rules, inline_part
from tidelog.analysis.program_check import check
from tidelog.errors import UsageError
from tidelog.language.parser import parse_rules
from tidelog.language.printer import names
from tidelog.language.terms import Program, Rule
from tidelog.maintenance.store import Store
from tidelog.planning.description import describe, names_in
from tidelog.planning.lowering import lower


class Sizes:
    """What a store tells about its relations: how many facts they have."""

    def __init__(self, store: Store[Any]) -> None:
        self._store = store

    def size(self, relation: str) -> int:
        """The number of facts of a relation, at least 1."""
        return max(self._store.size(relation), 1)

    def distinct(self, relation: str, column: int) -> int:
        """Not known without looking at the facts."""
        del relation, column
        return 0


def plan(text: str, program: Program, store: Store[Any]) -> str:
    """The plans of a rule, one line per driver, and the sizes of the relations that they read."""
    rules = [rule for rule in program.rules if text.strip() in names(rule)] or _read(text, program)
    part = inline_part(program)
    kept = tuple(rule for rule in rules if rule not in part.rules)
    if not kept:
        return f"{rules[0].head.relation} is inline: its rules are part of the plans of those that use it"
    stages = lower(evaluated_rules(replace(part, rules=(*part.rules, *kept)))).stages
    short = names_in(stage for stage in stages if not stage.finds_undefined)
    read = sorted({name for stage in stages for rule in stage.rules for name in rule.reads})
    sizes = "\n".join(f"   {short.get(name, name)}: {store.size(name):,} facts" for name in read)
    return describe(stages, Sizes(store)) + (f"\nsizes\n{sizes}" if read else "")


def _read(text: str, program: Program) -> tuple[Rule, ...]:
    """A rule that the program does not have."""
    if ":-" not in text:
        known = ", ".join(rule.name for rule in program.rules if rule.name)[:200] or "none has a name"
        raise UsageError.of("E803", f"there is no rule {text.strip()[:200]}", remedy=f"named rules: {known}")
    rules = parse_rules(text if text.rstrip().endswith(".") else f"{text}.")
    part = inline_part(program)
    check(replace(part, rules=(*part.rules, *rules)))
    return rules

"""From the stored rules to the rules of today.

What      : `program_change` says which rules and which facts of a rule file have to be added and removed, so that a
            changed file is applied as one incremental update instead of a new materialisation.
Invariant : applying the change to an engine with the program `before` gives it the rules and facts of `after`; rules
            that differ only in the names of variables are the same.
Never     : nothing is applied here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from tidelog.errors import StateError
from tidelog.language.printer import canonical_text, print_program, print_rule
from tidelog.language.terms import Program, Rule, Value


@dataclass(frozen=True, slots=True)
class ProgramChange:
    """What `engine.apply` has to be given: rules, facts and declarations to add as text, and what has to go."""

    add_rules: str = ""
    remove_rules: tuple[str, ...] = ()
    delete: Mapping[str, list[tuple[Value, ...]]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.add_rules or self.remove_rules or self.delete)


def program_change(before: Program, after: Program) -> ProgramChange:
    """The difference between two programs; a declaration that was changed or taken away is refused."""
    declared = {declaration.relation: declaration for declaration in after.declarations}
    for declaration in before.declarations:
        if declared.get(declaration.relation) != declaration:
            raise StateError.of(
                "E605",
                f"the stored state declares {declaration.relation} differently",
                remedy="restore its declaration, or begin a new state",
            )
    known = {_identity(rule) for rule in before.rules}
    wanted = {_identity(rule) for rule in after.rules}
    removed = tuple(print_rule(rule) for rule in before.rules if _identity(rule) not in wanted)
    rules = tuple(rule for rule in after.rules if _identity(rule) not in known)
    declarations = tuple(one for one in after.declarations if one not in before.declarations)
    written = set(before.facts)
    facts = tuple(fact for fact in after.facts if fact not in written)
    return ProgramChange(print_program(Program(rules, facts, declarations)), removed, _gone(before, after))


def _gone(before: Program, after: Program) -> dict[str, list[tuple[Value, ...]]]:
    """The facts that are no longer written in the program."""
    kept, gone = set(after.facts), defaultdict[str, list[tuple[Value, ...]]](list)
    for fact in before.facts:
        if fact not in kept:
            gone[fact.relation].append(tuple(constant.value for constant in fact.values))
    return dict(gone)


def _identity(rule: Rule) -> tuple[str | None, str]:
    return rule.name, canonical_text(rule)

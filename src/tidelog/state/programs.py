"""From the stored rules to the rules of today.

What      : `program_change` says which rules have to be added and removed, so that a changed rule file is applied as an
            incremental rule change instead of a new materialisation.
Invariant : applying the change to an engine with the program `before` gives it the rules of `after`; rules that differ
            only in the names of variables are the same.
Never     : facts written in a program are no part of the comparison.
"""

from __future__ import annotations

from dataclasses import dataclass

from tidelog.errors import StateError
from tidelog.language.printer import canonical_text, print_program, print_rule
from tidelog.language.terms import Program, Rule


@dataclass(frozen=True, slots=True)
class ProgramChange:
    """What `engine.apply` has to be given: text of rules and declarations to add, and rules to remove."""

    add_rules: str = ""
    remove_rules: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.add_rules or self.remove_rules)


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
    return ProgramChange(print_program(Program(rules, (), declarations)), removed)


def _identity(rule: Rule) -> tuple[str | None, str]:
    return rule.name, canonical_text(rule)

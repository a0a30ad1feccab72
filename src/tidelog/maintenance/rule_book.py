"""The rules that are in force, in the forms in which they are needed.

What      : a `RuleBook` holds a program without its facts, its lowered form and its schedule; `turned` gives the book
            of another program, `changed` the program after rules come and go.
Idea      : a book is a value. An update that changes rules makes the next book and works with it; if the update fails,
            the present book was never touched.
Invariant : program, lowered form and schedule belong together; stages that two books share are the same objects, so
            that what is prepared for them stays in use.
Never     : no facts, and no check: whoever turns a book has checked the program.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tidelog.analysis.impact import without
from tidelog.language.printer import names
from tidelog.language.terms import Program, Value
from tidelog.maintenance.schedule import Schedule
from tidelog.planning.lowering import LoweredProgram, lower


@dataclass(frozen=True, eq=False)
class RuleBook:
    """A program and what is made of it."""

    program: Program
    lowered: LoweredProgram = field(default_factory=lambda: LoweredProgram(()))
    schedule: Schedule = field(default_factory=lambda: Schedule(()))

    @classmethod
    def of(cls, program: Program) -> RuleBook:
        """The book of a program that shares nothing with another."""
        lowered = lower(program.rules)
        return cls(program, lowered, Schedule(lowered.stages))

    def turned(self, program: Program) -> RuleBook:
        """The book of the next program; with the same rules only declarations differ."""
        if program.rules == self.program.rules:
            return RuleBook(program, self.lowered, self.schedule)
        lowered = lower(program.rules).sharing(self.lowered)
        return RuleBook(program, lowered, Schedule(lowered.stages, self.schedule))

    def changed(self, added: Program, removed: Sequence[str]) -> Program:
        """The program after a rule change: unknown rules are refused, repeated ones ignored; the same if nothing is."""
        program = self.program
        if not (removed or added.rules or added.declarations):
            return program
        kept = without(program.rules, removed) if removed else list(program.rules)
        present = set(kept)
        kept.extend(rule for rule in dict.fromkeys(added.rules) if rule not in present)
        if not added.declarations and tuple(kept) == program.rules:
            return program
        return Program(tuple(kept), (), (*program.declarations, *added.declarations), program.inputs, program.outputs)

    @property
    def relations(self) -> set[str]:
        """The relations that rules or declarations name, our own included."""
        return {*self.lowered.arities, *(declaration.relation for declaration in self.program.declarations)}

    @property
    def rule_names(self) -> set[str]:
        """Everything by which a rule can be removed."""
        return {name for rule in self.program.rules for name in names(rule)}

    def arity(self, relation: str) -> int | None:
        """The number of columns that rules or a declaration give a relation; None if they do not name it."""
        if relation in self.lowered.arities:
            return self.lowered.arities[relation]
        declared = self._declared(relation)
        return None if declared is None else len(declared)

    def columns(self, relation: str, arity: int) -> tuple[str, ...]:
        """The declared names of a relation's columns, else c1, c2, ..."""
        declared = self._declared(relation)
        if declared is None:
            return tuple(f"c{number}" for number in range(1, arity + 1))
        return tuple(name for name, _ in declared)

    def types(self, relation: str) -> tuple[str, ...] | None:
        """The declared types of a relation's columns."""
        declared = self._declared(relation)
        return None if declared is None else tuple(kind for _, kind in declared)

    def _declared(self, relation: str) -> tuple[tuple[str, str], ...] | None:
        found = (one.columns for one in self.program.declarations if one.relation == relation)
        return next(found, None)


def written_facts(program: Program) -> dict[str, list[tuple[Value, ...]]]:
    """The facts that are written in a program, by relation."""
    found: dict[str, list[tuple[Value, ...]]] = {}
    for fact in program.facts:
        found.setdefault(fact.relation, []).append(tuple(constant.value for constant in fact.values))
    return found

"""The rules that are in force, in the forms in which they are needed.

What      : a `RuleBook` holds a program without its facts, the rules that are evaluated, the arities of its relations
            and its schedule; `turned` gives the book of another program, `changed` the program after rules come and go.
Idea      : a book is a value. An update that changes rules makes the next book and works with it; if the update fails,
            the present book was never touched.
Source    : de Lima et al. 2024, section 4: rules come and go in updates, as facts do.
Departures: the paper's rules are rows of its circuit, which derives with whatever rows it has. Here rules are compiled
            into stages, and a book keeps those that a change of rules leaves alone.
Invariant : program, arities and schedule belong together; stages that two books share are the same objects, so
            that what is prepared for them stays in use.
Never     : no facts, and no check: the program that a book is made for has been checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from tidelog.analysis.arities import mentions
from tidelog.analysis.impact import came_and_went, without
from tidelog.analysis.inlining import inline_relations
from tidelog.analysis.program_check import Checked, check_stored
from tidelog.errors import ProgramError
from tidelog.language.printer import canonical_text, names
from tidelog.language.terms import Program, Rule, Value
from tidelog.maintenance.rescheduling import turned
from tidelog.maintenance.schedule import Schedule
from tidelog.observe.notices import warn
from tidelog.planning.lowering import lower


@dataclass(frozen=True, eq=False)
class RuleBook:
    """A program and what is made of it."""

    program: Program
    """The rules as they were written."""
    arities: Mapping[str, int] = field(default_factory=dict)
    """The number of columns of every relation in a rule, hidden relations included."""
    schedule: Schedule = field(default_factory=lambda: Schedule(()))
    checked: Checked | None = None
    """What the check of the program has found, for the next one."""
    rules: tuple[Rule, ...] = ()
    """The rules that are evaluated: those of the program, without its inline relations."""

    @classmethod
    def of(cls, checked: Checked) -> RuleBook:
        """The book of a program that shares nothing with another."""
        return cls(Program()).turned(checked)

    @classmethod
    def stored(cls, program: Program) -> RuleBook:
        """The book of a program that was saved; what an earlier release took and this one cannot do is warned of."""
        checked, told = check_stored(program)
        for problem in told:
            warn(problem)
        return cls.of(checked)

    def turned(self, checked: Checked) -> RuleBook:
        """The book of the next program; with the same rules only declarations differ."""
        program, rules = checked.program, checked.rules
        added, removed = came_and_went(self.rules, rules)
        if not added and not removed:
            return RuleBook(program, self.arities, self.schedule, checked, rules)
        schedule = turned(self.schedule, added, removed, rules)
        if schedule is None:
            lowered = lower(rules)
            known = {scheduled.stage: scheduled.stage for scheduled in self.schedule.stages}
            schedule = Schedule((known.get(stage, stage) for stage in lowered.stages), self.schedule)
            return RuleBook(program, lowered.arities, schedule, checked, rules)
        arities = {**self.arities, **_mentioned(added)}
        for relation in _mentioned(removed):
            if relation not in schedule.place and not schedule.readers.get(relation):
                arities.pop(relation, None)
        return RuleBook(program, arities, schedule, checked, rules)

    def changed(self, added: Program, removed: Sequence[str]) -> Program:
        """The program after a rule change: unknown rules are refused, repeated ones ignored.

        If nothing changes, it is the same object.
        """
        program = self.program
        if added.inputs or added.outputs:
            [(directed, _), *_] = (*added.inputs, *added.outputs)
            sentence = f"an update has a directive for {directed}: files are named by program files only"
            raise ProgramError.of("E118", sentence, remedy="leave .input and .output out")
        if not (removed or added.rules or added.declarations):
            return program
        kept = tuple(without(program.rules, removed)) if removed else program.rules
        heads = {rule.head.relation for rule in added.rules}
        is_listed = removed or self.inline
        present = {rule for rule in kept if rule.head.relation in heads} if is_listed else self._deriving(heads)
        kept += _new_rules(added.rules, present)
        if not added.declarations and kept == program.rules:
            return program
        return Program(kept, (), (*program.declarations, *added.declarations), program.inputs, program.outputs)

    def _deriving(self, relations: set[str]) -> set[Rule]:
        """The rules that derive some of the relations, and perhaps others."""
        place, stages = self.schedule.place, self.schedule.stages
        numbers = {place[relation] for relation in relations if relation in place}
        return {rule.source for number in numbers for rule in stages[number].stage.rules}

    @cached_property
    def inline(self) -> frozenset[str]:
        """The relations that are not stored, because their rules stand wherever they are used."""
        return inline_relations(self.program)

    @property
    def relations(self) -> set[str]:
        """The relations that rules or declarations name, hidden ones included, inline ones not."""
        return {*self.arities, *(declaration.relation for declaration in self.program.declarations)} - self.inline

    @property
    def rule_names(self) -> set[str]:
        """Everything by which a rule can be removed."""
        return {name for rule in self.program.rules for name in names(rule)}

    def arity(self, relation: str) -> int | None:
        """The number of columns that rules or a declaration give a relation; None if they do not name it."""
        if relation in self.arities:
            return self.arities[relation]
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
        for one in self.program.declarations:
            if one.relation == relation:
                return one.columns
        return None


def _new_rules(added: Sequence[Rule], present: set[Rule]) -> tuple[Rule, ...]:
    """The rules that are not there yet; of one without a name the canonical text decides."""
    unnamed = {canonical_text(rule) for rule in present if rule.name is None}
    found: dict[object, Rule] = {}
    for rule in added:
        key = canonical_text(rule) if rule.name is None else rule
        if rule not in present and key not in unnamed:
            found.setdefault(key, rule)
    return tuple(found.values())


def _mentioned(rules: Iterable[Rule]) -> dict[str, int]:
    return {relation: arity for rule in rules for relation, arity, _ in mentions(rule)}


def written_facts(program: Program) -> dict[str, list[tuple[Value, ...]]]:
    """The facts that are written in a program, by relation."""
    found: dict[str, list[tuple[Value, ...]]] = {}
    for fact in program.facts:
        found.setdefault(fact.relation, []).append(tuple(constant.value for constant in fact.values))
    return found

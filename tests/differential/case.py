"""A case: a program and the updates that happen to it.

What      : the unit that is drawn, run, shrunk, written and read. On disk it is a `program.dl` and an
            `updates.jsonl`.
Idea      : `World state` is recomputation's whole memory: the rules and explicit facts after an update. Every engine
            is judged against what follows from them.
Invariant : reading what was written gives an equal case. Inside one update deletions come before insertions.
Never     : no engine and no evaluation here.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tidelog.analysis.inlining import evaluated_rules
from tidelog.language.parser import parse
from tidelog.language.printer import print_program, print_rule, rule_key
from tidelog.language.terms import Constant, Declaration, Fact, Program, Rule, Value
from tidelog.language.values import fact_identity

Values = tuple[Value, ...]
FactKey = tuple[str, tuple[Hashable, ...]]


@dataclass(frozen=True, slots=True)
class Update:
    """What comes in. `refused` names the error class that every engine must raise, leaving all as it was."""

    insert: tuple[tuple[str, Values], ...] = ()
    delete: tuple[tuple[str, Values], ...] = ()
    add_rules: tuple[Rule, ...] = ()
    remove_rules: tuple[str, ...] = ()
    refused: str | None = None

    def to_json(self) -> str:
        """One line of an update file; only the keys that say something."""
        found: dict[str, object] = {}
        if self.delete:
            found["delete"] = [[relation, *values] for relation, values in self.delete]
        if self.insert:
            found["insert"] = [[relation, *values] for relation, values in self.insert]
        if self.add_rules:
            found["add_rules"] = "\n".join(print_rule(rule) for rule in self.add_rules)
        if self.remove_rules:
            found["remove_rules"] = list(self.remove_rules)
        if self.refused:
            found["refused"] = self.refused
        return json.dumps(found, ensure_ascii=False)

    @staticmethod
    def from_json(line: str) -> Update:
        """The update that a line of an update file says."""
        found = json.loads(line)
        return Update(
            insert=tuple((relation, tuple(values)) for relation, *values in found.get("insert", ())),
            delete=tuple((relation, tuple(values)) for relation, *values in found.get("delete", ())),
            add_rules=parse(found.get("add_rules", "")).rules,
            remove_rules=tuple(found.get("remove_rules", ())),
            refused=found.get("refused"),
        )

    @property
    def arguments(self) -> dict[str, object]:
        """The keyword arguments that an engine's `apply` takes."""
        return {
            "insert": by_relation(self.insert),
            "delete": by_relation(self.delete),
            "add_rules": "\n".join(print_rule(rule) for rule in self.add_rules) or None,
            "remove_rules": list(self.remove_rules),
        }


@dataclass(frozen=True, slots=True)
class Case:
    """A program and its updates; `seed` says where it was drawn, if it was."""

    program: Program
    updates: tuple[Update, ...]
    seed: int | None = field(default=None, compare=False)

    def write(self, folder: Path) -> None:
        """Write `program.dl` and `updates.jsonl`."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "program.dl").write_text(print_program(self.program), encoding="utf-8")
        (folder / "updates.jsonl").write_text(
            "".join(f"{update.to_json()}\n" for update in self.updates), encoding="utf-8"
        )

    @staticmethod
    def read(folder: Path) -> Case:
        """The case that `write` left in a folder, or that a person wrote there."""
        program = parse((folder / "program.dl").read_text(encoding="utf-8"), source=str(folder / "program.dl"))
        lines = (folder / "updates.jsonl").read_text(encoding="utf-8").splitlines()
        return Case(program, tuple(Update.from_json(line) for line in lines if line.strip()))


@dataclass(frozen=True, slots=True)
class State:
    """The rules and explicit facts at one version."""

    rules: tuple[Rule, ...]
    facts: Mapping[FactKey, Values]
    declarations: tuple[Declaration, ...] = ()

    @staticmethod
    def of(program: Program) -> State:
        """The state before the first update."""
        explicit = ((fact.relation, tuple(constant.value for constant in fact.values)) for fact in program.facts)
        return State(program.rules, {key(name, values): values for name, values in explicit}, program.declarations)

    def after(self, update: Update) -> State:
        """The state after an update: deletions before insertions, removals before additions; the same if refused."""
        if update.refused:
            return self
        facts = dict(self.facts)
        for relation, values in update.delete:
            facts.pop(key(relation, values), None)
        for relation, values in update.insert:
            facts[key(relation, values)] = values
        kept = tuple(rule for rule in self.rules if rule_key(rule) not in update.remove_rules)
        return State(kept + update.add_rules, facts, self.declarations)

    @property
    def program(self) -> Program:
        """The state as a program that can be recomputed."""
        facts = (Fact(relation, tuple(map(Constant, values))) for (relation, _), values in self.facts.items())
        return Program(self.rules, tuple(facts), self.declarations)

    @property
    def evaluated(self) -> Program:
        """The same without inline relations, for those who know none."""
        return Program(without_inline(self.program), self.program.facts, self.declarations)


def without_inline(program: Program) -> tuple[Rule, ...]:
    """The rules of a program without its inline relations. Where there are any, no rule has a name: several had one."""
    rules = evaluated_rules(program)
    return program.rules if rules == program.rules else tuple(Rule(rule.head, rule.body) for rule in rules)


def key(relation: str, values: Values) -> FactKey:
    """The typed identity of a fact: `1`, `1.0`, `True` and `"1"` are four constants."""
    return relation, fact_identity(values)


def by_relation(facts: Iterable[tuple[str, Values]]) -> dict[str, list[Values]]:
    """Facts grouped by relation, in order."""
    grouped: dict[str, list[Values]] = {}
    for relation, values in facts:
        grouped.setdefault(relation, []).append(values)
    return grouped

"""Golden programs: cases that a person can write and read, with what must be true after every update.

What      : a folder `tests/programs/<topic>/<case>/` holds `program.dl`, perhaps `facts/<relation>.tsv`,
            `updates.jsonl` and `expected/`. `expected/N.dl` lists, after N updates, every fact of every relation that
            a rule derives, written as in a program. An update that must be refused has `expected/N.refused` with the
            error's code instead.
Idea      : one case, every engine, one expected output. Adding a case needs no Python.
Invariant : the facts of all other relations are the explicit ones; expected changes are the differences of two
            versions.
Never     : no engine here, except in `bless.py`, which drafts the expectation of a new case.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from tests.differential.case import Case, FactKey, State, Update, key
from tidelog.language.parser import parse
from tidelog.language.terms import Constant, Fact, Program, Value

ROOT = Path(__file__).parent

NOT_GOLDEN = frozenset({"zodiacedge", "marking", "bad"})
"""Folders beside the golden ones that hold programs of another kind, with tests of their own."""


@dataclass(frozen=True)
class Golden:
    """A golden case and its folder."""

    folder: Path

    @property
    def name(self) -> str:
        """`topic/case`."""
        return f"{self.folder.parent.name}/{self.folder.name}"

    @cached_property
    def case(self) -> Case:
        """The program with its tables, and the updates, marked as refused where that is expected."""
        written = Case.read(self.folder)
        updates = tuple(
            replace(update, refused="ProgramError") if self.refusal(number) else update
            for number, update in enumerate(written.updates, 1)
        )
        return Case(with_tables(written.program, self.folder / "facts"), updates)

    @cached_property
    def states(self) -> list[State]:
        """Rules and explicit facts at every version."""
        found = [State.of(self.case.program)]
        for update in self.case.updates:
            found.append(found[-1].after(update))
        return found

    @cached_property
    def derived(self) -> set[str]:
        """The relations that some rule derives at some time."""
        return {rule.head.relation for state in self.states for rule in state.rules}

    def refusal(self, version: int) -> str | None:
        """The code with which the update to this version is refused, if it is."""
        file = self.folder / "expected" / f"{version}.refused"
        return file.read_text(encoding="utf-8").strip() if file.exists() else None

    def expected(self, version: int) -> set[FactKey]:
        """Everything that is true at a version: what is listed, and the explicit facts of relations without rules."""
        if self.refusal(version):
            return self.expected(version - 1)
        file = self.folder / "expected" / f"{version}.dl"
        listed = parse(file.read_text(encoding="utf-8"), source=str(file)).facts
        explicit = {fact for fact in self.states[version].facts if fact[0] not in self.derived}
        return explicit | {key(fact.relation, tuple(constant.value for constant in fact.values)) for fact in listed}

    def arguments(self, version: int) -> dict[str, object]:
        """What `apply` takes to lead to this version."""
        update: Update = self.case.updates[version - 1]
        return update.arguments


def golden_cases() -> list[Golden]:
    """Every golden case, in order of its name."""
    folders = (file.parent for file in ROOT.glob("*/*/program.dl"))
    return [Golden(folder) for folder in sorted(folders) if folder.parent.name not in NOT_GOLDEN]


def with_tables(program: Program, folder: Path) -> Program:
    """The program with the facts of its `.input` relations, read from tab-separated files by their declared types."""
    facts = [fact for relation, _ in program.inputs for fact in _table(program, relation, folder / f"{relation}.tsv")]
    return replace(program, facts=program.facts + tuple(facts), inputs=())


def _table(program: Program, relation: str, file: Path) -> Iterator[Fact]:
    columns = next(found.columns for found in program.declarations if found.relation == relation)
    for line in file.read_text(encoding="utf-8").splitlines():
        yield Fact(relation, tuple(_constant(kind, text) for (_, kind), text in zip(columns, line.split("\t"))))


def _constant(kind: str, text: str) -> Constant:
    readers: dict[str, type[Value]] = {"number": int, "unsigned": int, "float": float, "symbol": str}
    return Constant(readers[kind](text)) if kind in readers else Constant(text == "true")

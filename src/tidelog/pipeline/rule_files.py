"""The program files of a pipeline, and what changed in them since the last start.

What      : `read_programs` reads them as one program; `Remembered` keeps what they said when the state was made or
            last opened, so that an edited file becomes an incremental change of rules and facts.
Idea      : rules change by the stream as well as by the file. So the file is compared with what the file said before,
            not with what the engine has: a rule that the stream removed stays removed until the file changes.
Invariant : what the engine has already is no part of the difference, so a crash after a version is stored and before
            its files are remembered does no harm.
Never     : nothing is applied here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tidelog.analysis.program_check import check
from tidelog.changes.update import Update
from tidelog.engine import Engine
from tidelog.language.printer import print_program, print_rule
from tidelog.language.read import read_program
from tidelog.language.terms import Program, Value
from tidelog.language.values import fact_identity

Listed = tuple[str, tuple[Value, ...]]


@dataclass(frozen=True, slots=True)
class Difference:
    """What an edited file asks for."""

    update: Update
    added: int
    removed: int


def read_programs(files: Sequence[Path]) -> Program:
    """Several files as one checked program."""
    parts = [read_program(file) for file in files]
    program = Program(
        *(
            tuple(one for part in parts for one in getattr(part, name))
            for name in ("rules", "facts", "declarations", "inputs", "outputs")
        )
    )
    check(program)
    return program


def facts_of(program: Program) -> dict[str, list[tuple[Value, ...]]]:
    """The facts that are written in a program."""
    found: dict[str, list[tuple[Value, ...]]] = {}
    for relation, values in _listed(program):
        found.setdefault(relation, []).append(values)
    return found


class Remembered:
    """What the files said, in a small file beside the state."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def keep(self, program: Program) -> None:
        """From now on this is what the files said."""
        said = {"rules": [print_rule(rule) for rule in program.rules], "facts": [[n, *v] for n, v in _listed(program)]}
        self._file.parent.mkdir(parents=True, exist_ok=True)
        partial = self._file.with_suffix(".partial")
        partial.write_text(json.dumps(said, ensure_ascii=False), encoding="utf-8")
        partial.replace(self._file)

    def difference(self, program: Program, engine: Engine) -> Difference | None:
        """What has to be applied so that the engine follows the edited files; None if they say what they said."""
        rules, facts = self._said()
        now = [print_rule(rule) for rule in program.rules]
        present = set(engine.rules)
        added = [rule for rule in now if rule not in rules and rule not in present]
        removed = [rule for rule in rules if rule not in now and rule in present]
        come = [one for one in _without(_listed(program), facts) if not _is_explicit(engine, one)]
        gone = [one for one in _without(facts, _listed(program)) if _is_explicit(engine, one)]
        if not (added or removed or come or gone):
            return None
        declared = {one.relation for one in engine.program.declarations}
        new = tuple(one for one in program.declarations if one.relation not in declared)
        text = "\n".join([print_program(Program((), (), new)), *added])
        return Difference(Update.of(_by_relation(come), _by_relation(gone), text, removed), len(added), len(removed))

    def _said(self) -> tuple[list[str], list[Listed]]:
        if not self._file.is_file():
            return [], []
        said = json.loads(self._file.read_text(encoding="utf-8"))
        return list(said["rules"]), [(name, tuple(values)) for name, *values in said["facts"]]


def _listed(program: Program) -> list[Listed]:
    return [(fact.relation, tuple(constant.value for constant in fact.values)) for fact in program.facts]


def _is_explicit(engine: Engine, fact: Listed) -> bool:
    relation, values = fact
    return relation in engine and values in engine.explicit(relation)


def _without(facts: Iterable[Listed], others: Iterable[Listed]) -> list[Listed]:
    known = {(name, fact_identity(values)) for name, values in others}
    return [(name, values) for name, values in facts if (name, fact_identity(values)) not in known]


def _by_relation(facts: Iterable[Listed]) -> dict[str, list[tuple[Value, ...]]]:
    found: dict[str, list[tuple[Value, ...]]] = {}
    for relation, values in facts:
        found.setdefault(relation, []).append(values)
    return found

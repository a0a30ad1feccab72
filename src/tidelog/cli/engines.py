"""What the commands that run an engine have in common: the engine, its facts, its progress.

What      : `load` makes the engine that the options ask for (options.py): a program over a folder of facts, facts
            alone, or a version of a stored state.
Idea      : the folder is read before the engine is made, so that whatever is wrong with it is said at once.
Invariant : every relation that rules read but nobody fills is a warning (W201) once the facts are known.
Never     : nothing is written here.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from tidelog.analysis.doubts import unfilled
from tidelog.changes.change import Change
from tidelog.changes.columns import Columns
from tidelog.engine import Engine
from tidelog.errors import ProgramError, UpdateError, UsageError
from tidelog.language import directives
from tidelog.language.read import read_program
from tidelog.language.terms import Program
from tidelog.limits import Limits
from tidelog.maintenance.missing_values import SKIP
from tidelog.observe.notices import warn
from tidelog.observe.progress import Advance, Progress


@dataclass(frozen=True, slots=True)
class Loaded:
    """An engine with its facts."""

    engine: Engine
    program: Program
    change: Change
    """The initial materialisation."""
    read: int
    """How many facts came from files."""


def load(args: argparse.Namespace, progress: Progress, *, everything: bool = False) -> Loaded:
    """The engine that the options ask for, materialised; with `everything` every file of the folder is a relation."""
    if getattr(args, "state", None) is not None:
        return _stored(args)
    program = read_program(args.program, args.dialect) if args.program is not None else Program()
    facts = _facts(args, program, progress, everything)
    engine = engine_for(args, program)
    with watched(engine, progress, "materialising"):
        change = engine.apply(insert=facts)
    return Loaded(engine, program, change, sum(map(len, facts.values())))


def engine_for(args: argparse.Namespace, program: Program) -> Engine:
    """The engine that the options ask for, with the program's rules and its inline facts."""
    asked = {"strategy": args.strategy, "backend": args.backend, "limits": _limits(args), "threads": args.threads}
    return Engine(program, arithmetic=args.arithmetic or SKIP, **asked)


def _limits(args: argparse.Namespace) -> Limits:
    return Limits(args.limit_facts, args.limit_rounds, args.limit_seconds, args.limit_bytes)


def _stored(args: argparse.Namespace) -> Loaded:
    if args.program is not None or args.facts is not None:
        raise UsageError.of("E801", "a state has its own program and facts", remedy="leave out PROGRAM and --facts")
    asked = {"backend": args.backend, "limits": _limits(args), "arithmetic": args.arithmetic}
    engine = Engine.open(args.state, version=args.at, threads=args.threads, **asked)
    return Loaded(engine, engine.program, Change(version=engine.version), 0)


def _facts(args: argparse.Namespace, program: Program, progress: Progress, everything: bool) -> dict[str, Columns]:
    """The facts in the folder, by relation, if there is one."""
    from tidelog.cli.facts_folder import read_folder

    wrong = list(directives.problems(program))
    if wrong:
        raise ProgramError(wrong)
    if args.facts is None:
        if program.inputs:
            sentence = f"the program reads {program.inputs[0][0]} from a file, and no folder is named"
            raise UpdateError.of("E307", sentence, remedy="give one: --facts DIR")
        return {}
    found = read_folder(args.facts, program, progress, _limits(args), header=args.header, everything=everything)
    _doubt(program, found)
    return found


def _doubt(program: Program, facts: Mapping[str, Columns]) -> None:
    """Warn of relations that stay empty: no file, no fact in the program, no rule, no declaration."""
    known = {*facts, *(rule.head.relation for rule in program.rules), *(fact.relation for fact in program.facts)}
    known |= {declaration.relation for declaration in program.declarations}
    for problem in unfilled(program.rules, known.__contains__, lambda: sorted(known), typos_only=False):
        warn(problem)


@contextmanager
def watched(engine: Engine, progress: Progress, name: str) -> Iterator[None]:
    """A stage of progress that counts the facts that the engine holds while it works."""
    with progress.stage(name, unit="facts") as advance:
        engine.watcher = _growth(advance)
        try:
            yield
        finally:
            engine.watcher = None


def _growth(advance: Advance) -> Callable[[int], None]:
    """Reports a growing total as what was added to it."""
    seen = 0

    def watch(facts: int) -> None:
        nonlocal seen
        if facts > seen:
            advance(facts - seen)
            seen = facts

    return watch

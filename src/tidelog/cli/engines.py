"""What the commands that run an engine have in common: the engine, its facts, its progress.

What      : makes the engine that the options ask for (options.py), and reads the facts that a program starts from.
Idea      : `.input` directives say which relations have files, and may name the file and its separator. In a program
            without such directives every relation that has a file is read.
Invariant : a column without a declaration has the type that the program's rules need, else what its text looks like.
Never     : nothing is written here.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tidelog.analysis.types import relation_types
from tidelog.changes.columns import Columns
from tidelog.changes.files import find_file, read_file
from tidelog.engine import Engine
from tidelog.errors import UpdateError
from tidelog.language.terms import Program
from tidelog.limits import Budget, Limits
from tidelog.observe.progress import Advance, Progress

_TEXT_TYPES = frozenset({"number", "unsigned", "float", "bool", "symbol"})
_ESCAPES = {r"\t": "\t"}


def engine_for(args: argparse.Namespace, program: Program) -> Engine:
    """The engine that the options ask for, with the program's rules and its inline facts."""
    return Engine(program, strategy=args.strategy, backend=args.backend, limits=_limits(args))


def _limits(args: argparse.Namespace) -> Limits:
    return Limits(args.limit_facts, args.limit_rounds, args.limit_seconds, args.limit_bytes)


def facts_for(args: argparse.Namespace, program: Program, progress: Progress) -> dict[str, Columns]:
    """The facts in the folder, by relation; a file that is larger than what may be used is not read."""
    if not Path(args.facts).is_dir():
        raise UpdateError.of("E307", f"{args.facts} is no folder", remedy="give a folder with one file per relation")
    types = _types(program)
    sources = list(_sources(args.facts, program, types))
    found, budget, size = {}, Budget(_limits(args)), 0
    with progress.stage("reading facts", unit="facts") as advance:
        for relation, path, delimiter in sources:
            size += path.stat().st_size if path.is_file() else 0
            budget.check_bytes(size)
            budget.check_time()
            found[relation] = read_file(path, relation, types.get(relation), header=args.header, delimiter=delimiter)
            advance(len(found[relation]))
    return found


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


def _types(program: Program) -> dict[str, tuple[str, ...]]:
    """The types in which text is read: declared, else needed by the rules, else any."""
    return {
        relation: tuple(kind if kind in _TEXT_TYPES else "any" for kind in columns)
        for relation, columns in relation_types(program).items()
    }


def _sources(
    directory: str, program: Program, types: dict[str, tuple[str, ...]]
) -> Iterator[tuple[str, Path, str | None]]:
    """Relation, file and separator of everything there is to read."""
    for relation, pairs in program.inputs:
        options = dict(pairs)
        named = options.get("filename")
        path = Path(directory) / named if named else find_file(directory, relation)
        if path is None:
            remedy = f"add {relation}.csv, .tsv, .facts, .jsonl or .parquet, or a filename to the .input directive"
            raise UpdateError.of("E307", f"{directory} has no file with the facts of {relation}", remedy=remedy)
        delimiter = options.get("delimiter")
        yield relation, path, _ESCAPES.get(delimiter, delimiter) if delimiter else None
    if not program.inputs:
        for relation in types:
            path = find_file(directory, relation)
            if path is not None:
                yield relation, path, None

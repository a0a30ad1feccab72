"""Text becomes a program.

What      : `parse`, `parse_rules` and `parse_atom`; the grammar is in grammar.lark.
Idea      : a table-driven LALR(1) parser (Lark) that calls the builder at every reduction. After a mistake, reading starts
            again behind the next full stop, so that one run reports the mistakes of all statements.
Invariant : every text ends in a program or in one ProgramError that carries all its problems in the order of the text; the
            time grows linearly with the text.
Never     : no questions about meaning; no files (see read.py).
"""

from __future__ import annotations

import threading
from importlib import resources

from lark import Lark, TextSlice
from lark.exceptions import UnexpectedInput

from tidelog.errors import Problem, ProgramError
from tidelog.language.builder import Builder
from tidelog.language.mistakes import describe, next_statement
from tidelog.language.term_reductions import MAX_PROBLEMS
from tidelog.language.terms import Atom, Program, Rule


class _Reader(threading.local):
    """The parser and its builder; one per thread, because the builder holds the text that is being read."""

    def __init__(self) -> None:
        grammar = resources.files("tidelog.language").joinpath("grammar.lark").read_text(encoding="utf-8")
        self.builder = Builder()
        self.lark = Lark(
            grammar,
            parser="lalr",
            lexer="contextual",
            start=["program", "query"],
            transformer=self.builder,
            maybe_placeholders=False,
        )


_reader: _Reader | None = None
_lock = threading.Lock()


def parse(text: str, source: str = "<rules>") -> Program:
    """The program that the text means; raises ProgramError with every problem found."""
    builder = _read(text, source, "program")[0]
    program = builder.finished_program()
    _raise_if_any(builder.problems)
    return program


def parse_rules(text: str, source: str = "<rules>") -> tuple[Rule, ...]:
    """The rules of a text that holds nothing else."""
    program = parse(text, source)
    others = [(fact.place, "a fact") for fact in program.facts]
    others += [(declaration.place, "a declaration") for declaration in program.declarations]
    _raise_if_any(
        [Problem("E118", f"{what} stands among rules", place, "insert facts as facts") for place, what in others]
    )
    return program.rules


def parse_atom(text: str, source: str = "<query>") -> Atom:
    """The atom that a query such as `path("a", x)` means."""
    builder, atom = _read(text, source, "query")
    _raise_if_any(builder.problems)
    assert isinstance(atom, Atom)
    return atom


def _read(text: str, source: str, start: str) -> tuple[Builder, object]:
    reader = _this_threads_reader()
    builder = reader.builder
    builder.begin(source, text)
    position, result = 0, None
    while len(builder.problems) < MAX_PROBLEMS:
        try:
            result = reader.lark.parse(TextSlice(text, position, len(text)), start=start)
            break
        except UnexpectedInput as error:
            builder.end_statement()
            builder.problems.append(describe(error, text, builder.place_at))
            position = next_statement(text, position, error)
            if start == "query" or position >= len(text):
                break
    return builder, result


def _this_threads_reader() -> _Reader:
    global _reader  # noqa: PLW0603 - built at first use, because building it takes tens of milliseconds
    if _reader is None:
        with _lock:
            _reader = _reader or _Reader()
    return _reader


def _raise_if_any(problems: list[Problem]) -> None:
    if problems:
        raise ProgramError(
            sorted(
                problems, key=lambda problem: (problem.place.line, problem.place.column) if problem.place else (0, 0)
            )
        )

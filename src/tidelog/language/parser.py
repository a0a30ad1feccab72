"""Text becomes a program.

What      : `parse`, `parse_rules`, `parse_body` and `parse_atom` for Tidelog's own, Souffle-shaped
            language (grammar.lark).
Idea      : see reader.py; the language itself is described in grammar.lark and builder.py. Most statements need no
            grammar (plain.py).
Invariant : every text ends in a program or in one ProgramError that carries all its problems in the order of the text.
Never     : no questions about meaning; no files (see read.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from tidelog.errors import Place, Problem, ProgramError, expect
from tidelog.language.builder import Builder
from tidelog.language.plain import read_plain
from tidelog.language.reader import Reader, raise_if_any
from tidelog.language.term_reductions import Origin
from tidelog.language.terms import Atom, Literal, Program, Rule, Value
from tidelog.observe.notices import warn


def parse(text: str, source: str = "<rules>", origin: Origin | None = None) -> Program:
    """The program that the text means; raises ProgramError with every problem found.

    `origin` says where each line comes from, if the text was put together from several files (read.py).
    """
    expect(text, str, "the program", "a text")
    reader = _reader()
    reader.builder.origin = origin
    try:
        reader.read(text, source, "program", read_plain)
    finally:
        reader.builder.origin = None
    builder = reader.builder
    program = builder.finished_program()
    raise_if_any(builder.problems)
    for note in builder.notes:
        warn(note)
    return program


def parse_rules(text: str, source: str = "<rules>") -> tuple[Rule, ...]:
    """The rules of a text that holds nothing else."""
    program = parse(text, source)
    others: list[tuple[Place | None, str, str]] = []
    others += [(fact.place, "a fact stands among rules", "insert it as a fact") for fact in program.facts]
    others += [
        (declared.place, "a declaration stands among rules", "leave it out") for declared in program.declarations
    ]
    others += [(None, f"a directive for {name} stands among rules", "leave it out") for name, _ in program.inputs]
    others += [(None, f"a directive for {name} stands among rules", "leave it out") for name, _ in program.outputs]
    raise_if_any([Problem("E118", sentence, place, remedy) for place, sentence, remedy in others])
    return program.rules


def parse_atom(text: str, source: str = "<query>") -> Atom:
    """The atom that a text such as `path("a", x)` means."""
    bodies = parse_body(text, {}, source)
    match bodies:
        case ((Atom() as atom,),):
            return atom
    place = next((literal.place for body in bodies for literal in body), None)
    raise ProgramError.of("E113", "this is no single atom", place=place, remedy='write it as path("a", x)')


def parse_body(
    text: str, parameters: Mapping[str, Value] | None = None, source: str = "<query>"
) -> tuple[tuple[Literal, ...], ...]:
    """The alternatives of a rule body, with the values of its parameters (`$name`) in their places."""
    expect(text, str, "the question", "a text")
    bodies = _reader().read(text, source, "query", parameters=parameters or {})
    raise_if_any(_reader().builder.problems)
    assert isinstance(bodies, tuple)
    return bodies


@cache
def _reader() -> Reader[Builder]:
    """Built at first use: building the tables takes some tens of milliseconds."""
    return Reader(Builder, "tidelog.language", "grammar.lark", ("program", "query"))

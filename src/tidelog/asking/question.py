"""A question: any rule body, with names for its columns.

What      : `read_question` turns text and parameters into a `Question`: rules for a hidden relation whose columns are
            the variables of the body.
Idea      : asking `path("a", x), !blocked(x)` is adding a rule `@query(x) :- path("a", x), !blocked(x).` for a moment;
            alternatives (`;`) are several rules with one head.
Invariant : the columns are the named variables outside negations and aggregates, in order of first occurrence. A value
            that is given as a parameter is a constant: it never becomes text.
Never     : no facts and no evaluation (answer.py).

Codes: E120 a parameter without a value, or a value without a parameter; E121 a variable that an alternative lacks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tidelog.analysis.inlining import inline_part
from tidelog.analysis.program_check import check
from tidelog.analysis.safety import unsafe_variables
from tidelog.analysis.storable_names import QUESTION
from tidelog.changes.columns import plain
from tidelog.errors import Place, Problem, ProgramError, expect
from tidelog.language.parser import parse_body
from tidelog.language.term_reductions import FRESH
from tidelog.language.terms import (
    Aggregate,
    Atom,
    Literal,
    Negation,
    Program,
    Rule,
    Term,
    Value,
    Variable,
    atoms,
    variables,
)

QUERY = QUESTION
"""The hidden relation that answers are derived into."""


@dataclass(frozen=True, slots=True)
class Question:
    """The alternatives of a body, and the variables that are its columns."""

    bodies: tuple[tuple[Literal, ...], ...]
    columns: tuple[str, ...]
    text: str
    whole: tuple[Term, ...] | None = None
    """The terms of the facts that are asked for, if they are whole facts of an inline relation."""

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The question as rules for the hidden relation."""
        head = Atom(QUERY, tuple(map(Variable, self.columns)) if self.whole is None else self.whole)
        several = len(self.bodies) > 1
        return tuple(
            Rule(head, body, f"{self.text} (alternative {number})" if several else self.text)
            for number, body in enumerate(self.bodies, 1)
        )

    @property
    def pattern(self) -> Atom | None:
        """The atom, if the question is a single one of variables and constants: then an index answers it."""
        match self.bodies:
            case ((Atom() as atom,),) if not any(True for term in atom.terms for _ in getattr(term, "arguments", ())):
                return atom
        return None

    def atoms(self) -> Iterator[Atom]:
        """Every atom of the question, those inside negations and aggregates included."""
        return (atom for body in self.bodies for literal in body for atom, _ in atoms(literal))


def read_question(text: str, parameters: Mapping[str, object] | None = None) -> Question:
    """The question that a text means; a ProgramError with every problem if it means none."""
    expect(parameters, Mapping | None, "what parameters holds", 'a mapping from names to values: {"from": "a"}')
    given = {name: plain(value, f"the parameter ${name}") for name, value in (parameters or {}).items()}
    bodies = parse_body(text, given)
    _check_parameters(text, given)
    columns = tuple(dict.fromkeys(name for body in bodies for name in _columns(body)))
    _check_alternatives(bodies, columns)
    unsafe = [problem for body in bodies for problem in unsafe_variables(Rule(Atom(QUERY, ()), body))]
    if unsafe:
        raise ProgramError(unsafe)
    return Question(bodies, columns, text)


def checked_rules(question: Question, program: Program) -> tuple[Rule, ...]:
    """The question as rules that can be evaluated, without inline relations of the program.

    Raise what is wrong with it beside declared relations: types, functions, groups of aggregates.
    """
    known = inline_part(program).rules
    return check(Program((*question.rules, *known), (), program.declarations)).rules


def _columns(body: Iterable[Literal]) -> Iterator[str]:
    """The variables that one alternative gives values to, in order of first occurrence."""
    body = tuple(body)
    outer = {variable.name for literal in body for variable in _outer(literal)}
    for literal in body:
        for variable in variables(literal):
            if variable.name in outer and not variable.name.startswith(("_:", FRESH)):
                yield variable.name


def _outer(literal: Literal) -> Iterator[Variable]:
    if isinstance(literal, Aggregate):
        yield from variables(literal.result)
    elif not isinstance(literal, Negation):
        yield from variables(literal)


def _check_parameters(text: str, given: Mapping[str, Value]) -> None:
    """A value that the text has no place for is a mistake in one of the two names."""
    for name in given:
        if not re.search(rf"\${re.escape(name)}(?!\w)", text):
            raise ProgramError.of("E120", f"the question has no parameter ${name}", remedy="correct one of the names")


def _check_alternatives(bodies: Sequence[Sequence[Literal]], columns: Sequence[str]) -> None:
    found = []
    for number, body in enumerate(bodies, 1):
        own = set(_columns(body))
        place: Place | None = next((literal.place for literal in body), None)
        found += [
            Problem("E121", f"{name} has no value in alternative {number}", place, f"write _ for {name}, or bind it")
            for name in columns
            if name not in own
        ]
    if found:
        raise ProgramError(found)

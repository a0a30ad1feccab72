"""Has the program a meaning?

What      : asks every question whose answer can be "no", and collects what is wrong.
Idea      : the order of the questions is data, on one screen.
Invariant : problems are ordered by place; a program without problems can be evaluated.
Never     : no question is answered here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tidelog.analysis import arities, closing, functions, names, safety, stratification, types
from tidelog.errors import Problem, ProgramError
from tidelog.language.terms import Program

QUESTIONS: tuple[Callable[[Program], Iterable[Problem]], ...] = (
    arities.problems,
    functions.problems,
    names.problems,
    types.problems,
    safety.problems,
    stratification.problems,
    closing.problems,
)


def problems(program: Program) -> tuple[Problem, ...]:
    """Everything that is wrong with a program, ordered by place."""
    found = [problem for question in QUESTIONS for problem in question(program)]
    return tuple(sorted(found, key=_by_place))


def check(program: Program) -> None:
    """Raise a ProgramError with all problems, if there are any."""
    found = problems(program)
    if found:
        raise ProgramError(found)


def _by_place(problem: Problem) -> tuple[str, int, int]:
    place = problem.place
    return (place.source, place.line, place.column) if place else ("", 0, 0)

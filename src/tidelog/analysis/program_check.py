"""Has the program a meaning?

What      : asks every question whose answer can be "no", and collects what is wrong.
Idea      : the order of the questions is data, on one screen. When rules come and go, questions about one rule at a
            time are asked of the new rules only.
Invariant : problems are ordered by place; a program without problems can be evaluated.
Never     : no question is answered here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TypeAlias

from tidelog.analysis import arities, closing, functions, names, safety, stratification, types
from tidelog.errors import Problem, ProgramError
from tidelog.language.terms import Program

Questions: TypeAlias = tuple[Callable[[Program], Iterable[Problem]], ...]

OF_PROGRAMS: Questions = (
    arities.problems,
    names.problems,
    types.problems,
    stratification.problems,
    closing.problems,
)
OF_RULES: Questions = (functions.problems, safety.problems)
"""Questions that a rule answers by itself."""


def problems(program: Program, before: Program | None = None) -> tuple[Problem, ...]:
    """Everything that is wrong with a program, ordered by place; the program `before` it is known to be right."""
    known = set(map(id, before.rules)) if before is not None else set()
    fresh = replace(program, rules=tuple(rule for rule in program.rules if id(rule) not in known))
    if before is not None and not fresh.rules and program.declarations == before.declarations:
        return ()  # fewer rules ask for less
    found = [problem for question in OF_PROGRAMS for problem in question(program)]
    found += [problem for question in OF_RULES for problem in question(fresh)]
    return tuple(sorted(found, key=_by_place))


def check(program: Program, before: Program | None = None) -> None:
    """Raise a ProgramError with all problems, if there are any; see `problems`."""
    found = problems(program, before)
    if found:
        raise ProgramError(found)


def _by_place(problem: Problem) -> tuple[str, int, int]:
    place = problem.place
    return (place.source, place.line, place.column) if place else ("", 0, 0)

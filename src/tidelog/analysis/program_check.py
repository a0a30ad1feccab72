"""Has the program a meaning?

What      : asks every question whose answer can be "no", and collects what is wrong.
Idea      : the order of the questions is data, on one screen. When rules come and go, questions about one rule at a
            time are asked of the new rules only, and the survey of the program before usually answers the others.
Invariant : problems are ordered by place; a program without problems can be evaluated.
Never     : no question is answered here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tidelog.analysis import (
    arities,
    constant_patterns,
    functions,
    group_binders,
    names,
    safety,
    storable_names,
    stratification,
    types,
)
from tidelog.analysis.impact import came_and_went
from tidelog.analysis.survey import Survey
from tidelog.analysis.type_inference import TypeInference
from tidelog.errors import Problem, ProgramError
from tidelog.language.terms import Program, Rule


def _of_program(program: Program, inference: TypeInference) -> Iterator[Iterable[Problem]]:
    """The questions about a program as a whole."""
    yield arities.problems(program)
    yield names.problems(program)
    yield storable_names.of_directives(program)
    yield types.problems(program, inference)
    yield stratification.problems(program)
    yield group_binders.problems(program)


def _of_rules(program: Program) -> Iterator[Iterable[Problem]]:
    """The questions that a rule answers by itself."""
    yield functions.problems(program)
    yield storable_names.of_rules(program.rules)
    yield safety.problems(program)
    yield constant_patterns.problems(program)


@dataclass(frozen=True, slots=True)
class Checked:
    """A program with the result of its check: its problems, or else the survey that makes the next check short."""

    program: Program
    problems: tuple[Problem, ...] = ()
    survey: Survey | None = None
    fresh: tuple[Rule, ...] | None = None
    """The rules that the program before did not have, if nothing else was added; None if more than rules changed."""


def examine(program: Program, before: Checked | None = None) -> Checked:
    """Everything that is wrong with a program, ordered by place.

    `before` is the check of the program before the last change, which found no problems.
    """
    known = before.program if before is not None else Program()
    fresh, gone = came_and_went(known.rules, program.rules)
    own = [problem for some in _of_rules(Program(fresh)) for problem in some]
    is_small = before is not None and (program.declarations, program.facts) == (known.declarations, known.facts)
    survey = before.survey if before is not None and is_small and not own else None
    if survey is not None and (survey.lasts_without_rules or not gone) and survey.takes(fresh, program):
        return Checked(program, (), survey, fresh)
    inference = TypeInference(program)
    found = [problem for some in _of_program(program, inference) for problem in some] + own
    if found:
        return Checked(program, tuple(sorted(found, key=_by_place)))
    return Checked(program, (), Survey(program, inference), fresh if is_small else None)


def problems(program: Program) -> tuple[Problem, ...]:
    """Everything that is wrong with a program."""
    return examine(program).problems


def check(program: Program, before: Checked | None = None) -> Checked:
    """Raise a ProgramError with all problems, if there are any; see `examine`."""
    checked = examine(program, before)
    if checked.problems:
        raise ProgramError(checked.problems)
    return checked


def check_stored(program: Program) -> tuple[Checked, tuple[Problem, ...]]:
    """As `check`, for rules that an earlier release took: patterns that RE2 cannot read are told, not refused."""
    found = examine(program).problems
    told = tuple(problem for problem in found if problem.code == constant_patterns.CODE)
    if len(told) < len(found):
        raise ProgramError(problem for problem in found if problem.code != constant_patterns.CODE)
    return (Checked(program), told) if told else (check(program), ())


def _by_place(problem: Problem) -> tuple[str, int, int]:
    place = problem.place
    return (place.source, place.line, place.column) if place else ("", 0, 0)

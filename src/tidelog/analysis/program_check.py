"""Has the program a meaning?

What      : asks every question whose answer can be "no", and collects what is wrong.
Idea      : the order of the questions is data, on one screen. When rules come and go, questions about one rule at a
            time are asked of the new rules only, and what is known of the program before usually answers the others.
Invariant : problems are ordered by place; a program without problems can be evaluated.
Never     : no question is answered here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tidelog.analysis import arities, closing, functions, names, safety, stratification, types
from tidelog.analysis.impact import came_and_went
from tidelog.analysis.survey import Survey, keep
from tidelog.analysis.type_inference import TypeInference
from tidelog.errors import Problem, ProgramError
from tidelog.language.terms import Program, Rule


def _of_program(program: Program, inference: TypeInference) -> Iterator[Iterable[Problem]]:
    """The questions about a program as a whole."""
    yield arities.problems(program)
    yield names.problems(program)
    yield types.problems(program, inference)
    yield stratification.problems(program)
    yield closing.problems(program)


def _of_rules(program: Program) -> Iterator[Iterable[Problem]]:
    """The questions that a rule answers by itself."""
    yield functions.problems(program)
    yield safety.problems(program)


def problems(program: Program, before: Program | None = None) -> tuple[Problem, ...]:
    """Everything that is wrong with a program, ordered by place; the program `before` it is known to be right."""
    fresh, gone = came_and_went(before.rules if before is not None else (), program.rules)
    own = [problem for some in _of_rules(Program(fresh)) for problem in some]
    is_small = before is not None and (program.declarations, program.facts) == (before.declarations, before.facts)
    if before is not None and is_small and not own and _is_sure(program, before.survey, fresh, has_lost=bool(gone)):
        return ()
    inference = TypeInference(program)
    found = [problem for some in _of_program(program, inference) for problem in some] + own
    if not found:
        keep(program, Survey(program, inference), fresh if is_small else None)
    return tuple(sorted(found, key=_by_place))


def _is_sure(program: Program, survey: object, fresh: tuple[Rule, ...], *, has_lost: bool) -> bool:
    """Whether the survey of the program before tells that this one is right, too; it then belongs to this one."""
    if not isinstance(survey, Survey) or (has_lost and not survey.lasts_without_rules):
        return False
    if not survey.takes(fresh, program):
        return False
    keep(program, survey, fresh)
    return True


def check(program: Program, before: Program | None = None) -> None:
    """Raise a ProgramError with all problems, if there are any; see `problems`."""
    found = problems(program, before)
    if found:
        raise ProgramError(found)


def _by_place(problem: Problem) -> tuple[str, int, int]:
    place = problem.place
    return (place.source, place.line, place.column) if place else ("", 0, 0)

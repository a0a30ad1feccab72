"""Has the program a meaning?

What      : asks every question whose answer can be "no", and collects what is wrong.
Idea      : the order of the questions is data, on one screen. When rules come and go, questions about one rule at a
            time are asked of the new rules only, and the survey of the program before usually answers the others.
            Some are about rules as they are evaluated, without inline relations (inlining.py), the others about rules
            as they were written.
Invariant : problems are ordered by place; a program without problems can be evaluated.
Never     : no question is answered here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from tidelog.analysis import (
    arities,
    constant_patterns,
    functions,
    group_binders,
    inlining,
    names,
    safety,
    storable_names,
    stratification,
    types,
)
from tidelog.analysis.impact import came_and_went
from tidelog.analysis.inlining import Inlined
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
    yield inlining.problems(program)


def _of_recursion(program: Program) -> Iterator[Iterable[Problem]]:
    """The questions about recursive rules as they are evaluated."""
    yield stratification.problems(program)
    yield group_binders.problems(program)


def _of_writing(program: Program) -> Iterator[Iterable[Problem]]:
    """The questions that a rule answers by itself, as it was written."""
    yield functions.problems(program)
    yield storable_names.of_rules(program.rules)


def _of_rules(program: Program) -> Iterator[Iterable[Problem]]:
    """The questions that a rule answers by itself, as it is evaluated."""
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
    inlined: Inlined | None = None
    """The program without its inline relations, if it has any."""

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules that are evaluated."""
        return self.program.rules if self.inlined is None else self.inlined.rules


def examine(program: Program, before: Checked | None = None) -> Checked:
    """Everything that is wrong with a program, ordered by place.

    `before` is the check of the program before the last change, which found no problems.
    """
    if inlining.inline_relations(program):
        return _examine_inlined(program, before)
    known = before.program if before is not None else Program()
    fresh, gone = came_and_went(known.rules, program.rules)
    asked = chain(_of_writing(Program(fresh)), _of_rules(Program(fresh)))
    own = [problem for some in asked for problem in some]
    is_small = before is not None and (program.declarations, program.facts) == (known.declarations, known.facts)
    survey = before.survey if before is not None and is_small and not own else None
    if survey is not None and (survey.lasts_without_rules or not gone) and survey.takes(fresh, program):
        return Checked(program, (), survey, fresh)
    inference = TypeInference(program)
    asked = chain(_of_program(program, inference), _of_recursion(program))
    found = [problem for some in asked for problem in some] + own
    if found:
        return Checked(program, tuple(sorted(found, key=_by_place)))
    return Checked(program, (), Survey(program, inference), fresh if is_small else None)


def _examine_inlined(program: Program, before: Checked | None) -> Checked:
    """As `examine`, for a program with inline relations: rules without them are asked in any case."""
    written = chain(_of_program(program, TypeInference(program)), _of_writing(program))
    found = [problem for some in written for problem in some]
    found += constant_patterns.problems(inlining.inline_part(program))
    inlined = None
    try:
        if not any(problem.code in inlining.BLOCKING for problem in found):
            inlined = inlining.inlined(program, None if before is None else before.inlined)
    except ProgramError as error:
        found += error.problems
    if inlined is None:
        plain = Program(inlining.untouched(program))
        found += [problem for some in _of_rules(plain) for problem in some]
        return Checked(program, tuple(sorted(found, key=_by_place)))
    found += inlined.problems
    for one in chain.from_iterable(inlined.made):
        asked = (problem for some in _of_rules(Program((one.rule,))) for problem in some)
        found += [inlining.explained(one, problem) for problem in asked]
    found += [problem for some in _of_recursion(Program(inlined.rules)) for problem in some]
    if found:
        return Checked(program, tuple(sorted(dict.fromkeys(found), key=_by_place)))
    known = before.program if before is not None else Program()
    is_small = before is not None and (program.declarations, program.facts) == (known.declarations, known.facts)
    fresh = came_and_went(known.rules, program.rules)[0] if is_small else None
    return Checked(program, (), None, fresh, inlined)


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
    if not told:
        return check(program), ()
    return Checked(program, inlined=inlining.inlined_of(program)), told


def _by_place(problem: Problem) -> tuple[str, int, int]:
    place = problem.place
    return (place.source, place.line, place.column) if place else ("", 0, 0)

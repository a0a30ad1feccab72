"""One tree of errors.

What      : every error that Tidelog raises on purpose is a `TidelogError`; it carries one or more `Problem`s.
Idea      : a problem has a stable code, a place, a sentence and a remedy, so that a person can act on it and a program
            can match it.
Invariant : problems of one program are collected and raised together, ordered by place; raising one changes nothing in
            an engine. A problem that is printed shows unseen characters as escapes; its fields hold what they hold.
Never     : this module knows nothing of rules, facts or backends; everything else may import it.

Codes: E1xx the text of a program, E2xx its meaning, E3xx facts and updates, E4xx budgets, E5xx evaluation,
E6xx stored state, E7xx Spark, pipelines and configuration, E8xx wrong use of the interface, E9xx our own faults.
W1xx to W3xx are warnings about the same things as E1xx to E3xx: what is probably not meant, and what is not used.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from types import UnionType
from typing import Self

from tidelog.visible import visible

_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Place:
    """Where a problem is: a source (file name or `<rules>`), line and column from 1, and the line's text if known."""

    source: str
    line: int
    column: int
    text: str | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return f"{visible(self.source)}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong: a code that never changes its meaning, a sentence, and what to do about it.

    `rule` is the key of the rule that was being evaluated, if there is one.
    """

    code: str
    sentence: str
    place: Place | None = None
    remedy: str | None = None
    related: tuple[tuple[Place, str], ...] = ()
    rule: str | None = None

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterable[str]:
        where = f"{self.place}  " if self.place else ""
        yield f"{where}{self.code}  {visible(self.sentence)}{visible(_in_rule(self.rule))}"
        if self.place and self.place.text is not None:
            yield from _excerpt(self.place, self.remedy)
        elif self.remedy:
            yield f"  {visible(self.remedy)}"
        for place, note in self.related:
            yield f"  {place}  {visible(note)}"
            if place.text is not None:
                yield f"  {place.line} |  {_line(place.text)}"


def _in_rule(key: str | None) -> str:
    """The end of a sentence that names a rule; a long rule is cut."""
    if key is None:
        return ""
    return f", in rule {key[:_SHOWN]}{'...' if len(key) > _SHOWN else ''}"


def _excerpt(place: Place, remedy: str | None) -> Iterable[str]:
    """The source line, and under it a caret with the remedy beside it."""
    gutter, text = f"  {place.line} |  ", place.text or ""
    before = text[: place.column - 1].ljust(place.column - 1)
    yield gutter + _line(text)
    yield " " * (len(gutter) + len(_line(before))) + "^" + (f"      {visible(remedy)}" if remedy else "")


def _line(text: str) -> str:
    """A line of a source; a tab is one space wide, so that the caret finds its place."""
    return visible(text.replace("\t", " "))


class TidelogError(Exception):
    """The root of the tree. `problems` holds what is wrong; `code` is the first problem's code."""

    def __init__(self, problems: Problem | Iterable[Problem]) -> None:
        found = (problems,) if isinstance(problems, Problem) else tuple(problems)
        if not found:
            raise ValueError("an error needs at least one problem")
        self.problems = found
        super().__init__("\n".join(str(problem) for problem in found))

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.problems,), self.__dict__

    @property
    def code(self) -> str:
        """The stable code of the first problem."""
        return self.problems[0].code

    @classmethod
    def of(cls, code: str, sentence: str, *, place: Place | None = None, remedy: str | None = None) -> Self:
        """An error with a single problem."""
        return cls(Problem(code, sentence, place, remedy))


class TidelogWarning(UserWarning):
    """Something that works but is probably not meant. As an error (`--strict`) it is raised before anything changes."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        super().__init__(str(problem))

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.problem,), self.__dict__

    @property
    def code(self) -> str:
        """The stable code of the problem."""
        return self.problem.code


class ProgramError(TidelogError):
    """A program cannot be read or has no meaning (E1xx, E2xx)."""


class UpdateError(TidelogError):
    """Facts or an update do not fit the program (E3xx)."""


class BudgetError(TidelogError):
    """A budget is used up; the last good version is intact (E4xx)."""


class EvaluationError(TidelogError):
    """A rule cannot be evaluated: overflow, division by zero, incomparable values (E5xx)."""


class StateError(TidelogError):
    """Stored state is missing, damaged or of another program or format (E6xx)."""


class PipelineError(TidelogError):
    """Configuration, sources, sinks or Spark (E7xx)."""


class UsageError(TidelogError):
    """The interface is used wrongly: unknown relation, rule, strategy or option (E8xx)."""


def expect(value: object, kinds: type | UnionType | tuple[type, ...], what: str, wanted: str) -> None:
    """Refuse an argument of another type than those asked for."""
    if not isinstance(value, kinds):
        raise UsageError.of("E816", f"{what} is {wanted}, not {type(value).__name__}", remedy=f"give {wanted}")


class LawError(TidelogError):
    """The materialisation differs from recomputation: a fault of ours (E9xx)."""

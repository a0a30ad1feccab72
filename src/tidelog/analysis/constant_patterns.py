"""Is every pattern that a rule writes down a regular expression?

What      : one problem (E210) for each constant pattern of a `match` that RE2 cannot read.
Idea      : a pattern that comes from facts can be wrong for some facts and right for others, and then has no value. One
            that is written in the rule is wrong for all of them, so its author is told at once.
Invariant : a rule without problems never meets a wrong constant pattern.
Never     : no text is matched here (language/patterns.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tidelog.errors import Place, Problem
from tidelog.language.patterns import problem
from tidelog.language.printer import print_value
from tidelog.language.terms import Aggregate, Comparison, Constant, Literal, Program

_SHOWN = 200
CODE = "E210"


def problems(program: Program) -> Iterator[Problem]:
    """The wrong patterns of all rules."""
    for rule in program.rules:
        yield from _literals(rule.body, rule.place)


def _literals(body: Iterable[Literal], place: Place | None) -> Iterator[Problem]:
    for literal in body:
        match literal:
            case Aggregate(body=inner):
                yield from _literals(inner, literal.place or place)
            case Comparison("match" | "!match", Constant(str(pattern)) as constant):
                found = problem(pattern)
                if found is not None:
                    where = constant.place or literal.place or place
                    shown = print_value(pattern) if len(pattern) <= _SHOWN else "the pattern"
                    sentence = f"{shown} is not a regular expression: {found}"
                    remedy = "RE2 has no look-ahead and no back-references; say it otherwise"
                    yield Problem(CODE, sentence, where, remedy)

"""Which recursions may take the least or the greatest of their own values, and what is said about the others."""

import re

import pytest

from tidelog.analysis.components import components
from tidelog.analysis.optima import verdict
from tidelog.analysis.program_check import problems
from tidelog.language.parser import parse

BEST = "best(y, m) :- n(y), m = min c : { way(y, c) }. "


def judged(text: str):
    """The verdict on the one recursive component."""
    [component] = [one for one in components(parse(text).rules) if one.is_recursive]
    return verdict(component)


@pytest.mark.parametrize(
    ("text", "is_strict"),
    [
        (BEST + "way(y, c + w) :- best(x, c), e(x, y, w).", True),
        (BEST + "way(y, w + c * 2 - 1) :- best(x, c), e(x, y, w).", True),
        (BEST + "way(y, v) :- best(x, c), e(x, y, w), v = c + w.", True),
        (BEST + "way(y, a + b) :- best(x, a), best(z, b), e(x, y, z).", True),
        ("best(y, m) :- n(y), m = min c + w : { best(x, c), e(x, y, w) }. best(x, 0) :- s(x).", True),
        ("best(y, m) :- n(y), m = max c : { way(y, c) }. way(y, c - w) :- best(x, c), e(x, y, w), c > 1.", False),
        (BEST + "way(y, c + w) :- best(x, c), e(x, y, w), c <= 10.", False),
        (BEST + "way(y, c + w) :- best(x, c), e(x, y, w), 10 > c + 1.", False),
        (BEST + "way(y, max(c, w)) :- best(x, c), e(x, y, w).", False),
        (BEST + "way(y, c / 2) :- best(x, c), e(x, y, _).", False),
        (BEST + "way(y, w) :- best(x, _), e(x, y, w).", False),
        (BEST + "way(y, a) :- best(x, a), best(z, b), e(x, y, z).", False),
    ],
)
def test_monotone_recursions_are_allowed(text: str, is_strict: bool):
    """Whatever follows from a value follows from a better one, with a result at least as good."""
    found = judged(text)
    assert (found.reason, found.is_strict) == (None, is_strict)
    assert not problems(parse(text))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "best(y, m) :- n(y), m = sum c : { way(y, c) }. way(y, c) :- best(x, c), e(x, y).",
            "sum of what is not",
        ),
        (BEST + "way(y, w - c) :- best(x, c), e(x, y, w).", "a result of - worse"),
        (BEST + "way(y, c * w) :- best(x, c), e(x, y, w).", r"a result of \* worse"),
        (BEST + "way(y, c + w) :- best(x, c), e(x, y, w), c > 3.", "uses c for more"),
        (BEST + "way(y, c + w) :- best(x, c), e(x, y, w), c != 3.", "uses c for more"),
        (BEST + "way(y, c) :- best(x, c), e(x, y, c).", "uses c for more"),
        (BEST + "way(y, a) :- best(x, a), best(y, b), a = b.", "uses . for more"),
        (BEST + "way(y, a) :- best(x, a), best(z, b), e(x, y, z), a < b.", "uses . for more"),
        (BEST + "way(y, 1) :- best(x, 3), e(x, y).", "asks for one value"),
        (BEST + "way(y, c) :- best(x, c), e(x, y), !f(c).", "uses c for more"),
        (BEST + "way(c, c) :- best(x, c), e(x, _).", "two columns"),
        ("best(c, m) :- n(c), m = min c + w : { best(x, c), e(x, w) }.", "grouped by its own values|two columns"),
        (
            "best(y, m) :- n(y), m = min c : { way(y, c) }. way(y, c) :- worst(x, c), e(x, y)."
            " worst(y, m) :- n(y), m = max c : { best(y, c) }.",
            "both min and max",
        ),
    ],
)
def test_others_are_refused_with_the_reason(text: str, reason: str):
    """E205 names the cycle, and what is wrong with it."""
    [first, *_] = [problem for problem in problems(parse(text)) if problem.code == "E205"]
    assert re.search(reason, first.sentence)

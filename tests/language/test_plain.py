"""Plain statements mean the same with and without the grammar, places and problems included.

There are two readers for one language, so everything that the tests read at all is read both ways: the programs of the
repository, damaged ones, soups of tokens, and statements that are nearly plain, where the two could part.
"""

from __future__ import annotations

import random
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest

from tests.language.test_fuzz import ALPHABET, SEEDS, damaged, noise, outcome, soup
from tidelog.language import parser
from tidelog.language.parser import parse
from tidelog.language.plain import read_plain
from tidelog.language.terms import Rule

ROOT = Path(__file__).parents[2]
TEXTS = [path.read_text(encoding="utf-8") for path in sorted(ROOT.glob("**/*.dl")) if ".venv" not in path.parts]
HEADS = [
    "p(x)",
    "q(x, y)",
    "r()",
    "s( )",
    "t(_, _)",
    "u(1)",
    'v("a", 007)',
    'w("p(x). q", "")',
    "été(y, _x)",
    "c(y,1 )",
]
BODIES = [*HEADS, *("!p(x)", "! q(y, _)", "!\n r()", "counter(nothing, trueish)", "p\t(\nx ,y )")]
SPOILERS = [
    *(
        "p",
        "_",
        "x",
        "count",
        "min",
        "not",
        "match",
        "true",
        "_(x)",
        "r1:",
        ":-",
        ",",
        ".",
        "(",
        ")",
        "!",
        "!=",
        "\n",
        ";",
    ),
    *("1", "1.5", "0x1F", "1e3", "9" * 18, "9" * 19, '"', '"\\n"', "'s'", "`a b`", "// c\n", "/* c */", "/*", "x = y"),
    *("count(x)", "match(x, y)", "min(1, 2)", "not p(x)", "_:", ".decl p(x: number)\n", "٣", "\u2028", "\xa0"),
]


def whole(value: object) -> object:
    """A value with everything in it, places included, which equality leaves out."""
    if isinstance(value, tuple | list):
        return [whole(one) for one in value]
    if is_dataclass(value):
        return [type(value).__name__, *(whole(getattr(value, field.name)) for field in fields(value))]
    return type(value).__name__, value


def nearly_plain(chance: random.Random, _seeds: list[str]) -> str:
    """Some statements, most of them plain."""
    return "".join(statement(chance) for _ in range(chance.randrange(1, 6)))


def statement(chance: random.Random) -> str:
    """A rule or fact that is plain, or would be but for one piece."""
    space = chance.choice(("", " ", " ", "\n  ", "\r\n"))
    text = [chance.choice(("", "", "r1:", f"n{chance.randrange(99)} : ")), chance.choice(HEADS)]
    if text[0] or chance.random() < 0.7:
        text += [":-", f",{space}".join(chance.choice(BODIES) for _ in range(chance.randrange(1, 4)))]
    if chance.random() < 0.1:
        text.insert(chance.randrange(len(text) + 1), chance.choice(SPOILERS))
    if chance.random() < 0.02:
        text.insert(chance.randrange(len(text) + 1), chance.choice(ALPHABET))
    return space.join(text) + chance.choice((".\n", ".\n", ".\n\n", ". ", ".\r\n", ". // c\n", ".// c\n", "."))


def both_ways(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program, problems = outcome(text, parse)
    with monkeypatch.context() as patched:
        patched.setattr(parser, "read_plain", lambda *_: 0)
        expected, expected_problems = outcome(text, parse)
    assert whole(program) == whole(expected), text
    assert whole(problems) == whole(expected_problems), text


def test_the_programs_of_the_repository(monkeypatch):
    """Good ones and bad ones."""
    assert len(TEXTS) > 50
    for text in TEXTS:
        both_ways(text, monkeypatch)


@pytest.mark.parametrize("made", [nearly_plain, damaged, soup, noise])
def test_texts_from_a_fixed_seed(made, monkeypatch):
    """Those that are nearly plain matter most."""
    chance = random.Random(7)
    for _ in range(2000 if made is nearly_plain else 600):
        both_ways(made(chance, SEEDS), monkeypatch)


class Collects:
    """What a builder is to a reader of plain statements."""

    def __init__(self, text: str) -> None:
        parser._reader().builder.begin("<rules>", text)
        self.builder = parser._reader().builder
        self.end = read_plain(text, self.builder)


@pytest.mark.parametrize(
    "text",
    [
        'r1: p(x, _) :- q(x, y), !r(y, _), s(1, "a").',
        'p(1, "a"). q().\n// a comment\n p(x):-q(x).  /* and another */\n',
        "p(x) :-\n    q(x),\n    !r(x).\n",
    ],
)
def test_plain_texts_are_read_to_the_end(text):
    """Otherwise nothing would be gained, and no other test would notice."""
    assert Collects(text).end == len(text)


def test_a_statement_that_is_not_plain_ends_the_glance_before_it():
    """And what follows it is the grammar's, too."""
    text = "p(x) :- q(x). p(y) :- q(x), y = x + 1. p(x) :- r(x)."
    found = Collects(text)
    assert found.end == text.index("p(y)")
    assert [type(rule) for rule in found.builder.rules] == [Rule]


def test_a_long_statement_takes_time_in_proportion():
    """Whether it is plain or turns out not to be at its very end."""
    for end in (".", ", y = 1."):
        text = "p(x) :- " + ", ".join(f"q{i}(x, y{i})" for i in range(20_000)) + end
        assert Collects(text).end == (len(text) if end == "." else 0)
    assert Collects("/* " * 50_000).end == 0
    assert Collects("p(" + "x" * 100_000).end == 0
    assert Collects("p(x) :- q(x)" + " " * 100_000 + "!").end == 0


GAP = " \n" * 50_000


@pytest.mark.parametrize(
    "text",
    [
        f"p(x){GAP}:- q(x).",
        f"p(x) :-{GAP}q(x).",
        f"p(x) :- q(x){GAP}, r(x).",
        f"p(x) :- q(x), !{GAP}r(x).",
        f"p({GAP}x{GAP}) :- q{GAP}(x).",
        f"r1{GAP}:{GAP}p(x) :- q(x).{GAP}",
        f"p(x) :-{GAP}x = 1, q(x).",
        f"p(x) :- q(x),{GAP}x = 1.",
        f"p(x) :- q(x){GAP}x.",
    ],
)
def test_a_wide_gap_takes_time_in_proportion(text):
    """A reader that tries every blank of a run as a beginning would not be done within the time of any test."""
    assert Collects(text).end in (0, len(text))

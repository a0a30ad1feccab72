"""No text makes the parser fail in any other way than with a ProgramError; what it reads it can print and read again.

GUARANTEES 15. The inputs are valid programs with damage, soups of tokens, and random text, from a fixed seed: the fast
tier reads 10,000, the long tier as many as TIDELOG_FUZZ says (a million if it says nothing).
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tidelog.errors import Problem, ProgramError
from tidelog.language import canonical_text, parse, print_program
from tidelog.language.dialects import zodiacedge
from tidelog.language.terms import Program

HERE = Path(__file__).parent
RULES = sorted((HERE.parent / "programs" / "zodiacedge").glob("*/program.rules"))
SEEDS = [
    *(path.read_text(encoding="utf-8") for path in sorted((HERE / "souffle").glob("*.dl"))),
    'r1: p(x, -1.5) :- q(x, "a\\n"), !r(_, ?x), x ^ 2 >= -(3), not (x = 4 ; s(x)).\n`a b`(true).\n',
    "p(n) :- n = sum((x + 1) * 2) : { q(x), 1 < count : { r(_) } }, match('a*', cat(n, n)).\n",
]
TOKENS = [
    *("p", "q(x)", "x", "y", "_", "?x", "`a b`", "abs(", "min(", "match(", "count", "sum", "min", "max", "not", "r1:"),
    *("(", ")", "[", "]", "{", "}", ",", ";", ".", ":", ":-", "=", "!=", "<", "<=", ">", ">=", "!", "$", "@", "#", "|"),
    *("+", "-", "*", "/", "%", "^", "1", "2.5", "0x1F", "1e9", "9" * 20, '"s"', "'s'", '"\\n"', '"\\q"', "true"),
    *(".decl", ".input", ".output", ".type", ".comp", ".foo", "number", "symbol", "<:", "//", "/*", "*/", "p(x) :-"),
    *("<iri>", "and", "AND", "COMP(", "BIND(", "as", "AGGREGATE(", "on", "with", "∧"),
]
ALPHABET = [chr(code) for code in range(128)] + ["é", "∧", "\u2028", "\ud800", "🌊", "٣", "\ufeff"]


def damaged(chance: random.Random, seeds: list[str]) -> str:
    """Part of a valid program with a few places deleted, doubled, replaced or mixed with another program."""
    text = chance.choice(seeds)
    start = chance.randrange(len(text))
    text = text[start : start + chance.randrange(20, 400)]
    for _ in range(chance.randrange(1, 5)):
        at, length = chance.randrange(len(text) + 1), chance.randrange(1, 6)
        piece = chance.choice(["", text[at : at + length] * 2, chance.choice(TOKENS), chance.choice(ALPHABET)])
        text = text[:at] + piece + text[at + length :]
    return text


def soup(chance: random.Random, seeds: list[str]) -> str:
    """Tokens in no order."""
    return chance.choice([" ", ""]).join(chance.choices(TOKENS, k=chance.randrange(1, 40)))


def noise(chance: random.Random, seeds: list[str]) -> str:
    """Characters in no order."""
    return "".join(chance.choices(ALPHABET, k=chance.randrange(1, 80)))


def outcome(text: str, read: Callable[[str], Any]) -> tuple[Any, tuple[Problem, ...]]:
    """What was read, or None and the problems, which can be rendered."""
    try:
        return read(text), ()
    except ProgramError as error:
        return None, error.problems if str(error) else ()


def check(text: str, read: Callable[[str], Program]) -> bool:
    """Whether the text is a program; it is read, printed and read again."""
    program, problems = outcome(text, read)
    if program is None:
        assert {problem.code[:2] for problem in problems} == {"E1"}, text
        return False
    assert parse(print_program(program)) == program, text
    for rule in program.rules:
        assert canonical_text(parse(canonical_text(rule)).rules[0]) == canonical_text(rule)
    return True


def fuzz(count: int, seed: int, read: Callable[[str], Program], seeds: list[str]) -> int:
    chance = random.Random(seed)
    return sum(check(chance.choice([damaged, damaged, soup, noise])(chance, seeds), read) for _ in range(count))


def test_ten_thousand_texts_end_in_a_program_or_a_program_error():
    """Some of the inputs must be programs, else the round trip would not have been tested."""
    assert fuzz(8_000, 1, parse, SEEDS) > 50
    texts = [path.read_text(encoding="utf-8") for path in RULES]
    assert fuzz(2_000, 2, zodiacedge.read_rules, texts) > 10


def test_facts_of_other_dialects_end_in_facts_or_a_program_error():
    chance = random.Random(3)
    lines = [
        '<a> <p> <b> .\n<a> <p> 25 .\n<a> <rdf:type> <C> . # c\n<a> <p> "x\\n"^^<xsd:string> .\n<a> <p> -2.5e3 .\n'
    ]
    read = 0
    for _ in range(2_000):
        facts, problems = outcome(damaged(chance, lines), zodiacedge.read_facts)
        assert {problem.code for problem in problems} == (set() if facts is not None else {"E119"})
        read += bool(facts)
    assert read > 10


@pytest.mark.long
@pytest.mark.timeout(0)
def test_a_million_texts_end_in_a_program_or_a_program_error():
    count = int(os.environ.get("TIDELOG_FUZZ", "1000000"))
    assert fuzz(count, 4, parse, SEEDS) > count // 200

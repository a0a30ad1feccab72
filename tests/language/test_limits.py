"""Texts of unusual size: depth ends in an error, length does not."""

from __future__ import annotations

import pytest

from tidelog.errors import ProgramError
from tidelog.language import canonical_text, parse, parse_atom, print_program
from tidelog.language.term_reductions import MAX_DEPTH, MAX_PROBLEMS

DEEP = 10_000


@pytest.mark.parametrize(
    "text",
    [
        f"p(x) :- x = {'(' * DEEP}1{')' * DEEP}.",
        f"p(x) :- x = {'-' * DEEP}1.",
        f"p(x) :- x = {'1 + ' * DEEP}1.",
        f"p(x) :- x = {'2 ^ ' * DEEP}1.",
        f"p({'abs(' * DEEP}1{')' * DEEP}).",
        f"p(x) :- {'x = count : { ' * (DEEP // 10)}q(x){' }' * (DEEP // 10)}.",
        f"p(x) :- {'q(count : { ' * (DEEP // 10)}q(x){' })' * (DEEP // 10)}.",
        f"p(x) :- {'!q(count : { ' * (DEEP // 10)}q(x){' })' * (DEEP // 10)}.",
    ],
    ids=["parentheses", "minus", "plus", "power", "calls", "aggregates", "aggregates in atoms", "under negation"],
)
def test_deep_nesting_is_refused_once(text):
    """Python's stack is never the limit: a table-driven parser keeps its own, and the builder counts levels."""
    with pytest.raises(ProgramError) as caught:
        parse(text)
    assert [problem.code for problem in caught.value.problems] == ["E105"]


@pytest.mark.parametrize("text", ["(" * DEEP, "p(x) :- " + "!" * DEEP, "[" * DEEP, '"' * DEEP, "." * DEEP, "/*" * DEEP])
def test_endless_openings_are_refused(text):
    with pytest.raises(ProgramError):
        parse(text)
    with pytest.raises(ProgramError):
        parse_atom(text)


def test_nesting_up_to_the_limit_is_read_and_printed():
    program = parse(f"p(x) :- q(y), x = {'-' * (MAX_DEPTH - 1)}y, y = {'1 + ' * (MAX_DEPTH - 1)}1.")
    assert parse(print_program(program)) == program
    assert canonical_text(program.rules[0])


def test_width_is_not_depth():
    """Depths are noted by identity; were a finished node forgotten, its successor in memory would inherit its depth."""
    body = ", ".join(f"y{number} = abs((x + {number}) * 2), !q(strlen(cat(x, x)))" for number in range(2000))
    assert len(parse(f"p(x) :- q(x), {body}.").rules[0].body) == 4001


def test_long_bodies_are_read():
    body = ", ".join(f"q{number}(x, y{number})" for number in range(10_000))
    program = parse(f"p(x) :- {body}.")
    assert len(program.rules[0].body) == 10_000
    assert parse(print_program(program)) == program


def test_alternatives_are_bounded_before_they_multiply():
    """Twelve binary choices are four thousand rules; a thousand of them would be more than there are atoms."""
    for choices in (12, 1000):
        with pytest.raises(ProgramError) as caught:
            parse(f"p(x) :- {', '.join(['(a(x) ; b(x))'] * choices)}.")
        assert caught.value.code == "E114"


def test_problems_are_bounded():
    with pytest.raises(ProgramError) as caught:
        parse("p(x :- q.\n" * 10_000)
    assert len(caught.value.problems) == MAX_PROBLEMS


def test_many_rules_are_read():
    text = "".join(
        f"r{number}: p{number}(x, z) :- p{number // 2}(x, y), e(y, z), x != {number}.\n" for number in range(2000)
    )
    assert len(parse(text).rules) == 2000

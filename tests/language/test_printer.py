"""Text and program are two forms of the same thing."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.language.generated import HOSTILE, programs, rules
from tidelog.language import (
    canonical_text,
    parse,
    parse_atom,
    print_fact,
    print_program,
    print_rule,
    print_value,
    rule_key,
)
from tidelog.language.renaming import rename_rule, rule_variables
from tidelog.language.terms import Constant, Fact, Program, Rule, Variable

UNHURRIED = settings(deadline=None, max_examples=80, suppress_health_check=[HealthCheck.too_slow])


@UNHURRIED
@given(programs)
def test_printing_then_reading_gives_the_same_program(program):
    """Names, strings and nesting that no person would write are part of it: facts come from anywhere."""
    assert parse(print_program(program)) == program


@UNHURRIED
@given(rules, st.permutations([f"w{number}" for number in range(40)]))
def test_canonical_text_does_not_depend_on_the_names_of_variables(rule, fresh):
    used = dict.fromkeys(variable.name for variable in rule_variables(rule))
    renamed = rename_rule(rule, dict(zip(used, fresh)))
    assert canonical_text(renamed) == canonical_text(rule)
    assert canonical_text(parse(canonical_text(rule)).rules[0]) == canonical_text(rule)


def test_canonical_text_tells_different_rules_apart():
    """Which variables are the same, the order of literals and the types of constants belong to a rule's identity."""
    texts = ["p(x) :- q(x, y).", "p(x) :- q(x, x).", "p(y) :- q(x, y).", "p(1) :- q(x, y).", "p(1.0) :- q(x, y)."]
    texts += ["p(true) :- q(x, y).", 'p("1") :- q(x, y).', "p(x) :- q(x, y), r(x).", "p(x) :- r(x), q(x, y)."]
    assert len({canonical_text(parse(text).rules[0]) for text in texts}) == len(texts)


def test_a_rule_is_known_by_its_name_or_its_canonical_text():
    named, unnamed = parse("r1: p(a) :- q(a, _). p(a) :- q(a, _).").rules
    assert rule_key(named) == "r1"
    assert rule_key(unnamed) == canonical_text(named) == "p(v0) :- q(v0, v1)."


@pytest.mark.parametrize(
    "text",
    [
        "p(x, x + y * 2 - (z - 1)) :- q(x, y, z), !r(_, x).",
        "p(x) :- q(x), (-2) ^ x = -2 ^ x, -(2) < x, --x = x - -x.",
        "`not`(?not) :- `a b`(?not), match(\"a.*\", ?not), !contains('b', ?not).".replace("'", '"'),
        "r1: deg(x, n) :- node(x), n = count : { edge(x, _) }.",
        "p(n) :- n = sum((x + 1) * 2) : { q(x) }.",
        "p(1) :- true.",
    ],
)
def test_rules_are_printed_as_a_person_would_write_them(text):
    assert print_rule(parse(text).rules[0]) == text


def test_facts_and_values_are_printed_as_in_a_program():
    assert print_fact("edge", ("a", 1, 1.0, True)) == 'edge("a", 1, 1.0, true)'
    assert [print_value(value) for value in (-3, -0.0, 1e300, False, 'a"b\n')] == [
        "-3",
        "0.0",
        "1e+300",
        "false",
        '"a\\"b\\n"',
    ]


@given(HOSTILE, HOSTILE)
def test_hostile_content_survives_in_facts_and_queries(relation, value):
    text = print_fact(relation, (value,))
    assert "\n" not in text
    assert parse(text + ".").facts == (Fact(relation, (Constant(value),)),)
    assert parse_atom(text).terms == (Constant(value),)


def test_long_content_survives():
    """64 KB of quotes, backslashes, line breaks and NULs in a relation's name, a variable and a constant."""
    content = "\"'`\\\n\r\0\u2028é🌊{}.:-" * 5000
    rule = parse("p(x) :- q(x).").rules[0]
    hostile = Rule(
        rule.head.__class__(content, (Variable(content),)),
        (rule.head.__class__("q", (Variable(content), Constant(content))),),
        content,
    )
    assert parse(print_program(Program((hostile,)))) == Program((hostile,))

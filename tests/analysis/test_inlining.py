"""Inline relations are macros: what rules become without them, and what is refused.

That the rules mean the same is tested on random programs (tests/differential/test_inlining.py); here is how they look,
because explanations, plans and costs depend on that.
"""

from __future__ import annotations

import pytest

from tidelog.analysis.inlining import evaluated_rules, inlined
from tidelog.analysis.program_check import check, examine
from tidelog.language.parser import parse
from tidelog.language.printer import print_program, print_rule, rule_key
from tidelog.language.terms import Rule

LT = ".decl lt(x: number, y: number) inline\nlt(x, y) :- x < y.\n"
TYPED = LT + ".decl e(x: number, y: number)\n.decl r(x: number)\n"


def expanded(text: str) -> list[str]:
    """The rules that are evaluated, as text."""
    program = check(parse(text)).program
    return [print_rule(Rule(rule.head, rule.body)) for rule in evaluated_rules(program)]


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        (LT + "r(x) :- e(x, y), lt(x, y).", ["r(x) :- e(x, y), x < y."]),
        (LT + "r(x) :- e(x, y), lt(y + 1, 5).", ["r(x) :- e(x, y), y + 1 < 5."]),
        (LT + "r(x) :- e(x, y), !lt(x, y).", ["r(x) :- e(x, y), 0 = count : { x < y }."]),
        (TYPED + "r(x) :- e(x, y), !lt(x, y).", ["r(x) :- e(x, y), x >= y."]),
        (TYPED + "r(x) :- e(x, y), !lt(x / 2, y).", ["r(x) :- e(x, y), value = x / 2, value >= y."]),
        (LT + "r(n) :- n = count : { e(x, y), lt(x, y) }.", ["r(n) :- n = count : { e(x, y), x < y }."]),
        (".decl i(x: any) inline\ni(x) :- a(x).\ni(x) :- b(x).\nr(x) :- i(x).", ["r(x) :- a(x).", "r(x) :- b(x)."]),
        (".decl i(x: any) inline\ni(x) :- a(x).\ni(x) :- b(x).\nr(x) :- c(x), !i(x).", ["r(x) :- c(x), !a(x), !b(x)."]),
        (".decl i(x: any) inline\ni(1) :- true.\nr(x) :- i(x).", ["r(x) :- x = 1."]),
        (".decl i(x: any) inline\ni(1) :- true.\nr(2) :- i(1).", ["r(2) :- true."]),
        (".decl i(x: any) inline\ni(1) :- true.\nr(2) :- i(3).", ["r(2) :- i(3)."]),
        (".decl i(x: any) inline\ni(1) :- true.\nr(2) :- !i(1).", ["r(2) :- 0 = 1."]),
        (".decl i(x: any, y: any) inline\ni(x, x) :- a(x).\nr(x) :- i(x, y), b(y).", ["r(x) :- y = x, a(x), b(y)."]),
        (".decl i(x: any, y: any) inline\ni(x, x + 1).\nr(y) :- a(x), i(x, y).", ["r(y) :- a(x), y = x + 1."]),
        (".decl i(x: any) inline\ni(x) :- e(x, y).\nr(x, y) :- i(x), i(y).", ["r(x, y) :- e(x, y_2), e(y, y_3)."]),
        (".decl i(x: any) inline\ni(x) :- e(x, _).\nr(x, y) :- i(x), f(y, _).", ["r(x, y) :- e(x, _), f(y, _)."]),
        (".decl i(x: any) inline\ni(x) :- e(x, y).\nr(x) :- a(x), !i(x).", ["r(x) :- a(x), !e(x, y)."]),
        (".decl i(x: any) inline\ni(x) :- e(x, x).\nr() :- i(_).", ["r() :- e(x, x)."]),
        (
            ".decl i(x: any) inline\ni(x) :- e(x, y), f(y).\nr(x) :- a(x), !i(x).",
            ["r(x) :- a(x), 0 = count : { e(x, y), f(y) }."],
        ),
        (".decl i(x: any) inline\ni(x) :- !a(x).\nr(x) :- b(x), !i(x).", ["r(x) :- b(x), a(x)."]),
        (".decl i(x: any, n: any) inline\ni(x, n) :- n = count : { e(x, y) }.\nr(y) :- i(y, 2), a(y).",
         ["r(y) :- 2 = count : { e(y, y_2) }, a(y)."]),
        (".decl i(x: any) inline\nr(x) :- a(x), !i(x).", ["r(x) :- a(x), !i(x)."]),
    ],
)  # fmt: skip
def test_rules_take_the_place_of_atoms(text, rules):
    assert expanded(text) == rules


def test_inline_relations_may_use_inline_relations():
    text = LT + ".decl between(x: number, y: number, z: number) inline\nbetween(x, y, z) :- lt(x, y), lt(y, z).\n"
    assert expanded(text + "r(y) :- e(x, y), e(y, z), between(x, y, z).") == ["r(y) :- e(x, y), e(y, z), x < y, y < z."]


def test_a_result_that_is_a_group_as_well_is_compared_and_not_put_in():
    """`a = count : { e(a, _) }` would be refused (E206), and is not what the user wrote."""
    text = ".decl deg(x: number, n: number) inline\ndeg(x, n) :- a(x), n = count : { e(x, _) }.\nr(a) :- deg(a, a)."
    assert expanded(text) == ["r(a) :- n = a, a(a), n = count : { e(a, _) }."]


def test_variables_of_the_caller_are_never_mistaken_for_those_of_the_rule():
    """Found by random programs: a term of the caller was renamed as if it were the inline rule's."""
    text = ".decl i(u: any, y: any) inline\ni(u, y) :- p(x, y), u = min z : { e(y, z) }.\nr(x) :- a(x), i(x, x)."
    assert expanded(text) == ["r(x) :- a(x), y = x, p(x_2, y), x = min z : { e(y, z) }."]


def test_what_is_evaluated_knows_what_was_written():
    program = parse(".decl i(x: any) inline\ni(x) :- a(x).\ni(x) :- b(x).\nn: r(x) :- i(x).\nr(x) :- c(x), i(x).")
    rules = evaluated_rules(program)
    assert [rule.name for rule in rules] == ["n", "n", None, None]
    assert [rule.as_written for rule in rules] == [program.rules[2]] * 2 + [program.rules[3]] * 2
    assert {rule_key(rule) for rule in rules} == {"n", "r(v0) :- c(v0), i(v0)."}


def test_rules_that_stay_are_the_same_objects():
    """Stages are kept by that: a rule of another inline relation must not cost a new plan."""
    text = LT + ".decl i(x: any) inline\ni(x) :- a(x).\nr(x) :- i(x).\ns(x) :- e(x, y), lt(x, y).\n"
    before = inlined(parse(text))
    program = parse(text)
    kept = program.__class__((*before.written, *parse("i(x) :- b(x).").rules), (), program.declarations)
    after = inlined(kept, before)
    assert [any(rule is other for other in before.rules) for rule in after.rules] == [True, False, True]


def test_a_declaration_is_printed_and_read_again():
    program = parse(LT)
    assert program.declarations[0].is_inline
    assert parse(print_program(program)) == program
    assert not parse(".decl p(x: number) no_inline").declarations[0].is_inline


@pytest.mark.parametrize(
    ("text", "code", "line", "sentence"),
    [
        (".decl a(x: any) inline\na(x) :- a(x).", "E213", 2, "a -> a"),
        (".decl a, b(x: any) inline\na(x) :- b(x).\nb(x) :- e(x), !a(x).", "E213", 2, "a -> b -> a"),
        (LT + "lt(1, 2).", "E214", 3, "lt is inline"),
        (LT + ".input lt", "E214", 3, ".input"),
        (LT + ".output lt", "E214", 3, ".output"),
        (LT + ".printsize lt", "E214", 3, ".output"),
        (".decl a(x: any) inline output\na(x) :- e(x).", "E214", 1, ".output"),
        (".decl a(x: any) inline\na(x) :- e(x).\na(x) :- f(x).\nr(n) :- n = count : { a(x) }.", "E215", 4, "several"),
        (".decl a(x: any) inline\na(x) :- e(x, y).\nr(n) :- n = count : { a(x) }.", "E215", 3, "head does not show"),
        (".decl a(x: any, y: any) inline\na(x, y) :- e(x).\nr(x) :- a(x, x).", "E202", 2, "y occurs in the head"),
        (LT + "r(x) :- lt(x, y), e(y).", "E202", 3, "(with the rules of lt in its place)"),
        (LT + "r(x) :- e(x), lt(x, _).", "E202", 3, "variable _ is compared"),
        (".decl ok(x: any) inline\nok(x) :- !bad(x).\nr(1) :- ok(_).", "E202", 3, "ok is inline, and does not bind it"),
        (".decl ok(x: any) inline\nok(x) :- !bad(x).\nr(1) :- !ok(_).", "E202", 3, "does not bind it"),
        (".decl m(p: any, t: any) inline\nm(p, t) :- match(p, t).\nr(t) :- e(t), m(\"[\", t).", "E210", 3, "of m in"),
        (".decl m(t: any) inline\nm(t) :- match(\"[\", t).", "E210", 2, "regular expression"),
    ],
)  # fmt: skip
def test_what_cannot_be_inline_is_refused_with_code_place_and_sentence(text, code, line, sentence):
    (problem,) = examine(parse(text)).problems
    assert (problem.code, problem.place.line) == (code, line)
    assert sentence in problem.sentence
    assert problem.remedy


def test_a_problem_of_an_expanded_rule_shows_the_inline_rule():
    (problem,) = examine(parse(LT + "r(x) :- lt(x, y), e(y).")).problems
    ((place, note),) = problem.related
    assert (place.line, note) == (2, "lt is inline, by this rule")


def test_other_rules_are_examined_beside_a_wrong_inline_relation():
    found = examine(parse(".decl a(x: any) inline\na(x) :- a(x).\nr(x) :- e(y).\n")).problems
    assert [problem.code for problem in found] == ["E213", "E202"]


def test_the_least_and_the_greatest_do_not_mind_how_often_a_value_occurs():
    text = ".decl a(x: number) inline\na(x) :- e(x, y).\nr(n) :- n = max x : { a(x) }."
    assert expanded(text) == ["r(n) :- n = max x : { e(x, y) }."]


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"a(x) :- e{number}(x).\n" for number in range(11)) + "r(x) :- a(x), a(x), a(x), a(x).",
        "".join(f".decl a{n}(x: any) inline\na{n}(x) :- a{n - 1}(x), a{n - 1}(x).\n" for n in range(1, 40))
        + ".decl a0(x: any) inline\na0(x) :- e(x).\nr(x) :- a39(x).",
        "".join(f".decl a{n}(x: any) inline\na{n}(x) :- a{n + 1}(x + x).\n" for n in range(40))
        + ".decl a40(x: any) inline\na40(x) :- e(x), x > 1.\nr(x) :- e(x), a0(x).",
        "".join(f".decl a{n}(x: any) inline\na{n}(x) :- e(x), !a{n + 1}(x).\n" for n in range(300))
        + ".decl a300(x: any) inline\na300(x) :- e(x), d(x).\nr(x) :- e(x), a0(x).",
        "".join(f".decl a{n}(x: any) inline\na{n}(x) :- a{n + 1}(x + 1).\n" for n in range(400))
        + ".decl a400(x: any) inline\na400(x) :- e(x), x > 1.\nr(x) :- e(x), a0(x).",
    ],
    ids=["rules", "literals", "functions", "negations", "nested functions"],
)
def test_programs_that_would_grow_without_measure_are_refused(text):
    """In a moment, and without the memory that they would take."""
    (problem,) = examine(parse(f".decl a(x: any) inline\n{text}")).problems
    assert problem.code == "E216"


def test_a_long_chain_of_inline_relations_is_followed_to_its_end():
    """Longer than Python calls may be deep."""
    chain = "".join(f".decl a{n}(x: any) inline\na{n}(x) :- a{n + 1}(x).\n" for n in range(1_500))
    text = chain + ".decl a1500(x: any) inline\na1500(x) :- n(x).\np(x) :- a0(x)."
    assert expanded(text) == ["p(x) :- n(x)."]


@pytest.mark.parametrize(
    "unused",
    [
        ".decl c(x: any) inline\nc(x) :- e(x, _).\nc(x) :- e(_, x).\n"
        ".decl d(n: any) inline\nd(n) :- n = count : { c(_) }.",
        ".decl a0(x: any) inline\na0(x) :- e(x, _).\n"
        + "".join(f".decl a{n}(x: any) inline\na{n}(x) :- e(x, _), !a{n - 1}(x).\n" for n in range(1, 60)),
        ".decl a0(x: any) inline\na0(x) :- e(x, _).\na0(x) :- e(_, x).\n"
        + "".join(f".decl a{n}(x: any) inline\na{n}(x) :- a{n - 1}(x), a{n - 1}(x).\n" for n in range(1, 6)),
    ],
    ids=["an aggregate over alternatives", "deep", "many"],
)
def test_inline_relations_that_no_rule_uses_cost_nothing_and_are_not_refused(unused):
    """They become no rules; a question that uses one is told what is wrong with it.

    Taught by an order of unfolding that went through all inline relations: a library of macros was refused whole for
    the one that the program leaves aside.
    """
    found = examine(parse(f"{unused}\nr(x) :- e(x, _)."))
    assert not found.problems
    assert expanded(f"{unused}\nr(x) :- e(x, _).") == ["r(x) :- e(x, _)."]

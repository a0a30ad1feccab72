"""What texts mean: each test reads a text and looks at the parts of the program."""

from __future__ import annotations

import threading

import pytest

from tidelog.errors import ProgramError
from tidelog.language import canonical_text, parse, parse_atom, parse_rules, print_rule
from tidelog.language.terms import (
    Aggregate,
    Atom,
    Call,
    Comparison,
    Constant,
    Fact,
    Negation,
    Rule,
    Variable,
)

X, Y, Z = Variable("x"), Variable("y"), Variable("z")


def only_rule(text: str) -> Rule:
    (rule,) = parse(text).rules
    return rule


def term(text: str):
    (literal,) = only_rule(f"p(r) :- r = {text}.").body
    return literal.right


def codes(text: str) -> list[str]:
    with pytest.raises(ProgramError) as caught:
        parse(text)
    return [problem.code for problem in caught.value.problems]


def call(function, *arguments):
    return Call(function, arguments)


def test_a_rule_has_a_head_a_body_perhaps_a_name_and_its_places():
    rule = only_rule("\n  r1: path(x, z) :- edge(x, y), !path(y, z), x != z.")
    assert rule == Rule(
        Atom("path", (X, Z)),
        (Atom("edge", (X, Y)), Negation(Atom("path", (Y, Z))), Comparison("!=", X, Z)),
        "r1",
    )
    assert (rule.place.line, rule.place.column, rule.place.text[2:4]) == (2, 3, "r1")
    assert (rule.body[1].atom.terms[1].place.line, rule.body[1].atom.terms[1].place.column) == (2, 42)


def test_constants_keep_their_types():
    """`1`, `1.0`, `true` and "1" are four constants; hexadecimal, binary and negative numbers are numbers."""
    (fact,) = parse("p(1, 1.0, true, \"1\", '1', -7, 0x1F, 0b101, -2.5e3, 1e2, false).").facts
    values = (1, 1.0, True, "1", "1", -7, 31, 5, -2500.0, 100.0, False)
    assert fact == Fact("p", tuple(Constant(value) for value in values))


@pytest.mark.parametrize(
    ("spelled", "meant"),
    [
        (r'"a\n\t\r\\\"\'\`"', "a\n\t\r\\\"'`"),
        (r'"\x41\u00e9\U0001F30A\0"', "Aé🌊\0"),
        ("'say \"hi\"'", 'say "hi"'),
        ('"// no comment /* here */ ."', "// no comment /* here */ ."),
    ],
)
def test_strings_have_escapes(spelled, meant):
    assert term(spelled) == Constant(meant)


def test_the_ends_of_64_bits_are_numbers_and_their_neighbours_are_not():
    assert term("9223372036854775807") == Constant(2**63 - 1)
    assert term("-9223372036854775808") == Constant(-(2**63))
    assert codes("p(9223372036854775808).") == ["E104"]
    assert codes("p(-9223372036854775809).") == ["E104"]
    assert codes("p(1e999).") == ["E104"]
    assert codes(f"p({'9' * 10_000}).") == ["E104"]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("x + y * z", call("+", X, call("*", Y, Z))),
        ("(x + y) * z", call("*", call("+", X, Y), Z)),
        ("x - y - z", call("-", call("-", X, Y), Z)),
        ("x ^ y ^ z", call("^", X, call("^", Y, Z))),
        ("-x ^ y", call("neg", call("^", X, Y))),
        ("-3 ^ x", call("neg", call("^", Constant(3), X))),
        ("x ^ -3", call("^", X, Constant(-3))),
        ("x - -3", call("-", X, Constant(-3))),
        ("-(3)", call("neg", Constant(3))),
        ("x % 2 / y", call("/", call("%", X, Constant(2)), Y)),
        ("max(abs(x), strlen(y), 3)", call("max", call("abs", X), call("strlen", Y), Constant(3))),
        ("cat(x, substr(y, 0, 2))", call("cat", X, call("substr", Y, Constant(0), Constant(2)))),
    ],
)
def test_arithmetic_has_the_usual_precedence(text, meant):
    assert term(text) == meant


def test_variables_may_have_a_question_mark_which_is_no_part_of_the_name():
    assert only_rule("p(?x, ?min) :- q(x, ?min).") == Rule(
        Atom("p", (X, Variable("min"))), (Atom("q", (X, Variable("min"))),)
    )


def test_anonymous_variables_are_numbered_by_appearance_in_each_rule():
    rules = parse("p(x) :- q(_, x), r(_). p(x) :- q(x, _) ; r(x), s(_, _).").rules
    names = [[variable.name for atom in rule.body for variable in atom.terms] for rule in rules]
    assert names == [["_:0", "x", "_:1"], ["x", "_:0"], ["x", "_:0", "_:1"]]


def test_negation_is_spelled_in_two_ways_and_turns_comparisons_round():
    body = only_rule('p(x) :- q(x), !r(x), not r(x), !match("a", x), not (x < 3), !contains("b", x).').body
    assert body[1] == body[2] == Negation(Atom("r", (X,)))
    assert [literal.op for literal in body[3:]] == ["!match", ">=", "!contains"]


def test_a_name_in_back_quotes_is_never_a_keyword():
    """Relation names that no identifier can spell, and relations with the names of constraints, can be written."""
    rule = only_rule("`not`(x) :- `http://a/b#c`(x), `match`(x, y), `back\\`quote`(y).")
    assert [rule.head.relation, *(atom.relation for atom in rule.body)] == [
        "not",
        "http://a/b#c",
        "match",
        "back`quote",
    ]


def test_atoms_may_be_nullary_and_hold_expressions():
    assert only_rule("go() :- p(x + 1), q().") == Rule(
        Atom("go", ()), (Atom("p", (call("+", X, Constant(1)),)), Atom("q", ()))
    )
    assert codes("go :- p(x).") == ["E113"]
    assert codes("p(x) :- q(x), go.") == ["E106"]


def test_several_heads_and_alternatives_become_several_rules():
    texts = [print_rule(rule) for rule in parse("r: a(x), b(x) :- c(x), (d(x) ; e(x), f(x)).").rules]
    assert texts == [
        "`r.1`: a(x) :- c(x), d(x).",
        "`r.2`: a(x) :- c(x), e(x), f(x).",
        "`r.3`: b(x) :- c(x), d(x).",
        "`r.4`: b(x) :- c(x), e(x), f(x).",
    ]


def test_aggregates_stand_beside_a_result():
    body = (Atom("q", (X, Y)),)
    for text in (
        "n = sum y : { q(x, y) }",
        "sum y : { q(x, y) } = n",
        "n = sum(y) : { q(x, y) }",
        "n = sum y : q(x, y)",
    ):
        assert only_rule(f"p(x, n) :- r(x), {text}.").body[1] == Aggregate(Variable("n"), "sum", Y, body)
    assert only_rule("p(n) :- n = count : { q(x, y), x < y }.").body == (
        Aggregate(Variable("n"), "count", None, (*body, Comparison("<", X, Y))),
    )


def test_an_aggregate_inside_an_expression_gets_a_variable_that_the_rule_does_not_use():
    rule = only_rule("p(x, agg0) :- q(x, agg0), agg0 < 2 * count : { q(x, _) } - max y : { q(x, y) }, r(_).")
    assert canonical_text(rule) == canonical_text(
        only_rule("p(x, a) :- q(x, a), n = count : { q(x, _) }, m = max y : { q(x, y) }, a < 2 * n - m, r(_).")
    )
    assert {"agg1", "agg2"} <= {literal.result.name for literal in rule.body if isinstance(literal, Aggregate)}


def test_aggregates_nest():
    rule = only_rule("p(n) :- n = sum m : { q(x), m = count : { r(x, _) } }.")
    assert isinstance(rule.body[0].body[1], Aggregate)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("p(x) :- q(x), n = count x : { q(x) }.", "E107"),
        ("p(x) :- q(x), n = sum : { q(x) }.", "E107"),
        ("p(x) :- q(x), n = total(x) : { q(x) }.", "E101"),
        ("p(n) :- n = count : { q(x) ; r(x) }.", "E114"),
        ("p(y) :- q(x), y = sqrt(x).", "E107"),
        ("p(y) :- q(x), y = abs(x, x).", "E107"),
        ("p(x) :- q(x), match(x).", "E107"),
        ("p(x) :- x + 1.", "E106"),
        ("p(x) :- q((x < 3)), r(x).", "E106"),
        ("p(x) :- !(q(x), r(x)).", "E112"),
        ("!p(x) :- q(x).", "E113"),
        ("x < 3 :- q(x).", "E113"),
        ('p("\\q").', "E103"),
        ("p(?`_:0`) :- q(x).", "E103"),
    ],
)
def test_what_has_no_meaning_is_refused(text, code):
    assert codes(text) == [code]


def test_facts_are_statements_without_variables_functions_or_names():
    program = parse("p(1). q(x). r(1 + 2). s: t(1). u(1) :- true.")
    assert [fact.relation for fact in program.facts] == ["p"]
    assert [(rule.head.relation, rule.name, rule.body) for rule in program.rules] == [
        ("q", None, ()),
        ("r", None, ()),
        ("t", "s", ()),
        ("u", None, ()),
    ]


def test_a_complete_string_in_the_wrong_place_is_not_called_open():
    assert codes('p(x) "abc" :- q(x).') == ["E101"]
    assert codes('p(x) "abc') == ["E102"]


def test_two_rules_with_the_same_name_are_reported_with_both_places():
    with pytest.raises(ProgramError) as caught:
        parse("r: p(x) :- q(x).\nr: p(x) :- s(x).")
    (problem,) = caught.value.problems
    assert (problem.code, problem.place.line, problem.related[0][0].line) == ("E108", 2, 1)


def test_rules_to_add_hold_no_facts_or_directives():
    assert len(parse_rules("p(x) :- q(x). p(x) :- r(x).")) == 2
    with pytest.raises(ProgramError) as caught:
        parse_rules("p(1).\n.decl p(x: number)\np(x) :- q(x).\n.input q")
    assert {problem.code for problem in caught.value.problems} == {"E118"}
    assert len(caught.value.problems) == 3


def test_a_query_is_one_atom():
    assert parse_atom('path("a", x)') == parse_atom('path("a", x).') == Atom("path", (Constant("a"), X))
    for text in ("", "path", "p(x), q(x)", "p(x) q", "x < 3", "p(x"):
        with pytest.raises(ProgramError):
            parse_atom(text)


def test_threads_do_not_see_each_others_texts():
    """The builder holds the text that is being read; if threads shared it, their programs would mix."""
    texts = [f"p{number}(x) :- " + ", ".join(f"q{number}(x, {i})" for i in range(300)) + "." for number in range(4)]
    found: dict[int, list[str]] = {}

    def work(number: int) -> None:
        found[number] = [canonical_text(rule) for _ in range(5) for rule in parse(texts[number]).rules]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: 5 * [canonical_text(parse(texts[number]).rules[0])] for number in range(4)}

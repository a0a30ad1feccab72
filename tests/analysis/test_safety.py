"""Every unsafe variable is named, and no safe one is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.analysis.safety import problems
from tidelog.language.parser import parse
from tidelog.language.terms import Program


def unsafe(text: str) -> list[str]:
    """The sentences of a text's problems."""
    return [problem.sentence for problem in problems(parse(text))]


def names(text: str) -> list[str]:
    return [sentence.split()[1] for sentence in unsafe(text)]


@pytest.mark.parametrize(
    "text",
    [
        "p(x) :- q(x).",
        "p(x) :- x = 1.",
        "p(z) :- q(x), z = x + 1.",
        "p(z) :- z = y * 2, y = x + 1, q(x).",
        "p(z) :- q(x), x = z.",
        "p(x, z) :- q(x, y), !r(y, z2), z = y.",
        "p(x) :- q(x), !r(z, z).",
        "p(x, n) :- q(x, _), n = count : { q(x, y) }.",
        "p(n) :- n = sum y : { q(_, y), y > 1 }.",
        "p(m) :- n = count : { q(_) }, m = n + 1.",
        "p(x, n) :- q(x), n = count : { r(x, y), !s(y, z) }.",
        "p(n) :- q(x), n = max v : { r(x, y), v = y + x }.",
        "p(x) :- q(x, x + 1).",
        "p(k) :- n = count : { q(_) }, k = sum y : { r(n, y) }.",
        "p() :- !q(_).",
        "p(1 + 2).",
    ],
)
def test_safe_rules(text):
    """Equalities bind in any order; locals of a negated atom are existential; groups may be bound by results."""
    assert unsafe(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("p(x, z) :- q(x, y).", "variable z occurs in the head but in no positive body atom"),
        ("p(_) :- q(x).", "variable _ occurs in the head but in no positive body atom"),
        ("p(x).", "variable x occurs in a fact"),
        ("p(x) :- q(x), y < x.", "variable y is compared but bound by nothing"),
        ("p(x) :- q(x), x < _.", "variable _ is compared but bound by nothing"),
        ("p(x) :- q(x), x = y + 1.", "variable y is compared but bound by nothing"),
        ("p(x) :- q(x), !r(z), !s(z).", "variable z occurs under ! and elsewhere but in no positive body atom"),
        ("p(x) :- q(x, y + 1).", "variable y is needed to compute an argument of q but bound by nothing"),
        ("p(x) :- q(x), !r(y + 1).", "variable y is needed to compute an argument of r but bound by nothing"),
        (
            "p(x, n) :- n = count : { q(x, y) }.",
            "variable x is shared with an aggregate but bound by nothing outside it",
        ),
        (
            "p(n) :- n = count : { q(x) }, x = n.",
            "variable x is shared with an aggregate but bound by nothing outside it",
        ),
        ("p(n) :- n = sum z : { q(y) }.", "variable z is aggregated but in no positive atom of the aggregate"),
        ("p(n) :- n = count : { q(y), y < z }.", "variable z is compared but bound by nothing"),
        ("p(n) :- n = count : { q(n) }.", "variable n is the result of an aggregate and occurs inside it"),
    ],
)
def test_an_unsafe_variable_is_named_with_its_reason(text, expected):
    """One variable, one sentence; what follows from it is not reported again."""
    assert unsafe(text) == [expected]


def test_the_remedy_quotes_an_atom_that_would_bind_the_group():
    """The user can copy it."""
    (problem,) = problems(parse("p(x, n) :- n = count : { q(x, y) }."))
    assert problem.remedy == "add q(x, _) outside the aggregate, or rename x inside it"


def test_all_unsafe_variables_of_all_rules_are_named():
    """Collected, not thrown one at a time."""
    assert names("p(a, b) :- q(c), d < c. r(e) :- q(f).") == ["a", "b", "d", "e"]


def test_a_chain_of_equalities_cannot_bind_itself():
    """x needs y and y needs x: neither has a value."""
    assert names("p(x) :- q(z), x = y, y = x.") == ["x", "y"]


def test_ten_thousand_equalities_in_the_worst_order():
    """Trying literals again until nothing changes would take 10^8 steps here."""
    chain = ", ".join(f"x{i + 1} = x{i} + 1" for i in reversed(range(10_000)))
    assert unsafe(f"p(x10000) :- {chain}, q(x0).") == []


@given(st.permutations(["q(a, b)", "c = a + b", "d = c", "e = d * a", "n = count : { r(e, y) }", "m = n + 1"]))
def test_safety_does_not_depend_on_the_order_of_literals(body):
    """A body is a set of conditions; planning finds an order."""
    assert unsafe(f"p(m, e) :- {', '.join(body)}.") == []


def test_an_empty_program_is_safe():
    """No rules, nothing to say."""
    assert list(problems(Program())) == []

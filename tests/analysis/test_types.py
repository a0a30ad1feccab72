"""Types are inferred as far as they are determined; contradictions name what determined both sides."""

import pytest

from tidelog.analysis.types import problems, relation_types
from tidelog.language.parser import parse


def types_of(text: str, relation: str):
    return relation_types(parse(text))[relation]


def sentences(text: str) -> list[str]:
    return [problem.sentence for problem in problems(parse(text))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("p(x) :- q(x).", (None,)),
        ('p(1, 1.5, "a", true).', ("number", "float", "symbol", "bool")),
        ("p(x) :- q(x). q(1).", ("number",)),
        (".decl q(x: symbol)\np(x) :- r(x). r(x) :- q(x).", ("symbol",)),
        (".decl p(x: unsigned)\np(1).", ("unsigned",)),
        ("p(x + y) :- q(x, y).", ("numeric",)),
        ("p(x + y) :- q(x, y), x = 1, y = 2.", ("number",)),
        ("p(x + y) :- q(x, y), y = 2.0.", ("float",)),
        ("p(n, m) :- n = count : { q(_) }, m = mean x : { q(x) }.", ("number", "float")),
        ('p(n) :- n = max x : { q(x) }. q("a").', ("symbol",)),
        ("p(x) :- q(x), x < 3.", ("numeric",)),
        ("p(x) :- q(x), contains(x, x).", ("symbol",)),
        ("p(strlen(x), cat(x, x)) :- q(x).", ("number", "symbol")),
        (".decl q(x: any)\np(x) :- q(x).", ("any",)),
        ('q(1). q("a"). p(x) :- r(x). r(x) :- q(x).', ("any",)),
        ("p(min(x, y)) :- q(x, y), x = 1, y = 2.", ("number",)),
    ],
)
def test_inference(text, expected):
    """Constants, arithmetic, aggregates, comparisons and declarations decide, through variables and recursion."""
    assert types_of(text, "p") == expected
    assert sentences(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (".decl q(x: symbol)\np(x) :- q(x), x = 1.", "variable x is a symbol but the comparison with 1 needs a number"),
        (".decl q(x: symbol)\np(x + 1) :- q(x).", "variable x is a symbol but + needs a number or float"),
        (".decl q(x: float)\np(1) :- q(1).", "1 is a number but column 1 of q needs a float"),
        ('.decl q(x: number)\np(1) :- q("a").', '"a" is a symbol but column 1 of q needs a number'),
        ("p(x) :- q(x), r(x). q(1). r(true).", "true is a bool but column 1 of r needs a number"),
        ('p(x) :- q(x), x < 3, x < "b".', 'variable x is a number or float but the comparison with "b" needs a symbol'),
        ('p(x) :- q(x), y = min(1, "a").', '1 is a number but the comparison with "a" needs a symbol'),
        (".decl q(x: bool)\np(n) :- n = sum x : { q(x) }.", "variable x is a bool but sum needs a number or float"),
        (".decl p(x: unsigned)\np(-1).", "-1 is negative but column 1 of p is unsigned"),
        (
            ".decl p(x: unsigned)\np(z) :- q(_), z = -1.",
            "variable z is -1, which is negative but column 1 of p is unsigned",
        ),
        (
            ".decl p(x: unsigned)\nr(z) :- p(z), -7 = z.",
            "variable z is -7, which is negative but column 1 of p is unsigned",
        ),
        (
            ".decl q(x: number)\n.decl p(x: symbol)\np(x) :- q(x).",
            "variable x is a number but column 1 of p needs a symbol",
        ),
    ],
)
def test_a_contradiction_is_one_problem(text, expected):
    """One sentence per mistake, whatever else follows from it."""
    assert sentences(text) == [expected]


def test_both_places_are_shown():
    """The use is the place; what determined the types is related."""
    (problem,) = problems(parse(".decl q(x: number)\n.decl p(x: symbol)\np(x) :- q(x).", "t.dl"))
    assert str(problem.place) == "t.dl:3:3"
    assert [(str(place), note) for place, note in problem.related] == [
        ("t.dl:1:7", "column 1 of q as declared is a number"),
        ("t.dl:2:7", "column 1 of p as declared is a symbol"),
    ]


def test_facts_of_several_types_make_a_column_open():
    """`1`, `1.0`, `true` and `"1"` may live side by side where nobody said otherwise; the reader decides."""
    assert sentences('v(1). v(1.0). v(true). v("1"). p(x) :- v(x), x = 1. r(x) :- v(x), x != "a".') == []


def test_a_declared_column_is_never_open():
    """Openness stops at a declaration."""
    text = ".decl q(x: any)\n.decl p(x: number)\np(x) :- q(x)."
    assert types_of(text, "p") == ("number",)


def test_nested_arithmetic_is_looked_at_once():
    """Each level visited twice would be 2^60 visits."""
    deep = "x" + " + (x" * 60 + ")" * 60
    assert types_of(f"p({deep}) :- q(x), x = 1.", "p") == ("number",)


def test_openness_goes_round_a_long_cycle():
    """Looking at a whole component again for each step would be quadratic."""
    steps = "".join(f"p{(i + 1) % 3000}(x) :- p{i}(x).\n" for i in reversed(range(3000)))
    found = relation_types(parse(f".decl e(x: any)\np0(x) :- e(x).\n{steps}"))
    assert {found[f"p{i}"] for i in range(3000)} == {("any",)}

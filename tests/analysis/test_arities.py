"""A relation has one number of columns; a declaration decides, else the first use in the text."""

from tidelog.analysis.arities import arities, problems
from tidelog.language.parser import parse


def found(text: str):
    return [
        (str(p.place), p.code, p.sentence, [str(place) for place, _ in p.related]) for p in problems(parse(text, "t"))
    ]


def test_arities_come_from_every_mention():
    """Heads, bodies, negated and aggregated atoms, facts and declarations."""
    text = ".decl d(x: number)\np(x) :- q(x, y), !r(x, y, 1), n = count : { s() }. f(1)."
    assert arities(parse(text)) == {"d": 1, "p": 1, "q": 2, "r": 3, "s": 0, "f": 1}


def test_the_first_use_decides_and_both_places_are_shown():
    """Facts and rules are compared in the order of the text, not in the order in which a program stores them."""
    assert found("p(1, 2).\np(x) :- q(x).") == [
        ("t:2:1", "E201", "p has 1 column here but 2 columns elsewhere", ["t:1:1"])
    ]


def test_a_declaration_decides_even_if_it_comes_later():
    """The declaration is the contract."""
    assert found("p(1, 2).\n.decl p(x: number)") == [
        ("t:1:1", "E201", "p has 2 columns here but 1 column elsewhere", ["t:2:7"])
    ]


def test_a_relation_declared_twice():
    """Even if both agree: one of them will be changed alone some day."""
    (problem,) = found(".decl p(x: number)\n.decl p(x: number)")
    assert problem[1:3] == ("E207", "p is declared twice")

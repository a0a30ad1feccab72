"""The four kinds of recursion, each by its smallest program."""

import pytest

from tidelog.analysis.components import components
from tidelog.analysis.recursion import is_linear, recursion
from tidelog.language.terms import Atom, Rule, Variable

X, Y, Z = Variable("x"), Variable("y"), Variable("z")


def edge(relation: str, a: Variable, b: Variable) -> Atom:
    return Atom(relation, (a, b))


BASE = Rule(edge("p", X, Y), (edge("e", X, Y),))


@pytest.mark.parametrize(
    ("kind", "linear", "rules"),
    [
        ("none", True, [BASE]),
        ("linear", True, [BASE, Rule(edge("p", X, Z), (edge("e", X, Y), edge("p", Y, Z)))]),
        ("non-linear", False, [BASE, Rule(edge("p", X, Z), (edge("p", X, Y), edge("p", Y, Z)))]),
        ("mutual", True, [Rule(edge("p", X, Y), (edge("q", Y, X),)), Rule(edge("q", X, Y), (edge("p", X, Y),))]),
    ],
)
def test_kind_of_recursion(kind, linear, rules):
    """One linear and one non-linear rule make a component non-linear; mutual recursion can still be linear."""
    component = components(rules)[-1]
    assert recursion(component) == kind
    assert is_linear(component) == linear

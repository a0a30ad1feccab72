"""Which stages are rules over pairs, and how they are read."""

import pytest

from tidelog.analysis.program_check import check
from tidelog.language.parser import parse
from tidelog.maintenance.rule_book import RuleBook
from tidelog.planning.pair_rules import DIRECT, FIRST, SECOND, PairRule, X, Y, Z, pair_rules


def read(text: str, relation: str) -> tuple[PairRule, ...] | None:
    """The stage of a relation, as rules over pairs."""
    schedule = RuleBook.of(check(parse(text))).schedule
    return pair_rules(schedule.stages[schedule.place[relation]].stage)


@pytest.mark.parametrize(
    "recursion",
    [
        "p(x, z) :- e(x, y), p(y, z).",
        "p(x, z) :- p(x, y), e(y, z).",
        "p(x, z) :- p(x, y), p(y, z).",
        "p(a, c) :- p(b, c), p(a, b), a != c.",
        "p(x, y) :- p(y, x).",
        "p(x, z) :- f(x, y), p(y, z). p(x, z) :- p(x, y), e(z, y), !g(x, z).",
    ],
)
def test_closures_are_rules_over_pairs(recursion):
    """Linear on either side, not linear, over several relations, with inverses and tests."""
    assert read(f"p(x, y) :- e(x, y). {recursion}", "p") is not None


def test_a_rule_is_read_from_end_to_end():
    """Atoms in any order and direction; what only has to exist is a condition."""
    [rule] = read("p(x, z) :- r(z, y), q(x, y), !s(z, y), d(z, x), u(y), e(x, _), l(z, z), x != z.", "p")
    factors = {
        way: [(one.relation, one.is_inverse, one.is_negated) for one in some] for way, some in rule.factors.items()
    }
    assert factors == {
        FIRST: [("q", False, False)],
        SECOND: [("r", True, False), ("s", True, True)],
        DIRECT: [("d", True, False)],
    }
    conditions = {place: [one.relation for one in some] for place, some in rule.conditions.items()}
    assert conditions == {X: ["e"], Y: ["u"], Z: ["l"]}
    assert rule.conditions[Z][0].is_loop
    assert rule.apart == {(X, Z)}


@pytest.mark.parametrize(
    "text",
    [
        "p(x, y) :- e(x, y).",  # a copy
        "p(x, z) :- e(x, y), f(y, w), g(w, z).",  # two values in the middle
        "p(x, z) :- e(x, y), e(y, z), x < z.",
        "p(x, z) :- e(x, y), t(y, z, x).",
        "p(x, z) :- e(x, y), f(y, z), g(z, 'a').",
        "p(x, z, y) :- e(x, y), e(y, z).",
        "p(x, 1) :- e(x, y), f(y, x).",
        "p(x, z) :- e(x, y), e(y, z), f(_, _).",
        "p(x, z) :- e(x, z). p(x, z) :- p(x, y), e(y, z), p(y, _).",  # a condition on its own facts
        "p(x, z) :- u(x), e(z, y), f(y, z), !g(x, y).",  # no way from x
    ],
)
def test_other_rules_are_left_to_joins(text):
    """One rule that does not fit is enough."""
    assert read(text, "p") is None

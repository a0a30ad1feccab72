"""Literals that only have to hold are found true once."""

import pytest

from tidelog.analysis.program_check import check
from tidelog.language.parser import parse
from tidelog.maintenance.rule_book import RuleBook
from tidelog.planning.apart_groups import apart_groups
from tidelog.planning.join_order import NoEstimates
from tidelog.planning.plan import NOWHERE, Join
from tidelog.planning.planner import plan_all, plan_literal


def rule(text):
    """The lowered rule of a text."""
    [stage] = [one.stage for one in RuleBook.of(check(parse(text))).schedule.stages]
    return stage.rules[0]


@pytest.mark.parametrize(
    ("text", "groups"),
    [
        ("q(x) :- i(x), e(_), e(_).", [{1}, {2}]),
        ("q(x) :- e(y), i(x), f(y, z), z != y.", [{0, 2, 3}]),
        ("q(x) :- i(x), e(x, _), !f(_).", []),
        ("q(x) :- f(a, b), i(x, c), g(b, c).", []),
        ("q(1) :- e(_), !f(_).", [{0}]),
    ],
)
def test_groups_share_no_variable_with_the_head(text, groups):
    """A negated atom alone binds nothing, and is tested as before."""
    assert apart_groups(rule(text), set(rule(text).head.terms)) == groups


def test_groups_come_first_and_are_left_at_once():
    """When the rest of the rule has been enumerated, no other way is tried in which a group holds."""
    plan = plan_all(rule("q(x) :- i(x, y), e(a), f(a, b), g(_), j(y)."), NoEstimates())
    relations = [step.relation for step in plan.steps if isinstance(step, Join)]
    assert relations[:3] == ["e", "f", "g"]
    assert plan.returns[:3] == (NOWHERE, -1, 1)
    assert plan.returns[-1] == relations.index("i")


def test_a_driver_that_stands_apart_leaves_its_group():
    """What drives is no step."""
    plan = plan_literal(rule("q(x) :- i(x), e(_), e(_)."), 1, NoEstimates())
    assert plan.returns == (-1, NOWHERE, 1)
    assert len(plan.steps) == 2

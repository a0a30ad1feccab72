"""Plans: what drives, what is joined in which order, and that no order changes the instances."""

from __future__ import annotations

import pytest

from tidelog.language.parser import parse_rules
from tidelog.planning.description import describe, indexes, plans_of
from tidelog.planning.join_order import NoEstimates, order
from tidelog.planning.lowering import lower
from tidelog.planning.plan import Absent, Bind, Compute, Driver, Ignore, Join, Known, Same, key_columns
from tidelog.planning.plan import Test as Comparing
from tidelog.planning.planner import plan_all, plan_head, plan_literal


class Estimated:
    """Estimates written down by a test."""

    def __init__(self, sizes, distinct=()):
        self._sizes, self._distinct = dict(sizes), dict(distinct)

    def size(self, relation):
        return self._sizes.get(relation, 1000)

    def distinct(self, relation, column):
        return self._distinct.get((relation, column), 0)


def rule(text):
    stages = [stage for stage in lower(parse_rules(text)).stages if not stage.finds_undefined]
    (found,) = [rule for stage in stages for rule in stage.rules]
    return found


def joined(plan):
    return [step.relation for step in plan.steps if isinstance(step, Join)]


def test_small_relations_come_first():
    """Without a driver the scan is over the smallest relation."""
    found = rule("h(x, z) :- big(x, y), small(y, z).")
    assert joined(plan_all(found, Estimated({"big": 10**6, "small": 10}))) == ["small", "big"]
    assert joined(plan_all(found, Estimated({"big": 10, "small": 10**6}))) == ["big", "small"]


def test_selective_columns_come_first():
    """With x known the atom with more distinct values in its known column gives fewer rows."""
    found = rule("h(x) :- start(x), many(x, y), few(x, z), y = z.")
    sizes = {"many": 1000, "few": 1000, "start": 1}
    assert joined(plan_all(found, Estimated(sizes, {("many", 0): 10, ("few", 0): 500}))) == ["start", "few", "many"]
    assert joined(plan_all(found, Estimated(sizes, {("many", 0): 500, ("few", 0): 10}))) == ["start", "many", "few"]


def test_without_estimates_known_columns_decide():
    """The ZodiacEdge heuristic: most known columns first, so that no cross product is built."""
    found = rule("h(a, d) :- p(a, b), q(c, d), r(b, c).")
    assert joined(plan_literal(found, 0, NoEstimates())) == ["r", "q"]


def test_tests_run_as_soon_as_they_can():
    """Comparisons before arithmetic, both before further joins; negation when its shared variables are known."""
    found = rule("h(x, w) :- p(x, y), x != y, y != 0, w = x / y, !q(x, _), r(w, z), z > 2.")
    kinds = [type(step) for step in plan_all(found, NoEstimates()).steps]
    assert kinds == [Join, Comparing, Comparing, Absent, Compute, Join, Comparing]


def test_views_follow_the_written_order():
    """`is_before` says where a literal stands in the rule, not when it is joined: semi-naive views depend on it."""
    found = rule("h(x, z) :- p(x, y), p(y, w), p(w, z).")
    plan = plan_literal(found, 1, NoEstimates())
    assert {step.literal: step.is_before for step in plan.steps} == {0: True, 2: False}


def test_how_columns_meet_slots():
    """Known, bound, repeated and unused columns."""
    found = rule('h(x) :- p(x), q(x, "a", y, y, _).')
    plan = plan_literal(found, 0, NoEstimates())
    (step,) = plan.steps
    assert [type(column) for column in step.columns] == [Known, Known, Bind, Same, Ignore]
    assert key_columns(step.columns) == (0, 1)


def test_heads_that_are_computed_are_compared_at_the_end():
    """A sum cannot be inverted: the plan that starts from heads tests it last."""
    plan = plan_head(rule("h(x, y + 1) :- p(x, y)."), NoEstimates())
    assert plan.driver is Driver.HEAD
    assert isinstance(plan.steps[-1], Comparing)
    assert plan.steps[-1].literal is None


def test_every_literal_is_placed_once():
    """Whatever drives, nothing is forgotten and nothing twice; a driving negation is itself tested."""
    found = rule("h(x) :- p(x, y), !q(y), r(y, z), z < 3, s(z).")
    for driving in (None, 0, 1, 2, 4):
        bound = () if driving is None else plan_variables(found, driving)
        placed = order(found, driving, bound, NoEstimates())
        assert sorted(placed) == [at for at in range(5) if at != driving or at == 1]


def plan_variables(found, driving):
    from tidelog.language.terms import variables

    return tuple(variables(found.body[driving]))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("h(x, z) :- p(x, y), q(y, z).", {("p", (0,)), ("p", (1,)), ("q", (0,))}),
        ("h(x) :- p(x), q(x).", set()),
        ("h(x) :- p(x), !q(x, _).", {("q", (0,))}),
    ],
)
def test_the_indexes_that_all_plans_share(text, expected):
    """Supports, drivers and full evaluation use the same few indexes; look-ups of whole facts need none."""
    assert indexes(plans_of(rule(text), NoEstimates())) == expected


def test_aggregates_are_described_as_groups():
    """A stage that groups has no joins; its hidden relations get short names, unless the user's own will do."""
    text = describe(lower(parse_rules("h(x, n) :- q(x), n = count : { p(x, y), y > 1 }.")).stages)
    assert "count1 = count of members1\n" in text
    assert "count1 = count of p\n" in describe(lower(parse_rules("h(x, n) :- q(x), n = count : { p(x, _) }.")).stages)


def test_no_hidden_relation_is_described_by_its_own_name():
    """Its name is a definition in our spelling, with an `@` that nobody can write.

    Taught by `tidelog check --plans`, which printed that definition on every line, twice for most.
    """
    text = describe(
        lower(
            parse_rules(
                "h(x, n) :- q(x), n = count : { p(x, _) }. t(s) :- s = sum y : { p(x, y), q(x) }. t(x / y) :- p(x, y)."
                "u(a, b) :- a = max y : { p(_, y) }, b = min y : { p(_, y) }. sum1(x) :- q(x)."
            )
        ).stages
    )
    assert "@" not in text
    assert "sum2 = sum of members1" in text  # sum1 is the user's
    assert "without1 = groups without a sum" in text

"""Existence is tested, not enumerated, and one witness is enough for a head; who counts sees every instance."""

import pytest

import tidelog as tl

EXISTS = "q(x) :- i(x), e(_), e(_), e(_), e(_)."
STRATEGIES = ["auto", "recompute", "dred", "bf", "dred-mark", "bf-mark", "counting"]


def derivations(change: tl.Change) -> int:
    """How many derivations an update took."""
    return sum(change.stats.derivations.values())


def test_four_facts_that_only_have_to_exist_cost_one_derivation_per_head():
    """A hundred facts each were 10^10 instances."""
    engine = tl.Engine(EXISTS)
    change = engine.apply(insert={name: [(number,) for number in range(100)] for name in "ie"})
    assert derivations(change) == 100
    assert derivations(engine.apply(insert={"e": [(101,)]})) <= 400  # every e drives, in each of four places
    engine.apply(delete={"e": [(number,) for number in range(102)]})
    assert len(engine["q"]) == 0
    engine.verify()


def test_one_witness_is_enough_where_the_head_keeps_only_some_variables():
    """A thousand members in ten groups: a pair for each member instead of a hundred thousand."""
    engine = tl.Engine("big(g) :- in(x, g), in(y, g), x != y.")
    change = engine.apply(insert={"in": [(number, number % 10) for number in range(1000)] + [(0, "alone")]})
    assert sorted(engine["big"]) == [(number,) for number in range(10)]
    assert derivations(change) <= 1001
    engine.verify()


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_keeps_what_still_exists(strategy):
    """Groups of several literals, with tests and negation, and the last witness goes."""
    rules = """
    q(x) :- i(x), f(a, b), f(b, c), a != c, !g(c).
    r(x, z) :- i(x), f(x, y), f(y, z), f(z, _), e(_).
    s("yes") :- e(_), !g(_).
    t(x) :- t(x), e(_). t(x) :- i(x), f(_, x), f(x, _), f(y, y), e(_).
    """
    engine = tl.Engine(rules, strategy=strategy)
    engine.apply(insert={"i": [(n,) for n in range(6)], "e": [(1,), (2,)], "f": [(n, (n * 2) % 5) for n in range(6)]})
    for update in (
        {"delete": {"e": [(1,)]}},
        {"insert": {"g": [(n,) for n in range(5)]}},
        {"delete": {"g": [(3,)], "f": [(0, 0), (1, 2)]}},
        {"delete": {"e": [(2,)]}},
        {"insert": {"e": [(7,)]}, "delete": {"g": [(n,) for n in range(5)]}},
    ):
        engine.apply(**update)
        engine.verify()
    assert list(engine["s"]) == [("yes",)]

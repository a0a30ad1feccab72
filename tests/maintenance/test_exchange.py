"""Facts that are exchanged one for one: where that is said, and that it is what recomputation finds."""

import random

import pytest

import tidelog as tl
from tests.maintenance.engines import StoreEngine
from tests.maintenance.stores import STORES
from tidelog.analysis.program_check import check
from tidelog.changes.strategy_choice import Reason
from tidelog.language.parser import parse
from tidelog.maintenance.rule_book import RuleBook

JOIN = "p(x, y) :- a(x, y), b(y)."
SUM = "h(g, n) :- group(g), n = sum v : { m(g, _i, v) }."


def told(text: str) -> dict[str, bool]:
    """The relations of which a change exchanges facts of `p` or `h`, and whether that is guarded.

    A relation of ours is called by its aggregate.
    """
    schedule = RuleBook.of(check(parse(text))).schedule
    [place] = [schedule.place[name] for name in "ph" if name in schedule.place]
    return {name.split("/")[0]: one.is_guarded for name, one in schedule.stages[place].exchanges.items()}


@pytest.mark.parametrize(
    ("text", "relations"),
    [
        (JOIN, {"a": False, "b": False}),
        ("p(x, y) :- a(x, y), !c(x).", {"a": False}),
        ("p(x, y) :- a(x, y), x < y.", {"a": False}),
        ("p(x) :- a(x, _).", {}),
        ("p(x) :- a(x, y), b(y).", {}),
        ("p(x + 1) :- b(x).", {}),
        ("p(x, y) :- a(x, y), a(y, x).", {}),
        ("p(x, y) :- a(x, y). p(x, y) :- c(x, y).", {}),
        ("p(x, y) :- a(x, y), !a(y, x).", {}),
        ("p(x) :- c(), b(x). p(x) :- b(x), !c().", {}),
        ("p(x, y) :- a(x, y). p(x, z) :- a(x, y), p(y, z).", {}),
        ("h(g, n) :- group(g), n = count : { m(g, _) }.", {"@count": True}),
        ("h(n, g) :- group(g), n = count : { m(g, _) }.", {"@count": True}),
        ("h(n) :- n = count : { m(_, _) }.", {"@count": True}),
        ("h(g) :- group(g), n = count : { m(g, _) }, n > 1.", {}),
    ],
)
def test_an_exchange_is_said_where_a_head_names_its_instance(text: str, relations: dict[str, bool]):
    """A head that leaves a variable out, or that another rule may derive, has perhaps a second proof."""
    assert told(text) == relations


@pytest.mark.parametrize("store", STORES)
def test_an_exchange_counts_what_came_and_what_went(store: str):
    """One instance lost, two gained."""
    engine = StoreEngine(JOIN, "auto", STORES[store]())
    engine.apply(insert={"a": [(1, 2), (3, 4)], "b": [(2,), (4,)]})
    change = engine.apply(insert={"a": [(5, 2), (6, 4)]}, delete={"a": [(1, 2)]})
    assert set(change.inserted["p"]) == {(5, 2), (6, 4)}
    assert set(change.deleted["p"]) == {(1, 2)}
    [choice] = engine.counters.choices
    assert (choice.strategy, choice.reason, choice.number) == ("exchange", Reason.ONE_PROOF, 3)
    assert {phase: number for (_, phase), number in engine.counters.derivations.items()} == {"insert": 2, "delete": 1}


def test_an_explicit_fact_is_not_exchanged():
    """It stays when its instance goes; nobody counts the instances that were looked at in vain."""
    engine = tl.Engine(JOIN)
    engine.apply(insert={"a": [(1, 2)], "b": [(2,)], "p": [(1, 2)]})
    change = engine.apply(delete={"a": [(1, 2)]})
    assert change.stats.choices[0].strategy != "exchange"
    assert not change.deleted["p"]
    assert (1, 2) in engine["p"]


def test_a_group_that_loses_its_last_member_is_not_exchanged():
    """Its sum was 0, and is 0 for another reason now."""
    engine = tl.Engine(SUM)
    engine.apply(insert={"group": [("g",)], "m": [("g", 1, 0)]})
    change = engine.apply(delete={"m": [("g", 1, 0)]})
    assert not change.inserted["h"]
    assert not change.deleted["h"]
    assert set(engine["h"]) == {("g", 0)}


@pytest.mark.parametrize("function", ["count", "sum v", "mean v", "min v", "max v", "median v"])
def test_exchanged_aggregates_are_those_of_recomputation(function: str):
    """Large groups and small ones, that come, go, and whose results are explicit now and then."""
    text = f"h(g, n) :- group(g), n = {function} : {{ m(g, _i{', v' if ' ' in function else ''}) }}."
    engines = [tl.Engine(text, strategy=strategy) for strategy in ("auto", "recompute")]
    rng, width = random.Random(3), 3 if " " in function else 2
    members = [(rng.randrange(3), i, rng.randrange(-2, 3))[:width] for i in range(700)]
    for engine in engines:
        engine.apply(insert={"group": [(g,) for g in range(5)], "m": members})
    reasons = set()
    for step in range(150):
        few = [(rng.randrange(3, 5), i, rng.randrange(-1, 2))[:width] for i in range(2)]
        extreme = (rng.randrange(3), 700 + step, rng.choice([-3 - step, 3 + step]))[:width]
        some = rng.choices([rng.choice(members), *few, extreme], k=rng.choice([1, 1, 2]))
        given = {"m": some} if rng.random() < 0.9 else {"m": some, "h": [(rng.randrange(5), rng.randrange(3))]}
        update = {rng.choice(["insert", "delete"]): given}
        changes = [engine.apply(**update) for engine in engines]
        nets = [[{name: set(some[name]) for name in some} for some in (one.inserted, one.deleted)] for one in changes]
        assert nets[0] == nets[1]
        reasons |= {choice.reason for choice in changes[0].stats.choices}
    assert Reason.ONE_PROOF in reasons
    for engine in engines:
        engine.verify()

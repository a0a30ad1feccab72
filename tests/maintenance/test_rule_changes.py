"""Rules that come and go, alone and together with facts."""

import pytest

from tests.maintenance.engines import StoreEngine
from tests.maintenance.set_store import SetStore
from tests.maintenance.stores import STORES
from tidelog.language.parser import parse
from tidelog.maintenance.registry import STRATEGIES
from tidelog.maintenance.schedule import RuleChange, Schedule
from tidelog.planning.lowering import lower
from tidelog.planning.views import NOW

EVERYWHERE = [(store, strategy) for store in STORES for strategy in STRATEGIES]


@pytest.mark.parametrize(("store", "strategy"), EVERYWHERE)
def test_rules_and_facts_in_one_update(store: str, strategy: str):
    """A rule that goes takes its facts, one that comes brings its own; facts of the same update count for both."""
    engine = StoreEngine("a: p(x) :- q(x). b: p(x) :- r(x). q(1). q(2). r(2). r(3).", strategy, STORES[store]())
    change = engine.apply(
        delete={"r": [(3,)]}, insert={"s": [(3,), (4,)]}, remove_rules=["a"], add_rules="c: p(x) :- s(x), !q(x)."
    )
    assert sorted(engine.facts()["p"]) == [(2,), (3,), (4,)]
    assert (change.inserted["p"], change.deleted["p"]) == ([(4,)], [(1,)])


@pytest.mark.parametrize(("store", "strategy"), EVERYWHERE)
def test_a_relation_that_loses_its_last_rule_keeps_its_explicit_facts(store: str, strategy: str):
    """It becomes a relation without rules; what was only derived goes, through the stages above as well."""
    engine = StoreEngine("a: p(x) :- q(x). t(x) :- p(x). p(7). q(1).", strategy, STORES[store]())
    assert engine.apply(remove_rules=["a"]).deleted == {"p": [(1,)], "t": [(1,)]}
    assert engine.facts()["t"] == [(7,)]
    assert engine.apply(delete={"p": [(7,)]}).deleted == {"p": [(7,)], "t": [(7,)]}


@pytest.mark.parametrize(("store", "strategy"), EVERYWHERE)
def test_a_component_is_split_and_merged(store: str, strategy: str):
    """A rule between two relations makes them one component; without it a cycle has lost its way in."""
    engine = StoreEngine("p(x) :- e(x). a: q(x) :- p(x). b: p(x) :- q(x). e(1). q(5).", strategy, STORES[store]())
    assert sorted(engine.facts()["p"]) == [(1,), (5,)]
    assert engine.apply(remove_rules=["b"]).deleted == {"p": [(5,)]}
    assert engine.apply(delete={"e": [(1,)]}, add_rules="b: p(x) :- q(x).").deleted == {
        "e": [(1,)],
        "p": [(1,)],
        "q": [(1,)],
    }
    assert engine.facts()["p"] == [(5,)]


@pytest.mark.parametrize(("store", "strategy"), EVERYWHERE)
def test_aggregates_come_and_go_with_their_rules(store: str, strategy: str):
    """The relations that an aggregate is made of are ours: without the rule they are empty, with it they are filled."""
    rule = "n: size(x, n) :- g(x), n = count : { m(x, _) }."
    engine = StoreEngine(rule + "g(1). g(2). m(1, 5). m(1, 6).", strategy, STORES[store]())
    assert sorted(engine.facts()["size"]) == [(1, 2), (2, 0)]
    hidden = sorted(engine.schedule.hidden)
    engine.apply(remove_rules=["n"])
    assert engine.facts()["size"] == []
    assert not engine.store.select(hidden, NOW)
    engine.apply(delete={"m": [(1, 5)]}, insert={"m": [(2, 9)]}, add_rules=rule)
    assert sorted(engine.facts()["size"]) == [(1, 1), (2, 1)]


def test_an_added_rule_is_all_that_is_evaluated():
    """Nothing else is derived again: neither other rules of the same relation nor other stages."""
    engine = StoreEngine("a: p(x) :- q(x). t(x) :- s(x). q(1). s(1). r(2).", "bf", SetStore())
    engine.apply(add_rules="b: p(x) :- r(x).")
    assert {rule for rule, _ in engine.counters.derivations} == {"b"}


def test_rules_are_compared_by_head_and_body():
    """A renamed rule is no change; the same rule twice is one more derivation, and goes one at a time."""
    one, other = (Schedule(lower(parse(f"{name}: p(x) :- q(x).").rules).stages) for name in "ab")
    both = Schedule(lower(parse("a: p(x) :- q(x). b: p(x) :- q(x).").rules).stages)
    assert not RuleChange.between(one, other)
    assert [rule.key for rule in RuleChange.between(one, both).added] == ["b"]
    assert len(RuleChange.between(both, other).removed) == 1

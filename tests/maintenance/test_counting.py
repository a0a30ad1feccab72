"""Counting by rounds: what the counts mean, and when they can be trusted."""

from collections import Counter

import pytest

from tests.differential.updates import draw_case
from tests.maintenance.engines import StoreEngine
from tests.maintenance.set_store import SetStore
from tests.maintenance.stores import STORES
from tidelog.errors import BudgetError
from tidelog.limits import Budget, Limits
from tidelog.maintenance.registry import strategy
from tidelog.maintenance.transaction import maintain
from tidelog.maintenance.versions import NEW_VERSION
from tidelog.planning.lowered import UNDEFINED_PREFIX

PATHS = "path(x, y) :- edge(x, y). path(x, z) :- edge(x, y), path(y, z)."


def true_counts(engine: StoreEngine) -> dict:
    """Every fact's derivations by round, from the ranks alone."""
    store, found = engine.store, {}
    for scheduled in engine.schedule.stages:
        for instance in store._all(scheduled.stage, scheduled.stage.rules, NEW_VERSION, "count"):
            own = [fact for fact in instance.body if fact[0] in scheduled.stage.relations]
            number = 1 + max((store.ranks[fact] for fact in own), default=0)
            found.setdefault(instance.head, Counter())[number] += 1
    return found


@pytest.mark.parametrize("seed", range(60, 75))
def test_counts_are_the_numbers_of_derivations(seed: int):
    """After every update the counts kept are those that one would count now, and ranks are first rounds."""
    case = draw_case(seed)
    engine = StoreEngine(case.program, "counting", SetStore())
    for update in case.updates:
        if update.refused:
            continue
        engine.apply(**update.arguments)
        kept = {fact: counts for fact, counts in engine.store.counts.items() if fact[0] in engine.schedule.place}
        expected = {fact: n for fact, n in true_counts(engine).items() if not fact[0].startswith(UNDEFINED_PREFIX)}
        kept = {fact: n for fact, n in kept.items() if not fact[0].startswith(UNDEFINED_PREFIX)}
        assert {fact: counts for fact, counts in kept.items() if counts} == expected
        for fact, counts in expected.items():
            assert engine.store.ranks[fact] in (0, min(counts))


def test_a_dead_cycle_does_not_keep_itself_alive():
    """The bug of plain counting: facts on a cycle count as support of each other when the way in is gone."""
    engine = StoreEngine(PATHS, "counting", SetStore())
    engine.apply(insert={"edge": [(0, 1), (1, 2), (2, 1), (2, 3)]})
    engine.apply(delete={"edge": [(0, 1)]})
    assert sorted(engine.facts()["path"]) == [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3)]
    engine.apply(delete={"edge": [(1, 2)]})
    assert sorted(engine.facts()["path"]) == [(2, 1), (2, 3)]


def test_without_recursion_every_instance_is_counted_once():
    """No instance is looked at twice, and none that did not change is looked at at all."""
    engine = StoreEngine("p(x) :- q(x, y), r(y). p(x) :- s(x), !r(x).", "counting", SetStore(record=True))
    engine.apply(insert={"q": [(1, 2), (1, 3), (2, 3)], "r": [(2,), (3,)], "s": [(5,)]})
    engine.apply(delete={"r": [(2,)]}, insert={"r": [(5,)]})
    assert engine.repeated == {}
    assert engine.counters.values["counting"] == 2
    assert sorted(engine.facts()["p"]) == [(1,), (2,)]


def test_another_strategy_ends_the_counts():
    """A strategy that keeps no counts makes them stale; counting then starts again instead of trusting them."""
    engine = StoreEngine(PATHS, "counting", SetStore())
    engine.apply(insert={"edge": [(0, 1), (1, 2), (0, 2)]})
    engine.strategy = strategy("dred")
    engine.apply(delete={"edge": [(0, 2)]}, insert={"edge": [(2, 0)]})
    assert not engine.store.counted
    engine.strategy = strategy("counting")
    engine.apply(delete={"edge": [(0, 1)]})
    assert sorted(engine.facts()["path"]) == [(1, 0), (1, 2), (2, 0)]


def test_rollback_restores_counts_and_ranks():
    """An update that runs out of budget in the middle leaves counts as they were."""
    engine = StoreEngine(PATHS, "counting", SetStore())
    engine.apply(insert={"edge": [(0, 1), (1, 2), (2, 3), (3, 0)]})
    store = engine.store
    before = {fact: dict(counts) for fact, counts in store.counts.items()}, dict(store.ranks)
    with pytest.raises(BudgetError):
        maintain(
            store,
            engine.schedule,
            engine.strategy,
            delete={"edge": store.find("edge", [(0, 1)])},
            insert={},
            budget=Budget(Limits(rounds=2)),
        )
    store.rollback()
    assert ({fact: dict(counts) for fact, counts in store.counts.items()}, store.ranks) == before
    assert engine.apply(delete={"edge": [(3, 0)]}).deleted["edge"] == [(3, 0)]


@pytest.mark.parametrize("store", STORES)
def test_a_relation_without_rules_is_not_counted(store: str):
    """Its facts change directly; when it gets a rule again, its counts and ranks are of another time."""
    engine = StoreEngine("a: p(x) :- q(x). b: p(x) :- p(y), n(y, x). q(1). n(1, 2).", "counting", STORES[store]())
    engine.apply(remove_rules=["a", "b"])
    engine.apply(insert={"p": [(7,)], "n": [(7, 8)]})
    engine.apply(add_rules="b: p(x) :- p(y), n(y, x).")
    assert sorted(engine.facts()["p"]) == [(7,), (8,)]
    engine.apply(delete={"p": [(7,)]})
    assert engine.facts()["p"] == []

"""One update on its way through the stages: no-ops, order, net changes, and what is not visited."""

import pytest

from tests.maintenance.engines import StoreEngine
from tests.maintenance.set_store import SetStore
from tests.maintenance.stores import STORES
from tidelog.errors import BudgetError, UsageError
from tidelog.limits import Budget, Limits
from tidelog.maintenance.registry import STRATEGIES, strategy
from tidelog.maintenance.transaction import maintain

EVERYWHERE = [(store, strategy) for store in STORES for strategy in STRATEGIES]


@pytest.mark.parametrize(("store", "strategy"), EVERYWHERE)
def test_what_changes_nothing_is_counted_and_leaves_no_ghost(store: str, strategy: str):
    """Deleting an unknown fact inserted it in another engine; deleting and inserting the same fact left one behind."""
    engine = StoreEngine("p(x) :- q(x). q(1).", strategy, STORES[store]())
    nothing = engine.apply(delete={"q": [(9,)], "p": [(1,), (8,)]}, insert={"q": [(1,), (1,)]})
    assert (nothing.inserted, nothing.deleted) == ({}, {})
    assert engine.counters.values["ignored insertions"] == 1
    assert engine.counters.values["ignored deletions"] == 1, "p(1) is derived only; the others are not even stored"
    both = engine.apply(delete={"q": [(1,), (2,)]}, insert={"q": [(1,), (2,)]})
    assert (both.inserted, both.deleted) == ({"q": [(2,)], "p": [(2,)]}, {})
    assert sorted(engine.facts()["p"]) == [(1,), (2,)]


@pytest.mark.parametrize(("store", "strategy"), EVERYWHERE)
def test_a_fact_can_be_explicit_derived_or_both(store: str, strategy: str):
    """It goes only when it is neither; becoming explicit or ceasing to be is no change while it is derived."""
    engine = StoreEngine("p(x) :- q(x). t(x) :- p(x). q(1).", strategy, STORES[store]())
    assert engine.apply(insert={"p": [(1,), (2,)]}).inserted == {"p": [(2,)], "t": [(2,)]}
    assert engine.apply(delete={"q": [(1,)]}).deleted == {"q": [(1,)]}
    assert engine.apply(insert={"q": [(1,)]}, delete={"p": [(1,)]}).deleted == {}
    assert engine.apply(delete={"q": [(1,)], "p": [(2,)]}).deleted["t"] in ([(1,), (2,)], [(2,), (1,)])


@pytest.mark.parametrize(("store", "strategy"), EVERYWHERE)
def test_negation_turns_the_sign_of_a_change(store: str, strategy: str):
    """Inserted facts take derivations away, deleted ones give some; `_` inside the negated atom is existential."""
    engine = StoreEngine("p(x) :- n(x), !q(x, _). n(1). n(2). q(1, 5).", strategy, STORES[store]())
    assert engine.facts()["p"] == [(2,)]
    change = engine.apply(insert={"q": [(1, 6), (2, 7), (2, 8)]}, delete={"q": [(1, 5)]})
    assert (change.inserted.get("p"), change.deleted["p"]) == (None, [(2,)])
    change = engine.apply(delete={"q": [(1, 6), (2, 7)]})
    assert (change.inserted, change.deleted["q"]) == ({"p": [(1,)]}, change.deleted["q"])


@pytest.mark.parametrize(("store", "strategy"), EVERYWHERE)
def test_instances_without_a_value_are_maintained_like_facts(store: str, strategy: str):
    """10 / 0 makes no fact of p, on every store and by every strategy; when q(0) goes, nothing else does."""
    engine = StoreEngine("p(z) :- q(x), z = 10 / x. q(5).", strategy, STORES[store]())
    change = engine.apply(insert={"q": [(2,), (0,)]}, delete={"q": [(5,)]})
    (hidden,) = engine.schedule.undefined
    assert (change.inserted["p"], engine.store.rows(hidden)) == ([(5,)], [(0,)])
    assert engine.apply(delete={"q": [(0,)]}).deleted == {"q": [(0,)]}
    assert engine.store.rows(hidden) == []


def test_an_aggregate_touches_only_the_groups_that_changed():
    """A hundred groups, one changed fact: the derivations are those of its group."""
    facts = " ".join(f"m({group}, {member})." for group in range(100) for member in range(3))
    engine = StoreEngine("top(g, n) :- m(g, _), n = max v : { m(g, v) }." + facts, "bf", SetStore())
    change = engine.apply(delete={"m": [(7, 2)]})
    assert (change.inserted["top"], change.deleted["top"]) == ([(7, 1)], [(7, 2)])
    assert engine.counters.values["derivations"] <= 12


def test_a_stage_whose_inputs_did_not_change_is_not_visited():
    """The stage above a fact that survives, and stages beside the change, see no call of the store at all.

    What changed below a stage is known from below, so only the stage's own relation is looked at.
    """
    visited = []

    class Watched(SetStore):
        def touched(self, relations, view):
            relations = list(relations)
            visited.extend(relations)
            return super().touched(relations, view)

    engine = StoreEngine("p(x) :- q(x). p(x) :- r(x). t(x) :- p(x). u(x) :- v(x). q(1). r(1). v(1).", "dred", Watched())
    visited.clear()
    engine.apply(delete={"q": [(1,)]})
    assert set(visited) == {"p"}


def test_a_budget_stops_an_update():
    """Rounds are paid for by every strategy, so that a run-away recursion ends in a named error."""
    for name in STRATEGIES:
        engine = StoreEngine("path(x, z) :- edge(x, z). path(x, z) :- edge(x, y), path(y, z).", name, SetStore())
        store = engine.store
        chain = store.intern("edge", [(step, step + 1) for step in range(9)])
        with pytest.raises(BudgetError):
            maintain(
                store,
                engine.schedule,
                strategy(name),
                delete={},
                insert={"edge": chain},
                budget=Budget(Limits(rounds=4)),
            )
        store.rollback()
        assert store.rows("edge") == store.rows("path") == []


def test_an_unknown_strategy_is_refused_with_the_names_of_the_known():
    """The remedy lists them."""
    with pytest.raises(UsageError, match="dred-mark"):
        strategy("magic")

"""Symmetric-transitive cliques: the case that B/F was made for (Motik et al. 2015, section 5, discussion)."""

import pytest

from tests.maintenance.engines import StoreEngine
from tests.maintenance.set_store import SetStore
from tests.maintenance.stores import STORES
from tidelog.maintenance.registry import STRATEGIES

CLOSURE = "t(x, y) :- e(x, y). t(y, x) :- t(x, y). t(x, z) :- t(x, y), t(y, z)."
SIZE = 12
STAR = [(0, leaf) for leaf in range(1, SIZE)]


def clique(strategy: str, store, edges) -> StoreEngine:
    """A closure with its edges loaded."""
    engine = StoreEngine(CLOSURE, strategy, store)
    engine.apply(insert={"e": edges})
    return engine


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_clique_survives_and_another_loses_a_vertex(strategy: str, store: str):
    """An edge with a way round takes nothing; the only edge of a vertex takes the vertex out, and it comes back."""
    engine = clique(strategy, STORES[store](), [*STAR, (5, 9)])
    assert engine.apply(delete={"e": [(5, 9)]}).deleted == {"e": [(5, 9)]}
    lost = engine.apply(delete={"e": [(0, 3)]}).deleted
    assert {3} <= {value for fact in lost["t"] for value in fact}
    assert all(3 in fact for fact in lost["t"])
    assert len(lost["t"]) == 2 * SIZE - 1
    assert len(engine.apply(insert={"e": [(4, 3)]}).inserted["t"]) == 2 * SIZE - 1


def test_a_clique_that_survives_costs_a_handful_of_facts():
    """B/F finds another proof near the goal and gives up everything that it opened on the way."""
    engine = clique("bf", SetStore(), [*STAR, (5, 9)])
    engine.apply(delete={"e": [(5, 9)]})
    assert engine.counters.values["checked"] <= 12
    assert engine.counters.values["derivations"] <= 60


def test_a_ring_is_proved_the_long_way_round():
    """The only other proof goes through all vertices; the search stays on that way and does not open all pairs."""
    engine = clique("bf", SetStore(), [(vertex, (vertex + 1) % SIZE) for vertex in range(SIZE)])
    assert engine.apply(delete={"e": [(3, 4)]}).deleted == {"e": [(3, 4)]}
    assert engine.counters.values["checked"] < SIZE * SIZE / 2


def test_a_proved_goal_does_not_keep_its_search_alive():
    """One update deletes an edge of a clique that survives and a pair that dies; the clique is not explored for it.

    A search that stops only when all goals are settled would look at the whole clique before it disproves the pair.
    """
    engine = clique("bf", SetStore(), [*STAR, (5, 9), (100, 101)])
    lost = engine.apply(delete={"e": [(5, 9), (100, 101)]}).deleted
    assert sorted(lost["t"]) == [(100, 100), (100, 101), (101, 100), (101, 101)]
    assert engine.counters.values["checked"] <= 40

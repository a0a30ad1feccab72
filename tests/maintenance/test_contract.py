"""Clause 4 of the store's contract, and its offers, on every store that strategies are tested on."""

from __future__ import annotations

import pytest

from tests.maintenance.stores import STORES
from tidelog.maintenance.prices import Prices
from tidelog.maintenance.versions import TRANSIENT
from tidelog.planning.views import NO_MARKS, NOW, OLD, Mark, View

LOOK_AHEAD = View(Mark.FORESEEN)


def stored(store):
    """Three facts; the first is explicit, the last has been seen by look-ahead."""
    facts = store.intern("p", [(1,), (2,), (3,)])
    store.mark(facts, add=Mark.NOW)
    store.mark(store.intern("p", [(1,)]), add=Mark.EXPLICIT)
    store.mark(store.intern("p", [(3,)]), add=Mark.FORESEEN)
    store.commit()
    return facts


def seen(store, view: View) -> list[int]:
    """The facts in a view, as plain numbers."""
    return sorted(values[0] for values in store.rows("p", view))


@pytest.mark.parametrize("name", STORES)
def test_commit_makes_now_the_version_and_takes_what_belongs_to_the_update(name: str) -> None:
    """OLD = NOW, WAS_EXPLICIT = EXPLICIT; what is not NOW is forgotten; only look-ahead's marks outlive it.

    A fact that is forgotten may stay stored without marks: that is the same for every call.
    """
    store = STORES[name]()
    stored(store)
    store.mark(store.intern("p", [(1,)]), remove=Mark.EXPLICIT | Mark.NOW, add=TRANSIENT)
    store.mark(store.intern("p", [(2,), (4,)]), add=Mark.EXPLICIT | Mark.NOW | TRANSIENT)
    store.mark(store.intern("p", [(3,)]), add=TRANSIENT)
    store.commit()
    assert seen(store, OLD) == seen(store, NOW) == [2, 3, 4]
    assert seen(store, View(Mark.EXPLICIT)) == seen(store, View(Mark.WAS_EXPLICIT)) == [2, 4]
    assert seen(store, View(Mark.OLD, TRANSIENT)) == [2, 3, 4]
    assert seen(store, LOOK_AHEAD) == [3]


@pytest.mark.parametrize("name", STORES)
def test_rollback_restores_versions_counts_and_ranks(name: str) -> None:
    """Whatever an update did, afterwards everything is as after the last commit, except for look-ahead's marks."""
    store = STORES[name]()
    stored(store)
    store.start_counting(frozenset({"p"}))
    store.rank(store.find("p", [(1,), (2,), (3,)]), 1)
    store.commit()
    views = (OLD, NOW, View(Mark.EXPLICIT), View(Mark.WAS_EXPLICIT), View(Mark.OLD, TRANSIENT))
    before = [seen(store, view) for view in views]
    facts = store.intern("p", [(1,), (2,), (3,), (5,)])
    store.mark(facts, add=TRANSIENT | Mark.EXPLICIT, remove=Mark.NOW | Mark.FORESEEN)
    store.rank(facts, None)
    store.stop_counting({"p"})
    store.rollback()
    assert [seen(store, view) for view in views] == before
    assert store.is_counted(frozenset({"p"}))
    least, leaving, entering, later = store.due(store.find("p", [(2,), (3,)]))
    assert (least, len(leaving), len(entering), len(later)) == (1, 2, 0, 0)


@pytest.mark.parametrize("name", STORES)
def test_a_store_has_every_offer(name: str) -> None:
    """Nothing is found out by looking for names: what a store does not do, it says."""
    store = STORES[name]()
    assert isinstance(store.prices, Prices)
    assert store.journeys == 0
    assert store.bulk is None
    store.mark(store.nothing(), add=NO_MARKS)
    assert callable(store.several_rounds)

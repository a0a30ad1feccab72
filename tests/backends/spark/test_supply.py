"""The driver's supply without Spark: what a call looks up is there before it runs, and no more than that comes.

tests/maintenance/test_law.py holds every strategy on a supplied store to recomputation; here is what facts alone do not
show: how much is brought, how often, and what happens when it is too much or the source fails.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.maintenance.engines import StoreEngine
from tests.maintenance.supplied_store import SuppliedStore
from tidelog.backends.local.store import LocalStore
from tidelog.backends.spark.driver.capacity import Capacity
from tidelog.backends.spark.driver.pages import Pages, are_among, lacking
from tidelog.backends.spark.freed_memory import give_back
from tidelog.maintenance.bulk import TooLargeError
from tidelog.planning.views import NOW

CLOSURE = "path(x, y) :- edge(x, y). path(x, z) :- edge(x, y), path(y, z)."
CHAINS = [(10 * chain + at, 10 * chain + at + 1) for chain in range(100) for at in range(3)]


def chains(capacity: Capacity | None = None) -> tuple[StoreEngine, SuppliedStore]:
    """A hundred chains of three edges, with their closure, of which the store holds nothing."""
    store = SuppliedStore(capacity)
    engine = StoreEngine(CLOSURE, "dred", store)
    engine.apply(insert={"edge": CHAINS})
    store.source.fetches = store.source.fetched = 0
    return engine, store


@pytest.mark.parametrize("strategy", ["dred", "bf"])
def test_a_small_update_brings_what_it_touches(strategy):
    """Of 900 facts a deletion in one chain needs that chain and no other."""
    engine, store = chains()
    engine.strategy = StoreEngine(CLOSURE, strategy, SuppliedStore()).strategy
    engine.apply(delete={"edge": [(10, 11)]})
    assert 0 < store.source.fetches <= 20
    assert store.source.fetched <= 9
    assert sorted(fact for fact in engine.facts()["path"] if 10 <= fact[0] < 20) == [(11, 12), (11, 13), (12, 13)]


@pytest.mark.parametrize("strategy", ["dred", "bf"])
def test_what_a_deletion_takes_away_is_not_looked_for(strategy):
    """Heads of lost instances were facts of the last version; only where some are explicit somebody has to look."""
    fetched = {}
    for explicit in (False, True):
        engine, store = chains()
        if explicit:
            engine.apply(insert={"path": [(10, 13)]})
        engine.strategy = StoreEngine(CLOSURE, strategy, SuppliedStore()).strategy
        store.source.fetched = 0
        engine.apply(delete={"edge": [(11, 12)]})
        fetched[explicit] = store.source.fetched
        facts = sorted(fact for fact in engine.facts()["path"] if 10 <= fact[0] < 20)
        assert facts == [(10, 11), *([(10, 13)] if explicit else []), (12, 13)]
    assert fetched[False] < fetched[True]


def test_keys_that_a_look_up_of_fewer_columns_has_brought_are_known():
    """Of any number of columns, in any order."""
    pages = Pages()
    rows = np.array([(a, b, c) for a in range(4) for b in range(4) for c in range(2)], np.int32)
    assert len(pages.note("p", (2, 0), np.array([(0, 1), (1, 2)], np.int32))) == 2
    assert len(pages.note("p", (1,), np.array([(3,)], np.int32))) == 1
    left = {tuple(row) for row in pages.note("p", (0, 1, 2), rows).tolist()}
    assert left == {
        row for row in map(tuple, rows.tolist()) if row[1] != 3 and (row[2], row[0]) not in ((0, 1), (1, 2))
    }
    assert not len(pages.note("p", (0, 1, 2), rows))


@given(
    rows=st.lists(st.tuples(*[st.integers(0, 4)] * 3), min_size=1, max_size=30), width=st.integers(1, 3), data=st.data()
)
def test_rows_that_are_known_are_told_from_others(rows, width, data):
    """Rows repeat; of those that are lacking each is told once."""
    table = np.array(rows, np.int32)[:, :width]
    known = table[data.draw(st.lists(st.integers(0, len(table) - 1), min_size=1, max_size=10))]
    among = set(map(tuple, known.tolist()))
    assert are_among(table, known).tolist() == [tuple(row) in among for row in table.tolist()]
    left = lacking(table, known).tolist()
    assert sorted(map(tuple, left)) == sorted(set(map(tuple, table.tolist())) - among)


def test_what_has_come_is_not_asked_for_again():
    """Within one transaction the second look at a fact needs no fetch."""
    store = SuppliedStore()
    engine = StoreEngine(CLOSURE, "dred", store)
    engine.apply(insert={"edge": CHAINS})
    store.source.fetches = 0
    store.find("edge", [(0, 1)])
    assert store.source.fetches == 1
    store.find("edge", [(0, 1)])
    assert store.source.fetches == 1
    store.rollback()


def test_a_small_relation_comes_as_a_whole():
    """One fetch for all look-ups of a relation that fits."""
    engine, store = chains(Capacity(relation=1000))
    engine.apply(delete={"edge": [(10, 11)], "nobody": [(1,)]})
    assert store.source.fetches == 2  # edge and path, each once
    assert store.source.fetched == 300 + 600


def test_too_much_is_refused_and_nothing_is_taken_for_known():
    """A look-up that would not fit raises before anything comes; later, with room, it finds everything."""
    _, store = chains(Capacity(relation=0, facts=50))
    with pytest.raises(TooLargeError):
        store.select(["path"], NOW)
    store.rollback()
    store.supply.capacity = Capacity(relation=0)
    assert len(store.select(["path"], NOW)) == 600


def test_after_a_failed_fetch_nothing_is_relied_on(monkeypatch):
    """Pages are noted before the facts come; if they never do, the supply says that it is spoiled until it is reset."""
    _, store = chains()

    def fail(wanted):
        raise OSError("lost")

    monkeypatch.setattr(store.source, "fetch", fail)
    with pytest.raises(OSError, match="lost"):
        store.find("edge", [(0, 1)])
    assert store.supply.is_spoiled
    monkeypatch.undo()
    store.rollback()
    store.clear()
    store.supply.reset()
    LocalStore.commit(store)
    assert not store.supply.is_spoiled
    assert len(store.find("edge", [(0, 1)])) == 1


def test_an_interrupt_before_a_fetch_leaves_nothing_taken_for_known(monkeypatch):
    """Found by random interrupts on Spark: a relation whose page was noted, and nothing more, was read as empty."""
    _, store = chains(Capacity(relation=1000))
    note = Pages.note_whole

    def interrupted(pages, name):
        note(pages, name)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Pages, "note_whole", interrupted)
        with pytest.raises(KeyboardInterrupt):
            store.find("edge", [(0, 1)])
    assert store.supply.is_spoiled
    store.rollback()
    store.clear()
    store.supply.reset()
    assert not store.supply.is_spoiled
    assert len(store.find("edge", [(0, 1)])) == 1


def test_an_interrupt_while_all_begins_anew_leaves_nothing_taken_for_known(monkeypatch):
    """What is at hand was stored after the store counted as sound."""
    _, store = chains()

    def interrupted():
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(store.source, "at_hand", interrupted)
        with pytest.raises(KeyboardInterrupt):
            store.supply.reset()
    assert store.supply.is_spoiled


def test_memory_that_was_freed_can_be_given_back():
    """Once, and again when there is nothing to give; what is held stays as it is."""
    held = np.arange(1_000_000)
    for _ in range(2):
        give_back()
    assert held.sum() == 499_999_500_000


def test_a_store_that_gives_up_what_rules_need_makes_it_again():
    """Before a large change is written, pages, tables and indexes go; an update that follows finds everything."""
    engine, store = chains()
    store.find("edge", [(0, 1), (10, 11)])
    store.supply.forget_pages()
    for relation in store.relations.values():
        relation.index((0,))
        relation.thin()
        assert not relation.has_index((0,))
    assert len(store.find("edge", [(0, 1), (1, 9)])) == 1
    store.rollback()
    engine.apply(delete={"edge": [(10, 11)]})
    assert sorted(fact for fact in engine.facts()["path"] if 10 <= fact[0] < 20) == [(11, 12), (11, 13), (12, 13)]

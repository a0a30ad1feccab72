"""Bundles: rules that run together give what each gives alone."""

from __future__ import annotations

import numpy as np
import pytest

import tidelog as tl
from tidelog.backends.local.joins.preparation import Crew, Preparation
from tidelog.backends.local.store import LocalStore
from tidelog.maintenance.versions import GAINED
from tidelog.planning.plan import Driver
from tidelog.planning.views import Matching

RULES = """
    path(x, y) :- edge(x, y).
    path(x, z) :- path(x, y), path(y, z).
    back(y, x) :- path(x, y), !edge(y, x).
    far(x, y + 1) :- path(x, y), y > 2.
    pair(x, y) :- start(x), path(y, y).
"""
EDGES = [(0, 1), (1, 2), (2, 3), (3, 0), (3, 4), (4, 5)]


def store_of(engine: tl.Engine) -> LocalStore:
    store = engine._backend.store
    assert isinstance(store, LocalStore)
    return store


@pytest.mark.parametrize("room", [0, 1, 7, 64, 1 << 16])
@pytest.mark.parametrize("strategy", ["dred", "bf"])
def test_what_does_not_fit_into_the_table_is_derived_all_the_same(room: int, strategy: str) -> None:
    """However small the common table is, every update ends in the same facts."""
    engine = tl.Engine(RULES, strategy=strategy)
    store_of(engine).runner.scratch = np.empty(room, np.int32)
    engine.apply(insert={"edge": EDGES, "start": [(9,)]})
    for edge in EDGES:
        engine.apply(delete={"edge": [edge]})
        engine.verify()
        engine.apply(insert={"edge": [edge]})
        engine.verify()
    assert set(engine["pair"]) == {(9, y) for y in range(4)}


def test_a_rule_joins_in_when_its_empty_relation_fills() -> None:
    """A program that was left out, because a relation had no facts, runs from the first fact on."""
    engine = tl.Engine("out(x, y) :- left(x), right(y). out(x, x) :- left(x).")
    engine.apply(insert={"left": [(1,)]})
    engine.apply(insert={"left": [(2,)]})
    engine.apply(insert={"right": [(7,)]})
    engine.apply(insert={"left": [(3,)]})
    assert set(engine["out"]) == {(1, 1), (2, 2), (3, 3), (1, 7), (2, 7), (3, 7)}


def test_derivations_are_counted_rule_by_rule() -> None:
    """Running together does not blur which rule derived how much."""
    engine = tl.Engine("one: a(x) :- c(x). two: b(x) :- c(x), d(x, _). three: b(x) :- d(x, x).", strategy="bf")
    engine.apply(insert={"d": [(1, 1), (1, 2)], "c": [(5,), (6,)]})
    derivations = engine.apply(insert={"c": [(1,)]}).stats.derivations
    assert derivations == {("one", "insert"): 1, ("two", "insert"): 1}  # one d is enough for b(1)
    lost = engine.apply(delete={"d": [(1, 1)]}).stats.derivations
    assert lost == {("two", "delete"): 1, ("three", "delete"): 1, ("two", "backward"): 1}


def test_the_order_of_joins_that_has_less_to_look_at_wins_the_race(monkeypatch: pytest.MonkeyPatch) -> None:
    """Estimates say that `a` has few facts per key and `b` many; for the facts in doubt it is the other way round."""
    wins: list[tuple[bool, ...]] = []
    mixed = Preparation.mixed

    def noted(prepared: Preparation, relation: str, matching: Matching, are_rivals: tuple[bool, ...]) -> Crew:
        wins.append(are_rivals)
        return mixed(prepared, relation, matching, are_rivals)

    monkeypatch.setattr(Preparation, "mixed", noted)
    rays = [(0, z) for z in range(80)]
    left = [(x, y) for x in range(80) for y in range(40)] + [(1000 + number, 999) for number in range(20_000)]
    right = rays + [(2000 + number, 300 + number % 5) for number in range(5000)]
    engine = tl.Engine("out(x, z) :- a(x, y), b(y, z). out(x, z) :- c(x, z).", strategy="dred")
    engine.apply(insert={"a": left, "b": right, "c": [(3, 4)]})
    change = engine.apply(delete={"b": rays})
    assert change.stats.overdeleted >= 4096
    assert wins == [(True, False)]
    assert set(engine["out"]) == {(3, 4)}
    engine.verify()


def test_a_bundle_gives_up_what_takes_long() -> None:
    """Rules that look at a million candidates in vain are left to themselves, where budgets are asked in between."""
    rules = "\n".join(f"o(x, {number}) :- d(x), a(x, y, u), b(x, z, v), u != v." for number in range(8))
    engine, rows = tl.Engine(rules), [(1, number, 0) for number in range(500)]
    engine.apply(insert={"a": rows, "b": rows, "d": [(2,), (3,), (4,)]})
    store = store_of(engine)
    prepared = store._preparation(engine._book.schedule.stages[0].stage)
    bundle = prepared.crew("d", Driver.LITERAL, GAINED).bundle
    assert bundle is not None
    ids = store.dictionary.encode([1]).reshape(1, 1)
    assert 4 <= len(bundle.matches(ids, store.runner.scratch).unfinished) < 8
    assert not list(engine.apply(insert={"d": [(1,)]}).inserted["o"])

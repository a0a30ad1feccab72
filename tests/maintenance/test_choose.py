"""`auto`: what it chooses, how it says so, and how it gets out of a bad choice."""

import pytest

from tests.maintenance.engines import StoreEngine
from tests.maintenance.set_store import SetStore
from tests.maintenance.stores import STORES
from tidelog.maintenance import choose

CLOSURE = "t(x, y) :- e(x, y). t(y, x) :- t(x, y). t(x, z) :- t(x, y), t(y, z)."
RING = [(vertex, (vertex + 1) % 8) for vertex in range(8)]


def loaded(store) -> StoreEngine:
    """A ring and its closure: 64 facts, 576 derivations."""
    engine = StoreEngine(CLOSURE, "auto", store)
    engine.apply(insert={"e": RING})
    return engine


@pytest.mark.parametrize("store", STORES)
def test_the_choice_is_a_sentence(store: str):
    """Users read why; the sizes are those of the change and of the component before it."""
    engine = loaded(STORES[store]())
    assert engine.counters.choices == ["component t: insertion, 8 insertions into 0 facts"]
    engine.apply(delete={"e": [(0, 1)]})
    assert engine.counters.choices == ["component t: bf, 1 deletion against 64 facts"]


@pytest.mark.parametrize("store", STORES)
def test_an_attempt_that_costs_too_much_is_cut_off_and_recomputed(store: str, monkeypatch):
    """The marks of the attempt are undone inside the stage, and the net change is still exact."""
    monkeypatch.setattr(choose, "LEAST_ATTEMPT", 10)
    monkeypatch.setattr(choose, "SHARE_OF_RECOMPUTATION", 0.01)
    engine = loaded(STORES[store]())
    lost = engine.apply(delete={"e": [(0, 1), (1, 2)]}).deleted
    assert engine.counters.values["cut off"] == 1
    assert engine.counters.choices[0].endswith("derivations and recomputed")
    assert all(1 in fact for fact in lost["t"])
    assert len(lost["t"]) == 15
    assert len(engine.facts()["t"]) == 49


def test_what_was_dear_is_not_tried_for_ever(monkeypatch):
    """After bf was cut off dred has its turn; after both were, the stage is recomputed, and later tried again."""
    monkeypatch.setattr(choose, "LEAST_ATTEMPT", 10)
    monkeypatch.setattr(choose, "SHARE_OF_RECOMPUTATION", 0.01)
    engine, chosen = loaded(SetStore()), []
    for _ in range(12):
        engine.apply(delete={"e": [(0, 1), (1, 2)]})
        chosen.append(engine.counters.choices[0].split(": ")[1].split(",")[0])
        engine.apply(insert={"e": [(0, 1), (1, 2)]})
    assert chosen[:3] == ["bf", "dred", "recompute"]
    assert set(chosen[3:]) > {"recompute"}


def test_a_stage_that_loses_more_than_it_has_is_recomputed():
    """Checking every fact of a stage that is about to be empty is the worst that one can do."""
    engine = loaded(SetStore())
    engine.apply(insert={"f": [(number,) for number in range(100)]}, add_rules="t(x, x) :- f(x).")
    engine.apply(delete={"e": RING, "f": [(number,) for number in range(100)]})
    assert engine.counters.choices[0].startswith("component t: ")
    assert engine.facts()["t"] == []


def test_numbers_are_said_as_people_say_them():
    """12, 340, 56 k, 1.2 M."""
    assert [choose._short(number) for number in (12, 9_999, 56_000, 1_200_000, 3_000_000_000)] == [
        "12", "9999", "56 k", "1.2 M", "3.0 G",
    ]  # fmt: skip

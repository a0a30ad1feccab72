"""The examples of the papers, on every strategy."""

import pytest

from tests.differential.case import Update
from tests.maintenance.engines import StoreEngine
from tests.maintenance.set_store import SetStore
from tests.maintenance.stores import STORES
from tidelog.maintenance.registry import STRATEGIES

TUTORS = """
    ta(x) :- person(x), tutor(x, y), course(y).
    person(x) :- ta(x).
    person(x) :- tutor(x, y).
    course(y) :- tutor(x, y).
    tutor("john", "math").  tutor("peter", "math").  tutor("john", "phys").
"""

CHAIN = "c1(x) :- a(x). c1(x) :- b(x). c2(x) :- c1(x). c3(x) :- c2(x). a(1). b(1)."


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_running_example_of_backward_forward(store: str, strategy: str):
    """Table 1: deleting (E1) takes no derived fact away, although every one of them had a derivation through it."""
    engine = StoreEngine(TUTORS, strategy, STORES[store]())
    change = engine.apply(delete={"tutor": [("john", "math")]})
    assert (change.inserted, change.deleted) == ({}, {"tutor": [("john", "math")]})
    assert sorted(engine.facts()["ta"]) == [("john",), ("peter",)]


def test_backward_forward_checks_less_than_dred_overdeletes():
    """Section 3: DRed takes away (I1)-(I5); B/F proves each fact in doubt from (E2) and (E3) and stops there."""
    dred, bf = (StoreEngine(TUTORS, strategy, SetStore()) for strategy in ("dred", "bf"))
    for engine in (dred, bf):
        engine.apply(delete={"tutor": [("john", "math")]})
    assert dred.counters.values["overdeleted"] == dred.counters.values["rederived"] + dred.counters.values["inserted"]
    assert bf.counters.values["disproved"] == 0
    assert bf.counters.values["checked"] < dred.counters.values["overdeleted"] + 2


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_second_derivation_stops_the_deletion(strategy: str):
    """Introduction: C1(a) follows from A(a) and from B(a); without A(a) nothing above C1 is even looked at.

    In the paper DRed overdeletes all C_i; here only net changes leave a stage, so it stops as well.
    """
    engine = StoreEngine(CHAIN, strategy, SetStore())
    assert engine.apply(delete={"a": [(1,)]}).deleted == {"a": [(1,)]}
    assert {rule[:2] for rule, _ in engine.counters.derivations} <= {"c1"}


MARKING = "q(x) :- p1(x), p2(x). q(x) :- p3(x). r(x) :- q(x). s(x) :- q(x), p4(x). p1(0). p2(0). p3(0)."
UPDATES = (
    Update(delete=(("p1", (0,)),), insert=(("p4", (0,)),)),
    Update(delete=(("p4", (0,)),)),
)


@pytest.mark.parametrize("strategy", ["bf-mark", "dred-mark"])
def test_example_3_of_marking(strategy: str):
    """While U_a is answered p4(c) gets a mark and passes it on to s(c); U_b then finds s(c) without applying a rule."""
    engine = StoreEngine(MARKING, strategy, SetStore(), upcoming=[Update(), *UPDATES][1:])
    first = engine.apply(**UPDATES[0].arguments)
    assert (first.inserted, first.deleted) == ({"p4": [(0,)], "s": [(0,)]}, {"p1": [(0,)]})
    assert engine.foreseen.counters.values["marked explicit"] == 1
    assert engine.foreseen.counters.values["marked implicit"] == 1
    second = engine.apply(**UPDATES[1].arguments)
    assert second.deleted == {"p4": [(0,)], "s": [(0,)]}
    assert engine.counters.values["deletions"] == 0


def test_without_marks_the_same_update_applies_a_rule():
    """The counterpart of the test above: B/F has to find s(c) by a derivation."""
    engine = StoreEngine(MARKING, "bf", SetStore())
    for update in UPDATES:
        engine.apply(**update.arguments)
    assert engine.counters.values["deletions"] == 1

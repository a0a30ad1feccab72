"""`auto`: what it chooses, how it says so, and how it gets out of a bad choice."""

from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import pytest

from tests.differential.engines import public_engines
from tests.differential.harness import agree
from tests.differential.updates import draw_case
from tests.maintenance.engines import StoreEngine
from tests.maintenance.set_store import SetStore
from tests.maintenance.stores import STORES, ValueStore
from tidelog.changes.strategy_choice import Amount, Reason, StrategyChoice
from tidelog.limits import Budget
from tidelog.maintenance import choose, costs
from tidelog.maintenance.counters import Counters
from tidelog.maintenance.prices import LOCAL_PRICES, Prices

CLOSURE = "t(x, y) :- e(x, y). t(y, x) :- t(x, y). t(x, z) :- t(x, y), t(y, z)."
RING = [(vertex, (vertex + 1) % 8) for vertex in range(8)]


def loaded(store) -> StoreEngine:
    """A ring and its closure: 64 facts, 576 derivations."""
    engine = StoreEngine(CLOSURE, "auto", store)
    engine.apply(insert={"e": RING})
    return engine


FREE = dict.fromkeys(("round", "fact", "read", "overdeleted", "checked", "proved", "inserted", "moved"), 0)
CHEAP = replace(LOCAL_PRICES, literal=1, **FREE)
"""Only derivations count."""


def charge(monkeypatch, prices: Prices) -> None:
    """Let every store have these prices."""
    for store in (SetStore, ValueStore):
        monkeypatch.setattr(store, "prices", prices)


@pytest.fixture
def cheap_rounds(monkeypatch):
    """Only derivations count, so that a small stage shows what a large one does."""
    charge(monkeypatch, CHEAP)


def told(engine: StoreEngine) -> list[str]:
    """What was chosen in the last update, in words."""
    return [str(choice) for choice in engine.counters.choices]


@pytest.mark.usefixtures("cheap_rounds")
@pytest.mark.parametrize("store", STORES)
def test_the_choice_is_a_value_that_people_can_read(store: str):
    """The sizes are those of the change and of the component before it; the allowance is two thirds of 64 facts."""
    engine = loaded(STORES[store]())
    [choice] = engine.counters.choices
    assert choice == StrategyChoice("t", "insertion", Reason.NOTHING_LOST, 0, 8, Amount.INSERTIONS)
    assert str(choice) == "component t: insertion, 8 insertions into 0 facts, nothing can be lost"
    engine.apply(delete={"e": [(0, 1)]})
    [choice] = engine.counters.choices
    assert (choice.strategy, choice.reason, choice.facts) == ("bf", Reason.MANY_PROOFS, 64)
    assert (choice.number, choice.amount, choice.cut_off) == (1, Amount.DELETIONS, ())
    assert choice.allowance == pytest.approx(choose.SHARE * (576 + 4 * 4), rel=0.1)
    assert str(choice) == "component t: bf, 1 deletion against 64 facts, many derivations per fact"


@pytest.fixture
def impatient(monkeypatch):
    """No attempt may spend anything to speak of, and nothing is a trifle."""
    monkeypatch.setattr(choose, "TRIFLE", 0)
    monkeypatch.setattr(choose, "SHARE", 0.0001)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("store", STORES)
def test_an_attempt_that_costs_too_much_is_cut_off_and_the_stage_recomputed(store: str):
    """The marks of an attempt are undone inside the stage, and the net change is still exact."""
    engine = loaded(STORES[store]())
    lost = engine.apply(delete={"e": [(0, 1), (1, 2)]}).deleted
    assert engine.counters.values["cut off"] == 1
    assert told(engine) == ["component t: recompute, 2 deletions against 64 facts, after bf took too long"]
    assert all(1 in fact for fact in lost["t"])
    assert len(lost["t"]) == 15
    assert len(engine.facts()["t"]) == 49


@pytest.mark.usefixtures("impatient")
def test_what_was_dear_is_not_tried_for_ever():
    """A strategy that was cut off is remembered as no better than recomputation; results stay right."""
    engine = loaded(SetStore())
    for _ in range(6):
        engine.apply(delete={"e": [(0, 1), (1, 2)]})
        assert len(engine.facts()["t"]) == 49
        assert engine.counters.values["cut off"] <= 2
        engine.apply(insert={"e": [(0, 1), (1, 2)]})
    assert engine.counters.values["cut off"] == 0


@pytest.mark.usefixtures("cheap_rounds")
def test_a_guess_from_other_deletions_does_not_rule_a_strategy_out():
    """Checking that was dear for one deletion is still tried for four: a guess alone would never be corrected."""
    engine = loaded(SetStore())
    memory = engine.strategy._memory[frozenset({"t"})]
    memory.costs = {"bf": {costs.magnitude(1): 1e9}, "dred": {costs.magnitude(1): 2e9}}
    engine.apply(delete={"e": RING[:2]})
    assert memory.knows("bf", costs.magnitude(2))


@pytest.mark.usefixtures("cheap_rounds")
def test_few_derivations_per_fact_speak_for_overdeletion():
    """Where a fact has one derivation there is no other proof to look for, and nothing is overdeleted in vain."""
    engine = StoreEngine(PATHS, "auto", SetStore())
    engine.apply(insert={"edge": [(vertex, vertex + 1) for vertex in range(20)]})
    engine.apply(delete={"edge": [(18, 19)]})
    assert told(engine) == ["component path: dred, 1 deletion against 210 facts, few derivations per fact"]


PATHS = "path(x, y) :- edge(x, y). path(x, z) :- edge(x, y), path(y, z)."
SPARSE = [(vertex, (vertex * vertex + 3) % 30) for vertex in range(30)] + [
    (vertex, vertex + 1) for vertex in range(0, 29, 2)
]


@pytest.mark.parametrize(
    ("program", "relation", "edges"), [(CLOSURE, "e", [*RING, (0, 4), (2, 6)]), (PATHS, "edge", SPARSE)]
)
@pytest.mark.usefixtures("cheap_rounds")
def test_auto_is_about_as_good_as_the_best(program, relation, edges):
    """Over a stream of deletions and insertions `auto` derives at most one and a half times what the best one does.

    Whether checking or overdeletion is the best depends on the program; both kinds are here.
    """

    def total(strategy: str) -> int:
        engine = StoreEngine(program, strategy, SetStore())
        engine.apply(insert={relation: edges})
        derived = 0
        for edge in edges:
            for update in ({"delete": {relation: [edge]}}, {"insert": {relation: [edge]}}):
                engine.apply(**update)
                derived += sum(engine.store.derivations.values())
        return derived

    assert total("auto") <= 1.5 * min(total("bf"), total("dred"), total("recompute"))


def test_a_stage_that_loses_more_than_it_has_is_recomputed():
    """Checking every fact of a stage that is about to be empty is the worst that one can do."""
    engine = loaded(SetStore())
    engine.apply(insert={"f": [(number,) for number in range(100)]}, add_rules="t(x, x) :- f(x).")
    engine.apply(delete={"e": RING, "f": [(number,) for number in range(100)]})
    assert [(choice.component, choice.strategy) for choice in engine.counters.choices] == [("t", "recompute")]
    assert engine.facts()["t"] == []


@pytest.mark.parametrize("few", [0, 3])
def test_a_small_stage_above_a_large_relation_is_not_derived_anew(few: int):
    """A component of 3 facts was taken for a trifle and derived anew from the million facts below it: 50 times slower.

    Nor is one without facts, of which nothing can be lost.
    """
    engine = StoreEngine("rare(x) :- big(x, y), y < 3.", "auto", ValueStore())
    engine.apply(insert={"big": [(x, x if few else x + 3) for x in range(20_000)]})
    engine.apply(delete={"big": [(7_000, 7_000 if few else 7_003)]})
    [choice] = engine.counters.choices
    assert (choice.strategy, choice.reason, choice.facts) == ("bf", Reason.NO_RECURSION, few)
    assert sum(engine.store.derivations.values()) <= few


def test_what_is_read_counts_where_rules_begin():
    """A rule that begins with one fact does not go through the large relation beside it: there is nothing to save."""
    engine = StoreEngine("rare(x) :- big(x, y), flag(y).", "auto", ValueStore())
    engine.apply(insert={"big": [(x, x) for x in range(20_000)], "flag": [(5,)]})
    engine.apply(delete={"big": [(7_000, 7_000)]})
    assert [choice.reason for choice in engine.counters.choices] == [Reason.TRIFLE]


def test_a_store_states_its_own_prices(monkeypatch):
    """Where deriving anew is dear, a small stage is no trifle, and an attempt may make a few journeys.

    Prices of facts at hand said that a stage of 64 facts is derived anew for less than three rounds, on Spark too,
    where that takes several jobs.
    """
    engine = loaded(SetStore())
    engine.apply(delete={"e": [(0, 1)]})
    assert [choice.reason for choice in engine.counters.choices] == [Reason.TRIFLE]
    engine.apply(insert={"e": [(0, 1)]})
    charge(monkeypatch, replace(LOCAL_PRICES, anew=3e7, journey=1e7))
    engine.apply(delete={"e": [(0, 1)]})
    [choice] = engine.counters.choices
    assert (choice.strategy, choice.reason) == ("dred", Reason.FEW_PROOFS)
    assert choice.allowance > 2e7


def test_journeys_are_charged_to_the_attempt_that_makes_them(monkeypatch):
    """A strategy that has to bring facts again and again is cut off; counts change nothing about what is brought."""
    charge(monkeypatch, replace(CHEAP, anew=3e7, journey=1e7))
    monkeypatch.setattr(SetStore, "journeys", property(lambda store: len(store._journal)))
    engine = loaded(SetStore())
    memory = engine.strategy._memory[frozenset({"t"})]
    engine.apply(delete={"e": [(0, 1)]})
    assert told(engine) == ["component t: recompute, 1 deletion against 64 facts, after bf took too long"]
    assert memory.account < 1e7


@pytest.fixture
def eager_to_count(monkeypatch):
    """A stage is counted from its first deletion on, because that costs nothing."""
    monkeypatch.setattr(choose, "TRIFLE", 0)
    monkeypatch.setattr(choose, "WORTH", -1)
    monkeypatch.setattr(choose, "PATIENCE", 0)


@pytest.mark.usefixtures("impatient", "eager_to_count")
@pytest.mark.parametrize("store", STORES)
def test_a_stage_that_would_be_recomputed_again_and_again_is_counted(store: str):
    """From then on deletions cost what they change; the choice says so."""
    engine = loaded(STORES[store]())
    for edge in RING:
        engine.apply(delete={"e": [edge]})
        engine.apply(insert={"e": [edge]})
        assert len(engine.facts()["t"]) == 64
    assert told(engine) == ["component t: counting, 1 change against 64 facts, its derivations are counted"]


@pytest.mark.usefixtures("impatient", "eager_to_count")
def test_counts_are_dropped_when_they_cost_more_than_they_save():
    """Insertions pay for counts and deletions gain by them; after many insertions the account is empty."""
    engine = loaded(SetStore())
    engine.apply(delete={"e": [(0, 1)]})
    choices = set()
    for vertex in range(100, 130):
        engine.apply(insert={"e": [(vertex, vertex + 500)]})
        choices.add(engine.counters.choices[0].strategy)
    assert choices == {"counting", "insertion"}


@pytest.mark.usefixtures("cheap_rounds")
@pytest.mark.parametrize("store", STORES)
def test_counting_begins_when_its_absence_has_cost_what_it_costs(store: str, monkeypatch):
    """Deletions run up the account until the price is reached, and the next one begins; no other does."""
    monkeypatch.setattr(choose, "WORTH", -1)
    charge(monkeypatch, replace(CHEAP, counted=1, counted_round=1))
    engine, edges = StoreEngine(CLOSURE, "auto", STORES[store]()), [*RING, (0, 4)]
    engine.apply(insert={"e": edges})
    memory = engine.strategy._memory[frozenset({"t"})]
    while not engine.store.is_counted(frozenset({"t"})):
        before, price = memory.account, choose.PRICE * (memory.handling(CHEAP, 0) + 4 * memory.rounds)
        engine.apply(delete={"e": [(0, 1)]})
        assert engine.store.is_counted(frozenset({"t"})) == (before >= price)
        assert memory.account > before or before >= price
        engine.apply(insert={"e": [(0, 1)]})
    assert memory.account <= price
    assert len(engine.facts()["t"]) == 64


@pytest.mark.usefixtures("cheap_rounds")
def test_insertions_never_begin_to_count(monkeypatch):
    """Counts make insertions dearer: each one puts the beginning off."""
    monkeypatch.setattr(choose, "WORTH", -1)
    engine = loaded(SetStore())
    memory = engine.strategy._memory[frozenset({"t"})]
    engine.apply(delete={"e": [(0, 1)]})
    engine.apply(delete={"e": [(4, 5)]})
    memory.account = before = 1000.0
    engine.apply(insert={"e": [(20, 21), (21, 22), (22, 23)]})
    assert 0 < memory.account < before
    for vertex in range(100, 130):
        engine.apply(insert={"e": [(vertex, vertex + 1)]})
    assert memory.account == 0
    assert not engine.store.is_counted(frozenset({"t"}))


@pytest.mark.usefixtures("eager_to_count")
@pytest.mark.parametrize("store", STORES)
def test_counting_that_costs_more_than_it_has_saved_is_cut_off(store: str, monkeypatch):
    """The way is undone, the counts are lost, and the stage is maintained without them; the net change is exact.

    With nothing saved a deletion and an insertion may cost no more than without counts, and both do.
    """
    engine = loaded(STORES[store]())
    for update in ({"delete": {"e": [(0, 1), (1, 2)]}}, {"insert": {"e": [(0, 1), (1, 2)]}}):
        engine.apply(insert={"e": [(20, 21)]})
        engine.apply(delete={"e": [(20, 21)]})
        assert engine.store.is_counted(frozenset({"t"}))
        engine.strategy._memory[frozenset({"t"})].account = 0.0
        with monkeypatch.context() as dear:
            engine.strategy._prices = replace(LOCAL_PRICES, counted_round=1_000_000)  # and what is known stays known
            charge(dear, engine.strategy._prices)
            dear.setattr(choose, "PATIENCE", 1)
            change = engine.apply(**update)
        engine.strategy._prices = LOCAL_PRICES
        assert engine.counters.choices[0].cut_off[0] == "counting"
        assert not engine.store.is_counted(frozenset({"t"}))
        assert len((change.deleted or change.inserted)["t"]) == 15
    assert len(engine.facts()["t"]) == 64


@pytest.mark.usefixtures("eager_to_count")
@pytest.mark.parametrize("first", [0, *(pytest.param(first, marks=pytest.mark.long) for first in (20, 40))])
@pytest.mark.parametrize("price", [5, 0.01])
def test_counting_comes_and_goes_without_a_trace(first: int, price: float, monkeypatch):
    """Random programs and streams, with `auto` changing between counts and none as often as it can.

    With a low price counting is soon found too dear, in the middle of an update.
    """
    monkeypatch.setattr(choose, "PRICE", price)
    for seed in range(first, first + 20):
        agree(draw_case(seed), public_engines(["auto"]))


@pytest.mark.usefixtures("impatient", "eager_to_count")
@pytest.mark.parametrize("store", STORES)
def test_counts_do_not_outlive_the_component_that_they_belong_to(store: str, monkeypatch):
    """A rule makes a counted component a part of a larger one; when the rule goes, the old counts are not believed."""
    engine = loaded(STORES[store]())
    engine.apply(delete={"e": [(0, 1)]})
    assert engine.store.is_counted(frozenset({"t"}))
    monkeypatch.setattr(choose, "SHARE", 1000)  # the larger component is checked, not counted
    monkeypatch.setattr(choose, "PATIENCE", 1000)
    engine.apply(insert={"e": [(20, 21)]}, add_rules="o: o(x, y) :- t(x, y). p: t(x, y) :- o(y, x), s(x).")
    engine.apply(delete={"e": [(20, 21)]})
    engine.apply(remove_rules=["o", "p"])
    assert not engine.store.is_counted(frozenset({"t"}))
    engine.apply(insert={"e": [(20, 21)]})
    assert (20, 21) in engine.facts()["t"]
    engine.apply(delete={"e": [(20, 21)]})
    assert (20, 21) not in engine.facts()["t"]


@pytest.mark.usefixtures("impatient", "eager_to_count")
def test_a_large_deletion_ends_the_counting(monkeypatch):
    """Counting the way down of most of a stage is dearer than deriving what is left."""
    engine = loaded(SetStore())
    engine.apply(delete={"e": [(0, 1)]})
    engine.apply(insert={"e": [(0, 1)]})
    assert engine.store.is_counted(frozenset({"t"}))
    monkeypatch.setattr(choose, "PATIENCE", 100)
    engine.apply(delete={"e": RING[:6]})
    assert not engine.store.is_counted(frozenset({"t"}))
    assert told(engine) == ["component t: recompute, 6 deletions against 64 facts, most of it is in doubt"]
    assert len(engine.facts()["t"]) == 9


class Unread(Counter):
    """Derivations that may be looked up but not gone through."""

    def _refuse(self):
        raise AssertionError("the derivations of all stages are gone through")

    __iter__ = values = items = keys = _refuse


@pytest.mark.parametrize("others", [0, 1, costs.FEW, 5 * costs.FEW])
def test_a_stage_is_charged_with_the_derivations_of_its_own_rules(others: int):
    """An update through 10,000 stages added up the derivations of all of them, twice in each: 5 of 13 seconds.

    A few may be gone through, because the difference is the same; when they are many, those of other stages are not.
    """
    made = Unread() if others > costs.FEW else Counter()
    for number in range(others):
        made[f"other{number}", "insert"] = 7
    task = SimpleNamespace(
        keys=frozenset({"r1", "r2", "removed"}),
        counters=Counters(),
        budget=Budget(),
        scheduled=SimpleNamespace(literals=1),
        store=SimpleNamespace(derivations=made, prices=LOCAL_PRICES),
    )
    meter, counting = costs.Meter(task), costs.Meter(task, counts=True)
    made["r1", "insert"], made["r2", "evaluate"], made["removed", "delete"] = 3, 2, 4
    assert meter.gained == 3 + 2 - 4
    assert meter.spent == 3 + 2 + 4
    assert counting.spent == LOCAL_PRICES.counted * (3 + 2 + 4)

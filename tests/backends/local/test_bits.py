"""Stages computed in bits are what they are by rows: facts, changes, derivations, order, budgets, interrupts."""

from __future__ import annotations

import random

import numpy as np
import pytest

import tidelog as tl
from tidelog.backends.local.bits import at_once
from tidelog.backends.local.bits.rows_or_bits import Way, computing
from tidelog.errors import BudgetError
from tidelog.limits import Limits

CLOSURES = {
    "left": "p(x, y) :- e(x, y). p(x, z) :- e(x, y), p(y, z).",
    "right": "p(x, y) :- e(x, y). p(x, z) :- p(x, y), e(y, z).",
    "both": "p(x, y) :- e(x, y). p(x, z) :- p(x, y), p(y, z).",
    "symmetric": "p(x, y) :- e(x, y). p(x, y) :- p(y, x). p(x, z) :- p(x, y), p(y, z), x != z.",
    "several": "p(x, y) :- e(x, y), !f(x, y). p(x, z) :- q(x, y), f(z, y). q(x, z) :- p(x, y), p(z, y), !e(x, z).",
    "conditions": "p(x, x) :- e(x, _), !f(x, _). p(x, z) :- p(x, y), e(y, z), u(y), !u(z). p(x, z) :- p(z, x), u(x).",
    "once": "p(x, z) :- e(x, y), f(y, z), !e(x, z), x != y, y != z. q(x, z) :- e(x, y), y != z, f(x, z), f(z, x).",
}


def graph(seed: int, values: int, edges: int) -> dict[str, list[tuple[int, ...]]]:
    """Random pairs, and some values."""
    draw = random.Random(seed)
    pairs = lambda: sorted({(draw.randrange(values), draw.randrange(values)) for _ in range(edges)})  # noqa: E731
    return {"e": pairs(), "f": pairs(), "u": [(value,) for value in range(0, values, 3)]}


def engine(way: Way, rules: str, facts: dict[str, list[tuple[int, ...]]], strategy: str = "recompute") -> tl.Engine:
    """An engine whose stages are derived one way."""
    with computing(way):
        made = tl.Engine(strategy=strategy)
        made.apply(insert=facts)
        made.apply(add_rules=rules)
        return made


def told(change: tl.Change) -> tuple[object, ...]:
    """A change as plain values; the phases of derivations differ, and so do derivations where one witness is enough."""
    derivations: dict[str, int] = {}
    for (rule, _), count in change.stats.derivations.items():
        if "v0, v0" not in rule and "v2 != v1, f" not in rule:
            derivations[rule] = derivations.get(rule, 0) + count
    facts = [{name: sorted(some) for name, some in part.items()} for part in (change.inserted, change.deleted)]
    return *facts, derivations, change.stats.rounds


@pytest.mark.parametrize("values", [5, 64, 100])
@pytest.mark.parametrize("name", CLOSURES)
def test_bits_and_rows_agree_in_facts_changes_derivations_and_rounds(name, values):
    """Recomputation after every update, of graphs with fewer and more values than a word has bits."""
    facts, draw = graph(values, values, 2 * values), random.Random(name)
    both = [engine(way, CLOSURES[name], facts) for way in (Way.BITS, Way.ROWS)]
    for _ in range(4):
        gone, come = draw.sample(facts["e"], 3), [(draw.randrange(values + 3), draw.randrange(values))]
        update = {"delete": {"e": gone}, "insert": {"e": come, "p": [(values, values + 1)]}}
        answers = []
        for way, one in zip((Way.BITS, Way.ROWS), both):
            with computing(way):
                answers.append(told(one.apply(**update)))
        assert answers[0] == answers[1]
    both[0].verify()


@pytest.mark.parametrize("strategy", ["auto", "dred", "bf", "counting", "dred-mark", "bf-mark"])
def test_strategies_go_on_from_rows_that_come_from_bits(strategy):
    """The first materialisation is in bits, what follows is by rows, on tables that are made when asked for."""
    facts = graph(3, 40, 120)
    one = engine(Way.BITS, CLOSURES["both"], facts, strategy)
    for at in range(0, 60, 10):
        one.apply(delete={"e": facts["e"][at : at + 3]}, insert={"e": [(at, 77)]})
        one.verify()
    assert (0, 77) in one["p"]


def test_facts_are_stored_in_the_order_of_the_rounds_that_find_them():
    """Clause 5 of the store: what was derived early comes first."""
    chain = {"e": [(number, number + 1) for number in range(50)]}
    rows = engine(Way.BITS, CLOSURES["left"], chain)._backend.store.relations["p"]
    decoded = engine(Way.BITS, CLOSURES["left"], chain)
    steps = [end - start for start, end in decoded["p"]]
    assert steps == sorted(steps)
    assert rows.count == 50 * 51 // 2


def test_small_and_sparse_stages_stay_with_rows(monkeypatch):
    """The cost rule: few facts, many values, empty matrices; and a long chain is given up on the way."""
    rules = CLOSURES["left"]

    def is_in_bits(facts: dict[str, object]) -> bool:
        made = tl.Engine()
        made.apply(insert=facts)
        change = made.apply(add_rules=rules)
        return any(phase == "at once" for _, phase in change.stats.derivations)

    dense = np.argwhere(np.random.default_rng(1).random((60, 60)) < 0.2)
    assert is_in_bits({"e": dense})
    assert not is_in_bits({"e": dense[: at_once.FEWEST - 1]})
    with computing(Way.ROWS):
        assert not is_in_bits({"e": dense})
    assert not is_in_bits({"e": [(number, number + 1) for number in range(200)]})
    far = np.random.default_rng(1).integers(0, 10**6, (at_once.MOST_VALUES, 2))
    assert not is_in_bits({"e": far})
    monkeypatch.setattr(at_once, "MOST_VALUES", 50)
    assert not is_in_bits({"e": dense})
    monkeypatch.setattr(at_once, "MOST_VALUES", 1 << 14)
    monkeypatch.setattr(at_once, "MOST_BYTES", 1000)
    assert not is_in_bits({"e": dense})


def test_a_stage_for_which_rows_are_better_is_looked_at_again_when_it_has_changed(monkeypatch):
    """Looking takes as long as deriving a few hundred facts, and recomputation would do it every time."""
    looked, usual = [], at_once.BitStages._derive

    def derive(*args: object, **named: object) -> float | None:
        looked.append(len(looked))
        return usual(*args, **named)

    monkeypatch.setattr(at_once.BitStages, "_derive", derive)
    made = tl.Engine(CLOSURES["left"], strategy="recompute")
    made.apply(insert={"e": [(number, number + 1) for number in range(0, 600, 2)]})
    made.apply(delete={"e": [(598, 599)]})
    assert len(looked) == 2  # the stage has facts of its own by now
    for number in range(0, 40, 2):
        made.apply(delete={"e": [(number, number + 1)]})
    assert len(looked) == 2
    change = made.apply(insert={"e": np.argwhere(np.ones((30, 30)))})
    assert len(looked) == 3
    assert any(phase == "at once" for _, phase in change.stats.derivations)
    made.verify()


def test_a_transaction_that_passes_one_in_bits_leaves_bits_to_it(monkeypatch):
    """It would number its own values over those of the open one, and say at its end that nothing is being derived."""
    monkeypatch.setenv("TIDELOG_BITS", "bits")
    rules = CLOSURES["left"] + "q(x, y) :- f(x, y). q(x, z) :- f(x, y), q(y, z). u(x) :- q(x, x)."
    facts, made, passed, afterwards = graph(5, 60, 150), tl.Engine(rules), [], []
    bits = made._backend.store.bits

    def watch(_: int) -> None:
        if passed and passed[0].done():
            afterwards.append(bits.is_deriving)
        elif bits.is_deriving and not passed:
            passed.append(made.submit(insert={"f": facts["f"]}, urgent=True))

    made.watcher = watch
    bulk = made.submit(insert={"e": facts["e"]})
    bulk.result()
    made.watcher = None
    made.settle()
    assert passed[0].result().version < bulk.result().version
    assert afterwards[0]  # the open one is in the middle of its rounds still
    made.verify()


def test_counts_that_do_not_fit_say_nothing_about_deriving(monkeypatch):
    """Stages are remembered where rows were better, for each purpose by itself."""
    dense = {"e": np.argwhere(np.random.default_rng(1).random((60, 60)) < 0.2)}
    made = tl.Engine(CLOSURES["left"], strategy="counting")
    monkeypatch.setattr(at_once, "fits", lambda *_: False)
    made.apply(insert=dense)
    made.strategy = "recompute"
    change = made.apply(delete={"e": dense["e"][:1]})
    assert any(phase == "at once" for _, phase in change.stats.derivations)
    made.verify()


def test_a_stage_that_is_given_up_has_changed_nothing(monkeypatch):
    """Rows that waited are forgotten, and rounds are not counted twice."""
    chain = {"e": [(number, number + 1) for number in range(300)]}
    monkeypatch.setattr("tidelog.backends.local.bits.fixpoint._WORTH", 0)
    monkeypatch.setattr("tidelog.backends.local.bits.fixpoint._READ_WORTH", 0)
    made, twin = tl.Engine(limits=Limits(rounds=30)), tl.Engine()
    for one in (made, twin):
        one.apply(insert=chain)
    with computing(Way.ROWS):
        expected = told(twin.apply(add_rules=CLOSURES["both"]))
    assert told(made.apply(add_rules=CLOSURES["both"])) == expected
    made.verify()


@pytest.mark.parametrize(
    ("limits", "code"),
    [
        (Limits(facts=5_000), "E401"),
        (Limits(rounds=20), "E402"),
        (Limits(seconds=1e-9), "E403"),
        (Limits(bytes=400_000), "E404"),
    ],
)
def test_budgets_hold_inside(limits, code):
    """The update is undone, and the next one succeeds."""
    made = tl.Engine(CLOSURES["left"])
    made.apply(insert={"e": [(1, 2)]})
    made.limits = limits
    with computing(Way.BITS), pytest.raises(BudgetError) as raised:
        made.apply(insert={"e": [(number, number + 1) for number in range(300)]})
    assert raised.value.problems[0].code == code
    assert list(made["p"]) == [(1, 2)]
    made.limits = Limits()
    with computing(Way.BITS):
        made.apply(insert={"e": [(number, number + 1) for number in range(300)]})
    assert len(made["p"]) == 300 * 301 // 2
    made.verify()


@pytest.mark.parametrize("calls", [1, 2, 5, 12, 20])
def test_an_interrupt_changes_nothing(calls):
    """Ctrl-C at any question to the budget, also when rows wait to be stored."""
    made, chain = tl.Engine(CLOSURES["both"]), [(number, number + 1) for number in range(80)]
    made.apply(insert={"e": chain[:5]})
    asked = 0

    def interrupt(_: int) -> None:
        nonlocal asked
        asked += 1
        if asked > calls:
            raise KeyboardInterrupt

    made.watcher = interrupt
    with computing(Way.BITS), pytest.raises(KeyboardInterrupt):
        made.apply(insert={"e": chain})
    made.watcher = None
    assert len(made["p"]) == 15
    with computing(Way.BITS):
        made.apply(insert={"e": chain})
    assert len(made["p"]) == 80 * 81 // 2
    made.verify()


def test_auto_derives_a_dense_stage_at_once_from_the_first_deletion_on():
    """No index is made for a look at other strategies."""
    edges = np.argwhere(np.random.default_rng(1).random((150, 150)) < 0.1)
    made = tl.Engine()
    made.apply(insert={"e": edges})
    made.apply(add_rules=CLOSURES["left"])
    change = made.apply(delete={"e": [tuple(edges[5].tolist())]})
    assert [choice.reason.name for choice in change.stats.choices] == ["AT_ONCE"]
    stored = made._backend.store.relations["p"]
    assert not stored._indexes
    assert stored._is_behind
    made.verify()


def test_auto_looks_at_the_others_when_deriving_at_once_has_cost_as_much_as_the_indexes():
    """An edge of a clique always has other proofs: to find them takes a few look-ups, once there are indexes."""
    clique = [(x, y) for x in range(150) for y in range(150) if x != y]
    made = tl.Engine("e(x, z) :- e(x, y), e(y, z).", strategy="auto")
    made.apply(insert={"e": clique})
    chosen = []
    for edge in clique[:20]:
        chosen.append(made.apply(delete={"e": [edge]}).stats.choices[0].reason.name)
        made.apply(insert={"e": [edge]})
    assert chosen[0] == "AT_ONCE"
    looks = [number for number, reason in enumerate(chosen) if reason != "AT_ONCE"]
    assert looks, chosen
    assert "AT_ONCE" not in chosen[looks[0] :]
    assert chosen[-1] == "CHEAPEST"
    made.verify()


def test_the_environment_chooses_a_way(monkeypatch):
    """TIDELOG_BITS=rows is the switch for measurements; other words mean nothing."""
    from tidelog.backends.local.bits.rows_or_bits import way

    found = []
    for word in ("rows", "bits", "nonsense", ""):
        monkeypatch.setenv("TIDELOG_BITS", word)
        found.append(way())
    assert found == [Way.ROWS, Way.BITS, Way.AUTO, Way.AUTO]


def test_rows_of_forgotten_constants_are_passed_over():
    """An update that fails leaves rows without marks, and its constants are forgotten: their ids lead nowhere.

    They led behind the end of the numbering: a kernel that checks no bounds stored facts of constants that there are
    not, or ended the process.
    """
    made = engine(Way.BITS, CLOSURES["both"], graph(3, 40, 80))
    held = sorted(made["p"])
    strangers = [(f"from {number}", f"to {number}") for number in range(900)]
    with pytest.raises(tl.UpdateError):
        made.apply(insert={"p": strangers, "odd": [(1,), (1, 2)]})
    store = made._backend.store
    assert store.relations["p"].rows[: store.relations["p"].count].max() >= len(store.dictionary)
    with computing(Way.BITS):
        made.apply(insert={"e": [(41, 41)]})
        made.apply(delete={"e": [(41, 41)]})
    assert len(store.bits._numbers._numbers) >= store.dictionary.ids > len(store.dictionary)
    assert sorted(made["p"]) == held
    made.verify()

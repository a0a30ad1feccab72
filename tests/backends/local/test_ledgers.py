"""Running values of large groups are what reading the members again would give, to the last bit.

Small groups are read again, so tests of small programs never meet a ledger: every group here is a large one. Numbers
are chosen so that rounding in between would show: 1e308 and 5e-324 in one sum, integers that are no floats, ints beside
equal floats.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

import tidelog as tl
from tidelog.backends.local.constants.dictionary import Dictionary
from tidelog.backends.local.constants.functions import NO_VALUE
from tidelog.backends.local.joins.aggregates import Groups
from tidelog.backends.local.relations.ledgers import Ordering, ledger
from tidelog.backends.local.store import LocalStore
from tidelog.language import partial
from tidelog.language.terms import Value
from tidelog.language.values import AGGREGATES, identity

NUMBERS: list[Value] = [0, 1, -1, 2**63 - 1, -(2**63), 2**53 + 1, 2**62 + 1, 1.0, -1.0, 0.5, 0.1, 5e-324, 1e308, -1e308]
OTHERS: list[Value] = ["a", "b", "é", True, False]
RULES = """
size(g, n) :- group(g), n = count : { member(g, _, _) }.
top(g, n) :- group(g), n = max v : { member(g, _, v) }.
""" + "\n".join(
    f"{name}_of(g, n) :- group(g), n = {name}{'' if name == 'count' else ' v'} : {{ member(g, _i, v), v != 99 }}."
    for name in AGGREGATES
)


def some(rng: random.Random, strangers: float = 0.0) -> Value:
    """A value that is awkward to add or to order."""
    if rng.random() < strangers:
        return rng.choice(OTHERS)
    kinds = [rng.choice(NUMBERS), rng.uniform(-1, 1), rng.uniform(-1, 1) * 10 ** rng.randint(-300, 300)]
    return rng.choice([*kinds, rng.randint(-(2**63), 2**63 - 1), rng.randint(-9, 9), float(rng.randint(-9, 9))])


@pytest.mark.parametrize("function", AGGREGATES)
@pytest.mark.parametrize("strangers", [0.0, 0.01, 1.0])
def test_a_ledger_says_what_the_definition_says(function: str, strangers: float) -> None:
    """After members came and went, and after a change that was undone."""
    rng, dictionary = random.Random(f"{function} {strangers}"), Dictionary()
    members = [some(rng, strangers) for _ in range(40)]
    kept = ledger(function, dictionary)
    assert kept.open(dictionary.encode(members), np.empty(0, np.int32), np.empty(0, np.int8))
    for step in range(60):
        came = [some(rng, strangers) for _ in range(rng.randint(0, 3))]
        went = rng.sample(members, rng.randint(0, min(3, len(members) - 1)))
        signs = np.array([1] * len(came) + [-1] * len(went), np.int8)
        after = [*members, *came]
        for one in went:
            after.pop(next(at for at, value in enumerate(after) if identity(value) == identity(one)))
        ids = dictionary.encode([*came, *went])
        if step % 2:  # one by one, as single facts go through
            assert all(kept.change_one(*one) for one in zip(ids.tolist(), signs.tolist()))
        else:
            assert kept.change(ids, signs)
        for undone in (False, True) if step % 3 == 0 else (False,):
            if undone:
                assert kept.undo()
                after = members
            expected, found = partial.aggregate(function, after), kept.result()
            if expected is None:
                assert found == NO_VALUE
            else:
                assert identity(dictionary.decode(np.array([found]))[0]) == identity(expected)
            assert kept.members == len(after)
        kept.settle()
        members = after


def test_the_sum_of_what_came_and_went_is_the_sum_that_was_there() -> None:
    """Floats that swallow each other: with plain addition 1e308 + 0.1 - 1e308 is 0."""
    engine = tl.Engine("total(s) :- s = sum v : { member(_i, v) }.")
    engine.apply(insert={"member": [(i, 0.1) for i in range(1000)]})
    before = list(engine["total"])
    for value in (1e308, 5e-324, 2**63 - 1):
        engine.apply(insert={"member": [(-1, value)]})
        engine.verify()
        engine.apply(delete={"member": [(-1, value)]})
        assert list(engine["total"]) == before
        engine.verify()


def test_values_that_arrive_in_order_leave_the_tree_shallow() -> None:
    """Time stamps only grow; a plain search tree would become a list."""
    dictionary = Dictionary()
    kept = ledger("max", dictionary)
    assert isinstance(kept, Ordering)
    assert kept.open(dictionary.encode([0]), np.empty(0, np.int32), np.empty(0, np.int8))
    assert kept.change(dictionary.encode(list(range(1, 20001))), np.ones(20000, np.int8))
    assert dictionary.decode(np.array([kept.result()])) == [20000]
    assert kept.change(dictionary.encode(list(range(1, 20001))), np.full(20000, -1, np.int8))
    assert dictionary.decode(np.array([kept.result()])) == [0]


def store_of(engine: tl.Engine) -> LocalStore:
    """The store inside."""
    store = engine._backend.store
    assert isinstance(store, LocalStore)
    return store


def ledgers_of(engine: tl.Engine) -> int:
    """How many groups have a ledger."""
    return sum(map(len, store_of(engine).groups._ledgers.values()))


@contextmanager
def limited(engine: tl.Engine, limits: tl.Limits) -> Iterator[None]:
    """Other limits for a moment."""
    kept, engine.limits = engine.limits, limits
    try:
        yield
    finally:
        engine.limits = kept


@pytest.mark.parametrize("strategy", ["dred", "bf", "counting", "auto"])
def test_large_groups_obey_the_law(strategy: str) -> None:
    """Whatever comes and goes, refused updates included, and rules that come, go and come again."""
    rng = random.Random(strategy)
    engine = tl.Engine(RULES, strategy=strategy)
    groups = ["numbers", "floats", "texts", "all"]
    make = {
        "numbers": lambda: rng.randint(0, 50),
        "floats": lambda: some(rng),
        "texts": lambda: str(rng.randint(0, 50)),
        "all": lambda: some(rng, 0.002),
    }
    facts = {(group, i, make[group]()) for group in groups for i in range(400)}
    engine.apply(insert={"group": [(group,) for group in groups], "member": list(facts)})
    for step in range(16):
        went = rng.sample(sorted(facts, key=repr), rng.choice([0, 1, 6]))
        group = rng.choice(groups)
        came = [(group, rng.randint(0, 10**6), make[group]()) for _ in range(rng.choice([1, 4]))]
        update = {"insert": {"member": came}, "delete": {"member": went}}
        if step % 3 == 0:
            held = {name: sorted(map(repr, engine[name])) for name in ("sum_of", "median_of", "top")}
            with limited(engine, tl.Limits(facts=10)), pytest.raises(tl.BudgetError):
                engine.apply(**update)
            assert held == {name: sorted(map(repr, engine[name])) for name in held}
        engine.apply(**update)
        facts = (facts - set(went)) | set(came)
        if step % 5 == 4:
            engine.apply(add_rules="extra: least(g, n) :- group(g), n = min v : { member(g, _, v) }.")
            engine.apply(remove_rules=["extra"], insert={"member": [("numbers", -step, -step)]})
            facts.add(("numbers", -step, -step))
        engine.verify()
    assert ledgers_of(engine) > 10


def test_a_saved_engine_makes_its_ledgers_anew(tmp_path: object) -> None:
    """They are not saved: the first change of a group reads it once more."""
    engine = tl.Engine(RULES)
    engine.apply(insert={"group": [("g",)], "member": [("g", i, i) for i in range(500)]})
    engine.apply(insert={"member": [("g", 500, 500)]})
    assert ledgers_of(engine)
    engine.save(str(tmp_path))
    engine.close()
    opened = tl.Engine.open(str(tmp_path))
    assert not ledgers_of(opened)
    opened.apply(delete={"member": [("g", 500, 500)]})
    assert list(opened["top"]) == [("g", 499)]
    assert ledgers_of(opened)
    opened.verify()


def test_small_groups_and_bulk_changes_have_no_ledgers() -> None:
    """They are read again, which is cheaper."""
    engine = tl.Engine(RULES)
    engine.apply(insert={"group": [("g",)], "member": [("g", i, i) for i in range(100)]})
    engine.apply(insert={"member": [("g", -1, -1)]})
    assert not ledgers_of(engine)
    engine.apply(insert={"member": [("g", i, i) for i in range(100, 900)]})
    assert not ledgers_of(engine)
    engine.apply(insert={"member": [("g", -2, -2)]})
    assert ledgers_of(engine) == 8
    engine.apply(delete={"member": [("g", i, i) for i in range(880)]})
    assert not ledgers_of(engine)
    engine.verify()


def test_ledgers_give_way_when_memory_is_short() -> None:
    """They are counted as memory, and no update is refused because of them."""
    engine = tl.Engine("top(n) :- n = max v : { member(_i, v) }.")
    engine.apply(insert={"member": [(i, i) for i in range(5000)]})
    without = store_of(engine).nbytes
    engine.apply(insert={"member": [(-1, 6000)]})
    with_ledger = store_of(engine).nbytes
    assert with_ledger > without + 5000 * 16
    with limited(engine, tl.Limits(bytes=with_ledger - 5000 * 8)):
        engine.apply(insert={"member": [(-2, 7000)]})
    assert list(engine["top"]) == [(7000,)]
    assert not ledgers_of(engine)
    assert store_of(engine).groups.nbytes == 0


def test_verify_finds_a_ledger_that_has_lost_a_member() -> None:
    """The next change would show the fault; `verify` need not wait for it."""
    engine = tl.Engine("size(n) :- n = count : { member(_) }.")
    engine.apply(insert={"member": [(i,) for i in range(500)]})
    engine.apply(insert={"member": [(-1,)]})
    engine.verify()
    [[kept]] = [list(ledgers.values()) for ledgers in store_of(engine).groups._ledgers.values()]
    kept.change(np.zeros(1, np.int32), np.array([-1], np.int8))
    with pytest.raises(tl.LawError):
        engine.verify()


def test_an_interrupt_forgets_ledgers_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody knows how far an interrupted change has come, so members are read again."""
    engine = tl.Engine(RULES)
    engine.apply(insert={"group": [("g",)], "member": [("g", i, i) for i in range(500)]})
    engine.apply(insert={"member": [("g", 500, 500)]})
    regroup = Groups.regroup

    def interrupted(*given: object, **named: object) -> object:
        regroup(*given, **named)  # type: ignore[arg-type]
        raise KeyboardInterrupt

    monkeypatch.setattr(Groups, "regroup", interrupted)
    with pytest.raises(KeyboardInterrupt):
        engine.apply(insert={"member": [("g", 501, 501)]})
    monkeypatch.undo()
    assert not ledgers_of(engine)
    assert list(engine["top"]) == [("g", 500)]
    engine.apply(insert={"member": [("g", 502, 502)]})
    assert list(engine["top"]) == [("g", 502)]
    engine.verify()

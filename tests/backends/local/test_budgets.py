"""A run that is stopped leaves the last version whole, and the engine goes on."""

from __future__ import annotations

import pytest

from tidelog.engine import Engine
from tidelog.errors import BudgetError
from tidelog.limits import Limits

CLOSURE = "path(x, y) :- edge(x, y).\npath(x, z) :- edge(x, y), path(y, z).\n"
MUTUAL = "path(x, y) :- edge(x, y).\npath(x, z) :- edge(x, y), way(y, z).\nway(x, y) :- path(x, y).\n"
ENDLESS = "n(y) :- n(x), y = x + 1.\n"
CHAIN = [(number, number + 1) for number in range(300)]


@pytest.mark.parametrize(
    ("limits", "code"),
    [
        (Limits(facts=5_000), "E401"),
        (Limits(rounds=20), "E402"),
        (Limits(seconds=1e-9), "E403"),
        (Limits(bytes=600_000), "E404"),
    ],
)
def test_every_budget_ends_in_its_own_error(limits, code):
    """The update is undone: facts, indexes and later updates are as if it had never come."""
    engine = Engine(CLOSURE)
    engine.apply(insert={"edge": CHAIN[:10]})
    before = sorted(engine["path"])
    engine.limits = limits
    with pytest.raises(BudgetError) as raised:
        engine.apply(insert={"edge": CHAIN})
    assert raised.value.problems[0].code == code
    assert sorted(engine["path"]) == before
    assert engine.version == 1
    engine.limits = Limits()
    engine.verify()
    change = engine.apply(insert={"edge": CHAIN})
    assert len(engine["path"]) == 300 * 301 // 2
    assert len(change.inserted["path"]) == len(engine["path"]) - len(before)
    engine.verify()


def test_endless_values_are_stopped():
    """A rule that makes new values for ever is what budgets are for."""
    engine = Engine(ENDLESS, limits=Limits(rounds=50))
    with pytest.raises(BudgetError):
        engine.apply(insert={"n": [(0,)]})
    assert list(engine["n"]) == []


@pytest.mark.parametrize(
    ("program", "calls"),
    [(MUTUAL, calls) for calls in (1, 2, 3, 10, None)] + [(CLOSURE, 1), (CLOSURE, 2), (CLOSURE, 3)],
)
@pytest.mark.parametrize("strategy", ["dred", "bf", "recompute", "counting", "circuit", "auto"])
def test_an_interrupt_inside_an_update_changes_nothing(strategy, program, calls):
    """Ctrl-C may come at any call of a kernel, the last one (None) too, with one relation and with two."""
    update = {"delete": {"edge": CHAIN[5:7]}, "insert": {"edge": [(90, 0), *CHAIN[40:120]]}}

    def begun():
        engine = Engine(program, strategy=strategy)
        engine.apply(insert={"edge": CHAIN[:40]})
        return engine

    def interrupt(facts):
        nonlocal left
        left -= 1
        if not left:
            raise KeyboardInterrupt

    left, engine = calls or _calls(begun(), update), begun()
    before = sorted(engine["path"])
    engine.watcher = interrupt
    with pytest.raises(KeyboardInterrupt):
        engine.apply(**update)
    engine.watcher = None
    assert sorted(engine["path"]) == before
    engine.verify()
    engine.apply(delete={"edge": CHAIN[5:7]})
    engine.verify()


def _calls(engine, update):
    """How often the watcher is called during an update."""
    seen = []
    engine.watcher = seen.append
    engine.apply(**update)
    return len(seen)


def test_whoever_watches_sees_the_facts_grow():
    """Progress is told now and then, with the number of facts stored."""
    seen = []
    engine = Engine(CLOSURE)
    engine.watcher = seen.append
    engine.apply(insert={"edge": CHAIN})
    assert seen == sorted(seen)
    assert seen[-1] >= len(CHAIN)


@pytest.mark.parametrize("strategy", ["dred", "bf", "recompute", "auto"])
def test_rounds_that_are_made_together_do_not_pass_the_limit_of_facts(strategy):
    """The last call of an update is asked about, too, when it comes back with everything."""
    engine = Engine("path(x, y) :- edge(x, y). path(x, z) :- path(x, y), edge(y, z).", strategy=strategy)
    engine.apply(insert={"edge": CHAIN[1:]})
    facts = sum(len(engine[relation]) for relation in engine.relations)
    engine.limits = Limits(facts=facts + 5)
    with pytest.raises(BudgetError) as raised:
        engine.apply(insert={"edge": CHAIN[:1]})
    assert raised.value.problems[0].code == "E401"
    assert sum(len(engine[relation]) for relation in engine.relations) == facts


def test_small_relations_stay_small():
    """Programs have thousands of relations with a few facts; room for rounds to come must not be what they cost."""
    rules = "".join(f"p{i}(x, y) :- e{i}(x, y). p{i}(x, z) :- p{i}(x, y), e{i}(y, z).\n" for i in range(100))
    engine = Engine(rules, strategy="dred")
    engine.apply(insert={f"e{i}": [(0, 1), (1, 2)] for i in range(100)})
    engine.apply(insert={f"e{i}": [(2, 3)] for i in range(100)})
    assert engine._backend.store.nbytes < 200 * 1500

"""Arithmetic inside the join machine gives what arithmetic between joins gives, or leaves the rows to it.

Rounds of a rule with arithmetic ran one by one, each with a dozen calls from Python: 0.3 ms where the work takes one
microsecond. Now the machine computes by itself, and every way in which it can fail to (no value, 64 bits, no room for a
constant, other kinds) has to end in the same facts.
"""

import random

import pytest

from tidelog import Engine
from tidelog.backends.local.joins.preparation import Preparation
from tidelog.maintenance.registry import STRATEGIES

PROGRAMS = {
    "a counter": ("n(x + 1) :- n(x), x < 90.", [(0,)]),
    "a test in between": ("n(y) :- n(x), y = x + 2, y % 7 != 1, x < 90. n(x + 1) :- n(x), x < 90.", [(0,)]),
    "division by zero": ("n(12 / x) :- n(x). n(x - 1) :- n(x), x > -4.", [(4,)]),
    "64 bits are left": ("n(x * x) :- n(x). n(x + 1) :- n(x), x < 4.", [(2,)]),
    "floats and integers": ("n(x / 2.0) :- n(x), x > 1. n(x * 3) :- n(x), x < 0.6.", [(64,), (0.5,)]),
    "texts have an order": ('n(x) :- m(x, y), x < y. m(y, x) :- m(x, y), n(x). n("z") :- n(x), x >= "b".', []),
    "kinds that do not mix": ("n(x + 1) :- n(x), x < 9. n(x) :- m(x, _).", [(1,), ("a",), (True,), (2.5,)]),
    "a lower relation is scanned": ("n(x + s) :- n(x), step(s), x < 90. step(c) :- c = count : { m(_, _) }.", [(0,)]),
    "a constant in the head": ('n("late", x) :- m(x, y), x < y. n(x, "end") :- n(_, x), x > "a".', []),
    "minus and powers": ("n(x - 3) :- n(x), x > 0. n(x ^ 2) :- n(x), x < 8, x > 1.", [(7,)]),
}
PAIRS = [("a", "b"), ("b", "a"), ("c", "a"), ("ä", "z")]


def plainly(monkeypatch):
    """Every executable with arithmetic runs by itself, as all did."""
    monkeypatch.setattr("tidelog.backends.local.joins.preparation.is_fusable", lambda _: False)


def history(program, start, seed, strategy):
    """What an engine says after every update of a small history."""
    draw, engine, seen = random.Random(seed), Engine(program, strategy=strategy), []
    facts = [("n", fact) for fact in start] + [("m", pair) for pair in PAIRS]
    engine.apply(insert={"n": start, "m": PAIRS})
    for _ in range(6):
        name, fact = draw.choice(facts)
        for word in ("delete", "insert"):
            change = engine.apply(**{word: {name: [fact]}})
            seen.append((set(engine["n"]), change.stats.derivations, change.stats.without_value))
    engine.verify()
    return seen


@pytest.mark.parametrize("name", PROGRAMS)
def test_fused_or_not(name, monkeypatch):
    """The same facts, derivations and instances without value."""
    program, start = PROGRAMS[name]
    fused = history(program, start, 1, "bf")
    plainly(monkeypatch)
    assert fused == history(program, start, 1, "bf")


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy(strategy):
    """Deletions look for proofs with the same programs, driven by heads."""
    for program, start in PROGRAMS.values():
        history(program, start, 2, strategy)


def test_a_counter_runs_inside_one_kernel(monkeypatch):
    """A counter of 300 rounds makes a handful of calls, not hundreds."""
    calls = []
    crew = Preparation.crew
    monkeypatch.setattr(Preparation, "crew", lambda *given: calls.append(1) or crew(*given))
    Engine(PROGRAMS["a counter"][0]).apply(insert={"n": [(0,)]})
    assert len(calls) < 50

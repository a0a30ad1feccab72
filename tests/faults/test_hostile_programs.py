"""Hostile programs stop within their budget, the last version is intact, and the next question is answered: figure 13.

A budget is worth what its weakest loop is worth: joins that find nothing, rules that make values without end, programs
whose planning alone could take hours. Nobody's clock is tested here; the budgets are, by their codes, and every program
below would run for minutes to years without them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest

import tidelog as tl
from tests.differential.engines import STRATEGIES

TWO_HUNDRED = {"e": [(number,) for number in range(200)]}
DENSE = {"e": [(x, y) for x in range(300) for y in range(300)]}
NAMED = {"e": [(x, y, 0) for x in range(300) for y in range(300)]}


def strata(number: int) -> str:
    """Each relation is what the one before is not."""
    rules = [f"p{one}(x) :- e(x), !p{one - 1}(x)." for one in range(1, number)]
    return "\n".join(["p0(x) :- e(x), x > 0.", *rules])


def chain(number: int) -> str:
    """One rule with the given number of atoms."""
    return f"p(x0, x{number}) :- {', '.join(f'e(x{one}, x{one + 1})' for one in range(number))}."


@dataclass(frozen=True)
class Hostile:
    """A program, the update that sets it off, and the budget that stops it."""

    rules: str
    update: dict[str, Any]
    limits: tl.Limits
    code: str
    attempts: int = 2


CROSS = "p(a, b, c, d, e) :- e(a), e(b), e(c), e(d), e(e)."
CLOSURE = "p(x, y) :- e(x, y). p(x, z) :- p(x, y), p(y, z)."
NAMED_CLOSURE = "p(x, y, c) :- e(x, y, c). p(x, z, c) :- p(x, y, c), p(y, z, c)."  # no pairs: not made in bits
ENDLESS = "n(y) :- n(x), y = x + 1."
FAST: dict[str, Hostile] = {
    "cross product": Hostile(CROSS, {"insert": TWO_HUNDRED}, tl.Limits(facts=200_000), "E401"),
    "10^4 strata": Hostile(
        "", {"insert": {"e": [(1,)]}, "add_rules": strata(10_000)}, tl.Limits(seconds=0.5), "E403", attempts=1
    ),
    "10^4 atoms": Hostile(
        chain(10_000), {"insert": {"e": [(x, y) for x in (1, 2) for y in (1, 2)]}}, tl.Limits(seconds=1), "E403"
    ),
    "dense component": Hostile(NAMED_CLOSURE, {"insert": NAMED}, tl.Limits(seconds=0.05), "E403"),
    "diverging numbers": Hostile(ENDLESS, {"insert": {"n": [(0,)]}}, tl.Limits(rounds=200), "E402"),
}
LONG: dict[str, Hostile] = {
    "cross product, bytes": Hostile(CROSS, {"insert": TWO_HUNDRED}, tl.Limits(bytes=20_000_000), "E404"),
    "cross product, seconds": Hostile(CROSS, {"insert": TWO_HUNDRED}, tl.Limits(seconds=1), "E403"),
    "cross product that finds nothing": Hostile(
        "p(a) :- e(a), e(b), e(c), e(d), e(e), a + b + c + d + e > 1000.",
        {"insert": TWO_HUNDRED},
        tl.Limits(seconds=1),
        "E403",
    ),
    "cross product behind a negation": Hostile(
        "p(a) :- e(a), e(b), e(c), e(d), e(e), !f(a, b, c, d, e).",
        {"insert": TWO_HUNDRED},
        tl.Limits(seconds=1),
        "E403",
    ),
    "cross product in an aggregate": Hostile(
        "total(n) :- n = count : { e(a), e(b), e(c), e(d), e(e) }.",
        {"insert": TWO_HUNDRED},
        tl.Limits(seconds=1),
        "E403",
    ),
    "cross product by a new rule": Hostile(
        "e(x) :- s(x).", {"insert": {"s": TWO_HUNDRED["e"]}, "add_rules": CROSS}, tl.Limits(facts=200_000), "E401"
    ),
    "strata, facts": Hostile(strata(2_000), {"insert": TWO_HUNDRED}, tl.Limits(facts=20_000), "E401"),
    "strata, rounds": Hostile(strata(2_000), {"insert": TWO_HUNDRED}, tl.Limits(rounds=500), "E402"),
    "10^4 atoms, all new": Hostile(
        "q(x) :- e(x, x).",
        {"insert": {"e": [(x, y) for x in (1, 2) for y in (1, 2)]}, "add_rules": chain(10_000)},
        tl.Limits(seconds=2),
        "E403",
    ),
    "dense component, facts": Hostile(CLOSURE, {"insert": DENSE}, tl.Limits(facts=100_000), "E401"),
    "dense component, bytes": Hostile(CLOSURE, {"insert": DENSE}, tl.Limits(bytes=2_000_000), "E404"),
    "diverging numbers, facts": Hostile(ENDLESS, {"insert": {"n": [(0,)]}}, tl.Limits(facts=5_000), "E401"),
    "diverging numbers, seconds": Hostile(ENDLESS, {"insert": {"n": [(0,)]}}, tl.Limits(seconds=0.5), "E403"),
    "doubling strings": Hostile(
        "n(y) :- n(x), y = cat(x, x).", {"insert": {"n": [("ab",)]}}, tl.Limits(bytes=5_000_000), "E404"
    ),
    "two that feed each other": Hostile(
        "a(y) :- b(x), y = x + 1. b(y) :- a(x), y = x * 2.", {"insert": {"a": [(1,)]}}, tl.Limits(rounds=40), "E402"
    ),
}


def refuse(hostile: Hostile, strategy: str) -> None:
    """The update is stopped by its budget; before, between and after the engine answers.

    Only hostile updates race against the clock; small ones have the other budgets, on machines of any speed.
    """
    others = replace(hostile.limits, seconds=None)
    engine = tl.Engine(hostile.rules + "\nanswer(x) :- fine(x). fine(1).", strategy=strategy, limits=others)
    for attempt in range(hostile.attempts):
        engine.limits = hostile.limits
        with pytest.raises(tl.BudgetError) as raised:
            engine.apply(**hostile.update)
        assert raised.value.code == hostile.code
        assert "the last good version is intact" in str(raised.value)
        assert list(engine.query("answer(x)")) == [(1,)]
        assert engine.version == 2 * attempt
        engine.limits = others
        assert engine.apply(insert={"fine": [(2,)]}).inserted.total == 2
        assert sorted(engine["answer"]) == [(1,), (2,)]
        assert engine.apply(delete={"fine": [(2,)]}).deleted.total == 2
    assert not any(len(engine[name]) for name in ("e", "n", "p", "a", "s") if name in engine)


@pytest.mark.parametrize("program", FAST)
def test_hostile_programs_stop(program: str) -> None:
    """The five of the guarantees."""
    refuse(FAST[program], "auto")


@pytest.mark.long
@pytest.mark.parametrize("program", [*FAST, *LONG])
def test_hostile_programs_stop_long(program: str) -> None:
    """Twenty, each with a strategy of its own by turns."""
    refuse({**FAST, **LONG}[program], STRATEGIES[[*FAST, *LONG].index(program) % len(STRATEGIES)])


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_stops(strategy: str) -> None:
    """A program that would not end, with rounds to spend."""
    refuse(FAST["diverging numbers"], strategy)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_deletions_stop_too(strategy: str) -> None:
    """Checking what survives is work as well: a deletion in a dense component is stopped, and can then be allowed."""
    size = 60
    facts = [(x, y) for x in range(size) for y in range(size)]
    engine = tl.Engine(CLOSURE, strategy=strategy)
    engine.apply(insert={"e": facts})
    engine.limits = tl.Limits(seconds=1e-9)
    with pytest.raises(tl.BudgetError, match="E403"):
        engine.apply(delete={"e": facts[::2]})
    assert len(engine["p"]) == len(engine["e"]) == size * size
    engine.limits = tl.Limits()
    engine.apply(delete={"e": facts[::2]})
    assert len(engine["e"]) == size * size // 2
    engine.verify()


def test_long_programs_without_budgets_are_answered() -> None:
    """Planning is no worse than the program is long: a body of 2,000 atoms and 2,000 strata, without any limit."""
    engine = tl.Engine(chain(2_000) + strata(2_000).replace("e(x)", "f(x)"))
    change = engine.apply(insert={"e": [(1, 1)], "f": [(1,)]})
    assert list(engine["p"]) == [(1, 1)]
    assert sum(name.startswith("p") and name[1:].isdigit() for name in change.inserted) == 1_000
    engine.verify()

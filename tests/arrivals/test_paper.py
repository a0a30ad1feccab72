"""The paper's examples through the public interface, with the second update at every step of the first.

Illich, Glimm 2023: a cycle that re-adds itself (example 1), a deletion that overtakes a rederivation (2), a deletion
along a rule that was never applied (3), a derivation made twice (4), and section 3.1.1's remark that a fact of the
cycle may have another proof. Consecutive processing is what every interleaving has to give.
"""

from __future__ import annotations

from typing import Any

import pytest

import tidelog as tl
from tests.arrivals.scheduler import Overlapped, explicit, facts, failed
from tests.differential.engines import STRATEGIES

CYCLE = "b() :- a(). c() :- b(). a() :- c()."
LONG = "b(x) :- a(x). c(y) :- b(x), next(x, y). a(x) :- c(x)." + "".join(
    f" next({i}, {(i + 1) % 6})." for i in range(6)
)
CASES: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "example 1": (CYCLE, [{"insert": {"a": [()]}}, {"delete": {"a": [()]}}]),
    "example 2": (CYCLE + " a() :- d(). a().", [{"insert": {"d": [()]}, "delete": {"a": [()]}}]),
    "example 2, apart": (CYCLE + " a() :- d(). a().", [{"delete": {"a": [()]}}, {"insert": {"d": [()]}}]),
    "example 3": ("b() :- a(). c() :- a(). c() :- d().", [{"insert": {"a": [()], "d": [()]}}, {"delete": {"a": [()]}}]),
    "example 4": ("b() :- a(). c() :- a(). a().", [{"delete": {"a": [()]}}, {"insert": {"a": [()]}}]),
    "section 3.1.1": (CYCLE + " c() :- d().", [{"insert": {"a": [()], "d": [()]}}, {"delete": {"a": [()]}}]),
    "example 1, long": (LONG, [{"insert": {"a": [(0,)]}}, {"delete": {"a": [(0,)]}}]),
    "section 3.1.1, long": (
        LONG + " c(x) :- d(x). a(0).",
        [{"delete": {"a": [(0,)]}}, {"insert": {"d": [(4,)]}}, {"delete": {"d": [(4,)]}}, {"insert": {"a": [(3,)]}}],
    ),
    "there already": (LONG + " a(0).", [{"insert": {"a": [(0,)]}}, {"delete": {"a": [(0,)]}}]),
    "rules": (
        LONG + " a(0).",
        [{"remove_rules": ["b(x) :- a(x)."]}, {"add_rules": "b(x) :- a(x)."}, {"delete": {"a": [(0,)]}}],
    ),
}
"""Rules with facts, and updates that overlap."""


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("case", CASES)
def test_every_interleaving_gives_what_one_after_the_other_gives(case: str, strategy: str) -> None:
    """The second update arrives at step 0, 1, 2, ... until the first has no such step; further ones soon after it."""
    rules, updates = CASES[case]
    twin = tl.Engine(rules, strategy="recompute")
    for update in updates:
        twin.apply(**update)
    step, shared = 0, False
    while True:
        engine = tl.Engine(rules, strategy=strategy)
        run = Overlapped(engine, updates, [step, *[2] * (len(updates) - 2)][: len(updates) - 1])
        assert not any(map(failed, run.futures))
        assert facts(engine) == facts(twin)
        assert explicit(engine) == explicit(twin)
        assert engine.rules == twin.rules
        engine.verify()
        engine.close()
        shared |= any(future.result().updates > 1 for future in run.futures)
        if run.late or len(updates) == 1:
            break
        step += 1
    assert shared or len(updates) == 1, "no update has met another one"


@pytest.mark.long
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("case", [name for name, (_, updates) in CASES.items() if len(updates) > 2])
def test_every_interleaving_of_more_than_two_updates(case: str, strategy: str) -> None:
    """Each update arrives at each step after the one before it: every list of numbers that makes a difference."""
    rules, updates = CASES[case]
    twin = tl.Engine(rules, strategy="recompute")
    for update in updates:
        twin.apply(**update)
    tried, steps = 0, [0] * (len(updates) - 1)
    while True:
        engine = tl.Engine(rules, strategy=strategy)
        run = Overlapped(engine, updates, steps)
        assert (facts(engine), explicit(engine), engine.rules) == (facts(twin), explicit(twin), twin.rules), steps
        engine.close()
        tried += 1
        if not run.late:
            steps[-1] += 1
            continue
        while steps and steps[-1] == 0:
            steps.pop()
        if not steps:
            break
        steps[-1] = 0  # too late for this one: the one before it comes a step later
        place = len(steps) - 2
        if place < 0:
            break
        steps[place] += 1
        steps += [0] * (len(updates) - 1 - len(steps))
    assert tried > 20

"""An engine that runs for months stays as small as its facts.

Every update leaves something behind that someone has to take away: dead rows, cells of counts, constants, prepared
plans, journals. Facts come and go here; what may grow with what was ever seen is the dictionary of constants, which
is why the constants repeat.
"""

from __future__ import annotations

import gc
import tracemalloc

import pytest

import tidelog as tl
from tests.differential.engines import STRATEGIES

RULES = """
    path(x, y) :- edge(x, y). path(x, z) :- edge(x, y), path(y, z).
    quiet(x) :- node(x), !path(x, _).
    reach(x, n) :- node(x), n = count : { path(x, _) }.
    node(0). node(1). node(7). edge(0, 1).
"""
SETTLED, CYCLES = 300, 2_000


def cycle(engine: tl.Engine, number: int) -> None:
    """Facts in and out again, one of four ways; every hundredth time a rule, too."""
    shift = number % 5
    edges = [(x + shift, (x * 3 + shift) % 12) for x in range(1, 6)]
    engine.apply(insert={"edge": edges})
    if number % 100 == 0:
        engine.apply(add_rules="back: path(y, x) :- path(x, y).")
        engine.apply(remove_rules=["back"])
    engine.apply(delete={"edge": edges})


@pytest.mark.parametrize("strategy", ["auto", "counting", "circuit"])
def test_memory_stays_bounded(strategy: str) -> None:
    """After 1,000 cycles in all the store takes no more than after the first few hundred, and Python hardly more."""
    engine = tl.Engine(RULES, strategy=strategy)
    cycles = CYCLES // 2 // len(STRATEGIES)
    for number in range(cycles):
        if number == min(SETTLED, cycles // 2):
            gc.collect()
            settled = engine._backend.nbytes()
            tracemalloc.start()
            before = tracemalloc.get_traced_memory()[0]
        cycle(engine, number)
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert engine._backend.nbytes() <= 2 * settled
    assert grown < 2_000_000
    assert sorted(engine["path"]) == [(0, 1)]
    engine.verify()


@pytest.mark.long
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_memory_stays_bounded_for_long(strategy: str) -> None:
    """The same over 2,000 cycles with each strategy."""
    engine = tl.Engine(RULES, strategy=strategy)
    sizes = []
    for number in range(CYCLES):
        cycle(engine, number)
        if number % SETTLED == SETTLED - 1:
            sizes.append(engine._backend.nbytes())
    assert max(sizes[1:]) <= 2 * sizes[0]
    engine.verify()

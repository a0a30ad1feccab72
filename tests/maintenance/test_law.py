"""Every strategy, on every store, equals recomputation after every update, in facts and in changes.

The cases hold recursion, negation, aggregates, arithmetic, explicit facts of derived relations, deletions of unknown
facts, deletion and insertion of the same fact, and rules that come and go; marking strategies see the next update.
"""

import pytest

from tests.differential.harness import agree
from tests.differential.updates import draw_case
from tests.maintenance.engines import factory
from tests.maintenance.stores import STORES
from tests.maintenance.supplied_store import SuppliedStore
from tidelog.maintenance.registry import STRATEGIES

ALL_STORES = {**STORES, "supplied": SuppliedStore}


def follow(seed: int, store: str) -> None:
    """Hold all strategies to the law on one case."""
    case = draw_case(seed)
    agree(case, {strategy: factory(strategy, ALL_STORES[store], case.updates) for strategy in STRATEGIES})


@pytest.mark.parametrize("store", ALL_STORES)
@pytest.mark.parametrize("seed", range(12))
def test_strategies_equal_recomputation(seed: int, store: str):
    """A dozen cases on each store; tests/differential has the many."""
    follow(seed, store)


@pytest.mark.long
@pytest.mark.parametrize("store", ALL_STORES)
@pytest.mark.parametrize("start", range(0, 400, 50))
def test_strategies_equal_recomputation_on_many_cases(start: int, store: str):
    """The long tier."""
    for seed in range(start, start + 50):
        follow(seed, store)


@pytest.mark.parametrize("strategy", [name for name in STRATEGIES if name not in ("counting", "circuit")])
@pytest.mark.parametrize("seed", range(40, 52))
def test_no_instance_is_derived_twice_in_a_phase(seed: int, strategy: str):
    """Semi-naive and inverse semi-naive views find an instance from one driving literal only, in one round only.

    Facts would be right without it; only counting derivations shows the waste.
    """
    case = draw_case(seed)
    engine = factory(strategy, STORES["set"], case.updates)(case.program)
    for update in case.updates:
        if not update.refused:
            engine.apply(**update.arguments)
            assert engine.repeated == {}

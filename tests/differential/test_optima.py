"""Recursion through `min` and `max` equals recomputation on the random world, in every strategy.

The oracle (oracle.py) derives each round from the round before alone; the engines replace values one by one, follow
deletions through best values, or start over. Zero weights make cycles that hold themselves up.
"""

from __future__ import annotations

from collections import Counter

import pytest

from tests.differential.engines import STRATEGIES, public_engines
from tests.differential.harness import agree
from tests.differential.optima import draw_optimum_case


def test_best_values_agree_with_recomputation() -> None:
    """Facts and changes, after every update of facts and rules."""
    compared: Counter[str] = Counter()
    for seed in range(10):
        compared += agree(draw_optimum_case(seed), public_engines(STRATEGIES))
    assert all(compared[strategy] > 30 for strategy in STRATEGIES)


@pytest.mark.long
@pytest.mark.parametrize("first", range(10, 1210, 20))
def test_many_best_values_agree_with_recomputation(first: int) -> None:
    """The same, at length."""
    for seed in range(first, first + 20):
        agree(draw_optimum_case(seed), public_engines(STRATEGIES))

"""Rows are sorted as np.lexsort sorts them, whatever the numbers are like."""

from __future__ import annotations

import numpy as np
import pytest

from tidelog.backends.local.kernels.compiled import Array
from tidelog.backends.local.relations.row_sorting import sorted_rows

COUNT = 40_000
LEADS = {
    "hashes": lambda chosen: chosen.integers(0, 2**62, COUNT),
    "hashes, each several times": lambda chosen: chosen.integers(0, 2**62, COUNT // 9)[chosen.integers(0, 4000, COUNT)],
    "the widest range there is": lambda chosen: chosen.choice([-(2**63), 2**63 - 1, 0, 5], COUNT),
    "few numbers and a hub": lambda chosen: np.where(chosen.random(COUNT) < 0.6, 7, chosen.integers(-50, 50, COUNT)),
    "one number": lambda _: np.full(COUNT, -3),
    "sorted already": lambda _: np.arange(COUNT),
    "backwards": lambda _: np.arange(COUNT)[::-1],
    "numbers and hashes": lambda chosen: np.where(
        chosen.random(COUNT) < 0.5, chosen.integers(0, 900, COUNT), chosen.integers(0, 2**62, COUNT)
    ),
}


@pytest.mark.parametrize("count", [0, 1, 3000, COUNT])
@pytest.mark.parametrize("width", [1, 2, 3])
@pytest.mark.parametrize("kind", LEADS)
def test_rows_are_in_the_order_of_all_columns_but_a_carried_one(kind: str, width: int, count: int) -> None:
    """The carried column goes with its row."""
    chosen = np.random.default_rng(width)
    lead = LEADS[kind](chosen)
    others = [chosen.integers(0, 3, COUNT) for _ in range(width - 1)]
    columns = np.array([lead, *others, lead ^ sum(others)], np.int64)[:, :count]  # the last one follows from the others
    found = np.array(sorted_rows(columns, width)).reshape(width + 1, count)
    expected: Array = columns[:, np.lexsort(columns[-2::-1])]
    assert (found == expected).all()

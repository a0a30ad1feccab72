"""Keys are found where np.searchsorted finds them, whatever the numbers are like."""

from __future__ import annotations

import numpy as np
import pytest

from tests.backends.local.test_row_sorting import COUNT, LEADS
from tidelog.backends.local.relations.key_search import KeySearch


@pytest.mark.parametrize("count", [0, 1, 3000, COUNT])
@pytest.mark.parametrize("kind", LEADS)
def test_keys_are_found_with_all_their_places(kind: str, count: int) -> None:
    """Those that are there, those beside them, and the least and the greatest number."""
    column = np.sort(LEADS[kind](np.random.default_rng(5)).astype(np.int64)[:count])
    beside = [column ^ 1, column[:1] // 3, np.array([-(2**63), 2**63 - 1, 0, -1])]
    keys = np.concatenate([column[::7], *beside])
    search = KeySearch(column)
    search.find(keys[:3])  # too few for a table
    first, counts = search.find(keys)
    assert (first == np.searchsorted(column, keys, "left")).all()
    assert (first + counts == np.searchsorted(column, keys, "right")).all()

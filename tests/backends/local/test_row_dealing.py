"""Rows are dealt as a stable sort by shard would put them, to shards that exact arithmetic tells."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.backends.local.relations.row_dealing import BITS, FACTOR, PRIME, dealt, shards_of

NUMBERS = st.integers(-(2**63), 2**63 - 1)


@given(rows=st.lists(st.tuples(NUMBERS, NUMBERS), max_size=40), shards=st.integers(1, 64), width=st.integers(1, 2))
def test_shards_are_those_of_exact_arithmetic(rows: list[tuple[int, int]], shards: int, width: int) -> None:
    """Whatever the numbers are, the least and the greatest of int64 included."""
    columns = [np.array([row[at] for row in rows], np.int64) for at in range(width)]
    assert shards_of(columns, shards).tolist() == [_shard(row[:width], shards) for row in rows]


@pytest.mark.parametrize(("count", "shards"), [(0, 3), (1, 1), (1, 7), (5000, 1), (5000, 7), (5000, 6000)])
def test_columns_are_in_the_order_of_shards(count: int, shards: int) -> None:
    """Columns of several types, views that step over numbers among them; some shards have no row."""
    chosen = np.random.default_rng(count + shards)
    numbers = chosen.integers(-(2**63), 2**63 - 1, 2 * count)[::2]
    flags = chosen.random(count) < 0.5
    homes = shards_of([numbers], shards)
    order = np.argsort(homes, kind="stable")
    (moved, marked), ends = dealt([numbers, flags], homes, shards)
    assert moved.tolist() == numbers[order].tolist()
    assert marked.tolist() == flags[order].tolist()
    assert ends == np.cumsum(np.bincount(homes, minlength=shards)).tolist()


def _shard(row: tuple[int, ...], shards: int) -> int:
    mixed = 0
    for number in row:
        mixed = (mixed + number % PRIME) % PRIME * FACTOR % PRIME
    return mixed * shards >> BITS

"""Kernels compile wherever they are installed."""

import numba
import pytest

from tidelog.backends.local.kernels.compiled import compiled


def test_kernels_compile_where_nothing_can_be_cached():
    """Numba refuses to cache when it finds no folder to write to, as on a read-only system without a home.

    A function without a file is refused for the same reason, so it stands in for such a system.
    """
    found = {}
    exec("def successor(number):\n    return number + 1\n", found)
    with pytest.raises(RuntimeError, match="no locator"):
        numba.njit(cache=True)(found["successor"])
    assert compiled(found["successor"])(41) == 42


@compiled
def doubled(number: int) -> int:
    """A kernel with a file: its compilation is kept."""
    return 2 * number


def test_kernels_with_a_file_are_kept():
    """A later process loads what this one compiled."""
    assert doubled(21) == 42
    stats = doubled.stats
    assert stats.cache_path
    assert sum(stats.cache_hits.values()) + sum(stats.cache_misses.values()) == 1

"""Traces: what a stream has added up to, by round."""

import random

import numpy as np
import pytest

from tidelog.circuits.trace import Trace


@pytest.mark.parametrize("arity", [0, 1, 2, 3])
def test_weights_are_summed_up_by_round(arity: int):
    """Rounds before one, that one, and all of them; rows that are not there have nothing."""
    rng, trace, known = random.Random(arity), Trace(arity), dict[tuple[int, ...], dict[int, int]]()
    for _ in range(20):
        rows = [tuple(rng.randrange(4) for _ in range(arity)) for _ in range(rng.randrange(1, 12))]
        rounds, weights = [rng.randrange(6) for _ in rows], [rng.randrange(-3, 4) for _ in rows]
        trace.add(np.array(rows, np.int32), np.array(weights, np.int64), np.array(rounds, np.int32))
        for row, number, weight in zip(rows, rounds, weights):
            sums = known.setdefault(row, {})
            sums[number] = sums.get(number, 0) + weight
        asked = [*known, (7,) * arity]
        for number in (0, 3, 5, 9):
            before, there = trace.sums(np.array(asked, np.int32), number)
            sums = [known.get(row, {}) for row in asked]
            assert before.tolist() == [sum(weight for at, weight in one.items() if at < number) for one in sums]
            assert there.tolist() == [one.get(number, 0) for one in sums]
        total, nothing = trace.sums(np.array(asked, np.int32))
        assert total.tolist() == [sum(known.get(row, {}).values()) for row in asked]
        assert not nothing.any()

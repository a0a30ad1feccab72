"""Traces: what a stream has added up to, by round."""

import random
import sys
from collections.abc import Callable
from types import FrameType

import numpy as np
import pytest

from tidelog.circuits import trace as trace_module
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


def _interrupted(work: Callable[[], object], at: int) -> bool:
    """Do some work, with an interrupt at the n-th bytecode of the trace's own code; whether it came to that."""
    left = at

    def look(frame: FrameType, event: str, _: object) -> Callable[..., object] | None:
        nonlocal left
        if frame.f_code.co_filename != trace_module.__file__:
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        left -= event == "opcode"
        if left < 0:
            sys.settrace(None)
            raise KeyboardInterrupt
        return look

    before = sys.gettrace()
    sys.settrace(look)
    try:
        work()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


@pytest.mark.parametrize("is_empty", [False, True])
def test_an_interrupt_leaves_a_trace_of_which_kernels_know_every_index(is_empty: bool):
    """An index that was made and not told to the kernels did not get later rows, or could not be asked any more."""
    rows = np.array([(at, at % 7) for at in range(300)], np.int32)
    ones, first, at, goes_on = np.ones(300, np.int64), 0 if is_empty else 100, 0, True
    while goes_on:
        trace = Trace(2)
        trace.add(rows[:first], ones[:first])
        goes_on = _interrupted(lambda: (trace.index((1,)), trace._reserve(200)), at)  # noqa: B023
        assert len(trace.table) == len(trace.weights) == len(trace._is_touched)
        trace.append(rows[first:200], ones[first:200], 0)
        trace.add(rows[100:], ones[100:])
        places, _ = trace.find(rows[:7, 1:], (1,))
        assert sorted(trace.table[places, 0].tolist()) == list(range(300))
        assert trace.sums(rows)[0].tolist() == [1] * 100 + [2] * 100 + [1] * 100
        at += 1
    assert at > 50

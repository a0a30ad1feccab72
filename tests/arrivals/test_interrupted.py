"""Random streams in which something goes wrong in the middle: a fault, a budget, an exception from outside.

What hits a transaction ends one update, not its neighbours: those that shared the transaction are done without it. So
the settled facts are those of applying, in order, all updates whose futures have a change.
"""

from __future__ import annotations

from contextlib import suppress
from random import Random
from threading import Thread
from typing import Any

import pytest

import tidelog as tl
from tests.arrivals.scheduler import explicit, facts
from tests.differential.engines import STRATEGIES
from tests.differential.updates import draw_case
from tidelog.arrivals import worker as worker_module
from tidelog.arrivals.pending import PendingChange
from tidelog.errors import TidelogError
from tidelog.language.printer import print_program


class Fault(BaseException):
    """As an interrupt: no `Exception`, and nobody expects it."""


def disturbed(seed: int, strategy: str) -> tuple[int, int]:
    """Run one case in which the worker is hit at random steps; how many updates were lost by it, how many were done."""
    case, rng = draw_case(seed), Random(seed)
    program = print_program(case.program)
    updates = [dict(update.arguments) for update in case.updates]
    engine, futures = tl.Engine(program, strategy=strategy), list[tuple[dict[str, Any], PendingChange]]()
    for update in updates:
        update["urgent"] = not (update["add_rules"] or update["remove_rules"]) and rng.random() < 0.2

    def submit() -> None:
        update = updates.pop(0)
        with engine._worker.line.changed, suppress(TidelogError):  # one that is refused is for test_random.py
            futures.append((update, engine.submit(**update)))

    def watch(_: int) -> None:
        if updates and rng.random() < 0.3:
            submit()
        if rng.random() < 0.06:
            raise Fault

    engine.watcher = watch
    while updates:
        submit()
        engine.settle()
    engine.watcher = None
    engine.settle()
    return compared(program, engine, futures)


def compared(program: str, engine: tl.Engine, futures: list[tuple[dict[str, Any], PendingChange]]) -> tuple[int, int]:
    """Compare with applying what was done, one after the other; rules that were lost may have left others without."""
    twin, lost, done = tl.Engine(program, strategy="recompute"), 0, 0
    for update, future in futures:
        if future.exception() is None:
            done += 1
            twin.apply(**{key: value for key, value in update.items() if key != "urgent"})
        else:
            lost += isinstance(future.exception(), Fault)
    assert facts(engine) == facts(twin)
    assert explicit(engine) == explicit(twin)
    assert sorted(engine.rules) == sorted(twin.rules)
    engine.verify()
    engine.close()
    return lost, done


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_what_goes_wrong_in_the_middle_ends_one_update(strategy: str) -> None:
    """Every strategy has cases of its own; in many of them updates were lost, and in more they were not."""
    first = 300_000 + 1000 * STRATEGIES.index(strategy)
    ends = [disturbed(first + number, strategy) for number in range(6)]
    assert sum(lost for lost, _ in ends) > 0
    assert sum(done for _, done in ends) > 3


@pytest.mark.long
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_many_streams_in_which_something_goes_wrong(strategy: str) -> None:
    """The long tier of the same."""
    first = 3_000_000 + 10_000 * STRATEGIES.index(strategy)
    ends = [disturbed(first + number, strategy) for number in range(500)]
    assert sum(lost for lost, _ in ends) > 000


def test_an_interrupt_while_the_worker_is_called_leaves_nobody_in_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before its thread has begun, or after: the update was not taken, nobody waits for it, and the next one is done by
    one thread, however many were called.
    """
    engine = tl.Engine("b(x) :- a(x).")
    begin = worker_module.begin_thread

    def early(_: Thread) -> None:
        raise Fault

    def late(thread: Thread) -> None:
        begin(thread)
        raise Fault

    with engine._worker.line.changed:  # so that none of the threads is at work before all were called
        for interrupted in (early, late, late):
            monkeypatch.setattr(worker_module, "begin_thread", interrupted)
            with pytest.raises(Fault):
                engine.submit(insert={"a": [(1,)]})
        assert not engine._worker.line.open
    monkeypatch.setattr(worker_module, "begin_thread", begin)
    assert engine.submit(insert={"a": [(2,)]}).result().version == engine.settle() == 1
    assert set(engine["b"]) == {(2,)}
    engine.close()

"""Urgent updates of the very relations that bulk work changes, at every step of it.

The bulk work is set aside, the urgent update is a version of its own, and the bulk work goes on where it was, on the
version on which it began; at the end of the stage it catches up. The urgent update arrived later, so it has the last
word about its own facts.
"""

from __future__ import annotations

from typing import Any

import pytest

import tidelog as tl
from tests.arrivals.scheduler import explicit, facts
from tests.arrivals.test_submit import at_step
from tests.differential.engines import STRATEGIES
from tests.differential.harness import keys
from tidelog.arrivals import worker as worker_module
from tidelog.arrivals.pending import PendingChange
from tidelog.errors import BudgetError, UpdateError

RULES = """
    b1: b(x) :- a(x). a(x) :- seen(x).
    path(x, y) :- edge(x, y). path(x, z) :- edge(x, y), path(y, z).
    quiet(x) :- node(x), !path(x, _).
    degree(x, n) :- node(x), n = count : { path(x, _) }.
    both(x, y) :- b(x), path(x, y).
"""
RING = [(at, (at + 1) % 12) for at in range(12)]
FACTS: dict[str, Any] = {"edge": RING, "seen": [(at,) for at in range(9)], "node": [(at,) for at in range(14)]}
BULK: dict[str, Any] = {"delete": {"edge": RING[:7], "seen": [(1,)]}, "insert": {"edge": [(30, 31)]}}
URGENT: dict[str, dict[str, Any]] = {
    "inserts what goes": {"insert": {"edge": [(5, 6), (3, 9), (90, 91)]}},
    "deletes what stays": {"delete": {"edge": [(9, 10), (2, 3)]}},
    "deletes what comes": {"delete": {"edge": [(30, 31)]}, "insert": {"node": [(30,)]}},
    "another part": {"insert": {"seen": [(40,)]}, "delete": {"seen": [(2,)]}},
}


def run(strategy: str, urgent: dict[str, Any], step: int) -> tuple[tl.Engine, PendingChange, list[PendingChange]]:
    """Bulk work, with an urgent update at a step of it."""
    engine, futures = tl.Engine(RULES, strategy=strategy), list[PendingChange]()
    engine.apply(insert=FACTS)
    at_step(engine, step, lambda: futures.append(engine.submit(**urgent, urgent=True)))
    bulk = engine.submit(**BULK)
    bulk.result()  # then the other has arrived, if it had a step to arrive at
    engine.settle()
    return engine, bulk, futures


SOME = [(kind, "dred", 11) for kind in URGENT] + [("inserts what goes", one, 16) for one in ("auto", "bf")]
ALL = [pytest.param(kind, one, 1, marks=pytest.mark.long) for kind in URGENT for one in STRATEGIES]


@pytest.mark.parametrize(("kind", "strategy", "stride"), [*SOME, *ALL])
def test_bulk_work_goes_on_after_an_urgent_update(kind: str, strategy: str, stride: int) -> None:
    """Whenever it comes: both versions are true, and the settled facts are those of the order of arrival.

    Every step of every strategy is in the long tier.
    """
    urgent, first = URGENT[kind], tl.Engine(RULES, strategy="recompute")
    first.apply(insert=FACTS)
    first.apply(**urgent)
    twin = tl.Engine(RULES, strategy="recompute")
    for update in ({"insert": FACTS}, BULK, urgent):
        twin.apply(**update)
    before = tl.Engine(RULES, strategy="recompute")
    before.apply(insert=FACTS)
    went_first = 0
    for step in range(0, 300, stride):
        engine, bulk, futures = run(strategy, urgent, step)
        if not futures:
            break
        assert facts(engine) == facts(twin), step
        assert explicit(engine) == explicit(twin), step
        engine.verify()
        change = futures[0].result()
        if change.version < bulk.result().version:
            went_first += 1
            assert (facts(before) - keys(change.deleted)) | keys(change.inserted) == facts(first), step
        engine.close()
    assert went_first > 1


@pytest.mark.parametrize("strategy", ["dred", "bf", "auto", "recompute"])
def test_readers_see_the_urgent_version_while_the_bulk_work_goes_on(strategy: str) -> None:
    """Whatever the bulk work is doing then: whole tables, single facts, explicit ones, sizes and questions."""
    urgent, twin = URGENT["deletes what stays"], tl.Engine(RULES, strategy="recompute")
    twin.apply(insert=FACTS)
    twin.apply(**urgent)
    expected, assumed, path = facts(twin), explicit(twin), len(twin["path"])
    looked = 0
    for step in range(8, 120, 28):
        engine, futures = tl.Engine(RULES, strategy=strategy), list[PendingChange]()
        engine.apply(insert=FACTS)
        steps = iter(range(10**6))

        def watch(_: int) -> None:
            nonlocal looked
            if next(steps) == step:  # noqa: B023
                futures.append(engine.submit(**urgent, urgent=True))  # noqa: B023
            elif futures and futures[0].done() and not bulk.done():  # noqa: B023
                looked += 1
                assert facts(engine) == expected  # noqa: B023
                assert explicit(engine) == assumed  # noqa: B023
                assert len(engine["path"]) == path  # noqa: B023
                assert ((9, 10) in engine["path"], (10, 11) in engine["path"]) == (False, True)  # noqa: B023
                answer = engine.query("path(10, y)")  # noqa: B023
                assert (set(answer), answer.version) == (set(twin.query("path(10, y)")), 2)

        with engine._worker.line.changed:
            engine.watcher = watch
            bulk = engine.submit(**BULK)
        bulk.result()
        engine.watcher = None
        engine.settle()
        engine.verify()
    assert looked > 10


@pytest.mark.parametrize("strategy", ["dred", "auto"])
def test_bulk_work_that_fails_after_an_urgent_update_has_passed_leaves_that_one(strategy: str) -> None:
    """The version to go back to is not the one on which the bulk work began."""
    urgent, first = URGENT["inserts what goes"], tl.Engine(RULES, strategy="recompute")
    first.apply(insert=FACTS)
    first.apply(**urgent)
    failed = 0
    for step in range(0, 90, 5):
        engine, futures = tl.Engine(RULES, strategy=strategy), list[PendingChange]()
        engine.apply(insert=FACTS)
        steps = iter(range(10**6))

        def watch(_: int) -> None:
            at = next(steps)  # noqa: B023
            if at == step:  # noqa: B023
                futures.append(engine.submit(**urgent, urgent=True))  # noqa: B023
            if futures and futures[0].done() and at % 7 == 0:  # noqa: B023
                raise BudgetError.of("E403", "enough", remedy="none")

        with engine._worker.line.changed:
            engine.watcher = watch
            bulk = engine.submit(**BULK)
        if bulk.exception() is not None:
            failed += 1
            engine.watcher = None
            engine.settle()
            assert facts(engine) == facts(first), step
            assert explicit(engine) == explicit(first), step
            engine.verify()
            engine.apply(**BULK)
            engine.verify()
    assert failed > 3


@pytest.mark.parametrize("strategy", ["dred", "bf", "auto"])
def test_a_stream_of_urgent_updates_takes_nothing_from_the_bulk_work(
    strategy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of the same relation, the next as soon as one is visible: the bulk work turns back for none of them, once its
    own facts are read.
    """
    monkeypatch.setattr(worker_module, "_GRACE", 1000.0)  # so that no clock counts
    monkeypatch.setattr(worker_module.Running, "_turn_back_for", lambda *_: pytest.fail("work is given up"))
    engine, urgent = tl.Engine(RULES, strategy=strategy), list[PendingChange]()
    engine.apply(insert=FACTS)

    steps = iter(range(10**6))

    def watch(_: int) -> None:
        if next(steps) > 12 and not bulk.done() and len(urgent) < 30 and all(one.done() for one in urgent):
            urgent.append(engine.submit(insert={"edge": [(100 + len(urgent), 0)]}, urgent=True))

    with engine._worker.line.changed:
        engine.watcher = watch
        bulk = engine.submit(**BULK)
    bulk.result()
    engine.watcher = None
    engine.settle()
    assert sum(one.result().version < bulk.result().version for one in urgent) > 5  # `auto` takes the fewest steps
    assert (7, 0) in engine["path"]
    assert ((100, 0) in engine["path"], (100, 1) in engine["path"]) == (True, False)
    engine.verify()


def test_an_urgent_update_that_fails_leaves_the_bulk_work_as_it_was() -> None:
    """It is refused in the middle, when its columns turn out to be wrong: nothing is lost by it."""
    rules = RULES + " free(x) :- other(x)."
    for step in range(0, 100, 20):
        engine, told = tl.Engine(rules, strategy="dred"), list[PendingChange]()
        engine.apply(insert={**FACTS, "loose": [(1,)]})
        update = {"loose": [(1, 2)], "edge": [(50, 51)]}
        at_step(engine, step, lambda: told.append(engine.submit(insert=update, urgent=True)))  # noqa: B023
        bulk = engine.submit(**BULK)
        bulk.result()
        engine.settle()
        if not told:
            break
        assert isinstance(told[0].exception(), UpdateError), step
        assert bulk.result().version == engine.version
        assert (50, 51) not in engine["edge"]
        engine.verify()
    assert step > 5


def passing(engine: tl.Engine, bulk: dict[str, Any], updates: list[dict[str, Any]], first: int = 12) -> PendingChange:
    """Bulk work, and urgent updates one after the other from a step of it on, the next when one is visible."""
    steps, told = iter(range(10**6)), list[PendingChange]()

    def watch(_: int) -> None:
        if next(steps) > first and not done.done() and updates and all(one.done() for one in told):
            told.append(engine.submit(**updates.pop(0), urgent=True))

    with engine._worker.line.changed:
        engine.watcher = watch
        done = engine.submit(**bulk)
    done.result()
    engine.watcher = None
    engine.settle()
    assert not updates
    assert all(one.result().version < done.result().version for one in told)
    return done


@pytest.mark.parametrize("strategy", ["dred", "bf", "auto"])
def test_rows_that_wait_in_bulk_work_are_not_tidied_away(strategy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set aside, they look dead; the ninth version with dead rows would give back their room."""
    monkeypatch.setattr(worker_module, "_GRACE", 1000.0)
    engine = tl.Engine(RULES, strategy=strategy)
    engine.apply(insert=FACTS)
    many = [(1000 + 2 * at, 1001 + 2 * at) for at in range(3000)]
    urgent = [{"insert": {"edge": [(100 + at, 0)]}} for at in range(14)]
    passing(engine, {"insert": {"edge": many}, "delete": {"edge": RING[:2]}}, list(urgent))
    assert len(engine["edge"]) == 3000 + 10 + 14
    engine.verify()


@pytest.mark.parametrize("strategy", ["dred", "auto"])
def test_an_urgent_update_apart_from_the_bulk_work_undoes_one_that_has_passed(
    strategy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the first has brought is done again when the bulk work catches up; the second came after it."""
    monkeypatch.setattr(worker_module, "_GRACE", 1000.0)
    engine = tl.Engine(RULES, strategy=strategy)
    engine.apply(insert={**FACTS, "apart": [(1,)]})
    passing(engine, BULK, [{"insert": {"edge": [(70, 71)], "apart": [(7,)]}}, {"delete": {"apart": [(7,)]}}])
    assert (set(engine["apart"]), (70, 71) in engine["edge"]) == ({(1,)}, True)
    engine.verify()


def test_an_urgent_update_does_not_change_the_columns_of_what_bulk_work_brings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The relation is empty as yet, and its rows wait: the update that arrived first says how many columns it has."""
    monkeypatch.setattr(worker_module, "_GRACE", 1000.0)
    engine, told = tl.Engine(RULES), list[PendingChange]()
    engine.apply(insert={**FACTS, "loose": [(1, 2)]})
    engine.apply(delete={"loose": [(1, 2)]})
    steps = iter(range(10**6))

    def watch(_: int) -> None:
        if next(steps) == 20:
            told.append(engine.submit(insert={"loose": [(1,)]}, urgent=True))

    with engine._worker.line.changed:
        engine.watcher = watch
        bulk = engine.submit(insert={"loose": [(at, at) for at in range(100)]}, delete=BULK["delete"])
    bulk.result()
    engine.watcher = None
    engine.settle()
    assert isinstance(told[0].exception(), UpdateError)
    assert len(engine["loose"]) == 100
    engine.verify()

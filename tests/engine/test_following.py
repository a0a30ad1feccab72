"""Streams: one change per update, in order, never late; merged ones are the sum of what they merge."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from functools import partial
from queue import Queue
from typing import Any

import pytest

import tidelog as tl
from tests.differential.engines import STRATEGIES
from tests.differential.harness import keys
from tests.differential.updates import draw_case
from tidelog import engine as engine_module
from tidelog.changes.update import Update
from tidelog.limits import Budget

RULES = "path(x, y) :- edge(x, y). path(x, z) :- edge(x, y), path(y, z). quiet(x) :- node(x), !path(x, _)."
UPDATES: tuple[dict[str, Any], ...] = (
    {"insert": {"edge": [(1, 2), (2, 3), (3, 1)], "node": [(1,), (4,)]}},
    {"delete": {"edge": [(2, 3)]}},
    {"delete": {"edge": [(1, 2)]}, "insert": {"edge": [(2, 3), (4, 4)]}},
    {"add_rules": "loop: loop(x) :- path(x, x). node(5)."},
    {"remove_rules": ["loop"], "insert": {"edge": [(1, 2)]}},
    {"delete": {"edge": [(4, 4)], "node": [(5,)]}},
)


def as_queue(updates: Iterable[dict[str, Any]]) -> Queue[Any]:
    """A queue that ends."""
    queue: Queue[Any] = Queue()
    for update in updates:
        queue.put(update)
    queue.put(None)
    return queue


def facts(engine: tl.Engine) -> set[Any]:
    """Everything that holds."""
    return keys({name: list(engine[name]) for name in engine.relations})


@pytest.mark.parametrize("source", [list, iter, as_queue, lambda updates: (update for update in updates)])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_stream_does_what_single_updates_do(strategy: str, source: Any) -> None:
    """From a list, an iterator, a queue or a generator: the same changes, one by one."""
    engine, twin = tl.Engine(RULES, strategy=strategy), tl.Engine(RULES, strategy="recompute")
    changes = list(engine.follow(source(UPDATES)))
    expected = [twin.apply(**update) for update in UPDATES]
    assert [(keys(one.inserted), keys(one.deleted)) for one in changes] == [
        (keys(one.inserted), keys(one.deleted)) for one in expected
    ]
    assert [change.version for change in changes] == list(range(1, len(UPDATES) + 1))
    assert facts(engine) == facts(twin)
    engine.verify()


def net(changes: Iterable[tl.Change]) -> tuple[set[Any], set[Any]]:
    """Changes one after the other as one."""
    came: set[Any] = set()
    went: set[Any] = set()
    for change in changes:
        inserted, deleted = keys(change.inserted), keys(change.deleted)
        came, went = (came - deleted) | (inserted - went), (went - inserted) | (deleted - came)
    return came, went


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_merged_updates_are_the_sum_of_single_ones(strategy: str) -> None:
    """`latest=True` answers all that waits with one change: the sum of the changes that it replaces."""
    engine, twin = tl.Engine(RULES, strategy=strategy), tl.Engine(RULES, strategy="recompute")
    merged = list(engine.follow(list(UPDATES), latest=True))
    assert len(merged) == 1
    assert net(merged) == net([twin.apply(**update) for update in UPDATES])
    assert facts(engine) == facts(twin)
    assert engine.rules == twin.rules


def test_merging_random_streams_changes_no_result() -> None:
    """Rules come and go in them, too."""
    for seed in range(2_000_000, 2_000_030):
        case = draw_case(seed)
        updates = [update.arguments for update in case.updates if not update.refused]
        engine, twin = tl.Engine(case.program), tl.Engine(case.program)
        merged = list(engine.follow(updates, latest=True))
        assert net(merged) == net([twin.apply(**update) for update in updates]), seed  # type: ignore[arg-type]
        assert facts(engine) == facts(twin), seed


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("latest", [False, True])
def test_looking_ahead_never_waits(strategy: str, latest: bool) -> None:
    """A source that gives the next update only when it has seen the present one answered.

    An engine that waits for the next update before it answers would wait for ever: the test would hang, not fail by
    luck.
    """
    answered = threading.Semaphore(0)

    def source() -> Iterator[dict[str, Any]]:
        for update in UPDATES:
            yield update
            assert answered.acquire(timeout=60), "the change did not come before the next update was asked for"

    engine = tl.Engine(RULES, strategy=strategy)
    seen = 0
    for change in engine.follow(source(), latest=latest):
        seen += 1
        assert change.version == seen
        answered.release()
    assert seen == len(UPDATES)


def test_a_bad_update_ends_a_stream_in_its_place() -> None:
    """What came before it is applied, it is not, and the engine goes on."""
    engine = tl.Engine(RULES, strategy="bf-mark")
    stream = engine.follow(
        [{"insert": {"edge": [(1, 2)]}}, {"insert": {"edge": [(1,)]}}, {"insert": {"edge": [(8, 9)]}}]
    )
    assert next(stream).version == 1
    with pytest.raises(tl.UpdateError):
        next(stream)
    assert set(engine["edge"]) == {(1, 2)}
    assert engine.apply(insert={"edge": [(2, 3)]}).version == 2


def test_an_announcement_that_does_not_come_true_does_no_harm() -> None:
    """Another update than the announced one, or one with other rules, or another announcement."""
    for strategy in ("bf-mark", "dred-mark"):
        engine = tl.Engine(RULES + "edge(1, 2). edge(2, 3). edge(3, 1). node(1).", strategy=strategy)
        for announced in ([(1, 2)], [(2, 3), (3, 1)], [(9, 9)]):
            engine.look_ahead(tl.Update.of(delete={"edge": announced}))
            engine.look_ahead(tl.Update.of(delete={"edge": [(3, 1)]}))
            engine.apply(insert={"edge": [(3, 4)]})
            engine.verify()
            engine.look_ahead(tl.Update.of(delete={"edge": announced}))
            engine.apply(delete={"edge": [(3, 4)]}, add_rules="back: path(y, x) :- path(x, y), node(x).")
            engine.verify()
            engine.apply(remove_rules=["back"])
        engine.verify()


@pytest.mark.parametrize("strategy", ["dred-mark", "bf-mark"])
def test_looking_ahead_is_charged_to_itself(strategy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next update may come minutes after the last one; looking at it was charged to that one's seconds."""
    now = [0.0]
    monkeypatch.setattr(engine_module, "Budget", partial(Budget, clock=lambda: now[0]))
    engine = tl.Engine(RULES, strategy=strategy, limits=tl.Limits(seconds=10))
    marks = 0
    for change in engine.follow(UPDATES):
        now[0] += 100  # before the next one is looked at
        marks += change.stats.marks
    assert marks > 0
    engine.verify()


@pytest.mark.parametrize("strategy", ["dred-mark", "bf-mark"])
def test_looking_ahead_ends_where_its_budget_ends(strategy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Marks are a help and no duty: without them the next update takes longer, and nothing else."""
    now = [0.0]
    engine = tl.Engine(RULES, strategy=strategy, limits=tl.Limits(seconds=10))
    engine.apply(**UPDATES[0])

    def clock() -> float:
        now[0] += 100
        return now[0]

    with monkeypatch.context() as patched:
        patched.setattr(engine_module, "Budget", partial(Budget, clock=clock))
        engine.look_ahead(Update.of(delete={"edge": [(2, 3)]}))
    change = engine.apply(**UPDATES[1])
    assert change.stats.marks == 0
    engine.verify()

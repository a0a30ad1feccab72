"""What `submit` promises, one by one.

Order is made certain by a watcher, which holds the worker at a step until the test lets it go, or submits from there.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import tidelog as tl
from tests.arrivals.scheduler import facts
from tests.differential.engines import STRATEGIES
from tidelog.arrivals import line as line_module
from tidelog.arrivals.pending import PendingChange
from tidelog.errors import BudgetError, ProgramError, UpdateError, UsageError

RULES = "path(x, y) :- edge(x, y). path(x, z) :- edge(x, y), path(y, z). quiet(x) :- node(x), !path(x, _)."
CHAIN = [(at, at + 1) for at in range(20)]


@contextmanager
def held(engine: tl.Engine) -> Iterator[None]:
    """The worker is in the middle of an update until the block ends."""
    inside, go_on = threading.Event(), threading.Event()

    def watch(_: int) -> None:
        engine.watcher = None
        inside.set()
        go_on.wait()

    engine.watcher = watch
    engine.submit(insert={"node": [("held",)]})
    inside.wait()
    yield
    go_on.set()


def at_step(engine: tl.Engine, number: int, act: Callable[[], object]) -> None:
    """Do something at a step of the next update, in the thread that works on it."""
    steps = iter(range(number + 1))

    def watch(_: int) -> None:
        if next(steps, None) == number:
            engine.watcher = None
            act()

    engine.watcher = watch


def test_a_future_has_the_change_and_can_be_awaited() -> None:
    """Threads ask for the result, coroutines await it; several at once."""
    engine = tl.Engine(RULES)
    change = engine.submit(insert={"edge": CHAIN}).result()
    assert (change.version, change.updates, len(change.inserted["path"])) == (1, 1, 210)

    async def several() -> list[tl.Change]:
        return list(await asyncio.gather(*(engine.submit(insert={"edge": [(at, at)]}) for at in range(5))))

    changes = asyncio.run(several())
    assert sum(change.updates for change in {one.version: one for one in changes}.values()) == 5
    assert engine.settle() == engine.version
    engine.verify()


def test_a_submitted_update_is_profiled_where_it_is_submitted() -> None:
    """The thread that works on it knows what the one that submits has asked for."""
    engine = tl.Engine(RULES)
    with tl.profiling():
        change = engine.submit(insert={"edge": CHAIN}).result()
    assert change.stats.costs
    assert not engine.submit(insert={"edge": [(90, 91)]}).result().stats.costs


def test_an_update_object_can_be_submitted() -> None:
    """As read from a file or a stream."""
    engine = tl.Engine(RULES)
    engine.submit(tl.Update.of(insert={"edge": [(1, 2)]}, add_rules="loop(x) :- path(x, x).")).result()
    assert (1, 2) in engine["path"]
    assert "loop" in engine


def test_what_waits_together_shares_a_version() -> None:
    """The future of each has the version's change, which says how many share it; opposites leave nothing."""
    engine = tl.Engine(RULES)
    with held(engine):
        futures = [
            engine.submit(insert={"edge": CHAIN}),
            engine.submit(delete={"edge": CHAIN}),
            engine.submit(insert={"node": [(1,)]}),
        ]
    changes = {future.result().version: future.result() for future in futures}
    assert sum(change.updates for change in changes.values()) in (3, 4)  # with the one that was held, or after it
    assert len(engine["edge"]) == 0
    assert all(not change.inserted["path"] for change in changes.values())
    assert (1,) in engine["quiet"]


@pytest.mark.parametrize(
    ("update", "error"),
    [
        ({"insert": {"edge": [(1, 2, 3)]}}, UpdateError),
        ({"insert": {"edge": [(1, None)]}}, UpdateError),
        ({"insert": {"edge": "ab"}}, UpdateError),
        ({"insert": {"@edge": [(1, 2)]}}, UsageError),
        ({"insert": {"named": [(1,)]}}, UpdateError),
        ({"add_rules": "p(x :- q(x)."}, ProgramError),
        ({"add_rules": "p(x) :- q(y)."}, ProgramError),
        ({"add_rules": "path(x, y) :- node(x), node(y), !path(y, x)."}, ProgramError),
        ({"remove_rules": ["nobody"]}, UsageError),
    ],
)
def test_what_cannot_be_right_is_refused_at_once_and_alone(update: dict[str, object], error: type[Exception]) -> None:
    """While another update is worked on, and without disturbing it."""
    engine = tl.Engine(RULES + " .decl named(x: symbol)")
    with held(engine):
        before = engine.submit(insert={"edge": [(1, 2)]})
        with pytest.raises(error):
            engine.submit(**update)  # type: ignore[arg-type]
        after = engine.submit(insert={"edge": [(2, 3)]})
    assert before.result().version <= after.result().version
    assert len(engine["path"]) == 3


def test_rules_are_checked_against_those_that_will_be_in_force() -> None:
    """A rule that a waiting update adds can be removed, and columns that it fixes are fixed."""
    engine = tl.Engine(RULES)
    with held(engine):
        engine.submit(add_rules="r1: both(x, y) :- path(x, y), path(y, x).")
        with pytest.raises(UpdateError):
            engine.submit(insert={"both": [(1,)]})
        engine.submit(remove_rules=["r1"])
        with pytest.raises(UsageError):
            engine.submit(remove_rules=["r1"])
    engine.settle()
    assert "both" not in engine.relations


def test_what_fails_later_fails_alone() -> None:
    """Nobody could know that `free` has one column; the others become visible without it."""
    engine = tl.Engine(RULES)
    with held(engine):
        futures = [
            engine.submit(insert={"free": [(1,)]}),
            engine.submit(insert={"free": [(1, 2)], "edge": [(5, 6)]}),
            engine.submit(insert={"edge": [(1, 2)]}),
        ]
    assert isinstance(futures[1].exception(), UpdateError)
    assert futures[0].result().version < futures[2].result().version
    assert sorted(engine["edge"]) == [(1, 2)]
    engine.verify()


def test_those_in_order_never_happen_without_those_before_them() -> None:
    """The first that fails is the last that counts, whether it is refused at once, later, or cancelled."""
    engine = tl.Engine(RULES, limits=tl.Limits(rounds=10))
    one, bad, two = (tl.Update.of({"edge": edges}) for edges in ([("a", "b")], CHAIN, [("b", "c")]))
    changes = [future.result() for future in engine.submit_in_order([one, two, tl.Update()])]
    assert [(change.version, change.updates) for change in changes] == [(1, 3)] * 3

    back = tl.Update.of(None, {"edge": [("a", "b")]})
    first, refused, *others = engine.submit_in_order([back, bad, one, two])
    assert first.result().version == 2
    with pytest.raises(BudgetError):
        refused.result()
    for other in others:
        with pytest.raises(CancelledError):
            other.result()
    assert (engine.settle(), set(engine["edge"])) == (2, {("b", "c")})

    wrong = tl.Update.of({"edge": [(1, 2, 3)]})
    first, refused = engine.submit_in_order([one, wrong, two])
    assert first.result().version == 3
    with pytest.raises(UpdateError):
        refused.result()

    with held(engine):
        first, second, third = engine.submit_in_order([back, one, back])
        assert second.cancel()
    assert first.result().updates == 2, "it shares the version that was held"
    with pytest.raises(CancelledError):
        third.result()
    engine.settle()
    assert set(engine["edge"]) == {("b", "c")}
    engine.verify()


def test_refusing_arithmetic_shares_no_version() -> None:
    """A merged version could hide an instance without a value that the update alone would be refused for."""
    engine = tl.Engine("half(x, y) :- n(x), y = 10 / x.", arithmetic="refuse")
    with engine._worker.line.changed:
        first, second = engine.submit(insert={"n": [(0,), (5,)]}), engine.submit(delete={"n": [(0,)]})
    assert first.exception() is not None
    assert second.result().updates == 1
    assert len(engine["n"]) == 0


def test_a_future_can_be_cancelled_while_it_waits() -> None:
    """It is not applied then; one that is worked on cannot be cancelled."""
    engine = tl.Engine(RULES)
    with held(engine):
        kept, dropped = engine.submit(insert={"edge": [(1, 2)]}), engine.submit(insert={"edge": [(2, 3)]})
        assert dropped.cancel()
    engine.settle()
    assert kept.done()
    assert sorted(engine["edge"]) == [(1, 2)]


def test_a_coroutine_that_is_cancelled_takes_its_update_back_while_it_waits() -> None:
    """One that is worked on becomes visible all the same; nobody else notices."""
    engine = tl.Engine(RULES)

    async def one(update: dict[str, object]) -> None:
        await engine.submit(**update)  # type: ignore[arg-type]

    async def both() -> None:
        with held(engine):
            kept = asyncio.ensure_future(one({"insert": {"edge": [(1, 2)]}}))
            dropped = asyncio.ensure_future(one({"insert": {"edge": [(2, 3)]}}))
            await asyncio.sleep(0)
            dropped.cancel()
            await asyncio.sleep(0)
        await kept
        with pytest.raises(asyncio.CancelledError):
            await dropped

    asyncio.run(both())
    engine.settle()
    assert sorted(engine["edge"]) == [(1, 2)]


def test_an_event_loop_that_is_closed_stops_nobody(caplog: pytest.LogCaptureFixture) -> None:
    """The update of a coroutine whose loop is gone becomes visible, and so do those behind it."""
    engine, loop = tl.Engine(RULES), asyncio.new_event_loop()

    async def leave() -> None:
        asyncio.wrap_future(engine.submit(insert={"edge": [(1, 2)]}))

    with held(engine):
        loop.run_until_complete(leave())
        loop.close()
        behind = engine.submit(insert={"edge": [(2, 3)]})
    assert behind.result().version == engine.settle()
    assert len(engine["path"]) == 3
    caplog.clear()  # Python tells that the loop is closed; nothing is left undone


def test_facts_are_those_of_the_moment_of_submission() -> None:
    """What the caller does to its list or array afterwards changes nothing."""
    engine, rows, array = tl.Engine(RULES), [(1, 2)], np.array([[3, 4]])
    with held(engine):
        engine.submit(insert={"edge": rows})
        engine.submit(insert={"edge": array})
        rows.append((7, 7))
        array[0, 0] = 9
    engine.settle()
    assert sorted(engine["edge"]) == [(1, 2), (3, 4)]


def test_apply_comes_after_what_was_submitted_and_has_a_version_of_its_own() -> None:
    """Also if another thread holds the engine meanwhile."""
    engine = tl.Engine(RULES)
    with engine._worker.line.changed:
        first = engine.submit(insert={"edge": [(1, 2)]})
        behind = threading.Thread(target=lambda: engine.apply(delete={"edge": [(1, 2)]}))
        behind.start()
    behind.join()
    engine.settle()
    assert first.result().updates == 1
    assert len(engine["edge"]) == 0
    change = engine.apply(insert={"edge": [(1, 2)]})
    assert (change.updates, change.version) == (1, engine.version)


def test_an_interrupt_of_an_apply_in_line_stops_it() -> None:
    """Ctrl-C in a thread whose update another thread works on: it is rolled back before the first hears of it."""
    engine, interrupted = tl.Engine(RULES), list[bool]()
    line = engine._worker.line

    def watch(_: int) -> None:
        running = next(iter(line.open.values()))
        if not running.is_alone:
            until(lambda: len(line.open) == 2)
        elif not interrupted:
            interrupted.append(True)
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
            until(lambda: running.is_dropped)

    engine.watcher = watch
    first = engine.submit(insert={"node": [(1,)]})
    with pytest.raises(KeyboardInterrupt):
        engine.apply(insert={"edge": CHAIN})
    version, edges, engine.watcher = engine.version, len(engine["edge"]), None
    engine.settle()
    assert first.result().version == version == engine.version
    assert edges == len(engine["edge"]) == 0
    engine.apply(insert={"edge": CHAIN})
    engine.verify()


def until(holds: Callable[[], bool]) -> None:
    """Wait for another thread."""
    while not holds():
        threading.Event().wait(0.001)


def test_a_watcher_may_submit_but_not_wait() -> None:
    """Waiting would be for ever: its own thread does the work."""
    engine, told = tl.Engine(RULES), list[str]()

    def act() -> None:
        engine.submit(insert={"edge": [(1, 2)]})
        for wait in (engine.settle, lambda: engine.apply(insert={"edge": [(1, 2)]}), engine.close):
            try:
                wait()
            except UsageError as error:
                told.append(error.code)

    at_step(engine, 0, act)
    engine.submit(insert={"node": [(1,)]}).result()
    engine.settle()
    assert told == ["E814", "E814", "E814"]
    assert (1, 2) in engine["edge"]


def test_who_works_on_an_update_does_not_wait_for_the_change_of_another() -> None:
    """In a watcher of `apply`, in a callback, and for the exception as well; `close` there changes nothing either.

    Taught by a watcher that asked a future for its result and never came back, and by one that closed: the engine took
    updates by `apply` from then on, and none by `submit`.
    """
    engine, told = tl.Engine(RULES), list[str]()

    def act() -> None:
        future = engine.submit(insert={"node": [(len(told),)]})
        for wait in (future.result, future.exception, lambda: future.result(timeout=5), engine.close):
            try:
                wait()
            except UsageError as error:
                told.append(error.code)

    def once(_: object) -> None:
        if not told:
            act()

    engine.watcher = once
    engine.apply(insert={"edge": [(1, 2)]})
    engine.watcher = None
    engine.settle()
    assert told == ["E814"] * 4
    engine.submit(insert={"edge": [(2, 3)]}).add_done_callback(lambda _: act())
    until(lambda: len(told) == 8)
    engine.settle()
    assert told == ["E814"] * 8
    engine.submit(insert={"edge": [(3, 4)]}).result()
    assert len(engine["edge"]) == 3
    engine.close()


def test_a_callback_may_apply() -> None:
    """It runs in the worker's thread, between two updates."""
    engine = tl.Engine(RULES)
    future = engine.submit(insert={"edge": [(1, 2)]})
    future.add_done_callback(lambda _: engine.apply(insert={"edge": [(2, 3)]}))
    future.result()
    engine.settle()
    while (2, 3) not in engine["edge"]:  # the callback may run after `settle` has seen the end of the update
        engine.settle()
    assert len(engine["path"]) == 3


def test_the_line_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who submits more than may wait waits, unless the work is its own: then it is told."""
    monkeypatch.setattr(line_module, "MOST_WAITING", 2)
    engine, told = tl.Engine(RULES), list[str]()
    with held(engine):
        for at in range(2):
            engine.submit(insert={"edge": [(at, at + 1)]})
        third = threading.Thread(target=lambda: engine.submit(insert={"edge": [(2, 3)]}))
        third.start()
        third.join(0.05)
        assert third.is_alive()
    third.join()
    engine.settle()
    assert len(engine["edge"]) == 3

    def act() -> None:
        try:
            for at in range(4):
                engine.submit(add_rules=f"extra{at}(x) :- node(x).")
        except UsageError as error:
            told.append(error.code)

    at_step(engine, 0, act)
    engine.submit(insert={"node": [(1,)]}).result()
    engine.settle()
    assert told == ["E818"]


def test_closing_finishes_what_was_submitted() -> None:
    """And refuses what comes after."""
    engine = tl.Engine(RULES)
    future = engine.submit(insert={"edge": CHAIN})
    engine.close()
    assert future.result().version == 1
    with pytest.raises(UsageError, match="closed"):
        engine.submit(insert={"edge": [(1, 2)]})


def test_an_opposite_stops_the_work() -> None:
    """What is deleted and comes back in the middle is worked on until then, and not put back fact by fact."""
    engine = tl.Engine(RULES, strategy="dred")
    ring = {"edge": [(at, (at + 1) % 150) for at in range(150)]}
    one = {"edge": [(0, 1)]}
    engine.apply(insert=ring)
    alone = engine.apply(delete=one).stats.total_derivations
    engine.apply(insert=one)
    spent = []
    for step in range(60):
        at_step(engine, step, lambda: engine.submit(insert=one))
        change = engine.submit(delete=one).result()
        engine.settle()
        if engine.watcher is not None:
            break
        assert len(engine["path"]) == 150 * 150
        if change.updates == 2:
            assert change.is_empty
            spent.append(change.stats.total_derivations)
    assert max(spent) <= alone
    assert any(0 < one < alone / 2 for one in spent)


def test_stages_that_the_opposite_does_not_reach_stay() -> None:
    """Two programs side by side: taking back most of one does not derive the other again."""
    engine = tl.Engine(RULES + " b1: b(x) :- a(x). a(x) :- seen(x).", strategy="dred")
    engine.apply(insert={"seen": [(at,) for at in range(9)], "edge": CHAIN})
    met = 0
    for step in range(40):
        at_step(engine, step, lambda: engine.submit(insert={"edge": CHAIN}))
        change = engine.submit(delete={"edge": CHAIN, "seen": [(1,)]}).result()
        engine.settle()
        if engine.watcher is not None:
            break
        assert len(engine["path"]) == 210
        assert len(engine["b"]) == 8
        if change.updates == 2:
            met += 1
            assert change.stats.derivations.get(("b1", "overdelete")) == 1
        engine.apply(insert={"seen": [(1,)]})
        engine.verify()
    assert met > 2


def test_an_urgent_update_goes_first_and_has_the_last_word() -> None:
    """It is visible before the update that it interrupts, and what that one says about the same fact is overridden."""
    engine = tl.Engine(RULES)
    engine.apply(insert={"edge": CHAIN})
    urgent = list[object]()
    at_step(engine, 3, lambda: urgent.append(engine.submit(insert={"edge": [(5, 6), (90, 91)]}, urgent=True)))
    bulk = engine.submit(delete={"edge": CHAIN}, insert={"edge": [(30, 31)]})
    assert bulk.result().version == urgent[0].result().version + 1  # type: ignore[attr-defined]
    assert (90, 91) in urgent[0].result().inserted["path"]  # type: ignore[attr-defined]
    assert sorted(engine["edge"]) == [(5, 6), (30, 31), (90, 91)]
    engine.verify()


def test_an_urgent_rule_that_depends_on_what_waits_waits_too() -> None:
    """It removes a rule that an update before it adds: it cannot go first, and is not lost."""
    engine = tl.Engine(RULES)
    with held(engine):
        engine.submit(add_rules="r1: loop(x) :- path(x, x).")
        removed = engine.submit(remove_rules=["r1"], urgent=True)
    assert removed.result().version
    assert "loop" not in engine.relations


@pytest.mark.parametrize("urgent", [False, True])
def test_nobody_starves(urgent: bool) -> None:
    """A stream of opposites, or of urgent updates, at every step and without end: the update ends all the same."""
    engine = tl.Engine(RULES, strategy="dred")
    ring = [(at, (at + 1) % 12) for at in range(12)]
    engine.apply(insert={"edge": ring})
    steps = iter(range(5000))

    def watch(_: int) -> None:
        turn = next(steps)  # an update that starves uses them up, and fails
        if first.done():
            engine.watcher = None
        elif urgent:
            engine.submit(insert={"node": [(turn,)]}, urgent=True)
        elif len(engine._worker.line.waiting) < 50:
            engine.submit(**{("insert", "delete")[turn % 2]: {"edge": ring}})

    with engine._worker.line.changed:
        engine.watcher = watch
        first = engine.submit(delete={"edge": ring})
    first.result()
    engine.settle()
    engine.verify()


def test_a_shared_version_is_explained_and_saved_like_any_other(tmp_path: Path) -> None:
    """Proofs of what came and went, and a state that opens to the same facts."""
    engine = tl.Engine(RULES)
    engine.apply(insert={"edge": CHAIN[:3], "node": [(7,)]})
    engine.save(tmp_path / "state")
    with engine._worker.line.changed:
        engine.submit(delete={"edge": [(0, 1)]}, insert={"edge": [(5, 5)]})
        engine.submit(delete={"edge": [(5, 5)]}, insert={"edge": [(0, 1), (7, 8)]})
        future = engine.submit(delete={"edge": [(1, 2)]})
    change = future.result()
    assert change.updates == 3
    assert "7" in str(engine.explain_change(change, "path", (7, 8)))
    assert "(1, 2)" in str(engine.explain_change(change, "path", (0, 3)))
    engine.save(tmp_path / "state")
    with tl.Engine.open(tmp_path / "state") as again:
        assert facts(again) == facts(engine)
        assert sorted(again.explicit("edge")) == sorted(engine.explicit("edge"))
        again.verify()


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_an_urgent_update_of_another_part_does_not_stop_the_work(strategy: str) -> None:
    """At every step of a deletion: it is visible first, the deletion goes on where it was, and all of it is true.

    One stage reads both parts. If the urgent update comes before that stage is visited, nothing has to be done twice.
    """
    rules = RULES + " seen(x) :- alert(x), !muted(x). both(x, y) :- seen(x), path(x, y)."
    ring = [(at, (at + 1) % 40) for at in range(40)]
    engine = tl.Engine(rules, strategy=strategy)
    engine.apply(insert={"edge": ring, "alert": [(-1,)], "muted": [(7,)]})
    alone = engine.apply(delete={"edge": [(0, 1)]}).stats.total_derivations
    engine.apply(insert={"edge": [(0, 1)]})
    beside = 0
    for step in range(30):
        urgent = list[PendingChange]()

        def act(step: int = step, urgent: list[PendingChange] = urgent) -> None:
            urgent.append(engine.submit(insert={"alert": [(step,)]}, delete={"alert": [(step - 1,)]}, urgent=True))

        at_step(engine, step, act)
        bulk = engine.submit(delete={"edge": [(0, 1)]}).result()
        engine.settle()
        if not urgent:
            break
        change = urgent[0].result()
        assert ((step,) in change.inserted["seen"]) == (step != 7)
        if change.version < bulk.version:
            assert len(change.inserted["both"]) == (40 if step != 7 else 0), "seen beside the version before"
            beside += bulk.stats.total_derivations <= alone + 41
        assert len(engine["both"]) == (0 if step == 7 else len([1 for x, _ in engine["path"] if x == step]))
        engine.verify()
        engine.apply(insert={"edge": [(0, 1)]})
    assert beside > 1


def test_many_threads_submit_apply_and_read() -> None:
    """Each thread's batches come and go in its own order, whole, while others read; some are urgent, some applied."""
    engine, wrong = tl.Engine("copy(t, b, i) :- item(t, b, i).", strategy="auto"), list[object]()
    done = threading.Event()

    def write(thread: int) -> None:
        for turn in range(40):
            update = {("insert", "delete")[turn % 2]: {"item": [(thread, turn // 2 % 3, at) for at in range(30)]}}
            if turn % 7 == 3:
                engine.apply(**update)
            else:
                engine.submit(**update, urgent=turn % 5 == 2)
        engine.submit(insert={"item": [(thread, 9, at) for at in range(30)]})

    def read() -> None:
        while not done.is_set():
            counts = Counter((thread, batch) for thread, batch, _ in engine["copy"])
            wrong.extend((key, count) for key, count in counts.items() if count != 30)

    reader, writers = threading.Thread(target=read), [threading.Thread(target=write, args=(at,)) for at in range(4)]
    for thread in (reader, *writers):
        thread.start()
    for thread in writers:
        thread.join()
    engine.settle()
    done.set()
    reader.join()
    assert wrong == []
    assert Counter(batch for _, batch, _ in engine["copy"]) == {9: 120}
    engine.verify()
    engine.close()

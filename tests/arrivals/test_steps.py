"""Work is done in small steps, and what arrives between any two of them is taken into account.

Steps are made tiny here, so that every loop over rows has many, and pauses fall into the middle of everything: an index
that is half built, marks of which a part is set, a relation that is being tidied.
"""

from __future__ import annotations

import threading

import numpy as np
import pytest

import tidelog as tl
from tests.arrivals.scheduler import facts
from tests.arrivals.test_random import check
from tests.arrivals.test_submit import at_step, until
from tests.differential.engines import STRATEGIES
from tests.sharing import sharing
from tidelog.backends.local import backend as backend_module
from tidelog.backends.local.joins import aggregates, machine, under_budget
from tidelog.backends.local.passing_transaction import is_apart
from tidelog.backends.local.relations import catalogue, growth, steps
from tidelog.backends.local.relations import relation as relation_module
from tidelog.maintenance.joining import StandAsideError
from tidelog.maintenance.versions import NEW_VERSION
from tidelog.planning.plan import Driver
from tidelog.planning.views import NO_MARKS, Mark, View

_NOT_NOW = View(outside=Mark.NOW)


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps of two or three rows."""
    monkeypatch.setattr(steps, "STEP", 3)
    monkeypatch.setattr(growth, "COPIED", 5)
    monkeypatch.setattr(steps, "COPIED", 5)
    monkeypatch.setattr(relation_module, "_SELECTED", 4)
    monkeypatch.setattr(catalogue, "STORED", 2)
    monkeypatch.setattr(under_budget, "_LONG", 2)
    monkeypatch.setattr(aggregates, "_PART", 2)
    monkeypatch.setattr(backend_module, "_PART", 2)
    monkeypatch.setattr(backend_module, "_RUN", 2)


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_random_arrivals_in_tiny_steps(strategy: str) -> None:
    """The streams of test_random.py, where each update has many more steps to arrive at."""
    first = 50_000 + 1000 * STRATEGIES.index(strategy)
    assert sum(check(first + number, strategy, (0, 1, 3, 8, 20, 50, 90)) for number in range(4)) > 0


SOME = ("auto", "circuit", "bf-mark")
LATER = [pytest.param(name, marks=pytest.mark.long) for name in STRATEGIES if name not in SOME]


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("strategy", [*SOME, *LATER])
def test_random_arrivals_while_threads_share_the_work(strategy: str) -> None:
    """Three threads share what has four rows, and pauses fall between what they do."""
    first = 60_000 + 1000 * STRATEGIES.index(strategy)
    with sharing():
        for number in range(3):
            check(first + number, strategy, (0, 1, 3, 8, 20, 50), threads=3)


def test_addresses_are_written_again_if_arrays_move_meanwhile() -> None:
    """An index that is made for the second atom lets an update pass, which moves the rows of the first."""
    engine = tl.Engine("r(x, z) :- s(x), p(x, y), q(y, z).", strategy="dred")
    engine.apply(insert={"s": [(1,)], "p": [(1, 2)], "q": [(2, 3)]})
    store = engine._backend.store
    prepared = store._preparation(engine._book.schedule.stages[0].stage)
    executable = prepared.executable(prepared.stage.rules[0], Driver.NOTHING, None, NEW_VERSION)
    relations, moves = [store.relations[name] for name in ("p", "q")], list[int]()
    for one in relations:
        one._swap(_indexes={})

    def move() -> None:
        moves.append(1)
        for one in relations:
            one._swap(rows=one.rows.copy(), marks=one.marks.copy())

    store.catalogue.pause.begin(move)
    executable.refresh()
    store.catalogue.pause.end()
    assert moves
    for segment in executable._segments:
        for at, relation, _ in segment.uses:
            assert segment.code[at + machine.ROWS] == relation.rows.ctypes.data
    assert set(engine["r"]) == {(1, 3)}


@pytest.mark.long
@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_many_random_arrivals_in_tiny_steps(strategy: str) -> None:
    """The long tier of the same."""
    first = 5_000_000 + 10_000 * STRATEGIES.index(strategy)
    assert sum(check(first + number, strategy, (0, 1, 3, 8, 20, 50, 90, 200)) for number in range(400)) > 100


@pytest.mark.usefixtures("tiny")
def test_an_opposite_is_taken_in_until_the_version_is_decided() -> None:
    """Also after the last stage, while the change is described: they share a version in which nothing changes."""
    rules, chain = "path(x, y) :- edge(x, y). path(x, z) :- edge(x, y), path(y, z).", [(at, at + 1) for at in range(9)]
    shared, alone = 0, 0
    for step in range(400):
        engine = tl.Engine(rules, strategy="dred")
        engine.apply(insert={"edge": chain})
        at_step(engine, step, lambda: engine.submit(insert={"edge": chain}))  # noqa: B023
        change = engine.submit(delete={"edge": chain}).result()
        engine.settle()
        if engine.watcher is not None:
            break
        assert len(engine["path"]) == 45
        shared, alone = shared + (change.updates == 2), alone + (change.updates == 1)
        engine.close()
    assert shared > 20
    assert alone <= 2, "only the steps before anything is marked, and the last one"


def dead(engine: tl.Engine) -> bool:
    return engine._backend.is_untidy


def test_dead_rows_are_forgotten_after_the_version_is_visible() -> None:
    """Most facts go: the version does not wait until the rest has been stored anew, but soon that is done."""
    rules, many = "copy(x, y) :- item(x, y).", [(at, at % 7) for at in range(5000)]
    engine, untidy = tl.Engine(rules), list[bool]()
    engine.apply(insert={"item": many})
    future = engine.submit(delete={"item": many[:4000]})
    future.add_done_callback(lambda _: untidy.append(dead(engine)))
    future.result()
    until(lambda: bool(untidy) and not dead(engine))
    assert untidy == [True]
    assert engine._backend.store.relations["copy"].count == 1000  # type: ignore[attr-defined]
    assert len(engine["copy"]) == 1000
    engine.verify()


def test_tidying_is_given_up_without_a_trace_and_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever step it is stopped at, facts are as before; after some commits it is done at once."""
    monkeypatch.setattr(steps, "STEP", 500)
    rules, many = (
        "copy(x, y) :- item(x, y). pair(y, x) :- copy(x, y), item(x, y).",
        [(at, at % 7) for at in range(3000)],
    )
    engine = tl.Engine(rules)
    monkeypatch.setattr(engine._worker, "_ask_waiting", _raise)  # as if something always waited
    engine.apply(insert={"item": many})
    engine.submit(delete={"item": many[:2500]}).result()
    engine.settle()
    until(lambda: not engine._turns._lock.acquire(blocking=False) or engine._turns._lock.release() is None)
    assert dead(engine)
    before = facts(engine)
    for stop in range(40):
        countdown = iter(range(stop))

        def pause(countdown: object = countdown) -> None:
            if next(countdown, None) is None:  # type: ignore[call-overload]
                _raise()

        try:
            engine._turns.take(lambda: engine._backend.tidy(pause))
        except StandAsideError:
            assert facts(engine) == before
            engine.verify()
        else:
            break
    assert 3 < stop < 40
    assert not dead(engine)
    assert facts(engine) == before
    engine.verify()
    engine.apply(insert={"item": many})
    for _ in range(backend_module._MOST_UNTIDY + 2):
        engine.submit(delete={"item": many[:2500]}).result()
        engine.submit(insert={"item": [(0, 0)]}).result()
    assert not dead(engine)
    engine.verify()


def _raise() -> None:
    raise StandAsideError.of("E408", "an update waits")


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("work", ["index", "table"])
def test_nothing_is_stored_where_an_index_is_being_made_and_readers_go_on(work: str) -> None:
    """The index would lack the row; elsewhere an urgent update may pass, and the latch is free for readers."""
    engine = tl.Engine()
    engine.apply(insert={"q": [(number, number) for number in range(40)], "p": [(1,)]})
    store = engine._backend.store
    relation, seen = store.relations["q"], []

    def reads() -> None:
        if relation.latch.acquire(timeout=30):
            relation.latch.release()
            seen.append("read")

    def ask() -> None:
        reader = threading.Thread(target=reads)
        reader.start()
        reader.join()
        seen.append((is_apart(store, {"q"}), is_apart(store, {"p"})))

    store.catalogue.pause.begin(ask)
    if work == "index":
        relation.index((1,))
    else:
        relation._is_behind = True
        relation.enter_rows()
    store.catalogue.pause.end()
    assert set(seen) == {"read", (False, True)}
    assert is_apart(store, {"q"})
    engine.verify()


def test_rows_that_threads_store_together_are_stored_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where every other core is busy, one thread does the work of all of them, and a step is as long as that takes."""
    monkeypatch.setattr(catalogue, "STORED", 2)
    monkeypatch.setattr(catalogue, "SHARED_STORED", 6)
    engine, asked = tl.Engine(threads=2), list[int]()
    engine.apply(insert={"q": [(0, 0)]})
    store = engine._backend.store
    relation, table = store.relations["q"], np.array([(number, number) for number in range(1, 41)], np.int32)
    with sharing():
        store.catalogue.pause.begin(lambda: asked.append(relation.count))
        stored = [len(rows) for rows in store.catalogue.stored(relation, table, _NOT_NOW, Mark.NOW)]
        store.catalogue.pause.end()
    assert stored == [6] * 6 + [4]
    assert asked[-6:] == [7, 13, 19, 25, 31, 37]


def test_a_journal_grows_in_steps_in_which_nothing_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows have room for more than the journal has: it is made before they are stored, and may be given up."""
    monkeypatch.setattr(steps, "COPIED", 5)
    monkeypatch.setattr(growth, "COPIED", 5)
    monkeypatch.setattr(growth, "_SMALL", 4)
    engine, seen = tl.Engine(), list[bool]()
    engine.apply(insert={"q": [(number, number) for number in range(40)]})
    store = engine._backend.store
    relation = store.relations["q"]
    relation.room(1000)
    relation.mark(np.arange(30, dtype=np.int32), Mark.CANDIDATE, NO_MARKS)
    relation._journal, before = relation.journal.copy(), relation.journal.tolist()
    store.catalogue.pause.begin(lambda: seen.append(is_apart(store, {"q"})))
    relation.expect(100)
    store.catalogue.pause.begin(_raise)
    with pytest.raises(StandAsideError):
        relation.expect(10_000)
    store.catalogue.pause.end()
    assert len(seen) >= 6
    assert not any(seen)
    assert relation.journal.tolist() == before
    assert relation.journalled + 100 <= len(relation._journal)
    engine._turns.take(engine._backend.rollback)
    engine.verify()


def test_large_zeros_are_zeros_and_want_of_memory_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """They come from the system, whose refusal is another error than NumPy's."""
    monkeypatch.setattr(steps, "_LARGE", 64)
    for size in (3, 5000):
        found = steps.zeros((size, 2), np.dtype(np.uint16))
        assert found.shape == (size, 2)
        assert not found.any()
        found[:] = 7
    with pytest.raises(MemoryError):
        steps.zeros((1 << 60,), np.dtype(np.uint16))
    with pytest.raises(MemoryError):
        steps.untouched((1 << 60,), np.dtype(np.uint16))

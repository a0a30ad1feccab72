"""Bulk work that is set aside for an urgent update: what can go wrong on the way there and back."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import tidelog as tl
from tests.arrivals.scheduler import explicit, facts
from tests.arrivals.test_submit import at_step
from tests.arrivals.test_urgent import BULK, FACTS, RULES, URGENT
from tidelog.arrivals import worker as worker_module
from tidelog.arrivals.pending import PendingChange
from tidelog.arrivals.submission import submitted
from tidelog.backends.local.constants.dictionary import Dictionary
from tidelog.backends.local.joins.aggregates import Groups
from tidelog.backends.local.relations.relation import Relation
from tidelog.maintenance.explicit import Explicit
from tidelog.planning.views import NO_MARKS, Mark


def started() -> tl.Engine:
    """An engine with the facts that there are before the bulk work."""
    engine = tl.Engine(RULES, strategy="dred")
    engine.apply(insert=FACTS)
    return engine


@pytest.mark.parametrize("after", [0, 1, 2])
@pytest.mark.parametrize("method", ["set_aside", "resume", "turn", "_reserve_journal"])
def test_memory_that_is_short_while_bulk_work_is_set_aside_or_put_back_ends_the_bulk_work(
    method: str, after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not the urgent update's failure: that one is visible once, and its future says so."""
    urgent, first = URGENT["inserts what goes"], started()
    first.apply(**urgent)
    whole, failed = getattr(Relation, method), 0
    for step in range(14, 40, 5):
        engine, told, calls = started(), list[PendingChange](), list[None]()

        def short(relation: Relation, *arguments: Any, **options: Any) -> Any:
            if method != "_reserve_journal" or sys._getframe(1).f_code.co_name in ("resume", "turn"):
                calls.append(None)  # noqa: B023
                if len(calls) == after + 1:  # noqa: B023
                    raise MemoryError
            return whole(relation, *arguments, **options)

        monkeypatch.setattr(Relation, method, short)
        at_step(engine, step, lambda: told.append(engine.submit(**urgent, urgent=True)))  # noqa: B023
        bulk = engine.submit(**BULK)
        failure = bulk.exception()
        engine.settle()
        monkeypatch.setattr(Relation, method, whole)
        if not told:  # the bulk work was over before this step
            assert step > 30
            break
        assert told[0].exception() is None, step
        assert isinstance(failure, MemoryError) == (len(calls) > after), step
        if failure is not None:
            failed += 1
            assert facts(engine) == facts(first), step
            assert explicit(engine) == explicit(first), step
            assert engine.version == told[0].result().version == 2
        engine.verify()
        engine.apply(**BULK)
        engine.verify()
    assert failed


def test_what_an_urgent_update_has_inserted_is_not_taken_for_deleted() -> None:
    """Bulk work does not see it, so that it is no operation of the bulk work; one that is repeats none of it."""
    edges = [(200 + at, 201 + at) for at in range(30)]
    engine, told, counted = started(), list[PendingChange](), list[int]()
    again = submitted({"edge": [*edges, (5, 6)]}, {"edge": [(9, 10)]}, tl.Engine("").program, (), engine._book)
    steps = iter(range(10**6))

    def watch(_: int) -> None:
        if next(steps) == 20:
            told.append(engine.submit(insert={"edge": edges}, delete={"edge": [(9, 10)]}, urgent=True))
        elif told and told[0].done() and not bulk.done() and not counted:
            counted.append(engine._worker._hall.undone(again))

    with engine._worker.line.changed:
        engine.watcher = watch
        bulk = engine.submit(**BULK)
    bulk.result()
    engine.watcher = None
    assert counted == [1]  # the bulk work deletes (5, 6)
    engine.close()


@pytest.mark.parametrize("step", range(16, 40, 3))
def test_nothing_passes_while_updates_are_taken_in(step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if the transaction has to catch up first: it begins again when the last one is in."""
    events = list[str]()

    def noted(owner: type, method: str, word: str) -> None:
        whole = getattr(owner, method)

        def note(*arguments: Any) -> Any:
            events.append(word)
            return whole(*arguments)

        monkeypatch.setattr(owner, method, note)

    noted(worker_module.Running, "_join", "taken out of the line")
    noted(worker_module.Running, "overriding", "catching up")
    noted(worker_module.Running, "begin", "open to others")
    noted(Explicit, "in_turn", "netted")
    engine, futures = started(), list[PendingChange]()

    def arrive() -> None:
        futures.append(engine.submit(**URGENT["deletes what stays"], urgent=True))
        futures.append(engine.submit(insert=BULK["delete"], delete=BULK["insert"]))

    at_step(engine, step, arrive)
    engine.submit(**BULK).result()
    engine.settle()
    assert len(futures) == 2
    for at, event in enumerate(events):
        if event == "taken out of the line":
            rest = events[at:]
            assert rest.index("netted") < rest.index("open to others"), events
    engine.verify()
    engine.close()


def test_groups_that_are_looked_at_stay_so_while_another_transaction_is_done() -> None:
    """It regroups by itself, and forgets ledgers: neither ends what the open one is in the middle of."""
    groups = Groups(Dictionary())
    groups.is_regrouping = True
    with groups.beside():
        groups.forget()
        groups.is_regrouping = False
    assert groups.is_regrouping


@pytest.mark.parametrize("passed", [0, 1, 40, 3000])
def test_a_journal_is_handed_over_and_taken_back_without_a_copy(passed: int) -> None:
    """Memory for a copy of millions of rows took half a second to come by. What the other transaction writes down
    meanwhile, however much, goes elsewhere, and comes behind what the open one has.
    """
    engine = tl.Engine()
    engine.apply(insert={"q": [(number,) for number in range(4000)]})
    relation = engine._backend.store.relations["q"]
    mine, others = np.arange(0, 900, dtype=np.int32), np.arange(950, 950 + passed, dtype=np.int32)
    relation.mark(mine, NO_MARKS, Mark.NOW)
    journal, marks = relation._journal, relation.marks[:900].tolist()
    kept = relation.set_aside()
    before = relation.marks.take(others)
    relation.mark(others, NO_MARKS, Mark.NOW)
    assert kept.rows.tolist() == mine.tolist()
    relation.commit(tidies=False)
    if passed:
        relation.turn((others, before), kept)
    else:
        relation.resume(kept)
    assert relation.journal.tolist() == [*mine.tolist(), *others.tolist()]
    assert relation.marks[:900].tolist() == marks
    if 900 + passed <= len(journal):
        assert relation._journal is journal
    relation.rollback()
    engine._backend.store.catalogue._opened.clear()
    assert len(engine["q"]) == 4000 - passed
    engine.close()

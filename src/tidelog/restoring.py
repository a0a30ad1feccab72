"""A stored version, taken over by a backend.

What      : `restore` puts the facts of a stored version into a backend and says which instances lack a value in it.
Idea      : nothing is derived anew, with one exception. A release that refused arithmetic without a value kept no facts
            about such instances (planning/undefined.py). They are found here, once, as if the rules for them were new.
            Relations of ours that an earlier release kept and this one does not need are left out.
Invariant : afterwards the backend holds what the version's rules and explicit facts say, hidden relations included.
Never     : no file is read (state/reading.py), and none is written: the next save is told to write everything.
"""

from __future__ import annotations

from typing import Any

from tidelog.backends.backend import Backend
from tidelog.limits import Budget
from tidelog.maintenance.dred import DRed
from tidelog.maintenance.missing_values import Missing
from tidelog.maintenance.schedule import Schedule
from tidelog.maintenance.transaction import maintain
from tidelog.planning.lowered import is_hidden
from tidelog.state.journal import Journals
from tidelog.state.snapshot import StoredState


def restore(stored: StoredState, backend: Backend[Any], schedule: Schedule, journals: Journals) -> Missing:
    """Take over a stored version; what lacks a value in it."""
    info = stored.info
    is_older = not info.arithmetic and bool(schedule.undefined)
    needless = {one.relation for one in stored.relations if is_hidden(one.relation)} - schedule.hidden
    stored.into(backend, without=needless.union(schedule.undefined if is_older else ()))
    backend.commit()
    backend.use(schedule)
    if is_older:
        _find_instances_without_value(backend, schedule)
    if stored.is_last:
        journal = journals.begin(info.state)
        journal.saved(info.commit, info.id, info.facts)
        if is_older or needless:
            journal.forget()
    return Missing.of(schedule, backend)


def _find_instances_without_value(backend: Backend[Any], schedule: Schedule) -> None:
    stages = [scheduled.stage for scheduled in schedule.stages if not scheduled.stage.finds_undefined]
    budget = Budget()
    backend.begin(budget)
    previous = Schedule(stages, schedule)
    maintain(backend.store, schedule, DRed(), delete={}, insert={}, previous=previous, budget=budget)
    backend.prepare()
    backend.commit()

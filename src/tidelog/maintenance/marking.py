"""Look-ahead: what is known about the next update before it begins.

Idea       : a stream shows the next update while the present one is being answered. Facts that it will delete are
             *foreseen*, and so are the heads of instances that contain them; when it begins, these facts are in doubt
             (B/F) or overdeleted (DRed) already, and need not be found.
Source     : Illich, Glimm 2025 (B/F with marking, Algorithm 1, lines 9, 12, 29, 32) and its predecessor for DRed. What
             the papers call a marked fact is a foreseen one here: a *mark* is any bit on a fact (planning/views.py).
Invariant  : look-ahead never changes a result. Foreseen facts are facts to check that checking could have found too; an
             update that was not announced, or comes with other rules, checks them in vain or not at all.
Cost       : work done between two answers instead of inside the second; the number of derivations stays about the same.
Departures : look-ahead begins after the change is determined, so that it never delays it, and is complete: every
             instance that contains a foreseen fact is looked at, not only those that the present update happens to
             apply. It starts from relations without rules, whose facts surely go; for B/F it stops at their heads, for
             DRed it goes on inside the stage. The papers' positive marks are left out: a fact that comes back is
             inserted as any other, and the authors' measurements show no gain from them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic

from tidelog.maintenance.bf import BackwardForward
from tidelog.maintenance.counters import Counters
from tidelog.maintenance.dred import DRed
from tidelog.maintenance.schedule import Schedule, Scheduled
from tidelog.maintenance.store import F, Store
from tidelog.planning.views import NOW, Mark, Matching, View

NOT_FOUND = View(Mark.NOW, Mark.EXPLICIT | Mark.NEXT)
DOOMED_NEXT = Matching(
    View(Mark.NOW, Mark.DELTA | Mark.CHECKED), View(Mark.NOW, Mark.CHECKED), absent_before=(NOW,), absent_after=(NOW,)
)
"""Inverse semi-naive: a fact drives in one round (DELTA) and is not matched afterwards (CHECKED)."""


class BackwardForwardAhead(BackwardForward):
    """B/F that starts from the facts which look-ahead has found."""

    name = "bf-mark"
    looks_ahead = True


class DRedAhead(DRed):
    """DRed that starts from the facts which look-ahead has found."""

    name = "dred-mark"
    looks_ahead = True
    passes_on = True


@dataclass(eq=False)
class Foreseen(Generic[F]):
    """What look-ahead found: facts of relations without rules (`origins`), those relations, and the heads reached."""

    schedule: Schedule
    origins: F
    relations: frozenset[str]
    heads: F
    counters: Counters

    def use(self, store: Store[F]) -> None:
        """For this transaction, tell the origins apart by a mark that cannot outlive it."""
        store.mark(self.origins, add=Mark.CANDIDATE)

    def clear(self, store: Store[F]) -> None:
        """Forget what was foreseen."""
        store.mark(self.origins, remove=Mark.FORESEEN)
        store.mark(self.heads, remove=Mark.FORESEEN)


def look_ahead(store: Store[F], schedule: Schedule, delete: Mapping[str, F], *, passes_on: bool) -> Foreseen[F]:
    """Find what the announced deletions will take and touch. Call it between two transactions, and commit after it."""
    counters = Counters()
    store.derivations.clear()
    going = {relation: store.restrict(facts, View(Mark.EXPLICIT)) for relation, facts in delete.items()}
    origins = {relation: facts for relation, facts in going.items() if relation not in schedule.place and facts}
    doomed = store.union(origins.values())
    store.mark(doomed, add=Mark.FORESEEN)
    readers = {number for relation in origins for number in schedule.readers[relation]}
    heads = [_reach(store, schedule.stages[number], doomed, passes_on=passes_on) for number in sorted(readers)]
    found = store.union(heads)
    counters.add("marked explicit", len(doomed))
    counters.add("marked implicit", len(found))
    counters.add("marks", len(doomed) + len(found))
    counters.collect(store.derivations)
    return Foreseen(schedule, doomed, frozenset(origins), found, counters)


def _reach(store: Store[F], scheduled: Scheduled, doomed: F, *, passes_on: bool) -> F:
    """The facts of a stage that depend on doomed facts below it: directly, or with `passes_on` through each other."""
    stage, nothing = scheduled.stage, store.nothing()
    driving = store.of(doomed, scheduled.positive)
    everything = [nothing]
    store.mark(driving, add=Mark.DELTA)
    while driving and stage.rules:
        heads = store.derive(stage, driving, nothing, DOOMED_NEXT, NOT_FOUND, Mark.NEXT, "mark")
        store.mark(driving, add=Mark.CHECKED, remove=Mark.DELTA)
        everything.append(heads)
        if not passes_on or not stage.is_recursive:
            break
        store.mark(heads, add=Mark.DELTA)
        driving = heads
    found = store.union(everything)
    store.mark(found, add=Mark.FORESEEN, remove=Mark.NEXT)
    store.mark(store.union([found, doomed]), remove=Mark.DELTA | Mark.CHECKED)
    return found

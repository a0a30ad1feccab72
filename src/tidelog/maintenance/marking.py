"""Marks: what is known about the next update before it begins.

Idea       : a stream shows the next update while the present one is being answered. Facts that it will delete are
             marked, and so are the heads of instances that contain them; when it begins, these facts are in doubt (B/F)
             or overdeleted (DRed) already, and nobody has to find them.
Source     : Illich, Glimm 2025 (B/F with marking, Algorithm 1, lines 9, 12, 29, 32) and its predecessor for DRed.
Invariant  : marks never change a result: they are facts to check that checking could have found too, and an update that
             was not announced, or comes with other rules, only has more of them to check or none.
Cost       : work done between two answers instead of inside the second; the number of derivations stays about the same.
Departures : marks are placed after the change is determined, so that they never delay it, and completely: every
             instance that contains a marked fact is looked at, not only those that the present update happens to apply.
             Marks start from relations without rules, whose facts surely go; in B/F their heads pass on nothing, in
             DRed heads pass marks on inside their stage. Positive marks are left out: a fact that comes back is
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

UNMARKED = View(Mark.NOW, Mark.EXPLICIT | Mark.NEXT)
DOOMED_NEXT = Matching(
    View(Mark.NOW, Mark.DELTA | Mark.CHECKED), View(Mark.NOW, Mark.CHECKED), absent_before=(NOW,), absent_after=(NOW,)
)
"""Inverse semi-naive: a fact drives in one round (DELTA) and is left out afterwards (CHECKED)."""


class BackwardForwardWithMarks(BackwardForward):
    """B/F that starts from the facts which look-ahead has marked."""

    name = "bf-mark"
    uses_marks = True


class DRedWithMarks(DRed):
    """DRed that starts from the facts which look-ahead has marked."""

    name = "dred-mark"
    uses_marks = True


@dataclass(eq=False)
class Marks(Generic[F]):
    """The marked facts: those of relations without rules (`origins`), their relations, and the heads they reach."""

    schedule: Schedule
    origins: F
    relations: frozenset[str]
    heads: F
    counters: Counters

    def use(self, store: Store[F]) -> None:
        """For this transaction, tell the origins apart by a mark that cannot outlive it."""
        store.mark(self.origins, add=Mark.CANDIDATE)

    def clear(self, store: Store[F]) -> None:
        """Take all marks away."""
        store.mark(self.origins, remove=Mark.MARKED)
        store.mark(self.heads, remove=Mark.MARKED)


def look_ahead(store: Store[F], schedule: Schedule, delete: Mapping[str, F], *, passes_on: bool) -> Marks[F]:
    """Mark what the announced deletions will take and touch. Call it between two transactions, and commit after it."""
    counters = Counters()
    store.derivations.clear()
    going = {relation: store.restrict(facts, View(Mark.EXPLICIT)) for relation, facts in delete.items()}
    origins = {relation: facts for relation, facts in going.items() if relation not in schedule.place and facts}
    doomed = store.union(origins.values())
    store.mark(doomed, add=Mark.MARKED)
    readers = {number for relation in origins for number in schedule.readers[relation]}
    heads = [_reach(store, schedule.stages[number], doomed, passes_on=passes_on) for number in sorted(readers)]
    found = store.union(heads)
    counters.add("marked explicit", len(doomed))
    counters.add("marked implicit", len(found))
    counters.add("marks", len(doomed) + len(found))
    counters.collect(store.derivations)
    return Marks(schedule, doomed, frozenset(origins), found, counters)


def _reach(store: Store[F], scheduled: Scheduled, doomed: F, *, passes_on: bool) -> F:
    """The facts of a stage that depend on doomed facts below it: directly, or with `passes_on` through each other."""
    stage, nobody = scheduled.stage, store.nothing()
    driving = store.of(doomed, scheduled.positive)
    everything = [nobody]
    store.mark(driving, add=Mark.DELTA)
    while driving and stage.rules:
        heads = store.derive(stage, driving, nobody, DOOMED_NEXT, UNMARKED, Mark.NEXT, "mark")
        store.mark(driving, add=Mark.CHECKED, remove=Mark.DELTA)
        everything.append(heads)
        if not passes_on or not stage.is_recursive:
            break
        store.mark(heads, add=Mark.DELTA)
        driving = heads
    found = store.union(everything)
    store.mark(found, add=Mark.MARKED, remove=Mark.NEXT)
    store.mark(store.union([found, doomed]), remove=Mark.DELTA | Mark.CHECKED)
    return found

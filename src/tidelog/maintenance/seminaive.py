"""Semi-naive insertion.

Idea       : only instances with a fact that is new in this round can give a fact that is new in the next.
Source     : Motik et al. 2015, section 3, DR5, with atoms before the driving one matched in I \\ N.
Invariant  : no instance is derived twice; a round does not see its own heads (they wait as NEXT).
Cost       : grows with the instances that contain a new fact; if most of what the stage reads is new, its rules are
             evaluated once as a whole instead of being driven by every new fact, or the stage is derived at once.
Departures : the first round is driven by the changes below the stage and by new facts of its own at once.
"""

from __future__ import annotations

from itertools import chain

from tidelog.maintenance.at_once import derive_at_once
from tidelog.maintenance.rounds import sweep
from tidelog.maintenance.store import F, Passing
from tidelog.maintenance.task import Task
from tidelog.maintenance.versions import GAINED, GAINED_ABOVE, NEW_VERSION
from tidelog.planning.views import Mark, View

FRESH = View(outside=Mark.NOW | Mark.NEXT)
ABSENT = View(outside=Mark.NOW)
DRIVING = Mark.NOW | Mark.DELTA
PASSING = Passing(found=Mark.NEXT, add=DRIVING, remove=Mark.NEXT, after=Mark.DELTA)


def insert(task: Task[F], seeds: F) -> None:
    """Add the seeds to the stage, and everything that follows from them, from added rules and from changes below."""
    store = task.store
    if _is_beginning(task, len(seeds)) and derive_at_once(task):
        return
    seeds = store.restrict(seeds, ABSENT)
    if any(task.gaining) or task.added or _mostly_new(task, len(seeds)):
        store.mark(seeds, add=DRIVING)
        add = Mark.NEXT if task.stage.is_recursive else Mark.NOW
        found = [first_round(task, seeds, add)]
        if task.added:
            found.append(store.evaluate(task.stage, task.added, NEW_VERSION, FRESH, add, "insert"))
        store.mark(seeds, remove=Mark.DELTA)
        saturate(task, store.union(found, disjoint=True), "insert")
    elif task.stage.is_recursive:
        heads = sweep(task, task.stage, seeds, GAINED_ABOVE, FRESH, PASSING, "insert")
        task.counters.add("inserted", len(heads))
    else:
        store.mark(seeds, add=Mark.NOW)


def saturate(task: Task[F], found: F, phase: str) -> None:
    """Derive round by round what follows from the facts found: they are NEXT in a recursive stage, NOW in another."""
    task.counters.add("inserted", len(found))
    if task.stage.is_recursive:
        heads = sweep(task, task.stage, found, GAINED_ABOVE, FRESH, PASSING, phase)
        task.counters.add("inserted", len(heads))
    elif found:
        task.round(len(found))


def first_round(task: Task[F], seeds: F, add: Mark) -> F:
    """What the changes below give, and the seeds, which drive already."""
    store = task.store
    driving, blocking = task.gaining
    if not (driving or blocking or (seeds and task.stage.is_recursive)):
        return store.nothing()
    task.round()
    if _mostly_new(task, len(driving) + len(seeds)):
        return store.evaluate(task.stage, task.surviving.rules, NEW_VERSION, FRESH, add, "evaluate")
    everything = store.union([seeds, driving])
    return store.derive(task.surviving, everything, blocking, GAINED, FRESH, add, "insert")


def _is_beginning(task: Task[F], seeds: int) -> bool:
    """Whether all rules of the stage are new, or most of what it reads: then it is derived for the first time."""
    if task.added and len(task.added) == len(task.stage.rules):
        return True
    return _mostly_new(task, len(task.gaining[0]) + seeds)


def _mostly_new(task: Task[F], new: int) -> bool:
    """Whether the new facts are at least as many as those that the stage reads and has had before."""
    if not new:
        return False
    left, size = new, task.store.size
    for relation in chain(task.stage.relations, task.scheduled.positive):
        left -= size(relation)
        if left < 0:  # as a rule the first relation with facts
            return False
    return True

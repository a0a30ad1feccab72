"""Rounds: facts drive rules, and what they give drives the next round.

What      : `sweep` goes on until a round gives nothing.
Idea      : overdeletion and insertion are the same walk with other views and other marks. Most rounds are small, and
            then a round's calls cost more than its joins: a store may offer to do several rounds in one call.
Invariant : with this offer and without it, the facts found, their marks and the number of rounds are the same.
Never     : no view and no mark is chosen here.
"""

from __future__ import annotations

from math import inf

from tidelog.maintenance.store import F, Passing
from tidelog.maintenance.task import Task
from tidelog.planning.lowered import Stage
from tidelog.planning.views import Matching, View


def sweep(task: Task[F], stage: Stage, driving: F, matching: Matching, heads: View, passing: Passing, phase: str) -> F:
    """Drive the stage's rules with the facts, then with the heads found, and so on; all heads found.

    The arguments are those of `Store.derive`; nothing blocks.
    """
    store = task.store
    nothing, found, too_many = store.nothing(), [], inf
    while driving:
        task.round(len(driving))
        done = None
        if len(driving) < too_many:
            done = store.several_rounds(stage, driving, matching, heads, passing, phase)
        if done is None:
            too_many = len(driving)  # a store that declined may have tried: do not ask it again for as many facts
            store.mark(driving, add=passing.add, remove=passing.remove)
            new = store.derive(stage, driving, nothing, matching, heads, passing.found, phase)
            store.mark(driving, remove=passing.after)
            driving = new
        else:
            new, driving, rounds = done
            task.budget.ask_round(rounds - 1)
            task.counters.add("swift rounds", rounds - 1)
        found.append(new)
    return store.union(found, disjoint=True)

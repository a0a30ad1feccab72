"""Rounds: facts drive rules, and what they give drives the next round.

What      : `sweep` goes on until a round gives nothing; `Passing` says what happens to the marks of facts on the way.
Idea      : overdeletion and insertion are the same walk with other views and other marks. Most rounds are small, and
            then a round's calls cost more than its joins: a store may offer to do several rounds in one call.
Invariant : whoever does the rounds, the facts found, their marks and the number of rounds are the same.
Never     : no view and no mark is chosen here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from typing import TypeAlias

from tidelog.maintenance.store import F
from tidelog.maintenance.task import Task
from tidelog.planning.lowered import Stage
from tidelog.planning.views import Mark, Matching, View


@dataclass(frozen=True, slots=True)
class Passing:
    """The marks of facts that are found in one round and drive the next."""

    found: Mark
    """What a fact gets when it is found."""
    add: Mark
    remove: Mark
    """What it gets and loses when it begins to drive."""
    after: Mark
    """What it loses when it has driven."""
    numbers: tuple[int, int, int, int] = field(init=False, repr=False, compare=False)
    """The four as plain numbers, because every call of a store asks."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "numbers", (int(self.found), int(self.add), int(self.remove), int(self.after)))


SeveralRounds: TypeAlias = Callable[[Stage, F, Matching, View, Passing, str], tuple[F, F, int] | None]
"""What a store may offer as `several_rounds`: all facts found, those that drive the next round, and the number of
rounds; None if it would rather be asked for one round."""


def sweep(task: Task[F], stage: Stage, driving: F, matching: Matching, heads: View, passing: Passing, phase: str) -> F:
    """Drive the stage's rules with the facts, then with the heads found, and so on; all heads found.

    The arguments are those of `Store.derive`; nothing blocks.
    """
    store = task.store
    offer: SeveralRounds[F] | None = getattr(store, "several_rounds", None)
    nobody, found, too_many = store.nothing(), [], inf
    while driving:
        task.round(len(driving))
        done = None
        if offer is not None and len(driving) < too_many:
            done = offer(stage, driving, matching, heads, passing, phase)
        if done is None:
            too_many = len(driving)  # a store that has declined may have tried
            store.mark(driving, add=passing.add, remove=passing.remove)
            new = store.derive(stage, driving, nobody, matching, heads, passing.found, phase)
            store.mark(driving, remove=passing.after)
            driving = new
        else:
            new, driving, rounds = done
            task.budget.charge_round(rounds - 1)
            task.counters.add("swift rounds", rounds - 1)
        found.append(new)
    return store.union(found, disjoint=True)

"""A stage derived at once, if the store offers it.

What      : `derive_at_once` lets the store bring a stage to its new version by a fixpoint of its own, instead of rule
            by rule; recomputation and the first materialisation ask for it. `count_at_once` is the same for counting.
Idea      : whatever a strategy would do, the new version of a stage is the fixpoint over its explicit facts and what is
            below. A store may know a faster way to it for stages of some shapes.
Invariant : a store that declines has changed nothing, and its rounds are not counted.
Never     : nothing is known here of how the store does it.
"""

from __future__ import annotations

from collections.abc import Callable

from tidelog.maintenance.store import AT_ONCE, F
from tidelog.maintenance.task import Task
from tidelog.planning.lowered import Stage


def derive_at_once(task: Task[F]) -> bool:
    """Whether the store has derived the whole stage."""
    offer = task.store.at_once
    return offer is not None and _is_done(task, offer.derive)


def count_at_once(task: Task[F]) -> bool:
    """Whether the store has derived and counted the whole stage, of which nothing was counted before."""
    offer = task.store.at_once
    return offer is not None and _is_done(task, offer.count)


def _is_done(task: Task[F], derive: Callable[[Stage, Callable[[], None]], float | None]) -> bool:
    budget = task.budget
    rounds = budget.rounds
    price = derive(task.stage, budget.ask_round)
    if price is None:
        budget.rounds = rounds
        return False
    task.counters.add(AT_ONCE, round(price))
    return True

"""Stages that are too large for a strategy.

What      : a store may offer to derive a whole stage at once, where its facts are; then a stage through which a large
            change goes, or whose strategy would touch too many facts, is derived anew instead of being maintained.
Idea      : strategies are schedules of calls over small sets. On a cluster a large set is not handed from call to call;
            deriving the stage again costs less than following most of its facts.
Invariant : OLD keeps the former version, so the net change is exact; an attempt that was given up leaves marks that
            `rebuild` does not look at.
Never     : no backend is named here: a store offers this with `Store.bulk`, or has None.
"""

from __future__ import annotations

from typing import Self

from tidelog.changes.strategy_choice import Reason, StrategyChoice
from tidelog.errors import PipelineError
from tidelog.maintenance.recompute import Recompute
from tidelog.maintenance.store import BulkStore, F
from tidelog.maintenance.task import Strategy, Task
from tidelog.planning.lowered import is_hidden


class TooLargeError(PipelineError):
    """A call would touch more facts than the store can follow one by one; a stage is derived as a whole instead."""

    @classmethod
    def about(cls, relation: str, allowed: int, remedy: str) -> Self:
        """The error for facts of one relation (ours: of an aggregate); what to do about it only the store knows."""
        told = "an aggregate" if is_hidden(relation) else relation
        return cls.of(
            "E705",
            f"more facts of {told} are touched than the {allowed:,} that can be followed one by one",
            remedy=remedy,
        )


def maintain(task: Task[F], strategy: Strategy, store: BulkStore) -> None:
    """Let the strategy do the task if what it touches is small; else derive the stage anew."""
    relations = task.scheduled.reads | task.stage.relations
    if not store.is_large(relations):
        try:
            strategy.maintain(task)
        except TooLargeError:
            pass
        else:
            if not store.is_large(relations):  # one that a strategy goes through may turn out to be
                return
    if task.stage.groups:
        raise PipelineError.of(
            "E711",
            f"component {task.stage.name} takes the best of its own values and is too large for the driver",
            remedy="raise what the driver may hold and follow, or keep all facts in one process",
        )
    if strategy.needs_counts:
        raise PipelineError.of(
            "E704",
            f"component {task.stage.name} is too large to keep counts of its derivations on the driver",
            remedy="use the strategy auto, bf or dred",
        )
    task.store.stop_counting(task.stage.relations)
    facts = store.rebuild(task.stage, task.budget.ask_round)
    task.counters.choices.append(StrategyChoice(task.stage.name, Recompute.name, Reason.BULK, facts))

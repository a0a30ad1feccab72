"""What an update on Spark asks its budget.

What      : `answer_to` lets a store, its local store and its jobs ask one budget from now on.
Idea      : the same questions wherever work is done: seconds, facts and bytes, and whether the driver is full.
Invariant : TooLargeError for a full driver is raised while a strategy works, and ends its attempt; it is not raised
            while facts are stored.
Never     : no facts.
"""

from __future__ import annotations

from collections.abc import Callable

from tidelog.backends.local.backend import LocalBackend
from tidelog.backends.spark.cluster.jobs import Jobs
from tidelog.backends.spark.store import SparkStore
from tidelog.limits import Budget
from tidelog.maintenance.bulk import TooLargeError


def answer_to(budget: Budget, store: SparkStore, near: LocalBackend, jobs: Jobs) -> Budget:
    """From now on this budget is asked, which is returned, and what would fill the driver is stopped."""

    def ask_arriving() -> None:
        budget.ask_time()
        if budget.limits.facts is not None or budget.watcher is not None:
            budget.ask_facts(store.committed.facts + store.grown)
        if budget.limits.bytes is not None:
            budget.ask_bytes(store.near.nbytes)

    def ask_budget() -> None:
        ask_arriving()
        if store.supply.held > 2 * store.capacity.facts:
            raise TooLargeError.about("all relations", store.capacity.facts, "raise spark.tidelog.driver.facts")

    def ask(weight: Callable[[], int]) -> None:
        budget.ask_time()
        if budget.limits.bytes is not None:
            budget.ask_bytes(store.near.nbytes + weight())

    store.near.ask_budget, near.ask_arriving = ask_budget, ask_arriving
    store.near.catalogue.pause.begin(ask_arriving)
    near.ask, jobs.ask_budget = ask, budget.ask_time
    return budget

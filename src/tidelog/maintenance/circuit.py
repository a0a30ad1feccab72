"""The Datalog circuit: rules are rows, and everything that is kept has a weight in every round.

Idea       : a stage is a circuit of joins, and an update is a push of changes through it: of facts, and of rules. Joins
             are bilinear, so a change meets what is there and nothing else. `distinct` is kept per round of the
             recursion, for facts and for rewrites alike: how many derivations each has in which round, and which
             round is its first. A deletion takes weights away in their rounds, so nothing is overdeleted.
Source     : de Lima et al. 2024, Figure 3. Gatekeep: what facts of a prefix drive is found by its name. Index: the
             store's hash indexes on the columns that are known. Product: a direction. Ground: a signal. The two
             nested `distinct`s: counts and ranks, as in counting.py, whose rounds are the rounds of the loop.
Invariant  : between two updates the rewrites are all joins of the prefixes over the present facts, and each fact and
             rewrite has its weight in every round. A rule that comes or goes is a push like any other; only if
             components merge or fall apart is a stage counted anew.
Cost       : grows with the rows, rewrites included, that come, go or change their round. Memory holds the rewrites of
             bodies of three atoms and more, which other strategies find again whenever they need them.
Departures : those of planning/rewrites.py. Negation and aggregates are no part of a recursion: they read stages that
             are final (the chain of circuits in reference/dyre_strata.py). A fact that loses its round is absent until
             its next one comes, so a round is settled once per update.

Example (run by tests/maintenance/test_circuit.py): two rules share the prefix a, b. The second one, pushed, adds one
row, its signal; the rewrites of a, b are met, not made.

    p(x) :- a(x, y), b(y, z), c(z).            @rewrites(x, z) :- a(x, y), b(y, z).     p(x) :- @rewrites(x, z), c(z).
    + p(x) :- a(x, y), b(y, z), d(z).          + p(x) :- @rewrites(x, z), d(z).
"""

from __future__ import annotations

from dataclasses import replace

from tidelog.maintenance.counting import Counting
from tidelog.maintenance.schedule import Scheduled
from tidelog.maintenance.store import F
from tidelog.maintenance.task import Task
from tidelog.planning.rewrites import push, wired


class Circuit(Counting):
    """Counts over the wired form of a stage: rules are pushed as rows, facts and rewrites by round."""

    name = "circuit"

    def maintain(self, task: Task[F]) -> None:
        """Push the changes below and the changes of rules through the circuit of the stage."""
        if not task.store.keeps_rewrites:  # then every rewrite is found again when it is needed
            super().maintain(task)
        elif task.added or task.removed:
            self._push_rules(task)
        else:
            super().maintain(replace(task, scheduled=task.scheduled.wired))

    def _push_rules(self, task: Task[F]) -> None:
        """Let rows come and go; prefixes that nobody needs any more are empty afterwards."""
        store, after = task.store, task.scheduled.wired
        earlier = replace(task.stage, rules=(*task.surviving.rules, *task.removed))
        added, removed, wide = push(task.stage, earlier.rules)
        before = wired(earlier).relations
        if store.is_counted(before):
            store.carry_counts(before, wide.relations)
        scheduled = after if wide.relations == after.stage.relations else Scheduled.of(wide)
        super().maintain(replace(task, scheduled=scheduled, added=added, removed=removed))
        store.carry_counts(wide.relations, after.stage.relations)

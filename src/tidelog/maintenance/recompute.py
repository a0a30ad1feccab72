"""Recomputation of one stage.

Idea       : forget the stage and derive it again from its explicit facts and from what is below.
Source     : the definition of the incremental update in Motik et al. 2015, section 2.
Invariant  : the net change is still exact, because OLD keeps the former version.
Cost       : all instances of the stage, whatever the change; stages that read nothing changed are not visited.
Departures : a store may derive the whole stage in its own way (at_once.py).
"""

from __future__ import annotations

from tidelog.maintenance.at_once import derive_at_once
from tidelog.maintenance.seminaive import FRESH, saturate
from tidelog.maintenance.store import F
from tidelog.maintenance.task import Strategy, Task
from tidelog.maintenance.versions import NEW_VERSION
from tidelog.planning.views import NOW, Mark, View


class Recompute(Strategy):
    """Derives the stage anew."""

    name = "recompute"

    def maintain(self, task: Task[F]) -> None:
        """Clear the stage, then evaluate its rules to the fixpoint."""
        if derive_at_once(task):
            return
        store, relations = task.store, task.stage.relations
        store.mark(store.select(relations, NOW), remove=Mark.NOW)
        explicit = store.select(relations, View(Mark.EXPLICIT))
        store.mark(explicit, add=Mark.NOW)
        task.round()
        add = Mark.NEXT if task.stage.is_recursive else Mark.NOW
        found = store.evaluate(task.stage, task.stage.rules, NEW_VERSION, FRESH, add, "evaluate")
        saturate(task, found, "evaluate")

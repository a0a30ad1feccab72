"""Delete and rederive.

Idea       : take away everything that might depend on a deleted fact, then give back what has another proof.
Source     : Motik et al. 2015, section 3, DR1-DR5, with the inverse semi-naive overdeletion; labels below are the
             paper's.
Invariant  : afterwards the materialisation equals recomputation (tests/maintenance, tests/differential).
Cost       : grows with the overdeleted set, not with the result; bad on dense cycles (see choose.py).
Departures : explicit facts that stay are never overdeleted, so DR3 need not give them back. Works stage by stage: only
             net changes leave a stage, so nothing is overdeleted above a fact that was rederived. Facts that look-ahead
             has found to be overdeleted (marking.py) are taken away without finding them again.
"""

from __future__ import annotations

from tidelog.maintenance.rounds import sweep
from tidelog.maintenance.seminaive import insert
from tidelog.maintenance.store import F, Passing
from tidelog.maintenance.task import Strategy, Task
from tidelog.maintenance.versions import LOST, LOST_ABOVE, UNCHANGED
from tidelog.planning.views import Mark, View

DOOMED = View(Mark.OLD | Mark.NOW, Mark.EXPLICIT | Mark.DELTA | Mark.NEXT)
_GONE = Mark.NOW | Mark.DELTA
_PASSING = Passing(found=Mark.NEXT, add=Mark.DELTA, remove=Mark.NEXT, after=_GONE)


class DRed(Strategy):
    """Overdeletes, rederives, inserts."""

    name = "dred"

    def maintain(self, task: Task[F]) -> None:
        """DR1 to DR5 for one stage."""
        store = task.store
        deleted = self.overdelete(task) if task.loses else store.nothing()
        rederived = store.nothing()
        if deleted:
            rederived = store.supported(task.surviving, deleted, UNCHANGED, "rederive")  # DR4
        task.counters.add("overdeleted", len(deleted))
        task.counters.add("rederived", len(rederived))
        insert(task, store.union([rederived, task.asserted], disjoint=True))  # DR5

    def overdelete(self, task: Task[F]) -> F:
        """DR2, by rounds: a fact that goes in a round is still matched in that round, and never again."""
        store = task.store
        foreseen = store.restrict(task.foreseen, DOOMED)
        store.mark(foreseen, remove=Mark.NOW)
        going = task.doubtful(DOOMED, Mark.DELTA, "overdelete")
        everything = [foreseen, going]
        driving, blocking = task.losing
        if driving or blocking:
            driving = store.union([driving, going])
            task.round(len(driving))
            heads = store.derive(task.surviving, driving, blocking, LOST, DOOMED, Mark.NEXT, "overdelete")
            store.mark(going, remove=_GONE)
            everything.append(heads)
            going = heads
        if task.stage.is_recursive:
            everything.append(sweep(task, task.surviving, going, LOST_ABOVE, DOOMED, _PASSING, "overdelete"))
        else:
            store.mark(going, remove=_GONE | Mark.NEXT)
        return store.union(everything, disjoint=True)

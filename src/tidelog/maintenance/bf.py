"""Backward/Forward.

Idea       : before a fact is taken away, look for another proof of it; only what has none goes, and only its
             consequences are looked at. Backward chaining finds what a proof could use, forward chaining proves.
Source     : Motik et al. 2015, Algorithms 1-3; line numbers below are the paper's.
Invariant  : a fact with an instance over proved facts is proved or delayed, or follows from below the stage alone; a
             disproved fact has no proof. Afterwards the materialisation equals recomputation.
Cost       : grows with the supports of the facts in doubt, not with their consequences; bad where large cycles really
             die.
Departures : layers instead of one fact at a time. All facts in doubt are goals; a layer proves what it can, then looks
             at more supports of what is still open, few at first. When goals are proved, facts that were opened on the
             way are given up, unproved and not disproved, and the search starts again for the goals left; the
             paper explores each of them to the end. All disproved facts are deleted at once and drive the next deletion
             (lines 7-9), not only those that deletion reached. Explicit facts are not checked. If explicit facts of the
             stage's own relations go, others probably stay: a fact with an instance over such facts is proved at once,
             without checking them first.

Example (run by tests/maintenance/test_traces.py): what can be reached from a, by two ways and round a cycle.

    r(x) :- start(x).   r(y) :- r(x), edge(x, y).
    start("a"). edge("a", "b"). edge("a", "c"). edge("b", "c"). edge("c", "b").

    - edge(a, b)
    delete edge(a, b) -> r(b)       # r(b) has lost an instance: it is in doubt, and becomes a goal
    from below r(b) -> nothing      # no rule proves it from start alone
    backward r(b) -> r(c)           # another instance of it needs r(c): first layer
    from below r(c) -> nothing
    backward r(c) -> r(a)           # an instance of r(c) needs r(a): second layer
    from below r(a) -> r(a)         # start(a)
    proved r(a)
    forward r(a) -> r(c)            # with edge(a, c)
    proved r(c)
    forward r(c) -> r(b)            # with edge(c, b): the goal
    proved r(b)
    forward r(b) -> nothing         # nothing goes

    - edge(a, c)
    delete edge(a, c) -> r(c)
    from below r(c) -> nothing
    backward r(c) -> r(b)           # r(c) needs r(b)
    from below r(b) -> nothing
    backward r(b) -> nothing        # and r(b) needs r(c), which is checked already: a cycle that holds itself
    disproved r(b) r(c)             # all supports have been looked at, and none is proved
    delete r(b) r(c) -> nothing     # no other fact needs them
"""

from __future__ import annotations

from typing import Generic

from tidelog.maintenance.seminaive import insert
from tidelog.maintenance.store import F
from tidelog.maintenance.task import Strategy, Task
from tidelog.maintenance.versions import LOST, LOST_ABOVE, NEW_VERSION
from tidelog.planning.views import KEPT, NOW, Mark, Matching, View

DOUBTFUL = View(Mark.OLD | Mark.NOW, Mark.EXPLICIT | Mark.CHECKED | Mark.DELAYED | Mark.CANDIDATE)
UNCHECKED = View(outside=Mark.CHECKED)
UNPROVED = View(Mark.CHECKED, Mark.PROVED)
OPEN = View(Mark.CHECKED, Mark.PROVED | Mark.EXPANDED)
DERIVABLE = View(Mark.OLD | Mark.NOW, Mark.PROVED | Mark.DELAYED)
CHECKED = View(Mark.CHECKED)
EXPLICIT = View(Mark.EXPLICIT)
WAITING = View(Mark.DELAYED, Mark.EXPLICIT)
UNKNOWN = View(outside=Mark.EXPLICIT | Mark.DELAYED)

GOING, GONE = Mark.DISPROVED | Mark.DELTA, Mark.NOW | Mark.DELTA
OPENED, GIVEN_PROOF = Mark.CHECKED | Mark.EXPANDED, Mark.PROVED | Mark.DELTA
"""Views and sets of marks are made once: making one takes a microsecond, as long as an empty call of a store."""

SUPPORTS = Matching(KEPT, KEPT, (NOW,), (NOW,), lower_before=NOW, lower_after=NOW)
PROVED = View(Mark.PROVED)
FROM_PROVED = Matching(View(Mark.PROVED, Mark.DELTA), PROVED, (NOW,), (NOW,), lower_before=NOW, lower_after=NOW)

ASSERTED = View(Mark.NOW | Mark.EXPLICIT)
FROM_ASSERTED = Matching(ASSERTED, ASSERTED, (NOW,), (NOW,), lower_before=NOW, lower_after=NOW)

PATIENCE = 256
"""How many facts a search may open for each support that it may follow: with a limit of 4 supports it opens 1,024."""
LAYER = 32
"""A layer counts as at least this many facts opened, however few it opens: its calls have a price of their own."""


class BackwardForward(Strategy):
    """Checks, deletes what is disproved, inserts."""

    name = "bf"

    def maintain(self, task: Task[F]) -> None:
        """Algorithm 1 for one stage, then insertion."""
        if task.loses:
            self._delete(task)
        insert(task, task.asserted)

    def _delete(self, task: Task[F]) -> None:
        """Lines 3-11: check what is in doubt, delete what is disproved, until a deletion puts nothing in doubt."""
        store = task.store
        foreseen = store.restrict(task.foreseen, DOUBTFUL)
        store.mark(foreseen, add=Mark.CANDIDATE)
        parts = [foreseen, task.doubtful(DOUBTFUL, Mark.CANDIDATE, "delete")]
        driving, blocking = task.losing
        if driving or blocking:
            parts.append(store.derive(task.surviving, driving, blocking, LOST, DOUBTFUL, Mark.CANDIDATE, "delete"))
        goals = store.union(parts)
        while goals:
            task.round()
            disproved = _Check(task).disproved(goals)
            store.mark(disproved, add=GOING)
            task.counters.add("disproved", len(disproved))
            goals = store.nothing()
            if disproved and task.stage.is_recursive:
                goals = store.derive(
                    task.surviving, disproved, goals, LOST_ABOVE, DOUBTFUL, Mark.CANDIDATE, "delete"
                )  # lines 7-9
            store.mark(disproved, remove=GONE)


class _Check(Generic[F]):
    """The search for proofs of a set of goals."""

    def __init__(self, task: Task[F]) -> None:
        self.task, self.store, self.limit = task, task.store, 1

    def disproved(self, goals: F) -> F:
        """Prove what can be proved of the goals; the facts, goals or not, that turned out to have no proof."""
        store = self.store
        store.mark(goals, add=Mark.CHECKED)
        self.task.counters.add("checked", len(goals))
        self._prove(goals)
        goals = store.restrict(goals, UNPROVED)
        while goals and self.task.stage.is_recursive:
            opened = self._search(goals)
            left = store.restrict(goals, UNPROVED)
            if len(left) == len(goals):
                return store.restrict(store.union([goals, opened]), UNPROVED)
            store.mark(store.restrict(opened, UNPROVED), remove=OPENED)
            store.mark(left, remove=Mark.EXPANDED)
            goals = left
        return goals

    def _search(self, goals: F) -> F:
        """Look backward until enough goals are proved, or nothing is left to look at; the facts opened on the way.

        First with a limit of one support for each fact, and for the facts found by that, and so on; then of two, then
        of four. A limit is given up early when it has opened many facts, so that a long way back does not hide a short
        way beside it. Enough goals are half of them at any time, and a single one when a limit is given up.
        """
        store = self.store
        opened, fresh, room = store.nothing(), goals, PATIENCE * self.limit
        while fresh:
            found = self._layer(fresh, self.limit)
            opened = store.union([opened, found])
            left = len(store.restrict(goals, UNPROVED))
            if 2 * left <= len(goals):
                break
            room -= max(len(found), LAYER)
            fresh = store.restrict(found, OPEN) if room > 0 else store.nothing()
            if not fresh:
                self.limit *= 2
                if left < len(goals):
                    break
                room = PATIENCE * self.limit
                fresh = store.restrict(store.union([goals, opened]), OPEN)
        return opened

    def _layer(self, waiting: F, limit: int) -> F:
        """Lines 15-18: check the body facts of some supports of the waiting facts, and prove what can be proved."""
        store, rules = self.store, self.task.scheduled.recurring
        self.task.round()
        found, exhausted = store.expand(rules, waiting, SUPPORTS, UNCHECKED, Mark.CHECKED, limit, "backward")
        store.mark(exhausted, add=Mark.EXPANDED)
        self.task.counters.add("checked", len(found))
        self._prove(found)
        return found

    def _prove(self, checked: F) -> None:
        """Lines 20-29: prove newly checked facts that are explicit, delayed or follow from below, then go forward."""
        store = self.store
        known = [store.restrict(checked, EXPLICIT), store.restrict(checked, WAITING)]
        rest = store.restrict(checked, UNKNOWN)
        if rest and self.task.scheduled.grounded.rules:
            known.append(store.supported(self.task.scheduled.grounded, rest, NEW_VERSION, "backward"))
        if rest and self.task.withdrawn and self.task.stage.is_recursive:
            known.append(store.supported(self.task.scheduled.recurring, rest, FROM_ASSERTED, "backward"))
        proved = store.union(known)
        while proved:
            self.task.round()
            store.mark(proved, add=GIVEN_PROOF)
            self.task.counters.add("proved", len(proved))
            if not self.task.stage.is_recursive:
                return
            heads = store.derive(
                self.task.scheduled.recurring, proved, store.nothing(), FROM_PROVED, DERIVABLE, Mark.DELAYED, "forward"
            )
            store.mark(proved, remove=Mark.DELTA)
            proved = store.restrict(heads, CHECKED)

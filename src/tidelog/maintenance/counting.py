"""Counting, by rounds.

Idea       : keep how many derivations a fact has; it goes when none is left. In a recursion a fact could count as
             support of itself, so derivations are counted per round of the semi-naive evaluation: a fact belongs to the
             first round that derives it, and a derivation to the round after the last of its body facts.
Source     : Gupta, Katiyar, Mumick 1992 without recursion; Motik et al. 2019 with it, as described in Illich, Glimm
             2023, 2.1.2.
Invariant  : between two steps every instance over the facts that are NOW is counted once, in its round; facts of a
             round below the current one are final. A fact leaves its round at most once and enters one at most once.
Cost       : grows with the instances that come, go or change their round; deletion needs no search for other proofs.
Departures : a fact that loses its round is absent until its next round comes, so that a dead cycle cannot climb for
             ever. Without recursion there is one round, and this is plain counting. A store may derive and count
             a whole stage in its own way (at_once.py).

Example (run by tests/maintenance/test_traces.py): as in bf.py. At first r(a) belongs to round 1, and r(b) and r(c) to
round 2. Each of the two has one derivation counted in round 2, from r(a), and one in round 3, from the other.

    r(x) :- start(x).   r(y) :- r(x), edge(x, y).
    start("a"). edge("a", "b"). edge("a", "c"). edge("b", "c"). edge("c", "b").

    - edge(a, b)
    count -1 edge(a, b) -> r(b)     # r(b) has no derivation in round 2 any more
    round 2: r(b) leave
    count -1 r(b) -> r(c)           # so r(c) loses its derivation in round 3, but not its own round
    round 3: r(b) enter             # because r(c), of round 2, derives it with edge(c, b)
    count +1 r(b) -> r(c)           # r(b) is of round 3 now: it derives r(c) in round 4

    - edge(a, c)
    count -1 edge(a, c) -> r(c)     # r(c) is left with the derivation in round 4
    round 2: r(c) leave
    count -1 r(c) -> r(b)           # which was all that r(b) had
    round 3: r(b) leave
    count -1 r(b) -> r(c)           # and now r(c) has none: the cycle does not hold itself
"""

from __future__ import annotations

from tidelog.maintenance.at_once import count_at_once
from tidelog.maintenance.store import F
from tidelog.maintenance.task import Strategy, Task
from tidelog.maintenance.versions import GAINED, GAINED_ABOVE, LOST, NEW_VERSION, OLD_VERSION
from tidelog.planning.views import NOW, Mark, View

PHASE = "count"
_DRIVING = Mark.NOW | Mark.DELTA


class Counting(Strategy):
    """Counts what comes and goes, then moves facts between rounds."""

    name = "counting"
    keeps_counts = True
    needs_counts = True

    def maintain(self, task: Task[F]) -> None:
        """Count the instances that the changes below take and give; then follow the facts whose round changes."""
        is_known = task.store.is_counted(task.stage.relations) and not _is_first(task)
        candidates = self._changed(task) if is_known else self._from_scratch(task)
        while candidates:
            candidates = self._step(task, candidates)

    def _changed(self, task: Task[F]) -> F:
        """Count what is lost and gained with the stage's own facts as they were; the heads touched."""
        store, stage = task.store, task.surviving
        found = [task.withdrawn, task.asserted]
        if task.removed:
            found.append(store.count_all(stage, task.removed, OLD_VERSION, -1, PHASE))
        if any(task.losing):
            found.append(store.count(stage, *task.losing, LOST, -1, PHASE))
        if any(task.gaining):
            found.append(store.count(stage, *task.gaining, GAINED, +1, PHASE))
        if task.added:
            found.append(store.count_all(stage, task.added, NEW_VERSION, +1, PHASE))
        return store.union(found)

    def _from_scratch(self, task: Task[F]) -> F:
        """Start counting: from no fact of the stage on, as in recomputation.

        With the first round, facts of the stage are matched for the first time, so that rules are evaluated as a whole:
        no instance contains an earlier fact, and none has to be found from each of its facts.
        """
        store, relations = task.store, task.stage.relations
        store.start_counting(relations)
        if count_at_once(task):
            return store.nothing()
        store.mark(store.select(relations, NOW), remove=Mark.NOW)
        heads = store.count_all(task.stage, task.scheduled.grounded.rules, NEW_VERSION, +1, PHASE)
        number, _, entering, later = store.due(store.union([heads, store.select(relations, View(Mark.EXPLICIT))]))
        if not entering:
            return store.nothing()
        task.round()
        store.rank(entering, number)
        store.mark(entering, add=Mark.NOW)
        task.counters.add("moved", len(entering))
        found = store.count_all(task.stage, task.scheduled.recurring.rules, NEW_VERSION, +1, PHASE)
        return store.union([later, found])

    def _step(self, task: Task[F], candidates: F) -> F:
        """Settle the least round in which a fact leaves or enters; the facts that may have to move in later rounds."""
        store = task.store
        number, leaving, entering, later = store.due(candidates)
        if not leaving and not entering:
            return store.nothing()
        task.round()
        moving = store.union([leaving, store.restrict(entering, NOW)])
        store.mark(moving, add=Mark.DELTA)
        lost = self._follow(task, moving, -1)
        store.rank(leaving, None)
        store.mark(leaving, remove=_DRIVING)
        store.rank(entering, number)
        store.mark(entering, add=_DRIVING)
        gained = self._follow(task, entering, +1)
        store.mark(entering, remove=Mark.DELTA)
        task.counters.add("moved", len(leaving) + len(entering))
        return store.union([later, leaving, lost, gained])

    def _follow(self, task: Task[F], moving: F, sign: int) -> F:
        """Count the instances that contain a moving fact, which is DELTA."""
        store = task.store
        if not moving or not task.stage.is_recursive:
            return store.nothing()
        return store.count(task.stage, moving, store.nothing(), GAINED_ABOVE, sign, PHASE)


def _is_first(task: Task[F]) -> bool:
    """Whether nothing that the stage reads was there before, so that all of its instances are new."""
    relations = task.scheduled.positive | task.stage.relations
    return not task.loses and not any(task.store.size(relation) for relation in relations)

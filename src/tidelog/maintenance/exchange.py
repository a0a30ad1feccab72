"""One fact for another, where every fact has one derivation.

Idea       : a rule whose head names all variables of its body derives each of its facts by one instance. So a change
             of a single atom needs no search for other proofs: facts that go take their heads along, facts that come
             bring theirs. One call derives both; heads that are present go, the others come.
Invariant  : used only where planning/exchanges.py proves it, nothing else below the stage has changed,
             and no head is explicit. Otherwise nothing is changed, and any strategy may follow.
Cost       : the instances of the changed facts.
Example    : `h(x, n) :- q(x), n = count : { p(x, _) }.` When a group grows, its count is exchanged, and so is h.
"""

from __future__ import annotations

from tidelog.maintenance.store import F
from tidelog.maintenance.task import Task
from tidelog.maintenance.versions import NEW_VERSION
from tidelog.planning.views import ANY, NO_MARKS, Mark, View

_DERIVED, _ABSENT = View(Mark.NOW, Mark.EXPLICIT), View(outside=Mark.NOW | Mark.EXPLICIT)
_FEW = 1024
"""With more changed facts the price of a call no longer matters, and deriving the stage anew may be cheaper."""


def exchange(task: Task[F]) -> tuple[int, int] | None:
    """Bring the stage to its new version, and say how many facts came and went.

    None if the rules or the change do not allow it; then nothing is changed.
    """
    if task.withdrawn or task.asserted or task.foreseen or task.added or task.removed:
        return None
    reads, changes = task.scheduled.reads, (task.deleted, task.inserted)
    changed = {name for facts in changes for name in facts if name in reads}
    if len(changed) != 1:
        return None
    [name] = changed
    found, store = task.scheduled.exchanges.get(name), task.store
    if found is None or (found.is_guarded and name not in task.replaced):
        return None
    driving = store.union([facts[name] for facts in changes if name in facts], disjoint=True)
    if len(driving) > _FEW:
        return None
    task.budget.ask_round()
    heads = store.derive(task.stage, driving, store.nothing(), NEW_VERSION, ANY, NO_MARKS, "insert")
    gone, come = store.restrict(heads, _DERIVED), store.restrict(heads, _ABSENT)
    gained, lost = (found.key, "insert"), (found.key, "delete")
    if len(gone) + len(come) < len(heads):
        store.derivations[gained] -= len(heads)
        return None
    store.mark(gone, remove=Mark.NOW)
    store.mark(come, add=Mark.NOW)
    store.derivations[gained] -= len(gone)
    store.derivations[lost] += len(gone)
    task.counters.add("inserted", len(come))
    task.exchanged = come, gone
    return len(come), len(gone)

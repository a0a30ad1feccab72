"""One stage's share of an update: everything that a strategy is given.

What      : the stage, its added and removed rules, the facts that changed below it and the explicit ones of its own.
Idea      : strategies differ in their schedule of calls only; what they are asked to do is the same for all.
Invariant : when a strategy starts, the stage's facts have NOW = OLD, and everything below is final. When it ends, NOW
            is the new version of the stage; other marks may be left behind (versions.TRANSIENT).
Never     : no order of stages here (transaction.py).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import ClassVar, Generic

from tidelog.limits import Budget
from tidelog.maintenance.counters import Counters
from tidelog.maintenance.once import once
from tidelog.maintenance.schedule import Scheduled
from tidelog.maintenance.store import F, Store
from tidelog.maintenance.versions import OLD_VERSION
from tidelog.planning.lowered import LoweredRule, Stage
from tidelog.planning.views import Mark, View

_DELETED_UNSEEN = View(Mark.OLD, Mark.NOW | Mark.CANDIDATE)
_FEW = 16
"""A list of no more changes than that is looked through sooner than they are looked up."""


def _no_cut_off(driving: int) -> None:
    """An attempt without an allowance is never cut off."""


@dataclass(eq=False)
class Task(Generic[F]):
    """What one strategy does for one stage in one update."""

    store: Store[F]
    scheduled: Scheduled
    counters: Counters
    budget: Budget
    inserted: Mapping[str, F]
    """The net insertions of the update so far by relation: final for everything below the stage."""
    deleted: Mapping[str, F]
    """The net deletions likewise."""
    withdrawn: F
    """Facts of the stage that were explicit and no longer are."""
    asserted: F
    """Facts of the stage that are explicit and were not."""
    foreseen: F
    """Facts of the stage that look-ahead has found in doubt before the update began (marking.py)."""
    added: Sequence[LoweredRule] = ()
    removed: Sequence[LoweredRule] = ()
    looked_ahead: frozenset[str] = frozenset()
    """Relations without rules that look-ahead has seen: their deleted CANDIDATEs are accounted for in `foreseen`."""
    replaced: Set[str] = frozenset()
    """Relations of aggregates of which every group that lost its value has another one."""
    exchanged: tuple[F, F] | None = None
    """The facts of the stage that came and went, where these were told without asking marks (exchange.py)."""
    cut_off: Callable[[int], None] = field(default=_no_cut_off)
    """Asked before every round with the number of driving facts; raises when the attempt's allowance is spent."""

    @property
    def stage(self) -> Stage:
        """The stage with all its present rules."""
        return self.scheduled.stage

    @once
    def keys(self) -> frozenset[str]:
        """The keys of the stage's rules, removed ones included."""
        return self.scheduled.keys.union(rule.key for rule in self.removed)

    @property
    def linked(self) -> Task[F]:
        """The same task for the linked stage. Look-ahead, which does not know it, has foreseen nothing for it."""
        foreseen, looked_ahead = self.store.nothing(), frozenset[str]()
        return replace(self, scheduled=self.scheduled.linked, foreseen=foreseen, looked_ahead=looked_ahead)

    @once
    def surviving(self) -> Stage:
        """The stage without the added rules: only instances of rules that it had before can be lost."""
        if not self.added:
            return self.stage
        return replace(self.stage, rules=tuple(rule for rule in self.stage.rules if rule not in self.added))

    @once
    def losing(self) -> tuple[F, F]:
        """The changes below that take instances away: deleted facts that drive, inserted facts that block."""
        positive, seen = self.scheduled.positive, self.looked_ahead & self.scheduled.positive
        driving = self._of(self.deleted, positive - seen)
        if seen:
            driving = self.store.union([driving, self.store.touched(seen, _DELETED_UNSEEN)])
        return driving, self._of(self.inserted, self.scheduled.negated)

    @once
    def gaining(self) -> tuple[F, F]:
        """The changes below that give instances: inserted facts that drive, deleted facts that no longer block."""
        return self._of(self.inserted, self.scheduled.positive), self._of(self.deleted, self.scheduled.negated)

    @property
    def loses(self) -> bool:
        """Whether any instance or explicit fact may be lost."""
        driving, blocking = self.losing
        return bool(driving or blocking or self.withdrawn or self.removed or self.foreseen)

    def doubtful(self, heads: View, add: Mark, phase: str) -> F:
        """The facts that lost something directly: being explicit, or an instance of a removed rule."""
        found = [self.store.restrict(self.withdrawn, heads)]
        self.store.mark(found[0], add=add)
        if self.removed:
            found.append(self.store.evaluate(self.stage, self.removed, OLD_VERSION, heads, add, phase))
        return self.store.union(found, disjoint=True)

    def round(self, driving: int = 0) -> None:
        """Pay for a round that this many facts drive; raises when the budget or the attempt's allowance is used up."""
        self.budget.ask_round()
        self.cut_off(driving)

    def _of(self, changes: Mapping[str, F], relations: Set[str]) -> F:
        if not (changes and relations):
            return self.store.nothing()
        if len(changes) > _FEW + len(relations):  # of the many that an update has changed, a stage reads a few
            found = [changes[name] for name in sorted(relations) if name in changes]
        else:
            found = [facts for name, facts in changes.items() if name in relations]
        if not found:
            return self.store.nothing()
        return found[0] if len(found) == 1 else self.store.union(found, disjoint=True)


class Strategy(ABC):
    """A maintenance algorithm: brings the facts of one stage to their new version."""

    name: ClassVar[str]
    keeps_counts: ClassVar[bool] = False
    """Whether after `maintain` the counts of a stage are true or no longer kept."""
    needs_counts: ClassVar[bool] = False
    """Whether it can do nothing without counts."""
    looks_ahead: ClassVar[bool] = False
    """Whether it makes use of what look-ahead has found (marking.py)."""
    passes_on: ClassVar[bool] = False
    """Whether look-ahead follows a doomed fact to all facts of its component, not only to those that it supports."""

    @abstractmethod
    def maintain(self, task: Task[F]) -> None:
        """Do the task."""

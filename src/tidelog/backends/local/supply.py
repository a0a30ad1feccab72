"""Facts that are elsewhere, brought before a call needs them.

What      : `Supply`, what a local store asks before it runs a call; `AllHere`, the answer where every fact is in this
            process.
Idea      : a call hands everything that it is about to look up to the supply, all at once. The supply stores the facts
            that are missing, and the call runs as if they had always been there. Locally there is nothing to ask: the
            store looks at `is_partial` and goes on.
Contract  : 1. after a call of a supply every fact that the announced look-ups can see or find is stored, with the marks
               that it had at the last commit (asserted by tests that compare with a store that has everything).
            2. a supply stores committed facts and nothing else; facts that this transaction has touched keep their
               marks.
            3. a supply that cannot bring what is asked raises, and the caller rolls back.
Never     : no plan is chosen or run for its result, and no rule is known by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from tidelog.backends.local.kernels.compiled import Array
from tidelog.planning.join_order import Estimates
from tidelog.planning.lowered import Stage
from tidelog.planning.plan import Plan
from tidelog.planning.views import Matching

Call = tuple[Plan, Array]
"""A plan that is about to run, and the rows that drive it."""


class Supply(Protocol):
    """Where a local store gets facts that it does not have."""

    is_partial: bool
    """Whether some facts are elsewhere. If not, nothing else is ever asked."""
    fuses_rounds: bool
    """Whether several rounds may be made in one kernel call, which looks up what nobody has announced."""
    races_provers: bool
    """Whether other orders of joins may be tried out, which look up what nobody has announced."""
    estimates: Estimates | None
    """Sizes for the planner; None if those of the stored relations are the whole truth."""

    def size(self, relation: str) -> int:
        """How many facts the relation had at the last commit, wherever they are."""

    def rows(self, relation: str, table: Array) -> None:
        """Whole facts are about to be looked up."""

    def look_ups(self, stage: Stage, matching: Matching, calls: Sequence[Call]) -> None:
        """Plans are about to run, with the views of `matching`."""

    def groups(self, relations: Iterable[str], groups: Array) -> None:
        """All facts whose leading columns have these values are about to be read."""

    def whole(self, relations: Iterable[str]) -> None:
        """Whole relations are about to be read."""


class AllHere:
    """Every fact is in this process."""

    is_partial = False
    fuses_rounds = True
    races_provers = True
    estimates: Estimates | None = None

    def size(self, relation: str) -> int:
        """Never asked."""
        raise AssertionError(relation)

    def rows(self, relation: str, table: Array) -> None:
        """Nothing to bring."""

    def look_ups(self, stage: Stage, matching: Matching, calls: Sequence[Call]) -> None:
        """Nothing is missing."""

    def groups(self, relations: Iterable[str], groups: Array) -> None:
        """No group has members elsewhere."""

    def whole(self, relations: Iterable[str]) -> None:
        """Every relation is whole."""


ALL_HERE = AllHere()

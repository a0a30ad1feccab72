"""Views: named sets of facts that rule atoms are matched in.

What      : a fact carries a few marks (bits); a view is the set of facts with some marks and without others.
Idea      : the papers write a maintenance step as rules whose atoms are matched in different sets of facts,
            `H^A <- B1^(I\\N), ..., Bi^N, ..., Bn^I`; sets are bits on a fact.
Source    : Motik et al. 2015, section 3 (the notation), and the end of section 4 (the bits).
Invariant : outside a transaction a fact has OLD = NOW and WAS_EXPLICIT = EXPLICIT, and no other mark except FORESEEN,
            which may outlive an update (look-ahead).
Never     : no data here; a backend decides how marks are stored.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntFlag


class Mark(IntFlag):
    """The sets that a fact can be in. What look-ahead leaves for the next update (FORESEEN) is one of them."""

    OLD = 1 << 0  #: in the materialisation before this update
    NOW = 1 << 1  #: in the materialisation as far as it is known
    WAS_EXPLICIT = 1 << 2  #: explicit before this update
    EXPLICIT = 1 << 3  #: explicit after this update
    DELTA = 1 << 4  #: drives the current round (N in the papers)
    NEXT = 1 << 5  #: derived in this round, drives the next one (A in the papers)
    CHECKED = 1 << 6  #: C: under check by backward chaining
    PROVED = 1 << 7  #: P: proved from facts that stay
    DELAYED = 1 << 8  #: Y: derivable from proved facts, but not checked
    DISPROVED = 1 << 9  #: S: checked, and no proof exists
    EXPANDED = 1 << 10  #: every support of the fact has been looked at
    FORESEEN = 1 << 11  #: the next update will (over)delete it
    # Bit 12 is free.
    TOUCHED = 1 << 13  #: the store's own: already in the journal of this transaction
    CANDIDATE = 1 << 14  #: the strategy's own, for one schedule step
    TURNED = 1 << 15  #: the store's own: an urgent update has passed, and the last version is other than OLD says


NO_MARKS = Mark(0)
"""The empty set of marks."""


@dataclass(frozen=True, slots=True)
class View:
    """The facts that carry every mark of `inside` and none of `outside`."""

    inside: Mark = NO_MARKS
    outside: Mark = NO_MARKS
    care: int = field(init=False, repr=False, compare=False)
    want: int = field(init=False, repr=False, compare=False)
    """A fact is in the view iff `marks & care == want`; kept as numbers, because every call of a store asks."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "care", int(self.inside) | int(self.outside))
        object.__setattr__(self, "want", int(self.inside))

    def contains(self, marks: int) -> bool:
        """Whether a fact with these marks is in the view."""
        return marks & self.care == self.want


OLD = View(Mark.OLD)
NOW = View(Mark.NOW)
KEPT = View(Mark.OLD | Mark.NOW)
INSERTED = View(Mark.NOW, Mark.OLD)
DELETED = View(Mark.OLD, Mark.NOW)
ANY = View()


@dataclass(frozen=True, slots=True)
class Matching:
    """Which view each body literal is matched in, seen from the literal that drives.

    Positive atoms before the driving literal are matched in `before`, those after it in `after`; atoms whose
    relation lies below the component in `lower_before` and `lower_after` (by default the same views).
    A negated atom holds when each of the views in `absent_before` / `absent_after` has no match.
    Without a driving literal everything counts as after.
    """

    before: View
    after: View
    absent_before: tuple[View, ...]
    absent_after: tuple[View, ...]
    lower_before: View | None = None
    lower_after: View | None = None
    is_lost: bool = False
    """Whether every instance that it finds held in the last version, which therefore has its head as a fact."""

    def view(self, *, is_before: bool, is_lower: bool) -> View:
        """The view of a positive atom."""
        if is_before:
            return self.lower_before if is_lower and self.lower_before is not None else self.before
        return self.lower_after if is_lower and self.lower_after is not None else self.after

    def absent(self, *, is_before: bool) -> tuple[View, ...]:
        """The views in which a negated atom has no match."""
        return self.absent_before if is_before else self.absent_after


def everywhere(view: View) -> Matching:
    """Every literal in one view: the instances of a rule in one version."""
    return Matching(view, view, (view,), (view,))

"""Which instances are lost and gained when the facts below a stage change.

Idea      : below the stage everything is known in two versions, OLD and NOW. An instance is lost if it holds over OLD
            and a positive atom of it is DELETED or a negated one is blocked by an INSERTED fact; it is gained if it
            holds over NOW and an atom is INSERTED or a negated one is unblocked by a DELETED fact. For example,
            `p(x) :- q(x), !r(x)` loses p(1) when r(1) comes, and gains it when r(1) goes.
Source    : Motik et al. 2015, section 3, "repeating derivations": before the driving literal unchanged facts only
            (semi-naive I \\ N, inverse semi-naive I \\ (O u N)), after it all facts of the version.
Invariant : each matching finds an instance from exactly one of its driving literals.
Never     : no call to a store here.
"""

from __future__ import annotations

from dataclasses import replace

from tidelog.planning.views import KEPT, NOW, OLD, Mark, Matching, View, everywhere

TRANSIENT = (
    Mark.DELTA | Mark.NEXT | Mark.CHECKED | Mark.PROVED | Mark.DELAYED | Mark.DISPROVED | Mark.EXPANDED | Mark.CANDIDATE
)
"""The marks that a strategy may leave on the facts of its stage, for `commit` to take."""

KEPT_BEFORE_ROUND = View(Mark.OLD | Mark.NOW, Mark.DELTA)
NOW_BEFORE_ROUND = View(Mark.NOW, Mark.DELTA)

LOST = Matching(KEPT_BEFORE_ROUND, KEPT, (OLD, NOW), (OLD,), lower_before=KEPT, lower_after=OLD, is_lost=True)
"""Instances over the old version, driven by changes below and by facts of the stage that go in this round.

Asked of rules that the old version had: then it has their heads, too, and a store need not look for them.
"""

LOST_ABOVE = replace(LOST, absent_after=(OLD, NOW), lower_after=KEPT)
"""As LOST in later rounds: instances over what is unchanged below, because LOST has found the others."""

GAINED = Matching(NOW_BEFORE_ROUND, NOW, (OLD, NOW), (NOW,), lower_before=KEPT, lower_after=NOW)
"""Instances over the new version, driven by changes below and by facts of the stage that are new in this round."""

GAINED_ABOVE = Matching(NOW_BEFORE_ROUND, NOW, (NOW,), (NOW,))
"""As GAINED in later rounds: everything below is as it is now."""

UNCHANGED = Matching(NOW, NOW, (OLD, NOW), (OLD, NOW), lower_before=KEPT, lower_after=KEPT)
"""Instances over what stays: of the stage NOW, below it facts and absences of both versions."""

OLD_VERSION = everywhere(OLD)
NEW_VERSION = everywhere(NOW)

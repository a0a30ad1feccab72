"""Where a program goes back to when it has found a match: one witness is enough.

What      : `note_returns` writes what a plan says about it (`Plan.returns`) into the program for the join machine.
Idea      : a rule such as `big(g) :- in(x, g), in(y, g), x != y.` needs one y for every x, not all of them; and one
            such as `q(x) :- i(x), e(_).` needs one fact of e in all.
Invariant : the heads are the same; calls that count or follow instances ask the machine for every match.
Never     : a plan with arithmetic between its joins.
"""

from __future__ import annotations

from itertools import accumulate

from tidelog.backends.local.joins import machine
from tidelog.backends.local.kernels.compiled import Array
from tidelog.planning.plan import NOWHERE, Absent, Plan
from tidelog.planning.views import Matching


def note_returns(plan: Plan, matching: Matching, code: Array, starts: Array) -> bool:
    """Write the depths to return to into the program; whether that leaves any match out.

    A plan that was cut short, to see what it would look up, is run as it is.
    """
    steps = len(plan.steps)
    if not steps or len(plan.returns) != steps + 1:
        return False
    if plan.returns[steps] == steps - 1 and plan.returns.count(NOWHERE) == steps:
        return False  # to the last step, as in most plans
    blocks = [len(matching.absent(is_before=one.is_before)) if isinstance(one, Absent) else 1 for one in plan.steps]
    last = [end - 1 for end in accumulate(blocks)]
    if len(starts) != last[-1] + 1:
        return False  # arithmetic takes several blocks
    depths = [one if one < 0 else last[one] for one in plan.returns]
    found = False
    for step, depth in zip(last, depths):
        if depth != NOWHERE:
            code[starts[step] + machine.BACK] = depth + 2
            found = True
    if depths[-1] < last[-1]:
        code[starts[-1] + machine.AFTER] = depths[-1] + 2
        found = True
    return found

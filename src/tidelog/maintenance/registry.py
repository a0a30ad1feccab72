"""The strategies by name.

What      : `strategy(name)` makes a fresh strategy; `STRATEGIES` are the names that users write.
Invariant : strategies share nothing; `auto` remembers past costs for as long as its engine lives.
Never     : no algorithm here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tidelog.errors import UsageError, expect
from tidelog.maintenance.bf import BackwardForward
from tidelog.maintenance.choose import Auto
from tidelog.maintenance.circuit import Circuit
from tidelog.maintenance.counting import Counting
from tidelog.maintenance.dred import DRed
from tidelog.maintenance.marking import BackwardForwardAhead, DRedAhead
from tidelog.maintenance.recompute import Recompute
from tidelog.maintenance.task import Strategy

_MAKERS: Mapping[str, Callable[[], Strategy]] = {
    "auto": Auto,
    "recompute": Recompute,
    "dred": DRed,
    "dred-mark": DRedAhead,
    "bf": BackwardForward,
    "bf-mark": BackwardForwardAhead,
    "counting": Counting,
    "circuit": Circuit,
}

STRATEGIES: tuple[str, ...] = tuple(_MAKERS)
"""The names of all strategies."""


def strategy(name: str) -> Strategy:
    """A fresh strategy of that name."""
    expect(name, str, "the strategy", f"one of {', '.join(STRATEGIES)}")
    if name not in _MAKERS:
        raise UsageError.of("E810", f"there is no strategy {name!r}", remedy=f"use one of: {', '.join(STRATEGIES)}")
    return _MAKERS[name]()

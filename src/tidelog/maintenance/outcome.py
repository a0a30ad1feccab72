"""What a transaction comes to.

What      : `Outcome`, the net change by relation, what became explicit or ceased to be, and what it took.
Idea      : a transaction fills it stage by stage (transaction.py), and the engine makes a change of it
            (tidelog/attempt.py).
Invariant : a fact is in at most one of `inserted` and `deleted`.
Never     : no fact is known by value.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic

from tidelog.maintenance.counters import Counters
from tidelog.maintenance.store import F


@dataclass(eq=False)
class Outcome(Generic[F]):
    """The net change by relation (hidden ones included), before it is committed, and what it took."""

    inserted: dict[str, F] = field(default_factory=dict)
    deleted: dict[str, F] = field(default_factory=dict)
    withdrawn: dict[str, F] = field(default_factory=dict)
    """What was explicit and was asked to be deleted, even if it was inserted again in the same update."""
    asserted: dict[str, F] = field(default_factory=dict)
    ceased: dict[str, F] = field(default_factory=dict)
    """What became explicit, and what ceased to be."""
    counters: Counters = field(default_factory=Counters)

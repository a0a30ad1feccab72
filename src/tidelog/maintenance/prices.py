"""What work costs on a store, for `auto` to compare strategies.

What      : `Prices` are a store's own figures; `LOCAL_PRICES` those of facts in this process.
Idea      : the unit is one derivation: a rule instance found by a compiled kernel, about 0.02 microseconds. Every other
            price is a number of derivations. What matters is the ratio of two prices: if all are doubled, nothing
            changes.
Invariant : prices are constants; no clock is read, so that a run can be repeated choice by choice.
Never     : nothing is counted (costs.py) and nothing is chosen here (choose.py).

How the figures were found: each strategy was run on the workloads of `benchmarks/maintenance` (reports deletions,
batches, rules), and the CPU time of an update was compared with its counters. What follows when a figure is halved
or doubled is what `python -m benchmarks.maintenance.sensitivity` prints.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Prices:
    """What work costs, in derivations."""

    round: float
    """A round, however little it does."""
    literal: float
    """What a round costs more for every body literal of the stage."""
    swift: float
    """The share of a round's price that is left when the store makes it in one call with the round before."""
    fact: float
    """A fact of a stage that is derived anew: it is stored and marked several times."""
    read: float
    """A fact below a stage that is derived anew: the rules look at it at least once."""
    overdeleted: float
    """A fact that is overdeleted: afterwards it is tried as the head of every rule."""
    checked: float
    """A fact that is checked: it is tried as the head of every rule, and so are its supports."""
    proved: float
    """A fact that is proved by another proof."""
    inserted: float
    """A fact that comes."""
    moved: float
    """A fact that enters or leaves a round of a counted stage."""
    counted: float
    """How many times more a derivation costs in a counted stage."""
    counted_round: float
    """How many times more a round costs in a counted stage."""
    anew: float = 0.0
    """What it costs to begin to derive a stage anew, however small it is."""
    journey: float = 0.0
    """What it costs to bring facts from elsewhere once, however few they are."""
    handled: tuple[tuple[str, float], ...] = field(init=False, repr=False, compare=False)
    """The counters of facts (counters.py) with their prices, because every attempt is metered several times."""

    def __post_init__(self) -> None:
        names = ("overdeleted", "checked", "proved", "inserted", "moved")
        object.__setattr__(self, "handled", tuple((name, getattr(self, name)) for name in names))


LOCAL_PRICES = Prices(
    round=1200,
    literal=80,
    swift=0.1,
    fact=3,
    read=1.2,
    overdeleted=24,
    checked=42,
    proved=3,
    inserted=3,
    moved=18,
    counted=10,
    counted_round=5,
)

"""What work costs on a store, for `auto` to compare strategies.

What      : `Prices` are a store's own figures; `LOCAL_PRICES` those of facts in this process.
Idea      : the unit is one derivation: a rule instance found by a compiled kernel, about 0.02 microseconds. Every other
            price is a number of derivations. What matters is the ratio of two prices: if all are doubled, nothing
            changes.
Invariant : prices are constants; no clock is read, so that a run can be repeated choice by choice.
Never     : nothing is counted (costs.py) and nothing is chosen here (choose.py).

The figures are measured: `python -m benchmarks.maintenance.unit_prices` repeats the experiment that each price names,
and prints it beside the figure used. They are right within a factor of two or three; what a factor of two changes
stands with each, as the number of the 903 choices of `python -m benchmarks.maintenance.sensitivity` that differ when it
is halved and when it is doubled.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Prices:
    """What work costs, in derivations."""

    round: float
    """A round, however little it does: a chain loses its first edge, one fact in each of 450 rounds, 20 to 26 us each.
    Halved 24 choices, doubled 5; 2 % more work at most (rmat1k)."""
    literal: float
    """What a round costs more for every body literal of the stage: its share of a bundle of kernels. Halved 3, doubled
    1."""
    swift: float
    """The share of a round's price that is left when the store makes it in one call with the round before: the same
    chain with rounds in one call, 0.5 to 1.2 us, 2 to 5 %; 10 % leaves room for the call itself. Halved 0, doubled
    0."""
    fact: float
    """A fact of a stage that is derived anew: it is marked several times, and stored if it was not there. A copied
    relation of 500,000 facts takes next to nothing more when it is derived again, and 7 for each when it is first
    loaded. Halved 8 choices, 6 % less work in LUBM; doubled 25, work as before."""
    read: float
    """A fact below a stage with which a rule begins: a scan of 500,000 facts, 0.5 to 1.2 each. Without this price a
    small stage above a large relation passes for a trifle. Halved 0, doubled 16; work as before."""
    overdeleted: float
    """A fact that is overdeleted, and then tried as the head of every rule: 5,000 triples of LUBM go, 34 for each of
    8,030 facts. Halved 2, doubled 30; work as before."""
    checked: float
    """A fact that is checked: it is tried as the head of every rule, and so are its supports. The same triples, 80 to
    98 for each of 11,573 facts, fewer where most are proved at once. Halved 31: then checking looks so cheap that
    LUBM takes 39 % more work. Doubled 9, work as before."""
    proved: float
    """A fact that is proved: it is marked. Halved 0, doubled 0."""
    inserted: float
    """A fact that comes: as `fact`. Halved 2, doubled 0."""
    moved: float
    """A fact that enters or leaves a round of a counted stage: ranked and marked, and found due. Halved 0, doubled
    0."""
    counted: float
    """How many times more a derivation costs in a counted stage: 4 in a clique that loses a vertex, where counts are in
    the cache; up to 9 for the first materialisation of rmat1k. Halved 8, doubled 38: counting does not begin, and the
    labelled clique takes a quarter less work in 60 updates, for which it does not pay yet."""
    counted_round: float
    """How many times more a round costs in a counted stage: the chain again, 6 to 10. Halved 0, doubled 4."""
    anew: float = 0.0
    """What it costs to begin to derive a stage anew, however small it is."""
    journey: float = 0.0
    """What it costs to bring facts from elsewhere once, however few they are."""
    handled: tuple[tuple[str, float], ...] = field(init=False, repr=False, compare=False)
    """The counters of facts (counters.py) with their prices, because every attempt is metered several times."""

    def __post_init__(self) -> None:
        names = ("overdeleted", "checked", "proved", "inserted", "moved")
        handled = ((name, getattr(self, name)) for name in names)
        object.__setattr__(self, "handled", (*handled, ("at once", 1.0)))  # which is told in derivations


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

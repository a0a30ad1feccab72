"""What maintenance counts.

What      : `Counters` collects the counters of one update: facts by what happened to them (the papers' overdeleted,
            rederived, checked, ...), derivations per rule and phase, and what was chosen for each stage.
Idea      : Motik et al. 2015, Table 2, compare algorithms by such counters, because they do not depend on the machine.
Invariant : names are stable; a counter that was never raised is 0.
Never     : no time here (see observe/).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from tidelog.changes.change import Stats
from tidelog.changes.strategy_choice import StrategyChoice
from tidelog.planning.lowered import is_hidden

PHASES: Mapping[str, str] = {
    "backward": "backward",
    "forward": "forward",
    "delete": "deletions",
    "overdelete": "deletions",
    "rederive": "backward",
    "insert": "insertions",
    "evaluate": "insertions",
    "at once": "insertions",
    "mark": "marking",
    "count": "counting",
    "group": "grouping",
}
"""The counter to which the derivations of a phase belong."""


_SHOWN = frozenset(("overdeleted", "rederived", "checked", "backward", "forward", "deletions", "insertions", "marks"))
"""The counters that users see by name."""


@dataclass
class Counters:
    """The counters of one update."""

    values: Counter[str] = field(default_factory=Counter)
    derivations: Counter[tuple[str, str]] = field(default_factory=Counter)
    choices: list[StrategyChoice] = field(default_factory=list)

    def add(self, name: str, number: int) -> None:
        """Raise a counter."""
        if number:
            self.values[name] += number

    def join(self, others: Counters) -> None:
        """Take over what was counted of another part of the same update."""
        self.values.update(others.values)
        self.derivations.update(others.derivations)
        self.choices += others.choices

    def collect(self, derived: Mapping[tuple[str, str], int]) -> None:
        """Take over what a store derived, per rule of the user and phase."""
        for rule_and_phase, number in derived.items():
            if number and not is_hidden(rule_and_phase[0]):
                self.derivations[rule_and_phase] += number
                self.values["derivations"] += number
                self.values[PHASES[rule_and_phase[1]]] += number


def stats_of(counters: Counters, rounds: int, strategy: str) -> Stats:
    """What maintenance counted, in the words of `change.stats`."""
    values = counters.values
    stats = Stats(rounds=rounds, derivations=dict(counters.derivations))
    for name, number in values.items():
        if name in _SHOWN:
            setattr(stats, name, number)
    stats.no_ops = values["ignored deletions"] + values["ignored insertions"]
    stats.strategy, stats.choices = strategy, tuple(counters.choices)
    return stats

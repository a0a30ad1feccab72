"""Executables at work.

What      : runs executables over driving rows, hands the heads on, and counts the derivations by rule and phase.
Idea      : few driving rows go through all rules in one kernel call (bundle.py), many through one rule after another.
Invariant : budgets are asked before and after every table; an error names the rule that it happened in.
Never     : no facts are stored here, and no plan is chosen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np

from tidelog.backends.local.bundle import MOST_DRIVING, scratch
from tidelog.backends.local.compiled import Array
from tidelog.backends.local.executable import Executable
from tidelog.backends.local.preparation import Crew
from tidelog.backends.local.watching import watched
from tidelog.planning.lowered import LoweredRule

Sink = Callable[[LoweredRule, Array], None]
"""Takes the heads that a rule derives, a chunk at a time."""


class Runner:
    """Runs executables under watch."""

    def __init__(self) -> None:
        self.derivations: Counter[tuple[str, str]] = Counter()
        self.on_progress: Callable[[], None] = lambda: None
        self._scratch = scratch()

    def _run(self, crew: Crew, driving: Array, phase: str, sink: Sink) -> None:
        """The heads of everything that the rows drive: of few rows at once, of many rule by rule."""
        alone = crew.everyone
        if crew.bundle is not None and len(driving) <= MOST_DRIVING:
            self.on_progress()
            matches = crew.bundle.matches(driving, self._scratch)
            for executable, count in matches.hits:
                self.derivations[executable.plan.rule.key, phase] += count
            for rule, heads in matches.tables:
                sink(rule, heads)
            alone = [*crew.others, *matches.unfinished]
        for executable in [executable for executable in alone if not executable.is_futile()]:
            self._feed(executable.plan.rule, executable, driving, phase, sink)

    def _feed(self, rule: LoweredRule, executable: Executable, driving: Array, phase: str, sink: Sink) -> None:
        derived = 0
        for table in watched(rule, self.on_progress, executable.heads(driving)):
            if len(table):
                derived += len(table)
                sink(rule, with_columns(table))
        if derived:
            self.derivations[rule.key, phase] += derived

    def _proved(self, crew: Crew, driving: Array, phase: str) -> Array:
        """Which of the rows are the head of an instance."""
        self.on_progress()
        proved, alone = np.zeros(len(driving), np.bool_), crew.others
        if crew.bundle is not None:
            proofs = crew.bundle.proved(driving)
            proved, alone = proofs.proved, [*proofs.unfinished, *alone]
            for executable, count in proofs.hits:
                self.derivations[executable.plan.rule.key, phase] += count
        for executable in alone:
            waiting = np.flatnonzero(~proved)
            if not len(waiting):
                break
            rule = executable.plan.rule
            for table in watched(rule, self.on_progress, executable.bodies(driving[waiting], (), 1)):
                proved[waiting[table[:, 0]]] = True
            self.derivations[rule.key, phase] += len(waiting) - int(np.count_nonzero(~proved))
        return proved


def with_columns(table: Array) -> Array:
    """Facts without columns are stored with one that is always 0."""
    return table if table.shape[1] else np.zeros((len(table), 1), np.int32)

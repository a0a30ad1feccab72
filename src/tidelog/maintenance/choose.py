"""Which strategy for which stage in which update.

Idea       : published measurements show that no strategy wins everywhere. A stage remembers what its attempts cost per
             deletion; the cheapest is tried first, one that is not known now and then, and each only for so long.
Source     : DESIGN section 4; the equilibrium point of Motik et al. 2015, section 5, is where recomputation wins.
Invariant  : a wrong estimate costs at most a share of a recomputation: an attempt that exceeds its allowance is cut
             off, undone inside the stage (OLD is what no attempt changes), and the next one begins; the last is
             recomputation, which has no limit. The result does not depend on the choice.
Cost       : counted in derivations, a round being worth many; no clock is read, so that runs can be repeated.
Departures : counting is not chosen on its own, because its counts have to be kept from the beginning.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tidelog.maintenance.bf import BackwardForward
from tidelog.maintenance.dred import DRed
from tidelog.maintenance.recompute import Recompute
from tidelog.maintenance.store import F
from tidelog.maintenance.task import Strategy, Task
from tidelog.maintenance.versions import TRANSIENT
from tidelog.planning.views import ANY, DELETED, INSERTED, Mark

ROUND = 1_000
"""What a round costs, in derivations: its calls have a price of their own."""
LEAST_ATTEMPT = 50_000
"""What every attempt may spend: below this an estimate says nothing."""
FIRST_SHARE, NEXT_SHARE = 0.15, 0.3
"""How much of a recomputation an attempt may spend: the first that a stage ever makes, and others."""
HOPELESS = 0.9
"""An attempt that is expected to cost such a share of a recomputation is not made."""
LEARNING = 0.5
"""How much the last attempt counts against those before it."""
FADING = 0.95
"""What is left of a remembered cost when another strategy is used: in time it is tried again."""


class _TooDearError(Exception):
    """An attempt has spent its allowance; never leaves this module."""


@dataclass
class _Past:
    """What is remembered about a stage: the cost per deletion by strategy, and per fact of its recomputation."""

    rates: dict[str, float] = field(default_factory=dict)
    per_fact: float = 2.0

    def learn(self, name: str, rate: float) -> None:
        """Remember an attempt, and let the memory of the others fade."""
        for other in self.rates:
            self.rates[other] *= FADING
        known = self.rates.get(name, rate)
        self.rates[name] = LEARNING * rate + (1 - LEARNING) * known


class Auto(Strategy):
    """Chooses for every stage and update, watches the attempt, and falls back to recomputation."""

    name = "auto"

    def __init__(self) -> None:
        self._past: dict[frozenset[str], _Past] = {}
        self._bf, self._dred, self._recompute = BackwardForward(), DRed(), Recompute()

    def maintain(self, task: Task[F]) -> None:
        """Choose, attempt, and go on to the next choice if cut off; the choice is a sentence in the counters."""
        past = self._past.setdefault(task.stage.relations, _Past())
        facts = sum(task.store.size(relation) for relation in task.stage.relations)
        if not task.loses:
            self._insert_only(task, past, facts)
            return
        deletions = sum(map(len, (*task.losing, task.withdrawn))) + len(task.removed)
        cut: list[str] = []
        for strategy, allowance in self._attempts(task, past, deletions, facts):
            if self._attempt(task, strategy, past, deletions, allowance):
                amount = f"{_counted(deletions, 'deletion')} against {_short(facts)} facts"
                after = f", after {' and '.join(cut)} took too long" if cut else ""
                task.counters.choices.append(f"component {task.stage.name}: {strategy.name}, {amount}{after}")
                return
            cut.append(strategy.name)
            task.counters.add("cut off", 1)

    def _attempts(self, task: Task[F], past: _Past, deletions: int, facts: int) -> Iterator[tuple[Strategy, float]]:
        """What to try, in order, and how much each may spend."""
        whole = past.per_fact * max(facts, 1)
        if not self._mostly_gone(task, deletions, facts):
            yield from self._incremental(task, past, deletions, whole)
        yield self._recompute, float("inf")

    def _incremental(
        self, task: Task[F], past: _Past, deletions: int, whole: float
    ) -> Iterator[tuple[Strategy, float]]:
        share = max(LEAST_ATTEMPT, NEXT_SHARE * whole)
        choices = (self._bf, self._dred) if task.stage.is_recursive else (self._bf,)
        known = sorted((past.rates[one.name] * deletions, one.name, one) for one in choices if one.name in past.rates)
        if not known:
            shares = (max(LEAST_ATTEMPT, FIRST_SHARE * whole), share)
            yield from zip(choices, shares)
            return
        expected, _, best = known[0]
        if expected > HOPELESS * whole:
            past.rates = {name: rate * FADING for name, rate in past.rates.items()}
            return
        if len(known) < len(choices) and expected > LEAST_ATTEMPT:
            yield self._dred if best is self._bf else self._bf, min(expected, share)
        yield best, max(share, 1.2 * expected)

    def _mostly_gone(self, task: Task[F], deletions: int, facts: int) -> bool:
        """Whether at least half of what the stage reads, or of the stage itself, is deleted."""
        read = sum(task.store.size(relation) for relation in task.scheduled.positive)
        return not facts or 2 * len(task.losing[0]) > max(read, 1) or 2 * deletions > read + facts

    def _attempt(self, task: Task[F], strategy: Strategy, past: _Past, deletions: int, allowance: float) -> bool:
        """Whether the strategy finished within its allowance; if not, everything is as before.

        An attempt that was cut off is remembered as if it had cost as much as recomputation.
        """
        before, whole = _spent(task), past.per_fact * _present(task)

        def watch(driving: int) -> None:
            if _spent(task) - before + past.per_fact * driving > allowance:
                raise _TooDearError

        task.cut_off = watch
        try:
            strategy.maintain(task)
        except _TooDearError:
            _undo(task)
            past.learn(strategy.name, whole / max(deletions, 1))
            return False
        spent = _spent(task) - before
        if strategy is self._recompute:
            past.per_fact = spent / max(_present(task), 1)
        else:
            past.learn(strategy.name, spent / max(deletions, 1))
        return True

    def _insert_only(self, task: Task[F], past: _Past, facts: int) -> None:
        """Without deletions every strategy is the same semi-naive insertion."""
        before = _spent(task)
        self._bf.maintain(task)
        present = _present(task)
        if present > 2 * facts:
            past.per_fact = (_spent(task) - before) / max(present - facts, 1)
        insertions = sum(map(len, (*task.gaining, task.asserted))) + len(task.added)
        amount = f"{_counted(insertions, 'insertion')} into {_short(facts)} facts"
        task.counters.choices.append(f"component {task.stage.name}: insertion, {amount}")


def _undo(task: Task[F]) -> None:
    """Bring the stage back to where the attempt began."""
    store, relations = task.store, task.stage.relations
    store.mark(store.touched(relations, DELETED), add=Mark.NOW)
    store.mark(store.touched(relations, INSERTED), remove=Mark.NOW)
    store.mark(store.touched(relations, ANY), remove=TRANSIENT)


def _spent(task: Task[F]) -> float:
    """What the update has cost so far."""
    return sum(task.store.derivations.values()) + ROUND * task.budget.rounds


def _present(task: Task[F]) -> int:
    """How many facts the stage has now."""
    store, relations = task.store, task.stage.relations
    before = sum(store.size(relation) for relation in relations)
    return before + len(store.touched(relations, INSERTED)) - len(store.touched(relations, DELETED))


def _counted(number: int, word: str) -> str:
    return f"{_short(number)} {word}{'' if number == 1 else 's'}"


def _short(number: int) -> str:
    """A number as people say it: 12, 340, 56 k, 1.2 M."""
    for size, unit in ((1_000_000_000, "G"), (1_000_000, "M"), (10_000, "k")):
        if number >= size:
            shown = number / (1_000 if unit == "k" else size)
            return f"{shown:.1f} {unit}" if shown < 10 else f"{shown:.0f} {unit}"
    return str(number)

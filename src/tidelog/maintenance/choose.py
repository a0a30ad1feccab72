"""Which strategy for which stage in which update.

Idea       : published measurements show that no strategy wins everywhere. Small deletions are checked (bf); where
             checking has proved dear, overdeletion is tried (dred); where most of what a stage reads is gone, it is
             computed again.
Source     : DESIGN section 4; the equilibrium point of Motik et al. 2015, section 5, is where recomputation wins.
Invariant  : a wrong estimate costs at most a share of a recomputation: an attempt that exceeds it is cut off, its marks
             are taken away, and the stage is recomputed from OLD, which no attempt changes.
Cost       : estimates use sizes and the derivations of past attempts; making them costs nothing to speak of.
Departures : counting is not chosen on its own, because its counts have to be kept from the beginning.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tidelog.maintenance.bf import BackwardForward
from tidelog.maintenance.dred import DRed
from tidelog.maintenance.recompute import Recompute
from tidelog.maintenance.store import F, Store
from tidelog.maintenance.task import Strategy, Task
from tidelog.maintenance.versions import TRANSIENT
from tidelog.planning.views import ANY, DELETED, INSERTED

SHARE_OF_RECOMPUTATION = 0.3
"""How much of a recomputation an attempt may cost before it is cut off."""
LEAST_ATTEMPT = 2_000
"""Derivations that every attempt may spend: below this an estimate says nothing."""
FORGETTING = 0.5
"""How much the last attempt counts against those before it."""


class _TooDearError(Exception):
    """An attempt has spent what it may; never leaves this module."""


@dataclass
class _Past:
    """What is remembered about a stage: derivations per deletion by strategy, and those of its recomputation."""

    per_deletion: dict[str, float] = field(default_factory=dict)
    recomputation: float | None = None
    recomputed_facts: int = 0

    def learn(self, name: str, deletions: int, spent: float) -> None:
        """Remember an attempt."""
        rate = spent / max(deletions, 1)
        known = self.per_deletion.get(name, rate)
        self.per_deletion[name] = FORGETTING * rate + (1 - FORGETTING) * known


class Auto(Strategy):
    """Chooses for every stage and update, watches the attempt, and falls back to recomputation."""

    name = "auto"

    def __init__(self) -> None:
        self._past: dict[frozenset[str], _Past] = {}
        self._bf, self._dred, self._recompute = BackwardForward(), DRed(), Recompute()

    def maintain(self, task: Task[F]) -> None:
        """Choose, attempt, and recompute if the attempt is cut off; the choice is a sentence in the counters."""
        past = self._past.setdefault(task.stage.relations, _Past())
        facts = sum(task.store.size(relation) for relation in task.stage.relations)
        if not task.loses:
            self._insert_only(task, past, facts)
            return
        deletions = sum(map(len, (*task.losing, task.withdrawn))) + len(task.removed)
        strategy = self._choice(task, past, deletions, facts)
        task.counters.choices.append(
            f"component {task.stage.name}: {strategy.name}, "
            f"{_counted(deletions, 'deletion')} against {_short(facts)} facts"
        )
        if strategy is self._recompute:
            self._recomputed(task, past)
        else:
            self._attempt(task, strategy, past, deletions, facts)

    def _insert_only(self, task: Task[F], past: _Past, facts: int) -> None:
        """Without deletions every strategy is the same semi-naive insertion."""
        before = _derived(task.store)
        self._bf.maintain(task)
        if not facts:
            past.recomputation = _derived(task.store) - before
            past.recomputed_facts = _present(task)
        insertions = sum(map(len, (*task.gaining, task.asserted))) + len(task.added)
        sentence = (
            f"component {task.stage.name}: insertion, {_counted(insertions, 'insertion')} into {_short(facts)} facts"
        )
        task.counters.choices.append(sentence)

    def _choice(self, task: Task[F], past: _Past, deletions: int, facts: int) -> Strategy:
        read = sum(task.store.size(relation) for relation in task.scheduled.reads)
        if not facts or deletions > read + facts:
            return self._recompute
        if not task.stage.is_recursive:
            return self._bf
        known = past.per_deletion
        allowed = self._allowed(past, facts)
        expected = {name: known.get(name, 0.0) * deletions for name in (self._bf.name, self._dred.name)}
        if min(expected.values()) > 2 * allowed:
            for name in known:
                known[name] *= FORGETTING
            return self._recompute
        return self._dred if expected[self._dred.name] < expected[self._bf.name] else self._bf

    def _allowed(self, past: _Past, facts: int) -> float:
        """How many derivations an attempt may take."""
        whole = float(facts)
        if past.recomputation is not None and past.recomputed_facts:
            whole = max(whole, past.recomputation * facts / past.recomputed_facts)
        return max(LEAST_ATTEMPT, SHARE_OF_RECOMPUTATION * whole)

    def _attempt(self, task: Task[F], strategy: Strategy, past: _Past, deletions: int, facts: int) -> None:
        store, before, allowed = task.store, _derived(task.store), self._allowed(past, facts)

        def watch() -> None:
            if _derived(store) - before > allowed:
                raise _TooDearError

        task.cut_off = watch
        try:
            strategy.maintain(task)
        except _TooDearError:
            spent = int(_derived(store) - before)
            task.counters.add("cut off", 1)
            task.counters.choices[-1] += f"; cut off after {_short(spent)} derivations and recomputed"
            store.mark(store.touched(task.stage.relations, ANY), remove=TRANSIENT)
            self._recomputed(task, past)
        finally:
            past.learn(strategy.name, deletions, _derived(store) - before)

    def _recomputed(self, task: Task[F], past: _Past) -> None:
        task.cut_off = lambda: None
        before = _derived(task.store)
        self._recompute.maintain(task)
        past.recomputation = _derived(task.store) - before
        past.recomputed_facts = _present(task)


def _present(task: Task[F]) -> int:
    """How many facts the stage has now."""
    store, relations = task.store, task.stage.relations
    before = sum(store.size(relation) for relation in relations)
    return before + len(store.touched(relations, INSERTED)) - len(store.touched(relations, DELETED))


def _derived(store: Store[F]) -> int:
    return sum(store.derivations.values())


def _counted(number: int, word: str) -> str:
    return f"{_short(number)} {word}{'' if number == 1 else 's'}"


def _short(number: int) -> str:
    """A number as people say it: 12, 340, 56 k, 1.2 M."""
    for size, unit in ((1_000_000_000, "G"), (1_000_000, "M"), (10_000, "k")):
        if number >= size:
            shown = number / (1_000 if unit == "k" else size)
            return f"{shown:.1f} {unit}" if shown < 10 else f"{shown:.0f} {unit}"
    return str(number)

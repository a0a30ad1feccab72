"""Which strategy for which stage in which update.

Idea       : published measurements show that no strategy wins everywhere. A stage remembers what its attempts cost for
             deletions of a magnitude (costs.py); the cheapest is tried first, each strategy once, and only for so long.
             Where nothing is remembered, the derivations per fact decide: where facts have few, other proofs are rare
             and overdeletion wastes little; where they have many, looking for another proof pays.
Source     : the equilibrium point of Motik et al. 2015, section 5, is where recomputation wins.
Invariant  : an attempt without counts that exceeds its allowance is cut off, undone inside the stage (OLD is what no
             attempt changes), and the next one begins; the last is recomputation, which has no limit. An allowance is
             two thirds of a recomputation, so that a strategy that was wrongly given up for good would have won a
             factor of 1.5 at most. The result does not depend on the choice.
Departures : counting pays in advance, because counts have to be there before the deletion: a stage is counted once it
             was recomputed several times for small deletions, and for as long as that saves more than it costs.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidelog.maintenance.bf import BackwardForward
from tidelog.maintenance.costs import Memory, instances, per_round, present, spent
from tidelog.maintenance.counting import Counting
from tidelog.maintenance.dred import DRed
from tidelog.maintenance.recompute import Recompute
from tidelog.maintenance.store import F
from tidelog.maintenance.task import Strategy, Task
from tidelog.maintenance.versions import TRANSIENT
from tidelog.planning.views import ANY, DELETED, INSERTED, Mark

SHARE = 2 / 3
"""How much of a recomputation an attempt may spend."""
SPARSE = 3.0
"""With fewer derivations per fact overdeletion is tried before checking."""
INFINITE = float("inf")
TRIFLE = 3
"""A stage whose facts are derived for so many rounds' worth is not worth another thought."""
PATIENCE = 3
"""A stage that was recomputed so often for small deletions is counted."""
SMALL = 20
"""A deletion is small if it is less than this part of what the stage has."""
WORTH = 200_000
"""What deriving a stage must cost for counts to be worth their memory."""
COUNTING_SHARE = 0.6
"""The part of a counted insertion that counting adds."""
CURIOSITY = 4
"""A strategy that is not known is not worth trying where a known one takes no more than so many rounds' worth."""


class _TooDearError(Exception):
    """An attempt has spent its allowance; never leaves this module."""


class Auto(Strategy):
    """Chooses for every stage and update, watches the attempt, and falls back to recomputation."""

    name = "auto"
    keeps_counts = True

    def __init__(self) -> None:
        self._memory: dict[frozenset[str], Memory] = {}
        self._bf, self._dred, self._recompute, self._counting = BackwardForward(), DRed(), Recompute(), Counting()

    def maintain(self, task: Task[F]) -> None:
        """Choose, attempt, and go on to the next choice if cut off; the choice is a sentence in the counters."""
        memory = self._memory.setdefault(task.stage.relations, Memory())
        facts = sum(task.store.size(relation) for relation in task.stage.relations)
        deletions = sum(map(len, (*task.losing, task.withdrawn))) + len(task.removed)
        in_doubt = deletions + len(task.removed) * facts // max(len(task.surviving.rules), 1)
        if task.store.is_counted(task.stage.relations) and self._should_count(task, memory, in_doubt, facts):
            self._count(task, memory, in_doubt, facts)
            return
        task.store.stop_counting(task.stage.relations)  # also what was counted when components were other ones
        if not task.loses:
            self._insert_only(task, memory, facts)
            return
        cut: list[str] = []
        for strategy, allowance in self._attempts(task, memory, in_doubt, facts):
            if self._attempt(task, strategy, memory, in_doubt, facts, allowance):
                amount = f"{_counted(deletions, 'deletion')} against {_short(facts)} facts"
                after = f", after {' and '.join(cut)} took too long" if cut else ""
                task.counters.choices.append(f"component {task.stage.name}: {strategy.name}, {amount}{after}")
                return
            cut.append(strategy.name)
            task.counters.add("cut off", 1)

    def _attempts(self, task: Task[F], memory: Memory, in_doubt: int, facts: int) -> Iterator[tuple[Strategy, float]]:
        """What to try, in order, and how much each may spend."""
        whole = memory.whole(task, facts)
        if not self._is_trifle(task, memory, facts) and not self._mostly_gone(task, in_doubt, facts):
            yield from self._incremental(task, memory, in_doubt, whole)
        if whole > WORTH and in_doubt * SMALL < facts:
            memory.recomputed += 1
        if memory.recomputed > PATIENCE:
            memory.recomputed, memory.credit = 0, whole
            yield self._counting, INFINITE
        yield self._recompute, INFINITE

    def _is_trifle(self, task: Task[F], memory: Memory, facts: int) -> bool:
        """Whether the facts of the stage cost less than the rounds that any other strategy takes to look at some."""
        return memory.handling(facts) < TRIFLE * per_round(task)

    def _incremental(
        self, task: Task[F], memory: Memory, in_doubt: int, whole: float
    ) -> Iterator[tuple[Strategy, float]]:
        """The cheapest of what is known, after a look at what is not."""
        choices: tuple[Strategy, ...] = (self._bf,)
        if task.stage.is_recursive:
            choices = (self._dred, self._bf) if memory.density < SPARSE else (self._bf, self._dred)
        guesses = {one.name: memory.expected(one.name, in_doubt) for one in choices}
        known = [one for one in choices if guesses[one.name] is not None]
        if not known:
            yield choices[0], SHARE * whole
            return
        best = min(known, key=lambda one: guesses[one.name] or 0.0)
        expected = guesses[best.name] or 0.0
        if memory.knows(best.name, in_doubt):
            limit = min(expected, SHARE * whole)
            if limit > CURIOSITY * per_round(task):
                yield from ((one, limit) for one in choices if self._is_curious(memory, one, best, in_doubt))
        if expected < whole:
            yield best, max(SHARE * whole, 2 * expected)

    def _is_curious(self, memory: Memory, one: Strategy, best: Strategy, in_doubt: int) -> bool:
        """Whether another strategy than the best has never been tried on such deletions."""
        return one is not best and not memory.knows(one.name, in_doubt)

    def _mostly_gone(self, task: Task[F], in_doubt: int, facts: int) -> bool:
        """Whether more than a third of what the stage reads is deleted, or half of it and of the stage in doubt."""
        read = sum(task.store.size(relation) for relation in task.scheduled.positive)
        return not facts or 3 * len(task.losing[0]) > max(read, 1) or 2 * in_doubt > read + facts

    def _attempt(
        self, task: Task[F], strategy: Strategy, memory: Memory, in_doubt: int, facts: int, allowance: float
    ) -> bool:
        """Whether the strategy finished within its allowance; if not, everything is as before.

        An attempt that was cut off is remembered as if it had cost as much as recomputation.
        """
        before, known, rounds = spent(task), instances(task), task.budget.rounds

        def watch(driving: int) -> None:
            if allowance < INFINITE and spent(task) - before + memory.density * driving > allowance:
                raise _TooDearError

        task.cut_off = watch
        try:
            strategy.maintain(task)
        except _TooDearError:
            _undo(task)
            memory.learn(strategy.name, in_doubt, max(memory.whole(task, present(task)), allowance))
            return False
        if strategy is self._counting:
            return True
        if strategy is self._recompute:
            memory.derived(instances(task) - known, task.budget.rounds - rounds, present(task))
        else:
            memory.followed(instances(task) - known, facts, present(task))
            memory.learn(strategy.name, in_doubt, spent(task) - before)
        return True

    def _should_count(self, task: Task[F], memory: Memory, in_doubt: int, facts: int) -> bool:
        """Whether a counted stage should go on being counted through this update."""
        if not task.loses:
            return True
        expected = memory.expected(self._counting.name, in_doubt) or 0.0
        return not self._mostly_gone(task, in_doubt, facts) and expected < memory.whole(task, facts)

    def _count(self, task: Task[F], memory: Memory, in_doubt: int, facts: int) -> None:
        """Maintain a stage that is counted, and see whether counting still pays."""
        before, whole = spent(task), memory.whole(task, facts)
        self._counting.maintain(task)
        cost = spent(task) - before
        if task.loses:
            memory.learn(self._counting.name, in_doubt, cost)
        memory.credit += whole - cost if task.loses else -COUNTING_SHARE * cost
        if memory.credit < 0:
            task.store.stop_counting(task.stage.relations)
        changes = sum(map(len, (*task.losing, *task.gaining, task.withdrawn, task.asserted)))
        changes += len(task.added) + len(task.removed)
        amount = f"{_counted(changes, 'change')} against {_short(facts)} facts"
        task.counters.choices.append(f"component {task.stage.name}: counting, {amount}")

    def _insert_only(self, task: Task[F], memory: Memory, facts: int) -> None:
        """Without deletions every strategy is the same semi-naive insertion."""
        known, rounds = instances(task), task.budget.rounds
        self._bf.maintain(task)
        now = present(task)
        if facts:
            memory.followed(instances(task) - known, facts, now)
        else:
            memory.derived(instances(task) - known, task.budget.rounds - rounds, now)
        insertions = sum(map(len, (*task.gaining, task.asserted))) + len(task.added)
        amount = f"{_counted(insertions, 'insertion')} into {_short(facts)} facts"
        task.counters.choices.append(f"component {task.stage.name}: insertion, {amount}")


def _undo(task: Task[F]) -> None:
    """Bring the stage back to where the attempt began."""
    store, relations = task.store, task.stage.relations
    store.mark(store.touched(relations, DELETED), add=Mark.NOW)
    store.mark(store.touched(relations, INSERTED), remove=Mark.NOW)
    store.mark(store.touched(relations, ANY), remove=TRANSIENT)


def _counted(number: int, word: str) -> str:
    return f"{_short(number)} {word}{'' if number == 1 else 's'}"


def _short(number: int) -> str:
    """A number as people say it: 12, 340, 56 k, 1.2 M."""
    for size, unit in ((1_000_000_000, "G"), (1_000_000, "M"), (10_000, "k")):
        if number >= size:
            shown = number / (1_000 if unit == "k" else size)
            return f"{shown:.1f} {unit}" if shown < 10 else f"{shown:.0f} {unit}"
    return str(number)

"""Which strategy for which stage in which update.

Idea       : published measurements show that no strategy wins everywhere. A stage remembers what its attempts cost for
             deletions of a magnitude (costs.py). The cheapest is tried first, each strategy once, and each only until
             it has spent its allowance. Where nothing is remembered, the derivations per fact decide: where facts have
             few, other proofs are rare and overdeletion wastes little; where they have many, looking for another proof
             pays.
Source     : the equilibrium point of Motik et al. 2015, section 5, is where recomputation wins. When to begin and when
             to end counting is the problem of renting or buying skis (Karlin et al. 1988), in both directions.
Invariant  : an attempt that exceeds its allowance is cut off, undone inside the stage (OLD is what no attempt changes),
             and the next one begins; the last is recomputation, which has no limit. The result does not depend on the
             choice.
Departures : counts have to be there before the deletion, so counting is bought and not tried. An account per stage
             says by how much counting is ahead: deletions raise it and insertions lower it. A stage begins to count
             when the account reaches the price, and ends when it is empty.

Every constant below says where it comes from, and what changes when it is halved or doubled: how many of the 903
choices of `python -m benchmarks.maintenance.sensitivity`, and how much work in a case where it matters. Costs are in
derivations (prices.py), reports are those of `python -m benchmarks.maintenance`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeAlias

from tidelog.changes.strategy_choice import Amount, Reason, StrategyChoice
from tidelog.maintenance.bf import BackwardForward
from tidelog.maintenance.costs import INFINITE, Memory, Meter, TooDearError, magnitude, per_round
from tidelog.maintenance.counting import Counting
from tidelog.maintenance.dred import DRed
from tidelog.maintenance.exchange import exchange
from tidelog.maintenance.joining import go_back
from tidelog.maintenance.once import once
from tidelog.maintenance.prices import Prices
from tidelog.maintenance.recompute import Recompute
from tidelog.maintenance.store import F
from tidelog.maintenance.task import Strategy, Task

SHARE = 2 / 3
"""How much of a recomputation an attempt may spend. So an attempt that is given up makes a deletion 1.67 times as dear
as recomputation at most, and a strategy that is given up for good would have won a factor of 1.5 at most. Halved: 10
choices, LUBM takes 6 % less work. Doubled: 10 choices, 1 % more work at most, but a vain attempt may then cost 1.33
recomputations."""
SPARSE = 3.0
"""With fewer derivations per fact overdeletion is tried before checking. Overdeletion is the faster one in the reports
where stages have 0.7 (LUBM), 1 to 2 (chains) and 2.3 (rmat1k) derivations per fact, checking where they have 11
(UOBM-like) and more (cliques: one for every vertex). Halved: 6 choices, all in random graphs. Doubled: none."""
TRIFLE = 3
"""If deriving a stage anew costs less than this many rounds (without its own rounds), it is derived anew without
looking further. Example: 300 facts with one derivation each cost 1,200, less than one round. Three rounds is what any
other way takes: one to find what is in doubt, one to check it, one to insert. Halved: 16 choices, work as before.
Doubled: none."""
WORTH = 200_000
"""What deriving a stage anew must cost for counts to be worth their memory: 4 ms. The stages of the report streams
are below, the large ones of deletions above. Halved, doubled: no choice (the clique that begins to count has cost seven
times this by then)."""
PRICE = 5
"""How many recomputations it costs to begin counting. In the report batches the first materialisation with counts
takes 3 to 5 times as long as without them (LUBM), 4 times (rand1k), 8 times (rmat1k). Halved: 12 choices;
counting begins sooner, for 1 % more work in the labelled clique. Doubled: 24 choices; it begins too late to be seen in
60 updates, for 1 % less work."""
PATIENCE = 1.0
"""Counting begins when its absence has cost this many times the price. With 1 at most twice as much is lost as by
knowing the future (Karlin et al. 1988). Halved and doubled: as half and twice the PRICE."""
COUNTING_SHARE = 0.8
"""The part of a counted insertion that counting adds: if it costs PRICE times as much, 1 - 1 / PRICE. Halved: none.
Doubled: 12 choices; counting ends sooner, for the same work."""
CURIOSITY = 4
"""Where the cheapest known strategy costs less than this many rounds, the others are not tried: an attempt costs three
(see TRIFLE), so there is nothing to win. Halved: 9 choices, 1 % more work in rmat1k. Doubled: 12 choices, same work."""

INDEXED = 5.0
"""What it costs for each fact of a stage to enter it into one of the indexes by which other strategies look facts up:
100 ns (`python -m benchmarks.bits`). Facts that were derived at once are in no index yet. A stage that is derived at
once for less is derived at once, without a look at the others, until that has cost as much as the indexes: the closure
of dense1k takes a tenth of it each time. Halved: 21 choices, doubled: 19; the look at the others comes sooner or
later, for the same work within 1 %."""
MARGIN = 2.0
"""The cheapest strategy may spend this many times what it is expected to cost, if that is more than its SHARE:
deletions of one magnitude differ by about a factor of two. Halved: 19 choices; good attempts are cut off, 27 % more
work in the labelled clique. Doubled: no choice, but attempts that fail spend more, 22 % in rmat1k."""
GONE = 1 / 3
"""A stage is derived anew if more than this part of the facts that it reads is deleted: any strategy would have to look
at nearly all that stays. Halved: no choice. Doubled: 2 choices, work as before."""
DOUBTFUL = 1 / 2
"""A stage is derived anew if deletions and removed rules put more than this part of what it reads and holds in doubt.
Where no rule goes, GONE decides first: halved, doubled, no choice. One of two recursive rules that goes puts half of
the facts in doubt."""

_BF, _DRED, _RECOMPUTE, _COUNTING = BackwardForward(), DRed(), Recompute(), Counting()

_Attempt: TypeAlias = tuple[Strategy, float, Reason]
"""What to try, what it may spend, and why it comes next."""


class Auto(Strategy):
    """Chooses for every stage and update, watches the attempt, and falls back to recomputation."""

    name = "auto"
    keeps_counts = True

    def __init__(self) -> None:
        self._memory: dict[frozenset[str], Memory] = {}
        self._prices: Prices | None = None

    def maintain(self, task: Task[F]) -> None:
        """Choose, attempt, and go on to the next choice if cut off; the choice is a value in the counters."""
        store, relations = task.store, task.stage.relations
        if store.prices is not self._prices:  # what was learned at other prices says nothing
            self._memory, self._prices = {}, store.prices
        facts, is_counted = sum(map(store.size, relations)), store.is_counted(relations)
        memory = self._memory.get(relations)
        if memory is None:
            memory = self._memory[relations] = Memory(facts, facts)
        memory.meet(facts, is_counted=is_counted)
        choice = _Choice(task, memory) if is_counted else None
        if choice is not None and choice.count():
            return
        store.stop_counting(relations)  # also what was counted when components were other ones
        exchanged = exchange(task) if task.deleted else None  # nothing is cheaper
        if exchanged is not None:
            come, gone = exchanged
            memory.followed(come - gone)
            chosen = StrategyChoice(task.stage.name, "exchange", Reason.ONE_PROOF, facts, come + gone)
            task.counters.choices.append(chosen)
            return
        choice = choice or _Choice(task, memory)
        if task.loses:
            choice.delete()
        else:
            choice.insert()


class _Choice(Generic[F]):
    """What to do about one stage in one update."""

    def __init__(self, task: Task[F], memory: Memory) -> None:
        self.task, self.memory, self.prices, self.cut = task, memory, task.store.prices, list[str]()
        driving, blocking = task.losing
        removed = len(task.removed)
        self.deletions = len(driving) + len(blocking) + len(task.withdrawn) + removed
        self.in_doubt = self.deletions
        if removed:
            self.in_doubt += removed * memory.facts // max(len(task.surviving.rules), 1)
        self.size = magnitude(self.in_doubt)
        self.round = per_round(task)

    @once
    def handling(self) -> float:
        """What deriving the stage anew would cost without its rounds."""
        size = self.task.store.size
        read = sum(min(map(size, relations)) for relations in self.task.scheduled.begins_with)
        return self.memory.handling(self.prices, read)

    @once
    def at_once(self) -> float:
        """What deriving the stage at once would cost, if the store can do that."""
        offer = self.task.store.at_once
        price = None if offer is None else offer.price(self.task.stage)
        return INFINITE if price is None else price

    @once
    def whole(self) -> float:
        """What deriving the stage anew would cost."""
        return min(self.handling + self.memory.rounds * self.round, self.at_once)

    def insert(self) -> None:
        """Without deletions every strategy is the same semi-naive insertion."""
        task, memory = self.task, self.memory
        meter = Meter(task)
        task.cut_off = meter.check  # an attempt before this one had an allowance, this one has no limit
        _BF.maintain(task)
        gained = meter.gained
        if memory.account:
            self._book(meter, gained)
        if memory.facts:
            memory.followed(gained)
        else:
            memory.derived(gained, meter.rounds)
        insertions = sum(map(len, (*task.gaining, task.asserted))) + len(task.added)
        self._note("insertion", Reason.NOTHING_LOST, insertions, Amount.INSERTIONS)

    def delete(self) -> None:
        """Attempt one strategy after the other."""
        for strategy, allowance, reason in self._attempts():
            if self._attempt(strategy, allowance):
                self._note(strategy.name, reason, self.deletions, Amount.DELETIONS, allowance)
                return

    def count(self) -> bool:
        """Maintain a stage that is counted, unless counting would fall behind; whether that went well.

        The allowance is what would bring the account to nothing, and so end the counting anyway.
        """
        task, memory = self.task, self.memory
        if task.loses:
            otherwise = self._without_counts()
            allowance = otherwise + memory.account
            expected = memory.expected(_COUNTING.name, self.size) or 0.0
            if self._mostly_gone() or expected > allowance:
                memory.account = 0.0
                return False
        else:
            allowance = memory.account / COUNTING_SHARE
        meter = self._metered(_COUNTING, allowance)
        if meter is None:
            memory.account = 0.0
            return False
        spent = meter.spent
        if task.loses:
            memory.learn(_COUNTING.name, self.size, spent)
            memory.account = min(memory.account + otherwise - spent, PRICE * self.whole)
        else:
            memory.account -= COUNTING_SHARE * spent
        if memory.account < 0:
            memory.account = 0.0
            task.store.stop_counting(task.stage.relations)
        changes = sum(map(len, (*task.losing, *task.gaining, task.withdrawn, task.asserted)))
        changes += len(task.added) + len(task.removed)
        self._note(_COUNTING.name, Reason.COUNTED, changes, Amount.CHANGES, allowance)
        return True

    def _attempts(self) -> Iterator[_Attempt]:
        """What to try, in order, and how much each may spend."""
        memory = self.memory
        if self.handling < TRIFLE * self.round:
            yield _RECOMPUTE, INFINITE, Reason.TRIFLE
        elif self._mostly_gone():
            yield _RECOMPUTE, INFINITE, Reason.MOSTLY_GONE
        elif self.at_once < INDEXED * memory.facts and not self._has_paid_indexes():
            memory.saved += self.at_once
            yield _RECOMPUTE, INFINITE, Reason.AT_ONCE
        else:
            if self.whole > WORTH and memory.account >= PATIENCE * PRICE * self.whole:
                memory.account = 0.0
                yield _COUNTING, INFINITE, Reason.BEGINS_TO_COUNT
            yield from self._incremental()
            yield _RECOMPUTE, INFINITE, Reason.CUT_OFF if self.cut else Reason.CHEAPEST

    def _incremental(self) -> Iterator[_Attempt]:
        """The cheapest of what is known, after a look at what is not."""
        memory, most = self.memory, SHARE * self.whole
        choices, reason = self._candidates()
        best, expected = choices[0], INFINITE
        for one in choices:
            guess = memory.expected(one.name, self.size)
            if guess is not None and guess < expected:
                best, expected = one, guess
        if expected == INFINITE:
            yield best, most, reason
            return
        limit = min(expected, most)
        if limit > CURIOSITY * self.round and memory.knows(best.name, self.size):
            for one in choices:
                if one is not best and not memory.knows(one.name, self.size):
                    yield one, limit, Reason.UNTRIED
        if expected < self.whole:
            yield best, max(most, MARGIN * expected), Reason.CHEAPEST
        elif not memory.knows(best.name, self.size):
            yield best, most, Reason.UNTRIED  # what was only extrapolated is worth one look

    def _candidates(self) -> tuple[tuple[Strategy, ...], Reason]:
        """The strategies without counts in the order in which they are tried when nothing is remembered."""
        if not self.task.stage.is_recursive:
            return (_BF,), Reason.NO_RECURSION
        if self.memory.density < SPARSE:
            return (_DRED, _BF), Reason.FEW_PROOFS
        return (_BF, _DRED), Reason.MANY_PROOFS

    def _has_paid_indexes(self) -> bool:
        """Whether deriving at once has cost as much as building an index; then the other strategies are looked at.

        Renting until the price is reached, then buying, costs at most twice the better of the two.
        """
        return self.memory.saved >= INDEXED * self.memory.facts

    def _mostly_gone(self) -> bool:
        """Whether more than a third of the facts read are deleted (GONE), or more than half of those read and of the
        stage together are in doubt (DOUBTFUL).
        """
        task, facts = self.task, self.memory.facts
        read = sum(map(task.store.size, task.scheduled.positive))
        return len(task.losing[0]) > GONE * max(read, 1) or self.in_doubt > DOUBTFUL * (read + facts)

    def _attempt(self, strategy: Strategy, allowance: float) -> bool:
        """Whether the strategy finished within its allowance; if so, what it took is remembered."""
        memory = self.memory
        meter = self._metered(strategy, allowance)
        if meter is None:
            return False
        gained = meter.gained
        if strategy is _COUNTING:
            memory.account = PRICE * self.whole
        elif strategy is _RECOMPUTE:
            self._book(meter, gained - memory.instances)
            memory.derived(gained, meter.rounds)
        else:
            self._book(meter, gained)
            memory.followed(gained)
            memory.learn(strategy.name, self.size, meter.spent)
            memory.renew(self.size, strategy.name, _COUNTING.name)  # counting cannot be tried for once
        return True

    def _metered(self, strategy: Strategy, allowance: float) -> Meter[F] | None:
        """The meter of the attempt; None if it was cut off: then all is as before except that counts are lost.

        An attempt that was cut off is remembered as if it had cost as much as recomputation.
        """
        task = self.task
        meter = Meter(task, allowance, self.memory.density, counts=strategy is _COUNTING)
        task.cut_off = meter.check
        try:
            strategy.maintain(task)
        except TooDearError:
            go_back(task.store, task.stage.relations)
            if task.loses:
                self.memory.learn(strategy.name, self.size, max(self.whole, allowance))
            self.cut.append(strategy.name)
            task.counters.add("cut off", 1)
            return None
        return meter

    def _book(self, meter: Meter[F], gained: float) -> None:
        """Enter into the account what counting would have saved, or cost, in an update without counts."""
        memory, worked = self.memory, meter.worked
        if self.whole < WORTH or (not memory.account and worked < self.prices.counted_round * self.round):
            return  # not even one round would have been cheaper
        counting = memory.expected(_COUNTING.name, self.size) if self.task.loses else None
        if counting is None:
            counting = memory.counting(self.prices, abs(gained), meter.rounds, self.round)
        memory.account = max(memory.account + worked - counting, 0.0)

    def _without_counts(self) -> float:
        """What the deletion would be expected to cost without counts."""
        guesses = (self.memory.expected(one.name, self.size) for one in (_BF, _DRED))
        return min([self.whole, *(guess for guess in guesses if guess is not None)])

    def _note(self, strategy: str, reason: Reason, number: int, amount: Amount, allowance: float = INFINITE) -> None:
        """Put the choice into the counters."""
        task, limit = self.task, None if allowance == INFINITE else allowance
        choice = StrategyChoice(
            task.stage.name, strategy, reason, self.memory.facts, number, amount, limit, tuple(self.cut)
        )
        task.counters.choices.append(choice)

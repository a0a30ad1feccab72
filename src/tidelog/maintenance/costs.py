"""What maintaining a stage costs, and what it has cost before.

What      : a `Meter` counts the work of one attempt; a `Memory` remembers for one stage what each strategy took for
            deletions of a magnitude, what deriving the whole stage takes, and whether counts would have paid.
Idea      : work is counted in derivations; what else is done is worth some derivations each, by the prices of the store
            (prices.py).
Invariant : no clock is read, so that a run can be repeated choice by choice.
Never     : nothing is chosen here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from typing import Generic

from tidelog.maintenance.counters import PHASES
from tidelog.maintenance.prices import Prices
from tidelog.maintenance.store import AT_ONCE, F, Store
from tidelog.maintenance.task import Task

LEARNING = 0.5
"""How much the last attempt counts against those before it: after four attempts the first counts 1/16. Deletions of one
magnitude differ by about a factor of two, so that less smoothing would follow chance. Halved, doubled (only the last
counts): none of the 903 choices of benchmarks/maintenance/sensitivity.py: there deletions of a magnitude are alike."""
RENEWAL = 64
"""After this many updates of a magnitude, the costs of strategies not used are forgotten, and they are tried again. A
trial is cut off at the cost of the strategy in use, so trying costs 1/64 of an update at most. Halved: 1 choice, 1 %
more work in a chain. Doubled: none."""
GROWTH = 0.5
"""What a strategy costs grows with this power of the number of deletions, where other magnitudes are known than the
one asked for: consequences of many deletions overlap. Halved: no choice. Doubled: 1."""
ROUNDS = 3.0
"""How many rounds a stage takes to be derived, before it has been derived once under the eyes of `auto`: find, repeat,
find nothing new. Halved, doubled: no choice, because the first load counts them."""
INFINITE = float("inf")
"""No limit."""
FEW = 64
"""With more entries than these in the store's derivations, a meter adds up those of its own stage only. Adding up 64
takes a few microseconds, as long as finding its own. Halved, doubled: no choice, for the sums are the same; without it,
an update through 10,000 stages took 5 of its 13 seconds for sums."""
_SIGNS = {"insert": 1, "evaluate": 1, AT_ONCE: 1, "delete": -1, "overdelete": -1}
"""Whether the derivations of a phase are instances gained or lost; in other phases instances are only looked at."""


class TooDearError(Exception):
    """An attempt has spent its allowance; `auto` catches this."""


class Meter(Generic[F]):
    """The work of one attempt at a stage, from the moment at which the meter is made.

    With `counts` work has the prices of a counted stage, and journeys are free: with counts and without them the same
    facts are brought.
    """

    def __init__(
        self, task: Task[F], allowance: float = INFINITE, density: float = 0.0, *, counts: bool = False
    ) -> None:
        store = task.store
        prices = self._prices = store.prices
        self.allowance, self._density = allowance, density
        self._handled, self._derivations, self._budget = task.counters.values, store.derivations, task.budget
        self._derivation = prices.counted if counts else 1.0
        self._round = (prices.counted_round if counts else 1.0) * per_round(task)
        self._keys = task.keys if len(self._derivations) > FEW else None  # what other stages did stays the same
        self._travels: Store[F] | None = store if prices.journey and not counts else None
        self._before = store.journeys if self._travels is not None else 0
        self._total, self._instances, self._rounds = self._sum(), self._balance(), self._made()

    def check(self, driving: int) -> None:
        """Raise if the allowance is spent, or will be by a round that this many facts drive."""
        if self.allowance < INFINITE:
            spent = self.spent if self.rounds > 1 else 0.0  # the first round is just about to begin
            if spent + self._density * driving > self.allowance:
                raise TooDearError

    @property
    def spent(self) -> float:
        """What the attempt has cost so far."""
        return self.worked + self._travelled()

    @property
    def worked(self) -> float:
        """As `spent`, without the journeys."""
        return self._sum() - self._total

    @property
    def gained(self) -> int:
        """By how many the instances of rules have become more, as far as the attempt has seen them come and go."""
        return self._balance() - self._instances

    @property
    def rounds(self) -> float:
        """Rounds of the attempt; one made in a call with the round before counts as `swift` of one."""
        return self._made() - self._rounds

    def _travelled(self) -> float:
        """What the journeys of the attempt have cost."""
        return 0.0 if self._travels is None else self._prices.journey * (self._travels.journeys - self._before)

    def _made(self) -> float:
        """How many rounds the update has made so far, those that a store made together at their price."""
        return self._budget.rounds - (1 - self._prices.swift) * self._handled["swift rounds"]

    def _sum(self) -> float:
        known, made = self._handled, self._derivations
        handled = sum([price * known[name] for name, price in self._prices.handled if name in known]) if known else 0.0
        if not made:
            return handled + self._round * self._made()
        keys = made if self._keys is None else self._own()
        derived = sum([made[key] for key in keys if key[1] != AT_ONCE])  # those have a price of their own
        return self._derivation * derived + handled + self._round * self._made()

    def _balance(self) -> int:
        made = self._derivations
        if not made:
            return 0
        keys = made if self._keys is None else self._own()
        return sum([_SIGNS[key[1]] * made[key] for key in keys if key[1] in _SIGNS])

    def _own(self) -> list[tuple[str, str]]:
        """The stage's rules with the phases in which they derived something."""
        return [key for key in product(self._keys or (), PHASES) if key in self._derivations]


def per_round(task: Task[F]) -> float:
    """What a round of the stage costs, however little it does."""
    prices = task.store.prices
    return prices.round + prices.literal * task.scheduled.literals


@dataclass
class Memory:
    """What is remembered about one stage. When a stage is first seen, each of its facts counts as one instance."""

    facts: int
    """How many facts it has."""
    instances: float
    """How many instances of rules: counted when the whole stage is derived, then followed from update to update."""
    rounds: float = field(default_factory=lambda: ROUNDS)
    """Rounds of the last derivation of the whole stage."""
    costs: dict[str, dict[int, float]] = field(default_factory=dict)
    """Strategy -> magnitude of the deletion -> cost."""
    used: dict[int, int] = field(default_factory=dict)
    """Magnitude -> how many updates of it there were since strategies not used were last forgotten."""
    account: float = 0.0
    """Not counted: what counts would have saved so far. Counted: how much counting may still lose before it ends.

    At least 0.
    """
    saved: float = 0.0
    """What derivations at once have cost that were chosen as `Reason.AT_ONCE`: to save the stage its indexes."""

    @property
    def density(self) -> float:
        """Instances of rules per fact."""
        return self.instances / max(self.facts, 1)

    def meet(self, facts: int, *, is_counted: bool) -> None:
        """Note how many facts the stage has now. The instances of a counted stage are not followed: the ratio stays."""
        if is_counted and self.facts:
            self.instances *= facts / self.facts
        self.facts = facts

    def derived(self, instances: int, rounds: float) -> None:
        """Remember that the stage was derived as a whole."""
        self.instances, self.rounds = instances, max(rounds, 1)

    def followed(self, gained: int) -> None:
        """Remember that instances came, or went if negative."""
        self.instances = max(self.instances + gained, 0)

    def handling(self, prices: Prices, read: int) -> float:
        """What deriving the stage anew costs without its rounds, when its rules begin with `read` facts below it."""
        return prices.anew + self.instances + prices.fact * self.facts + prices.read * read

    def counting(self, prices: Prices, instances: float, rounds: float, per_round: float) -> float:
        """What these instances, coming or going in these rounds, would cost if the stage were counted."""
        facts = instances / self.density if self.instances else 0.0
        moves = prices.counted * instances + prices.moved * facts
        return moves + prices.counted_round * per_round * min(rounds, self.rounds)

    def expected(self, strategy: str, size: int) -> float | None:
        """What a strategy is expected to cost: from the nearest magnitude known, growing with the root; else None.

        A deletion of many facts costs less than as many deletions, because their consequences overlap.
        """
        known = self.costs.get(strategy)
        if not known:
            return None
        if size in known:
            return known[size]
        nearest = min(known, key=lambda at: abs(at - size))
        return known[nearest] * float(2.0 ** (GROWTH * (size - nearest)))

    def knows(self, strategy: str, size: int) -> bool:
        """Whether the strategy was tried on deletions of this magnitude."""
        return size in self.costs.get(strategy, ())

    def learn(self, strategy: str, size: int, cost: float) -> None:
        """Remember an attempt."""
        known = self.costs.setdefault(strategy, {})
        known[size] = LEARNING * cost + (1 - LEARNING) * known.get(size, cost)

    def renew(self, size: int, *kept: str) -> None:
        """Now and then forget about strategies that are not used."""
        self.used[size] = self.used.get(size, 0) + 1
        if self.used[size] >= RENEWAL:
            self.used[size] = 0
            for name in self.costs.keys() - kept:
                self.costs[name].pop(size, None)


def magnitude(deletions: int) -> int:
    """Deletions that differ by less than a factor of about two have the same magnitude."""
    return max(deletions, 1).bit_length()

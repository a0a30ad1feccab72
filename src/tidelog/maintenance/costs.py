"""What maintaining a stage costs, and what it has cost before.

What      : a `Meter` counts the work of one attempt; a `Memory` remembers for one stage what each strategy took for
            deletions of a magnitude, what deriving the whole stage takes, and whether counts would have paid.
Idea      : work is counted in derivations. A fact that is handled and a round are worth several: the weights are
            measured on the local backend, where a derivation takes about 0.02 microseconds.
Invariant : no clock is read, so that a run can be repeated choice by choice.
Never     : nothing is chosen here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from math import sqrt

from tidelog.maintenance.counters import PHASES
from tidelog.maintenance.store import F
from tidelog.maintenance.task import Task

ROUND, LITERAL = 1200, 80
"""What a round costs, and how much more for every body literal of the stage."""
SWIFT = 0.1
"""The part of a round's cost that one has which is made in one call with the round before it."""
FACT = 3
"""What a fact costs that is derived: it is stored and marked several times."""
MOVED = 6 * FACT
"""What a fact costs that enters or leaves a round of a counted stage."""
HANDLED = {"overdeleted": 8 * FACT, "checked": 14 * FACT, "proved": FACT, "inserted": FACT, "moved": MOVED}
"""What a fact costs by what happens to it: one in doubt is tried as the head of every rule."""
COUNTED, COUNTED_ROUND = 10, 5
"""How many times more a derivation and a round cost in a counted stage."""
LEARNING = 0.5
"""How much the last attempt counts against those before it."""
RENEWAL = 64
"""After so many updates of a magnitude, what is remembered of strategies not used is forgotten, to be tried again."""
INFINITE = float("inf")
FEW = 64
"""With more entries than these in the store's derivations, those of other stages are not gone through in each."""
_SIGNS = {"insert": 1, "evaluate": 1, "delete": -1, "overdelete": -1}
"""Whether the derivations of a phase are instances gained or lost; in other phases instances are only looked at."""


class TooDearError(Exception):
    """An attempt has spent its allowance; whoever gave it catches this."""


class Meter:
    """The work of one attempt at a stage, from the moment at which the meter is made."""

    def __init__(
        self, task: Task[F], allowance: float = INFINITE, density: float = 0.0, *, counts: bool = False
    ) -> None:
        self.allowance, self._density = allowance, density
        self._handled, self._derivations, self._budget = task.counters.values, task.store.derivations, task.budget
        self._derivation, self._round = (COUNTED, COUNTED_ROUND * per_round(task)) if counts else (1, per_round(task))
        self._keys = task.keys if len(self._derivations) > FEW else None  # what other stages did stays the same
        self._total, self._instances, self._rounds = self._sum(), self._balance(), self._made()

    def check(self, driving: int) -> None:
        """Raise if the allowance is spent, or will be by a round that so many facts drive."""
        if self.allowance < INFINITE:
            spent = self.spent if self.rounds > 1 else 0.0  # the first round is just about to begin
            if spent + self._density * driving > self.allowance:
                raise TooDearError

    @property
    def spent(self) -> float:
        """What the attempt has cost so far."""
        return self._sum() - self._total

    @property
    def gained(self) -> int:
        """By how many the instances of rules have become more, as far as the attempt has seen them come and go."""
        return self._balance() - self._instances

    @property
    def rounds(self) -> float:
        """How many rounds there were, or what was as dear."""
        return self._made() - self._rounds

    def _made(self) -> float:
        """How many rounds the update has made so far, those that a store made together at their price."""
        return self._budget.rounds - (1 - SWIFT) * self._handled["swift rounds"]

    def _sum(self) -> float:
        known = self._handled
        handled = sum([weight * known[name] for name, weight in HANDLED.items() if name in known])
        made = self._derivations
        derived = sum(made.values()) if self._keys is None else sum([made[key] for key in self._own()])
        return self._derivation * derived + handled + self._round * self._made()

    def _balance(self) -> int:
        made = self._derivations
        keys = made if self._keys is None else self._own()
        return sum([_SIGNS[key[1]] * made[key] for key in keys if key[1] in _SIGNS])

    def _own(self) -> list[tuple[str, str]]:
        """The stage's rules with the phases in which they derived something."""
        return [key for key in product(self._keys or (), PHASES) if key in self._derivations]


def per_round(task: Task[F]) -> float:
    """What a round of the stage costs, however little it does."""
    return ROUND + LITERAL * task.scheduled.literals


@dataclass
class Memory:
    """What is remembered about one stage. A stage that is met with facts is taken to have an instance for each."""

    facts: int
    """How many facts it has."""
    instances: float
    """How many instances of rules: counted when the whole stage is derived, then followed from update to update."""
    rounds: float = 3
    """Rounds of the last derivation of the whole stage."""
    costs: dict[str, dict[int, float]] = field(default_factory=dict)
    """Strategy -> magnitude of the deletion -> cost."""
    used: dict[int, int] = field(default_factory=dict)
    """Magnitude -> how many updates there were since it was last renewed."""
    account: float = 0.0
    """By how much counting would be ahead, or is, if counts had been free to begin with; never less than nothing."""

    @property
    def density(self) -> float:
        """Instances of rules per fact."""
        return self.instances / max(self.facts, 1)

    def meet(self, facts: int, *, is_counted: bool) -> None:
        """The stage has so many facts now. In a counted one nobody saw instances go: the density is what stays."""
        if is_counted and self.facts:
            self.instances *= facts / self.facts
        self.facts = facts

    def derived(self, instances: int, rounds: float) -> None:
        """Remember that the stage was derived as a whole."""
        self.instances, self.rounds = instances, max(rounds, 1)

    def followed(self, gained: int) -> None:
        """Remember that so many instances came, or went if negative."""
        self.instances = max(self.instances + gained, 0)

    def handling(self) -> float:
        """What deriving the facts of the stage costs, without the rounds that it takes."""
        return self.instances + FACT * self.facts

    def whole(self, per_round: float) -> float:
        """What deriving the stage anew would cost."""
        return self.handling() + self.rounds * per_round

    def counting(self, instances: float, rounds: float, per_round: float) -> float:
        """What so many instances that come or go in so many rounds would cost a counted stage."""
        facts = instances / self.density if self.instances else 0.0
        return COUNTED * instances + MOVED * facts + COUNTED_ROUND * per_round * min(rounds, self.rounds)

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
        return known[nearest] * sqrt(2.0 ** (size - nearest))

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

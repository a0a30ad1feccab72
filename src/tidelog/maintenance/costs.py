"""What maintaining a stage costs, and what it has cost before.

What      : `spent` counts the work of an update; `Memory` remembers for one stage what each strategy took for deletions
            of a magnitude, and what deriving the whole stage takes.
Idea      : work is counted in derivations. A fact that is handled and a round are worth several: the weights are
            measured on the local backend, where a derivation takes about 0.03 microseconds.
Invariant : no clock is read, so that a run can be repeated choice by choice.
Never     : nothing is chosen here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from math import sqrt

from tidelog.maintenance.counters import PHASES
from tidelog.maintenance.store import F
from tidelog.maintenance.task import Task
from tidelog.planning.views import DELETED, INSERTED

ROUND, LITERAL = 1200, 80
"""What a round costs, and how much more for every body literal of the stage."""
COUNTED = 6
"""What a derivation costs that is counted."""
FACT = 3
"""What a fact costs that is derived: it is stored and marked several times."""
DOUBT = {"overdeleted": 4 * FACT, "checked": 8 * FACT, "proved": FACT, "inserted": FACT}
"""What a fact costs by what happens to it: one in doubt is tried as the head of every rule."""
_SIGNS = {"insert": 1, "evaluate": 1, "delete": -1, "overdelete": -1}
"""Whether the derivations of a phase are instances gained or lost; in other phases instances are only looked at."""
LEARNING = 0.5
"""How much the last attempt counts against those before it."""
RENEWAL = 64
"""After so many updates of a magnitude, what is remembered of the strategies not used is forgotten and tried again."""


def spent(task: Task[F]) -> float:
    """What the update has cost so far; of derivations only those by the stage's own rules."""
    facts = sum(weight * task.counters.values[name] for name, weight in DOUBT.items())
    derived = sum(number * (COUNTED if phase == "count" else 1) for phase, number in _derivations(task))
    return derived + facts + per_round(task) * task.budget.rounds


def instances(task: Task[F]) -> int:
    """By how many the update has changed the instances of the stage's rules, as far as it has seen them come and go."""
    return sum(_SIGNS.get(phase, 0) * number for phase, number in _derivations(task))


def _derivations(task: Task[F]) -> Iterator[tuple[str, int]]:
    """The derivations of the stage's rules by phase.

    An update may pass through thousands of stages, so that what it did in the others is not gone through in each.
    """
    made, keys = task.store.derivations, task.keys
    if len(made) < len(keys):
        yield from ((phase, number) for (key, phase), number in made.items() if key in keys)
        return
    for rule_and_phase in product(keys, PHASES):
        if rule_and_phase in made:
            yield rule_and_phase[1], made[rule_and_phase]


def per_round(task: Task[F]) -> float:
    """What a round of the stage costs, however little it does."""
    return ROUND + LITERAL * task.scheduled.literals


def present(task: Task[F]) -> int:
    """How many facts the stage has now."""
    store, relations = task.store, task.stage.relations
    before = sum(store.size(relation) for relation in relations)
    return before + len(store.touched(relations, INSERTED)) - len(store.touched(relations, DELETED))


@dataclass
class Memory:
    """What is remembered about one stage."""

    density: float = 1.0
    """Instances of rules per fact: counted when the whole stage is derived, then followed from update to update."""
    rounds: int = 3
    """Rounds of the last derivation of the whole stage."""
    costs: dict[tuple[str, int], float] = field(default_factory=dict)
    """Strategy and magnitude of the deletion -> cost."""
    used: dict[int, int] = field(default_factory=dict)
    """Magnitude -> how many updates there were since it was last renewed."""
    recomputed: int = 0
    """How often the stage was recomputed for a small deletion since it was last counted."""
    credit: float = 0.0
    """What counting has saved, less what it costs insertions, since it began."""

    def whole(self, task: Task[F], facts: int) -> float:
        """What deriving so many facts of the stage anew would cost."""
        return self.handling(facts) + self.rounds * per_round(task)

    def handling(self, facts: int) -> float:
        """What deriving so many facts costs, without the rounds that it takes."""
        return facts * (self.density + FACT)

    def derived(self, derivations: int, rounds: int, facts: int) -> None:
        """Remember that the stage was derived as a whole."""
        self.density, self.rounds = derivations / max(facts, 1), max(rounds, 1)

    def followed(self, gained: int, before: int, now: int) -> None:
        """Remember that so many instances came (or went, if negative) while the facts became so many."""
        if now:
            self.density = max(self.density * before + gained, now) / now

    def expected(self, strategy: str, deletions: int) -> float | None:
        """What a strategy is expected to cost: from the nearest magnitude known, growing with the root; else None.

        A deletion of many facts costs less than as many deletions, because their consequences overlap.
        """
        size = magnitude(deletions)
        known = [at for name, at in self.costs if name == strategy]
        if not known:
            return None
        nearest = min(known, key=lambda at: abs(at - size))
        return self.costs[strategy, nearest] * sqrt(2.0 ** (size - nearest))

    def knows(self, strategy: str, deletions: int) -> bool:
        """Whether the strategy was tried on deletions of this magnitude."""
        return (strategy, magnitude(deletions)) in self.costs

    def learn(self, strategy: str, deletions: int, cost: float) -> None:
        """Remember an attempt, and now and then forget about the others."""
        size = magnitude(deletions)
        before = self.costs.get((strategy, size), cost)
        self.used[size] = self.used.get(size, 0) + 1
        if self.used[size] >= RENEWAL:
            self.used[size] = 0
            self.costs = {key: value for key, value in self.costs.items() if key[1] != size}
        self.costs[strategy, size] = LEARNING * cost + (1 - LEARNING) * before


def magnitude(number: int) -> int:
    """Numbers that differ by less than a factor of about two have the same magnitude."""
    return max(number, 1).bit_length()

"""A store that notes what each rule costs.

What      : `profiling` is a block in which updates are measured; `profiled` is a store inside it, and the store itself
            outside; `costs` is what was noted.
Idea      : a strategy knows nothing but the calls of a store (store.py). Here each call that is about several rules
            becomes one call per rule, between two looks at the clock. So every strategy and every backend is measured
            the same way, and who does not ask pays nothing.
Invariant : facts, marks, counts and derivations are those of the store alone. Rounds are not fused, and rules do not
            share a kernel call, so an update takes longer than without.
Never     : nothing is decided here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, Generic, TypeVar, cast

from tidelog.changes.rule_costs import RuleCost
from tidelog.maintenance.store import F, Passing, Store
from tidelog.planning.lowered import GroupRule, LoweredRule, Stage
from tidelog.planning.views import OLD, Mark, Matching, View

_IS_PROFILING: ContextVar[bool] = ContextVar("is_profiling", default=False)
R = TypeVar("R")


@contextmanager
def profiling() -> Iterator[None]:
    """Measure the updates of this thread inside the block: `change.stats.costs` then says what each rule cost."""
    before = _IS_PROFILING.set(True)
    try:
        yield
    finally:
        _IS_PROFILING.reset(before)


def profiled(store: Store[F]) -> Store[F]:
    """The store, which notes costs if it is used inside `profiling`."""
    return cast(Store[F], _ProfiledStore(store)) if _IS_PROFILING.get() else store


def costs(store: Store[F]) -> tuple[RuleCost, ...]:
    """What a profiled store has noted, the dearest first; nothing from any other store."""
    noted = store.noted if isinstance(store, _ProfiledStore) else {}
    found = [RuleCost(rule, component, phase, *numbers) for (rule, component, phase), numbers in noted.items()]
    return tuple(sorted(found, key=lambda cost: -cost.seconds))


class _ProfiledStore(Generic[F]):
    """Passes everything on, and takes the calls that are about rules apart."""

    at_once = None
    """Declined, so that every rule is seen."""

    def __init__(self, store: Store[F]) -> None:
        self._store = store
        self.noted: dict[tuple[str, str, str], list[Any]] = {}

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the store has
        return getattr(self._store, name)

    def derive(
        self, stage: Stage, driving: F, blocking: F, matching: Matching, heads: View, add: Mark, phase: str
    ) -> F:
        """As the store, rule by rule: a head that one rule finds is marked, and no longer in view for the next."""
        store, given = self._store, (driving, blocking, matching, heads, add, phase)
        parts = [self._new(_place(alone, phase), partial(store.derive, alone, *given)) for alone in stage.alone]
        return store.union(parts, disjoint=True)

    def several_rounds(
        self, stage: Stage, driving: F, matching: Matching, heads: View, passing: Passing, phase: str
    ) -> None:
        """Declined, so that every round is seen."""
        del stage, driving, matching, heads, passing, phase

    def evaluate(
        self, stage: Stage, rules: Sequence[LoweredRule], matching: Matching, heads: View, add: Mark, phase: str
    ) -> F:
        """All instances, rule by rule."""
        store, given = self._store, (matching, heads, add, phase)
        works = [(rule.key, partial(store.evaluate, stage, [rule], *given)) for rule in rules]
        return store.union([self._new((key, stage.name, phase), work) for key, work in works], disjoint=True)

    def supported(self, stage: Stage, facts: F, matching: Matching, phase: str) -> F:
        """As the store; the rules are asked together, because the first that proves a fact spares the others."""
        return self._noted(_together(stage, phase), partial(self._store.supported, stage, facts, matching, phase))[0]

    def expand(
        self, stage: Stage, facts: F, matching: Matching, bodies: View, add: Mark, limit: int, phase: str
    ) -> tuple[F, F]:
        """As the store; the rules are asked together, because a fact is exhausted when all of them have been."""
        work = partial(self._store.expand, stage, facts, matching, bodies, add, limit, phase)
        return self._noted(_together(stage, phase), work)[0]

    def count(self, stage: Stage, driving: F, blocking: F, matching: Matching, sign: int, phase: str) -> F:
        """Driven instances, counted rule by rule."""
        store, given = self._store, (driving, blocking, matching, sign, phase)
        return store.union(
            [self._noted(_place(alone, phase), partial(store.count, alone, *given))[0] for alone in stage.alone]
        )

    def count_all(self, stage: Stage, rules: Sequence[LoweredRule], matching: Matching, sign: int, phase: str) -> F:
        """All instances, counted rule by rule."""
        store, given = self._store, (matching, sign, phase)
        works = [(rule.key, partial(store.count_all, stage, [rule], *given)) for rule in rules]
        return store.union([self._noted((key, stage.name, phase), work)[0] for key, work in works])

    def regroup(self, rule: GroupRule, changed: F, phase: str, against: View = OLD) -> tuple[F, F]:
        """As the store."""
        place = rule.key, f"an aggregate in {rule.source.head.relation}", phase
        return self._noted(place, partial(self._store.regroup, rule, changed, phase, against))[0]

    def _new(self, place: tuple[str, str, str], work: Callable[[], F]) -> F:
        """Do work that gives new facts: every derivation beyond them was in vain."""
        found, derived = self._noted(place, work)
        self.noted[place][_DUPLICATES] += max(derived - len(found), 0)
        return found

    def _noted(self, place: tuple[str, str, str], work: Callable[[], R]) -> tuple[R, int]:
        """Do some work and note what it took; how many derivations it was."""
        before, started = self._store.derivations.total(), time.perf_counter()
        found = work()
        seconds, derived = time.perf_counter() - started, self._store.derivations.total() - before
        numbers = self.noted.setdefault(place, [0.0, 0, 0, 0])
        for at, number in enumerate((seconds, 1, derived)):
            numbers[at] += number
        return found, derived


_DUPLICATES = 3
"""Where the number of duplicates stands among what is noted."""


def _place(alone: Stage, phase: str) -> tuple[str, str, str]:
    return alone.rules[0].key, alone.name, phase


def _together(stage: Stage, phase: str) -> tuple[str, str, str]:
    return f"all rules of {stage.name}", stage.name, phase

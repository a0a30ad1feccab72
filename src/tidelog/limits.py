"""Budgets: how much a run may use before it is stopped.

What      : `Limits` says how many facts, rounds, seconds and bytes are allowed; a `Budget` is what one run asks.
Idea      : a hostile or unlucky program ends in a named error with the last good version intact, not in a dead machine.
            One verb everywhere: the budget is *asked* whether to go on (`ask_round`, `ask_time`, ...), and code that
            knows no budget is given a function, ask_budget, to call.
Invariant : asking either returns, or raises a `BudgetError` with the code of that budget: E401 facts, E402 rounds,
            E403 seconds, E404 bytes. A budget never changes anything but its own account.
Never     : no knowledge of rules, facts or backends: the code that does the work counts it and asks here.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, fields, replace

from tidelog.errors import BudgetError, UsageError, expect

_SHARE_OF_MEMORY = 0.75


@dataclass(frozen=True, slots=True)
class Limits:
    """What one run may use. `None` means that there is no limit, which is the default for each of them."""

    facts: int | None = None
    rounds: int | None = None
    seconds: float | None = None
    bytes: int | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None:
                expect(value, (int, float), f"the limit of {field.name}", "a number")
            if value is not None and not value > 0:
                raise UsageError.of(
                    "E840",
                    f"the limit of {field.name} is {value}, but a limit is a positive number",
                    remedy="give a positive number, or None for no limit",
                )

    @classmethod
    def of_this_machine(cls) -> Limits:
        """No limit except memory: three quarters of what there is, so that a run cannot take the machine down."""
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        return cls(bytes=int(memory * _SHARE_OF_MEMORY))


class Budget:
    """The account of one run: its clock starts when it is made, and it is asked while the run goes on."""

    def __init__(
        self,
        limits: Limits | None = None,
        clock: Callable[[], float] = time.monotonic,
        watcher: Callable[[int], None] | None = None,
        ask_arrivals: Callable[[], None] | None = None,
    ) -> None:
        """`ask_arrivals` is asked whenever time is: it raises if the run has to make way for another."""
        if limits is not None:
            expect(limits, Limits, "the budget", "Limits(...)")
        if watcher is not None:
            expect(watcher, Callable, "the watcher", "a function of the number of facts")  # type: ignore[arg-type]
        self.limits = limits or Limits()
        self.watcher, self._ask_arrivals = watcher, ask_arrivals
        self.rounds = 0
        self._clock = clock
        self._started = clock()

    def without_rounds(self) -> Budget:
        """The same account for work whose rounds are not the user's; facts, seconds and bytes are."""
        limits = replace(self.limits, rounds=None)
        shared = Budget(limits, self._clock, self.watcher, self._ask_arrivals)
        shared._started = self._started
        return shared

    @property
    def looks_at_arrivals(self) -> bool:
        """Whether other updates may arrive while the run goes on."""
        return self._ask_arrivals is not None

    @property
    def seconds(self) -> float:
        """Seconds since the run began."""
        return self._clock() - self._started

    def ask_round(self, count: int = 1) -> None:
        """Ask for `count` more rounds; raise E402 when they are used up, or E403 when the time is."""
        self.rounds += count
        allowed = self.limits.rounds
        if allowed is not None and self.rounds > allowed:
            raise _used_up("E402", f"the fixpoint needs more than the {allowed} rounds allowed", "rounds")
        self.ask_time()

    def ask_facts(self, facts: int) -> None:
        """Raise E401 when the run holds more facts than allowed; the watcher, if there is one, is told how many."""
        if self.watcher is not None:
            self.watcher(facts)
        allowed = self.limits.facts
        if allowed is not None and facts > allowed:
            raise _used_up("E401", f"{facts:,} facts are more than the {allowed:,} allowed", "facts")

    def ask_time(self) -> None:
        """Raise E403 when the run has taken longer than allowed."""
        if self._ask_arrivals is not None:
            self._ask_arrivals()
        allowed = self.limits.seconds
        if allowed is not None and self.seconds > allowed:
            raise _used_up("E403", f"the run took {self.seconds:.1f} of the {allowed:g} seconds allowed", "seconds")

    def ask_bytes(self, size: int) -> None:
        """Raise E404 when the run uses more memory than allowed."""
        allowed = self.limits.bytes
        if allowed is not None and size > allowed:
            raise _used_up("E404", f"{size:,} bytes are more than the {allowed:,} allowed", "bytes")


def _used_up(code: str, sentence: str, limit: str) -> BudgetError:
    """The error for one budget; every remedy names the limit to raise and what else can be done."""
    advice = {
        "facts": "raise the limit of facts, or look for a rule that joins without shared variables",
        "rounds": "raise the limit of rounds, or look for a rule that makes new values without end",
        "seconds": "raise the limit of seconds, or apply the update in smaller parts",
        "bytes": 'raise the limit of bytes, or use backend="spark" to spread the facts over machines',
    }
    return BudgetError.of(code, f"{sentence}; the last good version is intact", remedy=advice[limit])

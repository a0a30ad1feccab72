"""Random streams whose updates arrive at random steps, against consecutive processing.

The programs and updates are those of tests/differential: recursion, negation, aggregates, rules that come and go,
updates that must be refused. Some updates are urgent. What must hold: the settled facts and rules are those of applying
the updates in order of arrival, refused are the same ones, and the changes of all versions sum to the difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

import tidelog as tl
from tests.arrivals.scheduler import Overlapped, explicit, facts, failed
from tests.differential.engines import STRATEGIES
from tests.differential.updates import draw_case
from tidelog.errors import TidelogError
from tidelog.language.printer import print_program


def consecutive(program: str, updates: list[dict[str, Any]]) -> tuple[tl.Engine, list[bool]]:
    """An engine after all updates, and which of them were refused."""
    engine, refused = tl.Engine(program, strategy="recompute"), []
    for update in updates:
        try:
            engine.apply(**{key: value for key, value in update.items() if key != "urgent"})
            refused.append(False)
        except TidelogError:
            refused.append(True)
    return engine, refused


STEPS = (0, 0, 1, 2, 3, 5, 8, 20)
"""After how many steps the next update arrives."""


def check(seed: int, strategy: str, steps: Sequence[int] = STEPS, threads: int = 1) -> int:
    """Run one case; how many updates shared a version with others."""
    case, rng = draw_case(seed), Random(seed)
    program = print_program(case.program)
    updates = [dict(update.arguments) for update in case.updates]
    for update in updates:
        is_plain = not (update["add_rules"] or update["remove_rules"])
        update["urgent"] = is_plain and rng.random() < 0.2
    twin, refused = consecutive(program, updates)
    engine = tl.Engine(program, strategy=strategy, threads=threads)
    run = Overlapped(engine, updates, [rng.choice(steps) for _ in updates[1:]])
    assert [failed(future) for future in run.futures] == refused, f"seed {seed}"
    assert facts(engine) == facts(twin), f"seed {seed}"
    assert explicit(engine) == explicit(twin), f"seed {seed}"
    assert sorted(engine.rules) == sorted(twin.rules), f"seed {seed}"
    engine.verify()
    engine.close()
    return sum(future.result().updates > 1 for future in run.futures if not failed(future))


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_random_arrivals_give_what_one_after_the_other_gives(strategy: str) -> None:
    """Every strategy has cases of its own, and in many of them updates met."""
    first = 1000 * STRATEGIES.index(strategy)
    assert sum(check(first + number, strategy) for number in range(25)) > 10


def test_a_mark_that_a_strategy_has_left_hides_no_fact() -> None:
    """f(2, 3) is deleted and inserted by updates that join a transaction; bf had marked it CANDIDATE in between, and
    storing took it for a fact that it had seen, so that it was not inserted. Only a visited stage leaves such marks.
    """
    assert check(700493, "bf") == 4


@pytest.mark.long
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_many_random_arrivals(strategy: str) -> None:
    """The long tier of the same."""
    first = 100_000 * (1 + STRATEGIES.index(strategy))
    assert sum(check(first + number, strategy) for number in range(1500)) > 500

"""Several rounds in one call are the same rounds, one by one."""

from __future__ import annotations

import pytest

import tidelog as tl
from tests.differential.engines import engines_under_test
from tests.differential.harness import agree
from tests.differential.updates import draw_case
from tidelog.backends.local.joins import sweep as sweeping
from tidelog.backends.local.store import LocalStore

RIGHT = "path(x, y) :- edge(x, y). path(x, z) :- edge(x, y), path(y, z)."
DOUBLE = "path(x, y) :- edge(x, y). path(x, z) :- path(x, y), path(y, z)."
SIEVE = "path(x, y) :- edge(x, y). path(x, z) :- path(x, y), edge(y, z), !blocked(z), x != z."
SEVERAL = """
    path(x, y) :- edge(x, y). path(x, z) :- odd(x, y), edge(y, z). odd(x, z) :- even(x, y), edge(y, z), !blocked(z).
    even(x, z) :- path(x, y), edge(y, z). path(x, y) :- even(x, z), odd(z, y), x != y. odd(x, x) :- path(x, x).
"""
SUMS = "path(0, y) :- edge(0, y). path(n + 1, y) :- hop(n, y), n < 30. hop(n, z) :- path(n, y), edge(y, z)."
PROGRAMS = {"right": RIGHT, "double": DOUBLE, "negation": SIEVE, "several": SEVERAL, "sums": SUMS}
GRAPHS = {
    "chain": [(number, number + 1) for number in range(60)],
    "ring": [(number, (number + 1) % 24) for number in range(24)],
    "fan": [(number, number % 7 + 100) for number in range(40)] + [(100 + number, number) for number in range(7)],
}
UPDATES = (
    {"insert": {"edge": [(3, 900), (900, 4), (5, 5)]}},
    {"delete": {"edge": [(2, 3)]}},
    {"insert": {"path": [(1, 77), (77, 9)]}, "delete": {"edge": [(9, 10)]}},
    {"insert": {"blocked": [(7,)]}},
    {"delete": {"path": [(1, 77)], "edge": [(5, 5), (900, 4)]}},
    {"delete": {"blocked": [(7,)]}, "insert": {"edge": [(2, 3), (9, 10)]}},
)


def history(program: str, edges: list[tuple[int, int]], strategy: str) -> list[object]:
    """Everything that a user sees of some updates, with what they took."""
    engine = tl.Engine(program, strategy=strategy)
    seen: list[object] = []
    for update in ({"insert": {"edge": edges}}, *UPDATES):
        change = engine.apply(**update)
        parts = change.inserted, change.deleted
        facts = [sorted((name, fact) for name, table in part.items() for fact in table) for part in parts]
        counted = {key: number for key, number in change.stats.derivations.items() if number}
        seen.append((facts, counted, change.stats.rounds, change.stats.overdeleted, sorted(engine["path"])))
        engine.verify()
    return seen


@pytest.mark.parametrize("strategy", ["dred", "bf", "recompute"])
@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_one_call_for_all_rounds_changes_nothing(program, graph, strategy, monkeypatch):
    """Facts, changes, instances of every rule and rounds are those of a store that makes one round at a time."""
    swept = history(PROGRAMS[program], GRAPHS[graph], strategy)
    monkeypatch.setattr(LocalStore, "several_rounds", lambda *_: None)
    assert swept == history(PROGRAMS[program], GRAPHS[graph], strategy)


@pytest.mark.parametrize("room", [1, 2, 7])
@pytest.mark.parametrize("graph", GRAPHS)
def test_a_call_that_runs_out_of_room_is_gone_on_with(graph, room, monkeypatch):
    """Wherever the rounds are interrupted, they go on as if they had not been."""
    expected = [history(program, GRAPHS[graph], "dred") for program in (DOUBLE, SEVERAL)]
    monkeypatch.setattr(sweeping, "_MOST_FOUND", room)
    monkeypatch.setattr(sweeping, "_LEAST_ROOM", room)
    assert [history(program, GRAPHS[graph], "dred") for program in (DOUBLE, SEVERAL)] == expected


@pytest.mark.parametrize("program", [RIGHT, SUMS.replace("30", "60")])
def test_rounds_are_really_made_together(program, monkeypatch):
    """A chain of 60 edges takes 60 rounds and few calls, also where facts of several relations take turns."""
    calls = []
    sweep = sweeping.sweep
    monkeypatch.setattr("tidelog.backends.local.store.sweep", lambda *given: calls.append(1) or sweep(*given))
    engine = tl.Engine(program, strategy="dred")
    engine.apply(insert={"edge": GRAPHS["chain"]})
    calls.clear()
    change = engine.apply(delete={"edge": [(59, 60)] if program == RIGHT else [(0, 1)]})
    assert change.stats.rounds > 50
    assert len(calls) < 5


@pytest.mark.parametrize("seed", range(2000, 2015))
def test_random_programs_with_room_for_three(seed, monkeypatch):
    """The random world, with every strategy, where most calls end early."""
    monkeypatch.setattr(sweeping, "_MOST_FOUND", 3)
    monkeypatch.setattr(sweeping, "_LEAST_ROOM", 3)
    agree(draw_case(seed), {name: make for name, make in engines_under_test().items() if "reference" not in name})

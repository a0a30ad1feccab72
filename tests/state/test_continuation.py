"""Save at every update, open, continue: nobody can tell from the facts that the engine was ever away.

Figure 10 of the guarantees. Taught by another system: state inside a recursion was missing from a checkpoint, and it
showed only after the *next* insertion; so it is not enough to compare what is opened, the run has to go on.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.differential.updates import draw_case
from tests.state.streams import Sight, reopened, saved, sight, uninterrupted
from tidelog import Engine
from tidelog.backends.local.backend import LocalBackend
from tidelog.backends.local.relations.relation import Relation
from tidelog.errors import TidelogError
from tidelog.maintenance.registry import STRATEGIES
from tidelog.planning.views import Mark
from tidelog.state.reading import read_versions

STREAMS, LONG_STREAMS = 20, 300


def compare(strategy: str, seed: int, directory: Path) -> None:
    """One stream: in one engine, in one that is saved, and in a new engine for every update."""
    case = draw_case(seed)
    expected = uninterrupted(case, strategy)
    assert reopened(case, strategy, directory / f"{seed}-reopened") == expected, f"seed {seed}"
    if seed % 4 == 0:
        assert saved(case, strategy, directory / f"{seed}-saved") == expected, f"seed {seed}"
        check_every_version(directory / f"{seed}-saved", expected)


def check_every_version(directory: Path, expected: list[Sight]) -> None:
    """Every version can still be opened, and is what it was."""
    by_version = {one.version: one for one in expected}
    for info in read_versions(directory):
        before = by_version[info.version]
        found = sight(Engine.open(directory, version=info.version), before.inserted, before.deleted)
        assert found == before


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_an_interrupted_run_equals_an_uninterrupted_one(strategy, tmp_path):
    """Facts, explicit facts, rules, refusals and changes after every update: each stream with three strategies."""
    third = tuple(STRATEGIES).index(strategy) % 3
    for seed in range(third, STREAMS, 3):
        compare(strategy, seed, tmp_path)


@pytest.mark.parametrize("mark", [Mark.EXPLICIT, Mark.NOW])
def test_the_comparison_sees_marks_that_are_lost(mark, tmp_path, monkeypatch):
    """A restored fact without one of its marks is noticed, if not at once then by what the next updates do."""
    restore, mark_rows, append = LocalBackend.restore, Relation.mark, Relation.append_waiting
    restoring: list[bool] = []

    def left(add: Mark) -> Mark:
        return add & ~mark if restoring else add

    def restore_badly(*arguments: Any) -> None:
        restoring.append(True)
        restore(*arguments)
        restoring.clear()

    monkeypatch.setattr(Relation, "mark", lambda self, rows, add, remove: mark_rows(self, rows, left(add), remove))
    monkeypatch.setattr(Relation, "append_waiting", lambda self, add: append(self, left(add)))
    monkeypatch.setattr(LocalBackend, "restore", restore_badly)
    with pytest.raises((AssertionError, TidelogError)):
        compare("bf", 0, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_many_interrupted_runs_equal_uninterrupted_ones(strategy, tmp_path):
    """The same on streams that the default run does not see."""
    for seed in range(LONG_STREAMS):
        compare(strategy, seed, tmp_path)

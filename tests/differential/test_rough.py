"""Whatever is done between two updates, and however they fail, the engine equals recomputation.

This found facts of constants that there are not (and processes that ended): an update that failed had left rows whose
constants were forgotten, and stages in bits looked them up.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.differential.harness import agree
from tests.differential.optima import draw_optimum_case
from tests.differential.pairs import draw_pairs
from tests.differential.rough import RoughEngine, hair_triggers
from tests.differential.updates import draw_case

WORLDS = {"everything": draw_case, "pairs": draw_pairs, "optima": draw_optimum_case}


def treat(world: str, first: int, count: int, folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Some seeds of a world, each with an engine that is treated roughly."""
    hair_triggers(patch)
    for seed in range(first, first + count):
        name = f"{world} {seed}"
        agree(WORLDS[world](seed), {"rough": lambda program, name=name: RoughEngine(program, name, folder)})


@pytest.mark.parametrize("world", WORLDS)
def test_a_rough_life_changes_no_fact(world: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight lives in each world."""
    treat(world, 0, 8, tmp_path, monkeypatch)


@pytest.mark.long
@pytest.mark.parametrize("first", range(8, 308, 20))
@pytest.mark.parametrize("world", WORLDS)
def test_many_rough_lives_change_no_fact(
    world: str, first: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same, at length."""
    treat(world, first, 20, tmp_path, monkeypatch)

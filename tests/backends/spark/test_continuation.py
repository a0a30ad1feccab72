"""Save at every update, open on either backend, continue: nobody can tell from the facts where the engine was.

Figure 10 of the guarantees, where relations are files of the state.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.backends.spark.continuation import continued


@pytest.mark.parametrize("seed", [6, pytest.param(2, marks=pytest.mark.long)])
def test_an_interrupted_run_equals_an_uninterrupted_one(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    """Facts, explicit facts, rules, refusals and changes after every update, and every version once more."""
    continued(spark, seed, tmp_path / "state")


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 160))
def test_more_interrupted_runs_equal_uninterrupted_ones(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    """The same on streams that the default run does not see."""
    continued(spark, seed, tmp_path / "state")

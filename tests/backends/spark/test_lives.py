"""Lives of the state machine whose relations are files: figure 6 of the guarantees, on Spark.

A life goes from process to Spark and back with every state that it opens, and forgets versions in between; what the
files say, what waits beside them and what the table says have to agree whatever came before.
"""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tests.backends.spark.engines import PAGED, driver
from tests.laws.test_state_machine import live


def live_on_spark(spark: SparkSession, examples: int, steps: int, *, overlay: int, repeatable: bool) -> None:
    """Run lives; so many changed facts of a relation wait before its files are written anew."""
    with driver(spark, {**PAGED, "overlay": overlay}, partitions=2):
        live(examples, steps, repeatable=repeatable, backend="spark", spark=spark)


@pytest.mark.long
@pytest.mark.parametrize("overlay", [0, 10])
def test_every_life_keeps_the_law(spark: SparkSession, overlay: int) -> None:
    """Ten lives of 20 steps each way."""
    live_on_spark(spark, 10, 20, overlay=overlay, repeatable=False)

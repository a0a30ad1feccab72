"""Bringing facts from Spark to the driver.

What      : one job for any number of look-ups: facts of any relations with given keys, or whole relations.
Idea      : ask the big side with the small one (SPARK.md): few keys are literals in a filter, which needs no other job;
            many are broadcast and semi-joined.
Invariant : the answer holds every fact with a wanted key; it may hold others, which are true facts too.
Never     : no marks, no local numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from tidelog.backends.local.compiled import Array
from tidelog.backends.spark import frames
from tidelog.backends.spark.cold import ColdRelation
from tidelog.backends.spark.ids import Ids
from tidelog.backends.spark.jobs import Jobs

_LITERALS = 64
_TURN = 21
_NOBODY = tuple(range(-(2**63), -(2**63) + 11))
"""Keys beside the wanted ones: more than ten are a set for Spark, not a part of the code that it makes, so that the
code of one update serves the next. A fact that has such a key comes along for nothing."""


@dataclass(frozen=True)
class Wanted:
    """Facts of one relation: those with the keys in the columns, or all if there are no columns."""

    relation: ColdRelation
    columns: tuple[int, ...]
    keys: Ids


def fetch(jobs: Jobs, wanted: Sequence[Wanted]) -> list[tuple[ColdRelation, Ids, Array]]:
    """For every look-up that the base can answer its rows and which of them are explicit, in one job."""
    asked = [look_up for look_up in wanted if look_up.relation.base is not None]
    if not asked:
        return []
    _ = jobs.spark  # no part can be described for a session that is stopped
    width = max(look_up.relation.width for look_up in asked)
    parts = [_answer(jobs, look_up, number, width) for number, look_up in enumerate(asked)]
    table = jobs.run(lambda: reduce(DataFrame.unionAll, parts).toArrow())
    numbers = table.column("number").to_numpy()
    rows = frames.to_ids(table, frames.names(width))
    explicit = table.column("explicit").to_numpy()
    found = []
    for number, look_up in enumerate(asked):
        chosen = numbers == number
        found.append((look_up.relation, rows[chosen][:, : look_up.relation.width], explicit[chosen]))
    return found


def _answer(jobs: Jobs, wanted: Wanted, number: int, width: int) -> DataFrame:
    base = wanted.relation.base
    assert base is not None
    columns = frames.names(width)
    padded = [
        F.col(name) if at < wanted.relation.width else F.lit(0).cast("long").alias(name)
        for at, name in enumerate(columns)
    ]
    return _filtered(jobs, wanted, base).select(F.lit(number).alias("number"), *padded, "explicit")


def _filtered(jobs: Jobs, wanted: Wanted, base: DataFrame) -> DataFrame:
    if not wanted.columns:
        return base
    if len(wanted.keys) <= _LITERALS:
        folded = _fold_column([F.col(f"c{column}") for column in wanted.columns])
        return base.where(folded.isin([*_fold(wanted.keys).tolist(), *_NOBODY]))
    keys = frames.of_ids(jobs.spark, wanted.keys)
    keys = keys.toDF(*(f"c{column}" for column in wanted.columns))
    return base.join(F.broadcast(keys), [f"c{column}" for column in wanted.columns], "left_semi")


def _fold_column(columns: Sequence[Column]) -> Column:
    """Several columns of ids as one long; different keys may meet, which brings facts too many but none too few."""
    return reduce(lambda folded, column: F.shiftleft(folded, _TURN).bitwiseXOR(column), columns)


def _fold(keys: Ids) -> Ids:
    """As `_fold_column`, here."""
    return reduce(lambda folded, column: np.left_shift(folded, _TURN) ^ column, keys.T)

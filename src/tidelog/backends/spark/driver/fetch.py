"""Bringing facts from Spark to the driver.

What      : one job for any number of look-ups: facts of any relations with given keys, or whole relations.
Idea      : filter the large relation by the small set of keys, never the other way round: looking up 100 facts among
            5 million took 250 ms this way and 1,940 ms as an anti-join of the 100. A few keys are literals in a filter:
            one pass answers all look-ups of a relation. Many keys are broadcast and semi-joined.
Invariant : the answer holds every fact with a wanted key; it may hold facts of the relation with other keys, too.
Never     : no marks, no local numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from tidelog.backends.local.kernels.compiled import Array
from tidelog.backends.spark.cluster import frames
from tidelog.backends.spark.cluster.jobs import Jobs
from tidelog.backends.spark.large.cold import ColdRelation
from tidelog.backends.spark.values.ids import Ids

_LITERALS = 64
_TURN = 21
_NOBODY = tuple(range(-(2**63), -(2**63) + 11))
"""Eleven keys that are added to the wanted ones. Spark writes up to ten keys into the code that it generates, and
compiles it anew for other keys; more than ten it keeps as a set beside the code, which then serves the next update,
too. A fact that happens to have such a key is brought along and does no harm."""


@dataclass(frozen=True)
class LookUp:
    """Facts of one relation on Spark: those with the keys (ids) in the columns, or all if there are no columns."""

    relation: ColdRelation
    columns: tuple[int, ...]
    keys: Ids


def fetch(jobs: Jobs, wanted: Sequence[LookUp]) -> list[tuple[ColdRelation, Ids, Array]]:
    """For every wanted relation that Spark keeps its rows and which are explicit: one job, mostly one pass each."""
    asked = [look_up for look_up in wanted if isinstance(look_up.relation.base, DataFrame)]
    if not asked:
        return []
    jobs.require_session()  # no part can be described for a session that is stopped
    relations = {look_up.relation.name: look_up.relation for look_up in asked}
    width = max(relation.width for relation in relations.values())
    parts = [
        _padded(frame, relation, number, width)
        for number, relation in enumerate(relations.values())
        for frame in _answers(jobs, relation, [look_up for look_up in asked if look_up.relation is relation])
    ]
    table = jobs.run(lambda: reduce(DataFrame.unionAll, parts).toArrow())
    numbers = table.column("number").to_numpy()
    rows = frames.to_ids(table, frames.names(width))
    explicit = table.column("explicit").to_numpy()
    found = []
    for number, relation in enumerate(relations.values()):
        chosen = numbers == number
        found.append((relation, rows[chosen][:, : relation.width], explicit[chosen]))
    return found


def _padded(frame: DataFrame, relation: ColdRelation, number: int, width: int) -> DataFrame:
    columns = [
        F.col(name) if at < relation.width else F.lit(0).cast("long").alias(name)
        for at, name in enumerate(frames.names(width))
    ]
    return frame.select(F.lit(number).alias("number"), *columns, "explicit")


def _answers(jobs: Jobs, relation: ColdRelation, wanted: Sequence[LookUp]) -> Iterator[DataFrame]:
    """The facts of one relation: look-ups with few keys share a pass; a fact may come more than once."""
    base = relation.based_on(jobs)
    if any(not look_up.columns for look_up in wanted):
        yield base
        return
    few = [look_up for look_up in wanted if len(look_up.keys) <= _LITERALS]
    if few:
        yield base.where(reduce(Column.__or__, map(_has_key, few)))
    for look_up in wanted:
        if len(look_up.keys) > _LITERALS:
            names = [f"c{column}" for column in look_up.columns]
            keys = frames.of_ids(jobs.spark, look_up.keys).toDF(*names)
            yield base.join(F.broadcast(keys), names, "left_semi")


def _has_key(wanted: LookUp) -> Column:
    folded = _fold_column([F.col(f"c{column}") for column in wanted.columns])
    return folded.isin([*_fold(wanted.keys).tolist(), *_NOBODY])


def _fold_column(columns: Sequence[Column]) -> Column:
    """Several columns of ids as one long. Different keys may get the same long: then too many facts are brought."""
    return reduce(lambda folded, column: F.shiftleft(folded, _TURN).bitwiseXOR(column), columns)


def _fold(keys: Ids) -> Ids:
    """As `_fold_column`, here."""
    return reduce(lambda folded, column: np.left_shift(folded, _TURN) ^ column, keys.T)

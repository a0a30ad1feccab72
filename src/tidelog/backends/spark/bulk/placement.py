"""Which shard a fact belongs to, computed alike by Spark's columns and by NumPy.

What      : a `Delivery` says under which name, and at which shards, the facts of a relation are needed; two functions
            compute the shards of facts, one for DataFrames and one for arrays inside tasks.
Idea      : a fact goes to the shard of one of its columns, so that facts that join meet; or to the shard of the whole
            fact, which balances whatever the data are; or everywhere. A *hot* key, one that owns a large part of the
            facts, is split: one side of its joins is spread over all shards, the other goes everywhere.
Source    : the skew join of Xu et al. 2008 ("Handling data skew in parallel joins in shared-nothing systems").
Invariant : a fact goes to the same shards whether Spark or NumPy computes them, in every run. (The hash multiplies
            modulo a prime that fits 62 bits, because Spark's arithmetic raises on overflow.)
Never     : no rules and no session.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812

from tidelog.backends.local.relations.row_dealing import BITS, FACTOR, PRIME, shards_of
from tidelog.backends.spark.values.ids import Ids

_PLACES = 16
"""The bits of a place that tell the shard."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """Facts of `source` are needed as `name`, at the shard of their column `key` (None: of the whole fact).

    Only facts with the constants of `pattern` (column, id) are. `is_everywhere`: at every shard. `hot` are the keys
    that are split: spread by the whole fact, or if `hot_is_everywhere` copied to every shard.
    """

    name: str
    source: str
    key: int | None = None
    pattern: tuple[tuple[int, int], ...] = ()
    is_everywhere: bool = False
    hot_is_everywhere: bool = False
    hot: tuple[int, ...] = ()


def targets(delivery: Delivery, facts: Ids, shards: int) -> tuple[Ids, Ids]:
    """The positions of the facts that are delivered, and beside each the shard it goes to."""
    positions = np.arange(len(facts))
    for column, constant in delivery.pattern:
        positions = positions[facts[positions, column] == constant]
    if delivery.is_everywhere:
        return _everywhere(positions, shards)
    if delivery.key is None:
        return positions, _shards(facts[positions], shards)
    keys = facts[positions, delivery.key]
    homes = shards_of([keys], shards)
    if not delivery.hot:
        return positions, homes
    is_hot = np.isin(keys, np.array(delivery.hot, np.int64))
    if not delivery.hot_is_everywhere:
        homes[is_hot] = _shards(facts[positions[is_hot]], shards)
        return positions, homes
    copied, places = _everywhere(positions[is_hot], shards)
    return np.concatenate([positions[~is_hot], copied]), np.concatenate([homes[~is_hot], places])


def targets_column(deliveries: Mapping[int, Delivery], columns: Sequence[Column], shards: int) -> Column:
    """As `targets`, for a DataFrame and all deliveries of its relation, by number: one row per place to go to.

    A place is a shard and a delivery in one integer (see `shard_of` and `number_of`), so one pass serves them all.
    """
    places = {number << _PLACES: delivery for number, delivery in deliveries.items()}
    if len(places) == 1:
        first, delivery = next(iter(places.items()))
        if not (delivery.is_everywhere or delivery.hot or delivery.pattern):
            return _home_column(delivery, columns, shards) + F.lit(first)
    return F.explode(F.concat(*(_places_column(one, columns, shards, first) for first, one in places.items())))


def home_column(key: Column, shards: int) -> Column:
    """The shard of a key."""
    return _shard_column([key], shards)


def homes(keys: Ids, shards: int) -> Ids:
    """As `home_column`, for an array of keys."""
    return shards_of([keys], shards)


def shard_of(place: Column) -> Column:
    """The shard of a place."""
    return place.bitwiseAND(F.lit((1 << _PLACES) - 1))


def number_of(place: Column) -> Column:
    """The number of the delivery of a place."""
    return F.shiftright(place, _PLACES)


def _places_column(delivery: Delivery, columns: Sequence[Column], shards: int, first: int) -> Column:
    everywhere = F.array(*(F.lit(first + shard) for shard in range(shards)))
    chosen = everywhere if delivery.is_everywhere else F.array(_home_column(delivery, columns, shards) + F.lit(first))
    if delivery.hot and delivery.key is not None:
        split = everywhere if delivery.hot_is_everywhere else F.array(_shard_column(columns, shards) + F.lit(first))
        chosen = F.when(columns[delivery.key].isin(list(delivery.hot)), split).otherwise(chosen)
    for column, constant in delivery.pattern:
        chosen = F.when(columns[column] == F.lit(constant), chosen).otherwise(F.array().cast("array<int>"))
    return chosen


def _home_column(delivery: Delivery, columns: Sequence[Column], shards: int) -> Column:
    return _shard_column(columns if delivery.key is None else [columns[delivery.key]], shards)


def _everywhere(positions: Ids, shards: int) -> tuple[Ids, Ids]:
    return np.repeat(positions, shards), np.tile(np.arange(shards), len(positions))


def _shards(facts: Ids, shards: int) -> Ids:
    return shards_of([facts[:, column] for column in range(facts.shape[1])], shards)


def _shard_column(columns: Sequence[Column], shards: int) -> Column:
    prime, factor = F.lit(PRIME).cast("long"), F.lit(FACTOR).cast("long")

    def mix(mixed: Column, column: Column) -> Column:
        return F.pmod(F.pmod(mixed + F.pmod(column, prime), prime) * factor, prime)

    mixed = reduce(mix, columns, F.lit(0).cast("long"))
    return F.shiftright(mixed * F.lit(shards).cast("long"), BITS).cast("int")

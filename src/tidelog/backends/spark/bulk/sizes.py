"""What bulk planning has to know about data: sizes, patterns, hot keys.

What      : counts relations of unknown size, and patterns of the stage's own facts, in one job; finds *hot* keys: one
            shard with all facts of such a key would do most of the work.
Invariant : everything measured here changes costs only, never results.
Never     : no choice of deliveries (plan.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from tidelog.backends.spark.bulk.plan import BulkPlan, Sizes, skeleton
from tidelog.backends.spark.bulk.shard_rules import IdRules
from tidelog.backends.spark.cluster.jobs import Jobs
from tidelog.backends.spark.files.reading import Reader
from tidelog.backends.spark.files.segments import Segments
from tidelog.backends.spark.files.sorted_rows import ROW_GROUP
from tidelog.backends.spark.values import ids
from tidelog.language.terms import Atom, Constant, Variable
from tidelog.planning.lowered import LoweredRule, Stage

_MOST_HOT = 64
_SAMPLE, _SAMPLE_PER_SHARD = 20_000, 400
"""How many facts are sampled at least, and per shard. A hot key has at least half of a shard's fair share, so that
a sample of 400 facts per shard has about 200 of it."""
_CLEAR = 4
"""How many row groups a hot key must have at least to be told by footers, which may be wrong by one."""


def measure(
    jobs: Jobs,
    stage: Stage,
    rules: IdRules,
    lower: Mapping[str, DataFrame],
    seeds: Mapping[str, DataFrame],
    known: Mapping[str, int],
    small: int,
    few: int,
) -> Sizes:
    """The sizes of relations and of the own patterns that rules join with; one job for all that is not known."""
    inputs = {**lower, **seeds}
    wanted: dict[str, list[tuple[Atom | None, Column]]] = {
        name: [(None, F.lit(True))] for name in inputs if name not in known
    }
    patterns = {
        skeleton(literal)
        for rule in rules.rules
        for literal in rule.body
        if isinstance(literal, Atom) and literal.relation in stage.relations and len(_atoms(rule)) > 1
        if any(isinstance(term, Constant) for term in literal.terms)
    }
    for pattern in patterns:
        sources = [(pattern.relation, _conditions(pattern, rules.is_numeric)), *_exits(stage, rules, pattern)]
        for name, condition in sources:
            if name in inputs:
                wanted.setdefault(name, []).append((pattern, condition))
    facts, found = dict(known), dict.fromkeys(patterns, 0)
    for name, counts in _count(jobs, inputs, wanted).items():
        for (counted, _), count in zip(wanted[name], counts):
            if counted is None:
                facts[name] = count
            else:
                found[counted] += count
    return Sizes(facts, found, small, few)


def with_hot_keys(
    jobs: Jobs,
    plan: BulkPlan,
    inputs: Mapping[str, DataFrame],
    sizes: Sizes,
    shards: int,
    least: int,
    stored: Mapping[str, Segments],
) -> BulkPlan:
    """The plan with its hot keys split; only relations of this size (`least`) are searched for them.

    Files that are sorted by a key say in their footers which values are hot; other relations are sampled, by one job.
    """
    columns = {
        (delivery.source, delivery.key)
        for delivery in plan.deliveries
        if delivery.key is not None and delivery.source in inputs and sizes.facts.get(delivery.source, 0) >= least
    }
    if shards < 2 or not columns:
        return plan
    hot: set[int] = set()
    parts = []
    for source, key in sorted(columns):
        total = sizes.facts[source]
        most = total // (2 * shards)
        order = stored[source].orders.get(key) if source in stored else None
        if order is not None and most >= _CLEAR * ROW_GROUP:
            runs = (Reader().long_runs(file.address, f"c{key}") for file in order.files.values())
            hot.update(value for found in runs for value, rows in found.items() if rows > most)
            continue
        sample = min(1.0, max(_SAMPLE, _SAMPLE_PER_SHARD * shards) / total)
        some = inputs[source] if sample == 1.0 else inputs[source].sample(fraction=sample, seed=0)
        grouped = some.groupBy(F.col(f"c{key}").alias("key")).agg(F.count(F.lit(1)).alias("count"))
        parts.append(grouped.where(F.col("count") > int(total * sample) // (2 * shards)).select("key"))
    if parts:
        hot.update(jobs.run(lambda: reduce(DataFrame.unionAll, parts).toArrow()).column("key").to_pylist())
    if not hot:
        return plan
    chosen = tuple(sorted(hot))[:_MOST_HOT]
    deliveries = tuple(one if one.key is None else replace(one, hot=chosen) for one in plan.deliveries)
    return replace(plan, deliveries=deliveries, is_local=False)


def _count(
    jobs: Jobs, inputs: Mapping[str, DataFrame], wanted: Mapping[str, list[tuple[Atom | None, Column]]]
) -> dict[str, list[int]]:
    """For every relation how many facts meet each condition: one pass each, one job for all."""
    if not wanted:
        return {}
    parts = []
    for at, (name, conditions) in enumerate(wanted.items()):
        counts = F.array(*(F.count(F.when(condition, 1)) for _, condition in conditions))
        parts.append(inputs[name].agg(counts.alias("counts")).select(F.lit(at).alias("at"), "counts"))
    table = jobs.run(lambda: reduce(DataFrame.unionAll, parts).toArrow())
    names = list(wanted)
    return {names[at]: row for at, row in zip(table.column("at").to_pylist(), table.column("counts").to_pylist())}


def _conditions(pattern: Atom, is_numeric: bool) -> Column:
    """The facts that match a pattern."""
    found = F.lit(True)
    for at, term in enumerate(pattern.terms):
        if isinstance(term, Constant):
            found = found & (F.col(f"c{at}") == F.lit(ids.of_value(term.value) if is_numeric else term.value))
    return found


def _exits(stage: Stage, rules: IdRules, pattern: Atom) -> list[tuple[str, Column]]:
    """The relations below from which rules derive facts of the pattern directly, each with a condition."""
    found = []
    for rule in rules.rules:
        atoms = _atoms(rule)
        if rule.head.relation != pattern.relation or not atoms or any(one.relation in stage.relations for one in atoms):
            continue
        pairs = list(zip(pattern.terms, rule.head.terms))
        if any(isinstance(one, Constant) and isinstance(other, Constant) and one != other for one, other in pairs):
            continue
        condition = F.lit(True)
        for wanted, term in pairs:
            if isinstance(wanted, Constant) and isinstance(term, Variable) and term in atoms[0].terms:
                value = ids.of_value(wanted.value) if rules.is_numeric else wanted.value
                condition = condition & (F.col(f"c{atoms[0].terms.index(term)}") == F.lit(value))
        found.append((atoms[0].relation, condition))
    return found


def _atoms(rule: LoweredRule) -> list[Atom]:
    return [literal for literal in rule.body if isinstance(literal, Atom)]

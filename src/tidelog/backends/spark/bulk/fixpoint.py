"""Bulk work: a whole stage derived on Spark by the compiled kernels of the local backend.

What      : `fixpoint` gives all facts of a stage from its explicit facts and the relations below.
Idea      : Spark partitions and exchanges facts, our compiled kernels derive. Facts are spread over shards (plan.py),
            and one Arrow task per shard runs the local fixpoint (shard.py). Facts that belong to other shards are
            exchanged, and the tasks run again, until there is nothing to exchange. A stage that preserves an argument
            takes one round, without exchange. (Measured on a closure of a million facts: a DataFrame loop 19 s, this
            1.5 s.)
Invariant : the result is the same for every number of shards. Where this path cannot give the right result (an id does
            not carry the value that a rule computes with, or facts that join cannot meet in one shard), it gives None,
            and the caller takes another path (large/rounds.py).
Cost      : docs/scaling.md. Facts go to the tasks once, and only new facts come back, into files if the caller has a
            place for them. One Spark job per round, and one each for the relations that every shard gets whole and
            cannot read from files, for hot keys that no footer tells, and for the result of rounds.
Departures: from textbook rounds: a shard does not wait for the others while it has something to derive.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import reduce

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from tidelog.backends.spark.bulk import sizes as bulk_sizes
from tidelog.backends.spark.bulk.placement import Delivery, number_of, shard_of, targets_column
from tidelog.backends.spark.bulk.plan import BulkPlan, Sizes, plan
from tidelog.backends.spark.bulk.result_files import Target
from tidelog.backends.spark.bulk.result_files import Work as WorkOfTasks
from tidelog.backends.spark.bulk.rules_without_recursion import is_straight
from tidelog.backends.spark.bulk.shard_files import ShardFiles
from tidelog.backends.spark.bulk.shard_rules import IdRules, over_ids
from tidelog.backends.spark.bulk.shard_tasks import Report, Work, read_reports, rule_keys
from tidelog.backends.spark.bulk.split import in_steps, is_step
from tidelog.backends.spark.cluster import frames, table_files
from tidelog.backends.spark.cluster.jobs import Jobs
from tidelog.backends.spark.files.file_store import FileStore
from tidelog.backends.spark.files.segments import Order, Segments
from tidelog.backends.spark.values.ids import STANDARD, Naming
from tidelog.errors import BudgetError
from tidelog.limits import Limits
from tidelog.planning.lowered import Stage

_FEW_SHARDS = 4
"""Up to this number of shards, each reads all files of a relation: 0.1 us for a fact, exchanging it takes 2 us."""
_COPIES = 8
"""Eight shards read a small relation eight times together; fewer may read a larger one. Two shards that read 16 million
facts and kept what they derived took half the processor time and 40 % of the memory of two that exchanged facts."""


@dataclass(frozen=True)
class BulkOptions:
    """What may be tuned.

    A relation below the stage with at most `small` facts is given whole to every shard. So are the facts of the stage
    that match one atom's constants, if there are at most `few`. Relations with at least `skew_from` facts are
    searched for hot keys. Where shards are few, a relation that is in files may be larger (`small_stored`), unless
    `small` was made smaller than usual, to save memory.
    """

    small: int = 5_000_000
    few: int = 20_000
    skew_from: int = 1_000_000

    def small_stored(self, shards: int) -> int:
        """How many facts a relation has at most that a number of shards read whole from its files."""
        return self.small * max(_COPIES // shards, 1) if self.small >= BulkOptions.small else self.small

    @staticmethod
    def of(spark: SparkSession) -> BulkOptions:
        """What the session's settings `spark.tidelog.bulk.<name>` say."""
        names = (each.name for each in fields(BulkOptions))
        settings = {name: spark.conf.get(f"spark.tidelog.bulk.{name}", None) for name in names}
        return BulkOptions(**{name: int(value) for name, value in settings.items() if value is not None})


@dataclass
class BulkStats:
    """What a bulk run did. The lists have one number per shard."""

    mode: str = ""
    reason: str = ""
    rounds: int = 0
    local_rounds: int = 0
    jobs: int = 0
    distributed: int = 0
    exchanged: int = 0
    bytes_exchanged: int = 0
    hot_keys: int = 0
    facts: list[int] = field(default_factory=list)
    work: list[int] = field(default_factory=list)
    derivations: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class BulkResult:
    """All facts of every relation of the stage: the seeds, and the derived ones.

    They are files if there was a place for them; else `kept` holds them, to be released (cluster/frames.py) when the
    facts are no longer needed.
    """

    facts: Mapping[str, DataFrame | Segments]
    stats: BulkStats
    kept: DataFrame | None


Rounds = Callable[[int, int], None]
"""Called after every round with its number and how many facts were exchanged; may raise to stop."""


def fixpoint(
    jobs: Jobs,
    stage: Stage,
    lower: Mapping[str, DataFrame],
    seeds: Mapping[str, DataFrame],
    *,
    partitions: int,
    sizes: Mapping[str, int] | None = None,
    stored: Mapping[str, Segments] | None = None,
    limits: Limits | None = None,
    options: BulkOptions | None = None,
    naming: Naming = STANDARD,
    files: FileStore | None = None,
    on_round: Rounds | None = None,
) -> BulkResult | None:
    """All facts of a stage; None if this path cannot derive them (a group rule, functions on strings, ...).

    Every DataFrame has columns c0, c1, ... of ids (values/ids.py; one column of 0 for a relation without columns) and
    distinct rows. `lower` are the relations below that the rules read, `seeds` the explicit facts of the stage's own
    relations, `sizes` the numbers of facts of both as far as they are known, `stored` the files that hold exactly the
    facts of a relation below. If `files` is given the result is written there.
    """
    rules = over_ids(stage, naming)
    if rules is None:
        return None
    chosen = options or BulkOptions()
    started = jobs.actions
    known = bulk_sizes.measure(jobs, stage, rules, lower, seeds, sizes or {}, chosen.small, chosen.few)
    known = replace(known, stored=frozenset(stored or ()), small_stored=chosen.small_stored(partitions))
    planned = plan(stage, rules, known) or _plan_in_steps(stage, rules, known)
    if planned is None:
        return None
    given = {name: facts for name, facts in seeds.items() if known.facts.get(name)}
    inputs = {**lower, **given}
    planned = bulk_sizes.with_hot_keys(jobs, planned, inputs, known, partitions, chosen.skew_from, stored or {})
    limited = limits or Limits()
    goes_straight = files is not None and limited.facts is None and limited.bytes is None and is_straight(planned.stage)
    if goes_straight:
        planned = replace(planned, is_local=True)  # whatever a head's home is, it goes to its files from anywhere
    between = None if planned.is_local else _folder(jobs)
    if between is None and not planned.is_local:
        return None
    run = _Run(jobs, planned, inputs, partitions, limited, between, on_round, stored or {})
    run.goes_straight = goes_straight
    run.target = None if files is None else Target(jobs, files, given)
    try:
        found = run.result(started)
        return found and replace(found, facts={**seeds, **found.facts})
    finally:
        if between is not None:
            between.remove()


def _plan_in_steps(stage: Stage, rules: IdRules, sizes: Sizes) -> BulkPlan | None:
    """A plan for rules of which not all facts can meet in one shard: they are joined two at a time (split.py)."""
    larger, steps = in_steps(stage, rules.rules)
    return plan(larger, replace(rules, rules=steps), sizes)


class _Run:
    """One bulk run: its plan, its input and what it has done so far."""

    def __init__(
        self,
        jobs: Jobs,
        planned: BulkPlan,
        inputs: Mapping[str, DataFrame],
        shards: int,
        limits: Limits,
        files: ShardFiles | None,
        on_round: Rounds | None,
        stored: Mapping[str, Segments],
    ) -> None:
        self._jobs, self._plan, self._inputs, self._shards = jobs, planned, inputs, shards
        self._on_round, self._stored = on_round, {name: stored[name] for name in stored if name in planned.whole}
        self.target: Target | None = None
        self.goes_straight = False
        self._title = planned.stage.name
        width = max(max(arity, 1) for arity in planned.arities.values())
        whole = self._whole(width)
        if files is not None:
            files.write("whole", whole)
        payload = None if files is not None else _as_bytes(whole)
        read = {name: _addresses(each.first) for name, each in self._stored.items()}
        delivered = {
            tag: found
            for tag, delivery in enumerate(planned.deliveries)
            if delivery.source in stored and (found := _read_by(delivery, stored[delivery.source], shards)) is not None
        }
        most = {name: _most_in_a_shard(planned, name, stored[name].rows, shards) for name in stored if name in inputs}
        constants = _about_all([min(count, most[name]) for name in most for count in stored[name].distinct])
        run = uuid.uuid4().hex
        self._work = Work(planned, shards, width, run, 0, payload, read, delivered, files, limits, constants)
        self._schema = ", ".join(["tag int", *(f"{name} long" for name in self._work.columns)])
        hot = {key for delivery in planned.deliveries for key in delivery.hot}
        mode = "local" if planned.is_local else "exchange"
        self.stats = BulkStats(mode, planned.reason, facts=[0] * shards, work=[0] * shards, hot_keys=len(hot))

    def result(self, started: int) -> BulkResult | None:
        """Run to the fixpoint; None if a rule needs a value that its id does not carry."""
        if self._plan.is_local:
            found = self._result(self._delivered(), self._work.straight if self.goes_straight else self._work.alone)
        else:
            found = self._result(self._numbers(), self._work.results) if self._is_through() else None
        self.stats.jobs = self._jobs.actions - started
        return found

    def _result(self, given: DataFrame, work: WorkOfTasks) -> BulkResult | None:
        """The facts that tasks make of rows, in files or kept; their reports are accounted for on the way."""
        homes = {
            tag: (delivery.name, max(self._plan.arities[delivery.name], 1))
            for tag, delivery in enumerate(self._plan.deliveries)
            if delivery.name == delivery.source and not is_step(delivery.name)
        }
        title = f"materialise {self._title}" + ("" if self._plan.is_local else ", result")
        with self._jobs.named(title):
            if self.target is not None:
                facts, reports = self.target.write(given, work, homes, self._shards)
                return None if self._is_void(reports) else BulkResult(facts, self.stats, None)
            kept = frames.keep(self._jobs, given.mapInArrow(work, self._schema))
            if self._plan.is_local and self._is_void(self._reports(kept)):
                frames.release(kept)
                return None
        return BulkResult({name: self._of(kept, tag, name) for tag, (name, _) in homes.items()}, self.stats, kept)

    def _of(self, kept: DataFrame, tag: int, name: str) -> DataFrame:
        columns = frames.names(max(self._plan.arities[name], 1))
        derived, seeds = kept.where(F.col("tag") == tag).select(*columns), self._inputs.get(name)
        return derived if seeds is None else seeds.select(*columns).unionAll(derived)

    def _reports(self, kept: DataFrame) -> pa.Table:
        return self._jobs.run(lambda: kept.where(F.col("tag") < 0).select("tag", "c0").toArrow())

    def _is_void(self, reports: pa.Table) -> bool:
        """Whether a shard that worked alone needed values; the last job of rounds has nothing to report."""
        if not self._plan.is_local:
            return False
        is_void = self._account(reports) is None
        self.stats.rounds = 1
        return is_void

    def _is_through(self) -> bool:
        """Rounds until nothing is exchanged: the facts are in the shards' files. False if a rule needs values."""
        incoming = self._delivered()
        while True:
            step = incoming.mapInArrow(self._work.exchange, self._schema).select("tag", "c0")
            with self._jobs.named(f"materialise {self._title}, round {self.stats.rounds + 1}"):
                exchanged = self._account(self._jobs.run(step.toArrow))
            if exchanged is None:
                return False
            self.stats.rounds += 1
            if self._on_round is not None:
                self._on_round(self.stats.rounds, exchanged)
            if not exchanged:
                return True
            self._work = self._work.next_round()
            incoming = self._exchanged(self._numbers().mapInArrow(self._work.sent, f"shard int, {self._schema}"))

    def _delivered(self) -> DataFrame:
        """The input where it is needed: one pass over every relation."""
        parts = []
        for source, frame in self._inputs.items():
            read = self._work.delivered
            wanted = {
                tag: one for tag, one in enumerate(self._plan.deliveries) if one.source == source and tag not in read
            }
            if wanted:
                arity = max(self._plan.arities[next(iter(wanted.values())).name], 1)
                places = targets_column(wanted, [F.col(name) for name in frames.names(arity)], self._shards)
                placed = frame.select(places.alias("place"), *frames.names(arity))
                shard = shard_of(F.col("place")).alias("shard")
                parts.append(self._padded(placed, number_of(F.col("place")), arity, shard))
        if not parts:  # a row that only starts the task of each shard
            return self._padded(self._numbers(), F.lit(-1), 0)
        return self._exchanged(reduce(DataFrame.unionAll, parts))

    @property
    def _through_spark(self) -> dict[int, Delivery]:
        """The deliveries that shards do not read from files."""
        return {tag: one for tag, one in enumerate(self._plan.deliveries) if tag not in self._work.delivered}

    def _exchanged(self, frame: DataFrame) -> DataFrame:
        return frame.repartitionById(self._shards, F.col("shard")).select("tag", *self._work.columns)

    def _numbers(self) -> DataFrame:
        """The numbers of the shards, one per partition."""
        return self._jobs.spark.range(0, self._shards, 1, self._shards)

    def _whole(self, width: int) -> pa.Table:
        """The relations that every shard has whole, without those that it reads from files."""
        parts = [
            self._padded(self._inputs[name], F.lit(tag), max(self._plan.arities[name], 1), width=width)
            for tag, name in enumerate(sorted(self._plan.whole))
            if name in self._inputs and name not in self._stored
        ]
        if not parts:
            return pa.table(
                {"tag": pa.array([], pa.int32()), **{name: pa.array([], pa.int64()) for name in frames.names(width)}}
            )
        return self._jobs.run(lambda: reduce(DataFrame.unionAll, parts).toArrow())

    def _padded(self, frame: DataFrame, tag: Column, arity: int, *first: Column, width: int | None = None) -> DataFrame:
        names = frames.names(self._work.width if width is None else width)
        columns = [F.col(name) if at < arity else F.lit(0).cast("long").alias(name) for at, name in enumerate(names)]
        return frame.select([*first, tag.cast("int").alias("tag"), *columns])

    def _account(self, table: pa.Table) -> int | None:
        """Add up what the shards report; how many facts they sent, or None if a rule needs values."""
        reports = read_reports(table)
        stopped = max(reports.get(Report.STOPPED, {}).values(), default=0)
        if stopped:
            raise BudgetError.of(
                f"E{stopped}",
                "a shard has used up its budget; the last good version is intact",
                remedy="raise the limit",
            )
        if Report.VALUES in reports:
            return None
        stats, keys = self.stats, rule_keys(self._plan)
        sent = sum(reports.get(Report.SENT, {}).values())
        received = sum(reports.get(Report.RECEIVED, {}).values())
        stats.distributed += received if not stats.rounds else 0
        stats.exchanged += sent
        stats.bytes_exchanged += received * (4 + 8 * self._work.width)
        stats.local_rounds += max(reports.get(Report.ROUNDS, {}).values(), default=0)
        for held in (Report.FACTS, Report.NEW):
            for shard, number in reports.get(held, {}).items():
                stats.facts[shard] += number
        for kind, numbers in reports.items():
            if kind >= Report.RULE and not is_step(keys[kind - Report.RULE]):
                stats.derivations[keys[kind - Report.RULE]] += sum(numbers.values())
                for shard, number in numbers.items():
                    stats.work[shard] += number
        return sent


def _about_all(distinct: Sequence[int]) -> int:
    """About how many constants columns have together: all of the largest, half of the next: they often share some."""
    first, second, *_ = sorted([*distinct, 0, 0], reverse=True)
    return first + second // 2


def _most_in_a_shard(planned: BulkPlan, name: str, rows: int, shards: int) -> int:
    """About how many facts of a relation a shard gets at most."""
    ways = [delivery for delivery in planned.deliveries if delivery.source == name]
    is_everywhere = name in planned.whole or any(delivery.is_everywhere for delivery in ways)
    return rows if is_everywhere else min(rows, -(-rows * len(ways) // shards))


def _addresses(order: Order) -> tuple[str, ...]:
    return tuple(file.address for file in order.files.values())


def _read_by(delivery: Delivery, stored: Segments, shards: int) -> tuple[tuple[str, ...], ...] | None:
    """For every shard the files to read for a delivery; None if that would be too much, and Spark has to exchange.

    Files of an order by the delivery's column, over as many shards, are exactly what the shards need. Few shards can
    also read all files, and choose.
    """
    order = stored.orders.get(delivery.key) if delivery.key is not None and not delivery.hot else None
    if order is not None and order.shards == shards and not delivery.is_everywhere:
        return tuple((order.files[number].address,) if number in order.files else () for number in range(shards))
    return (_addresses(stored.first),) * shards if shards <= _FEW_SHARDS else None


def _as_bytes(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


def _folder(jobs: Jobs) -> ShardFiles | None:
    """A folder for the shards' files; None if no folder is known that every executor reaches."""
    directory = table_files.folder(jobs.spark)
    return ShardFiles(f"{directory.rstrip('/')}/{uuid.uuid4().hex}") if directory is not None else None

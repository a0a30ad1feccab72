"""What Spark's tasks do in bulk work: functions from Arrow batches to Arrow batches.

What      : `Work` is all that a task has to know, as plain data; its methods run inside `mapInArrow`.
Idea      : one task is one shard. Facts travel as (shard, tag, c0, c1, ...), the tag being the number of a delivery. A
            worker process keeps its shard in memory for the next round. If another worker, or a repeated task, gets the
            shard, it reads the shard's state from the files.
Invariant : the files of a round follow from the facts received and from the files of earlier rounds.
Never     : no session and no engine objects; what a task reports are rows with a negative tag.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext

from tidelog.backends.spark.bulk import rules_without_recursion
from tidelog.backends.spark.bulk.placement import Delivery, targets
from tidelog.backends.spark.bulk.plan import BulkPlan
from tidelog.backends.spark.bulk.shard import Outcome, Shard, ValuesNeeded
from tidelog.backends.spark.bulk.shard_files import ShardFiles, given_name, sent_name, state_name
from tidelog.backends.spark.files.reading import stored_facts
from tidelog.backends.spark.freed_memory import give_back
from tidelog.backends.spark.values import ids
from tidelog.backends.spark.values.ids import Ids
from tidelog.errors import BudgetError
from tidelog.limits import Budget, Limits

_BATCH = 1 << 18
_TURN = 1 << 44
"""A report's number and its shard share one long."""


class Report(IntEnum):
    """What a shard tells the driver; numbers from RULE on are derivations by rule."""

    ROUNDS = 0
    RECEIVED = 1
    NEW = 2
    SENT = 3
    FACTS = 4
    STOPPED = 5
    VALUES = 6
    RULE = 7


@dataclass(frozen=True)
class Work:
    """The parameters of a round's tasks."""

    plan: BulkPlan
    shards: int
    width: int
    run: str
    round: int
    whole: bytes | None
    stored: Mapping[str, tuple[str, ...]]
    delivered: Mapping[int, tuple[tuple[str, ...], ...]]
    """By delivery, for every shard the files in which its facts are; the others come through Spark."""
    files: ShardFiles | None
    limits: Limits
    constants: int = 0
    """About how many constants occur."""

    @property
    def columns(self) -> list[str]:
        """The columns of ids."""
        return [f"c{at}" for at in range(self.width)]

    def next_round(self) -> Work:
        """The same work, one round later."""
        return replace(self, round=self.round + 1)

    # -- run inside tasks --------------------------------------------------------------------------------------------

    def alone(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """A shard without exchanges: the facts that were not given to it, then its report."""
        number = _number()
        try:
            shard = self._fresh(number)
            received = self._receive(shard, batches)
            outcome = shard.run()
            count = 0
            for tag, delivery in enumerate(self.plan.deliveries):
                if delivery.name == delivery.source:
                    for facts in shard.derived(delivery.name, _BATCH):
                        count += len(facts)
                        yield from self._rows(tag, facts)
        except (ValuesNeeded, BudgetError) as stop:
            yield self._report(number, [_stop(stop)])
            return
        counted = [(Report.RECEIVED, received), (Report.FACTS, received + count)]
        yield self._report(number, [*counted, *self._counts(outcome)])

    def straight(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """A shard of rules that do not recur: their heads, of which some may repeat, then its report."""
        number, budget, counted = _number(), Budget(self.limits), Counter[str]()
        tags = {delivery.name: tag for tag, delivery in enumerate(self.plan.deliveries)}
        try:
            received, facts = self._gathered(number, batches)
            for rule in self.plan.stage.rules:
                for found in rules_without_recursion.heads(rule, facts, is_numeric=self.plan.is_numeric):
                    budget.ask_time()
                    counted[rule.key] += len(found)
                    yield from self._rows(tags[rule.head.relation], found)
        except (ValuesNeeded, BudgetError) as stop:
            yield self._report(number, [_stop(stop)])
            return
        outcome = Outcome(rounds=1, derivations=counted)
        told = [(Report.RECEIVED, received), (Report.FACTS, received + counted.total())]
        yield self._report(number, [*told, *self._counts(outcome)])

    def _gathered(self, number: int, batches: Iterator[pa.RecordBatch]) -> tuple[int, dict[str, Ids]]:
        """How many facts a shard is given, and all that it has, by name; where order is asked all are integers."""
        given = list(self._given(number, batches))
        parts: dict[str, list[Ids]] = {name: [] for name in self.plan.arities}
        for name, facts in (*given, *self._everywhere()):
            parts[name].append(facts)
        found = {name: _joined(some, self.plan.arities[name]) for name, some in parts.items()}
        for name, column in self.plan.numeric:
            if name in found and (found[name][:, column] & ids.TAG != ids.INTEGER).any():
                raise ValuesNeeded
        return sum(len(facts) for _, facts in given), found

    def exchange(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """One round of a shard: take what was sent to it, write what is new and what it sends, report."""
        number = _number()
        try:
            shard = self._resumed(number)
            received = self._receive(shard, batches)
            outcome = shard.run()
        except (ValuesNeeded, BudgetError) as stop:
            yield self._report(number, [_stop(stop)])
            return
        new, sent = self._write(number, outcome)
        _warm[self.run, number] = self.round, shard
        counted = [(Report.RECEIVED, received), (Report.NEW, new), (Report.SENT, sent)]
        yield self._report(number, [*counted, *self._counts(outcome)])

    def sent(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """What the shards, given by number, sent in the round before."""
        assert self.files is not None
        for batch in batches:
            for number in batch.column(0).to_pylist():
                table = self.files.read(sent_name(number, self.round - 1))
                if table is not None:
                    yield from table.to_batches(max_chunksize=_BATCH)

    def results(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """For the shards given by number, the facts that are at home there and were not given to them at first."""
        assert self.files is not None
        _warm.clear()  # rounds are over, and what comes now needs the memory
        give_back()
        homes = [tag for tag, delivery in enumerate(self.plan.deliveries) if delivery.name == delivery.source]
        for batch in batches:
            for number in batch.column(0).to_pylist():
                for table in self.files.state(number, self.round + 1):
                    tags = table.column("tag").to_numpy()
                    kept = table if np.isin(tags, homes).all() else table.filter(pa.array(np.isin(tags, homes)))
                    yield from kept.to_batches(max_chunksize=_BATCH)

    # -- within ------------------------------------------------------------------------------------------------------

    def _fresh(self, number: int) -> Shard:
        shard = Shard(self.plan, number, self.shards, self.limits, self.constants)
        for name, facts in self._everywhere():
            shard.know(name, facts)
        return shard

    def _everywhere(self) -> Iterator[tuple[str, Ids]]:
        """The facts that every shard has, by name."""
        whole = self.whole if self.files is None else self.files.read("whole")
        table = pa.ipc.open_stream(whole).read_all() if isinstance(whole, bytes) else whole
        if table is not None:
            for tag, facts in self._by_tag([*table.to_batches()]):
                name = sorted(self.plan.whole)[tag]
                yield name, facts[:, : max(self.plan.arities[name], 1)]
        for name, addresses in self.stored.items():
            columns = [f"c{at}" for at in range(max(self.plan.arities[name], 1))]
            if addresses:
                yield name, stored_facts(addresses, columns)

    def _resumed(self, number: int) -> Shard:
        """The shard as the last round left it: from memory if this process ran that round, else from the files."""
        for key in [key for key, (round_, _) in _warm.items() if key[0] != self.run or round_ < self.round - 1]:
            del _warm[key]
        known = _warm.pop((self.run, number), None)
        if known is not None and known[0] == self.round - 1:
            return known[1]
        shard = self._fresh(number)
        assert self.files is not None
        for table in (*self.files.given(number), *self.files.state(number, self.round)):
            for tag, facts in self._by_tag(table.to_batches()):
                shard.know(*self._narrow(tag, facts))
        if self.round:
            shard.resume()
        return shard

    def _receive(self, shard: Shard, batches: Iterator[pa.RecordBatch]) -> int:
        received = 0
        for name, facts in self._given(_number(), batches):
            received += len(facts)
            shard.receive(name, facts)
        return received

    def _given(self, number: int, batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[str, Ids]]:
        """The facts that are delivered to a shard, by name: in the first round those of files, then what has come."""
        for tag, addresses in self.delivered.items() if not self.round else ():
            delivery = self.plan.deliveries[tag]
            columns = [f"c{at}" for at in range(max(self.plan.arities[delivery.name], 1))]
            is_own, wanted = self._is_own(delivery, addresses), addresses[number]
            for several in [wanted] if is_own and wanted else [[address] for address in wanted]:
                facts = stored_facts(several, columns)
                if not is_own:
                    chosen, shards = targets(delivery, facts, self.shards)
                    places = chosen[shards == number]
                    facts = np.stack([column[places] for column in facts.T]).T
                yield delivery.name, facts
        for tag, facts in self._by_tag(list(batches)):
            yield self._narrow(tag, facts)

    def _is_own(self, delivery: Delivery, addresses: Sequence[Sequence[str]]) -> bool:
        """Whether the files of a shard hold the facts that are delivered to it, and no others."""
        return not delivery.pattern and len(set(addresses)) == self.shards

    def _narrow(self, tag: int, facts: Ids) -> tuple[str, Ids]:
        name = self.plan.deliveries[tag].name
        return name, facts[:, : max(self.plan.arities[name], 1)]

    def _by_tag(self, batches: Sequence[pa.RecordBatch]) -> Iterator[tuple[int, Ids]]:
        """The facts of travelling rows, tag by tag."""
        if not batches:
            return
        table = pa.Table.from_batches(batches)
        table = table.filter(pc.greater_equal(table.column("tag"), 0))  # others only start a task
        tags = table.column("tag").to_numpy()
        rows = np.column_stack([table.column(name).to_numpy() for name in self.columns])
        present = np.flatnonzero(np.bincount(tags)) if len(tags) else ()
        for tag in present:
            yield int(tag), rows if len(present) == 1 else rows[tags == tag]

    def _write(self, number: int, outcome: Outcome) -> tuple[int, int]:
        """Write the files of this round; how many facts are new here, and how many are sent."""
        assert self.files is not None
        tags = {delivery.name: tag for tag, delivery in enumerate(self.plan.deliveries)}
        given, new = (
            [self._table(tags[name], facts) for name, parts in noted.items() for facts in parts]
            for noted in (outcome.given, outcome.new)
        )
        for name, tables in ((given_name(number), given), (state_name(number, self.round), new)):
            if tables:
                self.files.write(name, pa.concat_tables(tables))
        sent = [
            self._table(tags[name], facts).add_column(0, "shard", pa.array(shards.astype(np.int32)))
            for name, parts in outcome.sent.items()
            for shards, facts in parts
        ]
        if sent:
            self.files.write(sent_name(number, self.round), pa.concat_tables(sent))
        return sum(table.num_rows for table in given + new), sum(table.num_rows for table in sent)

    def _table(self, tag: int, facts: Ids) -> pa.Table:
        return pa.Table.from_batches([pa.RecordBatch.from_arrays(*self._arrays(tag, facts))])

    def _rows(self, tag: int, facts: Ids) -> Iterator[pa.RecordBatch]:
        for start in range(0, len(facts), _BATCH):
            yield pa.RecordBatch.from_arrays(*self._arrays(tag, facts[start : start + _BATCH]))

    def _arrays(self, tag: int, facts: Ids) -> tuple[list[pa.Array], list[str]]:
        columns = [pa.array(np.ascontiguousarray(facts[:, at])) for at in range(facts.shape[1])]
        columns += [pa.array(np.zeros(len(facts), np.int64))] * (self.width - len(columns))
        return [pa.array(np.full(len(facts), tag, np.int32)), *columns], ["tag", *self.columns]

    def _counts(self, outcome: Outcome) -> list[tuple[int, int]]:
        keys = rule_keys(self.plan)
        derived = [(Report.RULE + keys.index(key), number) for key, number in outcome.derivations.items()]
        return [(Report.ROUNDS, outcome.rounds), *derived]

    def _report(self, number: int, counts: Sequence[tuple[int, int]]) -> pa.RecordBatch:
        tags = pa.array([-1 - kind for kind, _ in counts], pa.int32())
        values = pa.array([number * _TURN + value for _, value in counts], pa.int64())
        zeros = [pa.array(np.zeros(len(counts), np.int64))] * (self.width - 1)
        return pa.RecordBatch.from_arrays([tags, values, *zeros], ["tag", *self.columns])


_warm: dict[tuple[str, int], tuple[int, Shard]] = {}
"""Shards that this worker has in memory, by run and number, with the round that they have finished."""


def rule_keys(plan: BulkPlan) -> list[str]:
    """The keys of the plan's rules, in the order in which tasks report them."""
    return sorted({rule.key for rule in plan.stage.rules})


def read_reports(table: pa.Table) -> Mapping[int, dict[int, int]]:
    """By kind of report, the number of every shard."""
    found: dict[int, dict[int, int]] = {}
    for tag, packed in zip(table.column("tag").to_pylist(), table.column("c0").to_pylist()):
        found.setdefault(-1 - tag, {})[packed // _TURN] = packed % _TURN
    return found


def _joined(parts: Sequence[Ids], arity: int) -> Ids:
    """Facts of one relation together, column by column in memory."""
    if not parts:
        return np.empty((0, max(arity, 1)), np.int64)
    return parts[0] if len(parts) == 1 else np.concatenate([facts.T for facts in parts], axis=1).T


def _number() -> int:
    context = TaskContext.get()
    assert context is not None
    return context.partitionId()


def _stop(stop: Exception) -> tuple[int, int]:
    return (Report.STOPPED, int(stop.code[1:])) if isinstance(stop, BudgetError) else (Report.VALUES, 1)

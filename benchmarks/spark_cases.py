"""Ways of deriving everything at once on Spark, side by side on one program and one data set.

What      : `Case` runs our bulk path, the engine on Spark, a hand-written DataFrame loop and the local backend.
Idea      : every contender runs in one session on the same data; ratios of figures measured side by side are robust on
            a shared machine, those of processor seconds more so.
Invariant : contenders must agree on the number of facts, or the run fails.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

import tidelog as tl
from benchmarks import spark_loops
from benchmarks.spark_data import CLOSURE, RDFS, RULE_SET_2, Data, acyclic_graph, lubm, random_graph, rule_set_2
from benchmarks.spark_measure import measured
from tidelog.backends.spark.bulk.fixpoint import BulkStats, fixpoint
from tidelog.backends.spark.cluster import frames
from tidelog.backends.spark.cluster.jobs import Jobs
from tidelog.language.parser import parse
from tidelog.planning.lowering import lower

Frames = dict[str, DataFrame]
CONTENDERS = ("bulk", "engine", "loop", "local")


def by_bulk(spark: SparkSession, rules: str, facts: Frames, sizes: dict[str, int]) -> tuple[Frames, list[BulkStats]]:
    """The whole program by bulk work."""
    jobs, known, stats = Jobs(spark), dict(facts), []
    for stage in lower(parse(rules).rules).stages:
        below = {name: frame for name, frame in known.items() if name not in stage.relations}
        own = {name: known[name] for name in stage.relations if name in known}
        done = fixpoint(jobs, stage, below, own, partitions=spark.sparkContext.defaultParallelism, sizes=sizes)
        assert done is not None
        known |= done.facts
        sizes = {**sizes, **dict.fromkeys(done.facts, sum(done.stats.facts))}
        stats.append(done.stats)
    return known, stats


def by_engine(rules: str, data: Data, backend: str, spark: SparkSession | None) -> dict[str, int]:
    """The number of facts per relation, by the engine."""
    engine = tl.Engine(rules, backend=backend, spark=spark)
    tables = {name: pa.table({f"c{at}": rows[:, at] for at in range(rows.shape[1])}) for name, rows in data.items()}
    engine.apply(insert=tables)
    return {name: len(engine[name]) for name in engine.relations}


class Case:
    """One program over one data set, and who runs it."""

    def __init__(
        self, spark: SparkSession, name: str, rules: str, data: Data, loop: Callable[[Frames], Frames]
    ) -> None:
        self.spark, self.name, self.rules, self.data, self._loop = spark, name, rules, data, loop
        self.facts = {relation: frames.of_ids(spark, rows << 2).localCheckpoint() for relation, rows in data.items()}
        self.heads = sorted({rule.head.relation for rule in parse(rules).rules})
        self.row: dict[str, object] = {"case": name, "facts in": sum(len(rows) for rows in data.values())}

    def run(self, contenders: Iterable[str], repeat: int) -> dict[str, object]:
        """Run every contender; the best of some runs counts."""
        counts = set()
        for contender in contenders:
            runs = [measured(getattr(self, contender)) for _ in range(repeat)]
            counts.update(count for count, _ in runs)
            best = min((figures for _, figures in runs), key=lambda figures: figures["cpu"])
            self.row[contender] = best
            say(f"{self.name:>10} {contender:>8} {best['seconds']:8.2f} s {best['cpu']:8.2f} cpu s")
        assert len(counts) == 1, f"contenders disagree on {self.name}: {counts}"
        self.row["facts out"] = counts.pop()
        for other in ("loop", "engine", "local"):
            if other in self.row and "bulk" in self.row:
                ours, theirs = self.row["bulk"], self.row[other]
                self.row[f"{other} / bulk"] = {unit: round(theirs[unit] / ours[unit], 2) for unit in ("seconds", "cpu")}  # type: ignore[index]
        return self.row

    def bulk(self) -> int:
        """Our bulk path."""
        sizes = {name: len(rows) for name, rows in self.data.items()}
        found, stats = by_bulk(self.spark, self.rules, self.facts, sizes)
        self.row["bulk stats"] = {
            "modes": [one.mode for one in stats],
            "rounds": [one.rounds for one in stats],
            "jobs": sum(one.jobs for one in stats),
            "exchanged": sum(one.exchanged for one in stats),
            "bytes": sum(one.bytes_exchanged for one in stats),
            "derivations": sum(sum(one.derivations.values()) for one in stats),
        }
        return sum(found[name].count() for name in self.heads)

    def loop(self) -> int:
        """The hand-written loop."""
        found = self._loop(self.facts)
        return sum(found[name].count() for name in self.heads)

    def engine(self) -> int:
        """The engine on Spark, facts handed over as Arrow."""
        counts = by_engine(self.rules, self.data, "spark", self.spark)
        return sum(counts[name] for name in self.heads)

    def local(self) -> int:
        """The engine on this machine alone."""
        counts = by_engine(self.rules, self.data, "local", None)
        return sum(counts[name] for name in self.heads)


def recursive_sql(spark: SparkSession) -> dict[str, object]:
    """Recursive SQL on a small acyclic graph, beside bulk work; on cyclic data it does not end."""
    data = acyclic_graph(400, 1200)
    edges = frames.of_ids(spark, data["e"] << 2).localCheckpoint()
    known = {"e": len(data["e"])}

    def bulk() -> int:
        return by_bulk(spark, CLOSURE, {"e": edges}, known)[0]["p"].count()

    expected, ours = measured(bulk)
    try:
        found, theirs = measured(lambda: spark_loops.recursive_sql(spark, edges))
    except Exception as error:  # whatever Spark says is the finding
        return {
            "case": "recursive SQL",
            "bulk": ours,
            "facts out": expected,
            "failure": str(error).splitlines()[0][:200],
        }
    assert found == expected
    return {"case": "recursive SQL", "facts out": found, "bulk": ours, "recursive": theirs}


def case(spark: SparkSession, name: str) -> Case:
    """A case by its name: closure, rs2, or lubm with a number of copies."""
    if name == "closure":
        return Case(spark, name, CLOSURE, random_graph(1000, 10_000), spark_loops.closure)
    if name == "rs2":
        return Case(spark, name, RULE_SET_2, rule_set_2(2000), spark_loops.rule_set_2)
    return Case(spark, name, RDFS, lubm(int(name.removeprefix("lubm"))), spark_loops.rdfs)


def warm_up(spark: SparkSession, contenders: Iterable[str]) -> None:
    """Start workers and compile what is compiled once, so that no case pays for it."""
    Case(spark, "warm-up", CLOSURE, random_graph(50, 100), spark_loops.closure).run(contenders, 1)
    Case(spark, "warm-up", RDFS, lubm(1), spark_loops.rdfs).run(contenders, 1)


def say(line: str) -> None:
    """Progress, beside the results."""
    print(line, file=sys.stderr, flush=True)

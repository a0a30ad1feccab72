"""Facts and bytes that bulk work exchanges, by number of shards, beside what docs/scaling.md predicts.

What      : a closure whose edges are partitioned too, and LUBM; counted, not timed, so any machine gives the same
            figures.
Invariant : `predicted` uses the formulas of docs/scaling.md and nothing measured in the same run but sizes.
"""

from __future__ import annotations

import json
from pathlib import Path

from pyspark.sql import SparkSession

from benchmarks.spark_data import CLOSURE, RDFS, lubm, random_graph
from tidelog.backends.spark.bulk.fixpoint import BulkOptions, BulkStats, fixpoint
from tidelog.backends.spark.cluster import frames
from tidelog.backends.spark.cluster.jobs import Jobs
from tidelog.backends.spark.cluster.session import close, session
from tidelog.language.parser import parse
from tidelog.planning.lowering import lower

RESULTS = Path(__file__).parent / "results" / "spark_counts.json"


def run(spark: SparkSession, rules: str, rows, shards: int, options: BulkOptions) -> tuple[BulkStats, int]:
    """The statistics of a bulk run, and the bytes that Spark wrote for its exchanges."""
    (stage,) = lower(parse(rules).rules).stages
    facts = {name: frames.of_ids(spark, table << 2).localCheckpoint() for name, table in rows.items()}
    below = {name: frame for name, frame in facts.items() if name not in stage.relations}
    own = {name: frame for name, frame in facts.items() if name in stage.relations}
    sizes = {name: len(table) for name, table in rows.items()}
    before = shuffled_bytes(spark)
    done = fixpoint(Jobs(spark), stage, below, own, partitions=shards, sizes=sizes, options=options)
    assert done is not None
    frames.release(done.kept)
    return done.stats, shuffled_bytes(spark) - before


def shuffled_bytes(spark: SparkSession) -> int:
    """What all executors so far have written for exchanges, as Spark counts it."""
    context = spark.sparkContext._jsc.sc()
    context.listenerBus().waitUntilEmpty()
    return sum(one.totalShuffleWrite() for one in _listed(context.statusStore().executorList(False)))


def _listed(sequence):
    return [sequence.apply(at) for at in range(sequence.size())]


def predicted(facts: int, derivations: int, shards: int) -> int:
    """Facts exchanged if the shards that derive a fact are independent of its home: F (S - 1) (1 - (1 - 1/S)^k)."""
    each = derivations / facts
    return round(facts * (shards - 1) * (1 - (1 - 1 / shards) ** each))


def main() -> None:
    """Count for 1, 2, 4 and 8 shards."""
    spark = session("local[2]", app="tidelog-counts")
    rows = []
    for shards in (1, 2, 4, 8):
        stats, written = run(spark, CLOSURE, random_graph(300, 3000), shards, BulkOptions(small=0))
        derivations = sum(number for key, number in stats.derivations.items() if ", v2), p(" in key)
        rows.append({"case": "closure, edges partitioned", "predicted": predicted(90_000, derivations, shards)})
        rows[-1] |= _figures(stats, shards, written)
        stats, written = run(spark, RDFS, lubm(1), shards, BulkOptions())
        rows.append({"case": "lubm1", **_figures(stats, shards, written)})
        print(json.dumps(rows[-2:]), flush=True)
        RESULTS.write_text(json.dumps(rows, indent=1) + "\n")
    close(spark)


def _figures(stats: BulkStats, shards: int, written: int) -> dict[str, object]:
    return {
        "shards": shards,
        "rounds": stats.rounds,
        "distributed": stats.distributed,
        "exchanged": stats.exchanged,
        "bytes": stats.bytes_exchanged,
        "written by Spark": written,
        "largest share of facts": round(max(stats.facts) / sum(stats.facts), 3),
        "largest share of work": round(max(stats.work) / sum(stats.work), 3),
    }


if __name__ == "__main__":
    main()

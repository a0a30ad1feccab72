"""Small updates against five million facts on Spark, beside recomputation on Spark.

What      : LUBM-like data (forty copies, four million facts in, five million with what follows) in the engine on
            Spark; a stream of updates, each deleting five facts and inserting five; the seconds of every update.
Idea      : two yardsticks. The engine itself with the strategy `recompute` gives the same answer, facts and changes.
            The bare bulk path over facts that are on Spark and encoded finds out nothing about changes: the least that
            a recomputation could cost.
Invariant : at the end the engine has as many facts as recomputation over the explicit facts finds.
"""

from __future__ import annotations

from statistics import median

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

import tidelog as tl
from benchmarks.spark_cases import by_bulk, say
from benchmarks.spark_data import RDFS, lubm
from benchmarks.spark_measure import measured
from tidelog.backends.spark.cluster import frames

CHANGED = 5
Triples = list[tuple[int, int, int]]


def stream(spark: SparkSession, copies: int = 40, updates: int = 200) -> dict[str, object]:
    """Build, follow the stream, recompute, and compare."""
    rows = lubm(copies)["t"]
    frame = spark.createDataFrame(pa.table({f"c{at}": rows[:, at] for at in range(3)}))
    engine = tl.Engine(RDFS, backend="spark", spark=spark)
    _, built = measured(lambda: engine.apply(insert={"t": frame}))
    say(f"    stream: {len(engine['t']):,} facts from {len(rows):,} in {built['seconds']} s, {built['cpu']} cpu s")
    figures, jobs = [], []
    present = {tuple(row) for row in rows.tolist()}
    for number, (delete, insert) in enumerate(changes(rows, updates), 1):
        present.difference_update(delete)
        present.update(insert)
        change, one = measured(lambda d=delete, i=insert: engine.apply(delete={"t": d}, insert={"t": i}))  # type: ignore[misc]
        figures.append(one)
        jobs.append(change.stats.jobs)
        if number % 20 == 0:
            say(f"    stream: update {number}, median {median(each['seconds'] for each in figures[-20:]):.3f} s")
    again = [recompute(spark, present) for _ in range(2)]
    assert {count for count, _ in again} == {len(engine["t"])}, "the stream and recomputation disagree"
    found = report(
        len(rows), len(engine["t"]), built, figures, jobs, min((f for _, f in again), key=lambda f: f["cpu"])
    )
    engine.strategy = "recompute"
    _, whole = measured(lambda: engine.apply(delete={"t": [rows[-1].tolist()]}))
    say(f"    stream: an update by recomputation {whole['seconds']} s, {whole['cpu']} cpu s")
    usual = {unit: median(one[unit] for one in figures[10:]) for unit in ("seconds", "cpu")}
    found["update by recomputation"] = whole
    found["update by recomputation / update"] = {unit: round(whole[unit] / usual[unit], 1) for unit in usual}
    return found


def changes(rows: np.ndarray, updates: int) -> list[tuple[Triples, Triples]]:
    """What every update deletes (facts of the beginning, none twice) and inserts (facts about new things)."""
    chosen = np.random.default_rng(5)
    data = rows[rows[:, 1] > 4]
    gone = data[chosen.choice(len(data), (updates, CHANGED), replace=False)]
    models = data[chosen.choice(len(data), (updates, CHANGED))]
    fresh = models.copy()
    fresh[:, :, 0] = rows.max() + 1 + np.arange(updates * CHANGED).reshape(updates, CHANGED)
    return [([*map(tuple, one.tolist())], [*map(tuple, two.tolist())]) for one, two in zip(gone, fresh)]


def recompute(spark: SparkSession, present: set[tuple[int, ...]]) -> tuple[int, dict[str, float]]:
    """Everything from the explicit facts, by bulk work."""
    rows = np.array(sorted(present), np.int64)
    facts = frames.of_ids(spark, rows << 2).localCheckpoint()

    def derive() -> int:
        return by_bulk(spark, RDFS, {"t": facts}, {"t": len(rows)})[0]["t"].count()

    found, figures = measured(derive)
    frames.release(facts)
    say(f"    stream: recomputation {figures['seconds']} s, {figures['cpu']} cpu s")
    return found, figures


def report(
    given: int,
    facts: int,
    built: dict[str, float],
    figures: list[dict[str, float]],
    jobs: list[int],
    again: dict[str, float],
) -> dict[str, object]:
    """The figures of the stream; the first ten updates, in which the driver meets the data, do not count."""
    usual = {unit: round(median(one[unit] for one in figures[10:]), 3) for unit in ("seconds", "cpu")}
    at = {place: _around(figures, place) for place in (20, 50, 100, 200) if place <= len(figures)}
    return {
        "facts in": given,
        "facts": facts,
        "updates": len(figures),
        "changed per update": 2 * CHANGED,
        "materialisation": built,
        "recomputation": again,
        "update": usual,
        "recomputation / update": {unit: round(again[unit] / max(usual[unit], 0.001), 1) for unit in usual},
        "around update": at,
        "jobs": {"median": median(jobs[10:]), "largest": max(jobs[10:])},
        "seconds": [one["seconds"] for one in figures],
        "cpu": [one["cpu"] for one in figures],
    }


def _around(figures: list[dict[str, float]], place: int) -> dict[str, float]:
    """The median of the twenty updates up to a place."""
    chosen = figures[max(place - 20, 0) : place]
    return {unit: round(median(one[unit] for one in chosen), 3) for unit in ("seconds", "cpu")}

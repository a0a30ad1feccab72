"""Bulk work on Spark beside other ways of doing the same: `make bench-spark`.

What      : closure, LUBM-like data of growing size and rule set 2, by our bulk path, the engine on Spark, a
            hand-written DataFrame loop, recursive SQL where it works, and the local backend; ratios, JSON and a
            picture.
Idea      : every contender runs in one session on the same data, after a warm-up of its own; ratios of times measured
            side by side in one run are robust on a shared machine, processor seconds more so.
Invariant : contenders must agree on the number of facts, or the run fails.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

import tidelog as tl
from benchmarks import spark_loops
from benchmarks.spark_measure import measured
from tidelog.backends.spark import frames
from tidelog.backends.spark.bulk import BulkStats, fixpoint
from tidelog.backends.spark.jobs import Jobs
from tidelog.backends.spark.session import close, session
from tidelog.language.parser import parse
from tidelog.language.read import read_program
from tidelog.planning.lowering import lower

HERE = Path(__file__).parent
RESULTS = HERE / "results"
CLOSURE = "p(x, y) :- e(x, y). p(x, z) :- e(x, y), p(y, z)."
RDFS = """
    t(a, 0, c) :- t(a, 0, b), t(b, 0, c).      t(a, 1, c) :- t(a, 1, b), t(b, 1, c).
    t(x, 4, d) :- t(x, 4, c), t(c, 0, d).      t(x, q, y) :- t(x, p, y), t(p, 1, q).
    t(x, 4, c) :- t(x, p, y), t(p, 2, c).      t(y, 4, c) :- t(x, p, y), t(p, 3, c).
"""
Data = dict[str, np.ndarray]


def random_graph(nodes: int, edges: int) -> Data:
    """Distinct random edges."""
    codes = np.random.default_rng(1).choice(nodes * nodes, edges, replace=False)
    return {"e": np.column_stack([codes // nodes, codes % nodes]).astype(np.int64)}


def acyclic_graph(nodes: int, edges: int) -> Data:
    """Random edges from smaller to larger numbers, so that recursive SQL ends."""
    found = random_graph(nodes, edges)["e"]
    return {"e": np.array(sorted({(int(min(x, y)), int(max(x, y))) for x, y in found if x != y}), np.int64)}


def lubm(copies: int) -> Data:
    """LUBM(1) so many times: one schema, and copies of the data with names of their own."""
    schema = np.loadtxt(HERE / "data" / "lubm1" / "tbox.tsv", dtype=np.int64)
    with gzip.open(HERE / "data" / "lubm1" / "abox.tsv.gz") as file:
        data = np.loadtxt(file, dtype=np.int64)
    shared = np.isin(data, schema) | (np.arange(3) == 1)
    step = int(max(data.max(), schema.max())) + 1
    parts = [np.where(shared, data, data + copy * step) for copy in range(copies)]
    return {"t": np.vstack([schema, *parts])}


def rule_set_2(nodes: int) -> Data:
    """Blocks of twenty nodes, so that closures are cliques of that size."""
    chosen = np.random.default_rng(2)

    def pairs(count: int) -> np.ndarray:
        left = chosen.integers(0, nodes, count)
        right = left // 20 * 20 + chosen.integers(0, 20, count)
        return np.array(sorted({*zip(left.tolist(), right.tolist())}), np.int64)

    return {"p1": pairs(2 * nodes), "p2": pairs(2 * nodes), "p3": pairs(nodes), "p5": pairs(nodes)}


Frames = dict[str, DataFrame]


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

    def run(self, contenders: list[str], repeat: int) -> dict[str, object]:
        """Run every contender; the best of some runs counts."""
        counts = set()
        for contender in contenders:
            runs = [measured(getattr(self, contender)) for _ in range(repeat)]
            counts.update(count for count, _ in runs)
            best = min((figures for _, figures in runs), key=lambda figures: figures["cpu"])
            self.row[contender] = best
            print(f"{self.name:>14} {contender:>8} {best['seconds']:8.2f} s {best['cpu']:8.2f} cpu s", flush=True)
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


def draw(rows: list[dict], target: Path) -> None:
    """Processor seconds of every contender, by case."""
    import matplotlib as mpl

    mpl.use("svg")
    import matplotlib.pyplot as plt

    contenders = ("bulk", "engine", "loop", "local")
    figure, axes = plt.subplots(figsize=(8, 4))
    for at, contender in enumerate(contenders):
        places = [number + at * 0.2 for number, row in enumerate(rows) if contender in row]
        axes.bar(places, [row[contender]["cpu"] for row in rows if contender in row], 0.2, label=contender)
    axes.set_xticks([number + 0.3 for number in range(len(rows))], [row["case"] for row in rows])
    axes.set_yscale("log")
    axes.set_ylabel("processor seconds")
    axes.legend()
    figure.savefig(target, bbox_inches="tight", metadata={"Date": None})


def main() -> None:
    """Run all cases, or those named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", default="closure,lubm1,lubm3,rs2,sql")
    parser.add_argument("--contenders", default="bulk,loop,local,engine")
    parser.add_argument("--cores", default="2")
    parser.add_argument("--master", default=None)
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--out", type=Path, default=RESULTS / "spark.json")
    options = parser.parse_args()
    master = options.master or f"local[{options.cores}]"
    spark = session(master, app="tidelog-bench", options={"spark.sql.shuffle.partitions": options.cores})
    rs2 = Path("tests/programs/zodiacedge/rs2/program.dl").read_text()
    assert read_program("tests/programs/zodiacedge/rs2/program.dl").rules
    cases = {
        "closure": lambda: Case(spark, "closure", CLOSURE, random_graph(1000, 10_000), spark_loops.closure),
        "rs2": lambda: Case(spark, "rs2", rs2, rule_set_2(2000), spark_loops.rule_set_2),
        **{f"lubm{n}": (lambda n=n: Case(spark, f"lubm{n}", RDFS, lubm(n), spark_loops.rdfs)) for n in (1, 3, 10, 40)},
    }
    warm = Case(spark, "warm-up", CLOSURE, random_graph(50, 100), spark_loops.closure)
    warm.run(options.contenders.split(","), 1)
    rows: list[dict[str, object]] = []
    options.out.parent.mkdir(exist_ok=True)
    for name in options.cases.split(","):
        rows.append(
            recursive_sql(spark) if name == "sql" else cases[name]().run(options.contenders.split(","), options.repeat)
        )
        options.out.write_text(json.dumps({"master": master, "rows": rows}, indent=1) + "\n")
    draw([row for row in rows if "loop" in row], options.out.with_suffix(".svg"))
    close(spark)


if __name__ == "__main__":
    main()

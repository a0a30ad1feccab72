"""The Spark backend beside other ways of doing the same: `make bench-spark`.

What      : all contenders of spark_cases.py on closure, LUBM-like data of growing size and rule set 2; recursive SQL;
            the stream of spark_stream.py; bills of materials of some sizes (spark_size.py); bulk work on one core, two
            cores and two executors. A table on stdout, `results/spark.json` and `results/spark.svg`.
Idea      : a part is a process of its own with a session of its own; within a part everything is measured side by
            side.
Invariant : results are written after every part, so that a run that is stopped leaves what it has measured.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.spark_cases import CONTENDERS, case, recursive_sql, say, warm_up
from benchmarks.spark_measure import peak_bytes
from benchmarks.spark_report import draw, lines
from benchmarks.spark_stream import stream
from tidelog.backends.spark.cluster.session import close, session

RESULTS = Path(__file__).parent / "results" / "spark.json"
CASES = ("closure", "lubm1", "lubm5", "lubm10", "lubm20", "rs2", "sql")
MASTERS = {"1 core": "local[1]", "2 cores": "local[2]", "2 executors": "local-cluster[2,1,1024]"}
PARTS = ("contenders", "stream", "size", *MASTERS)


def contenders(names: list[str]) -> list[dict[str, object]]:
    """Every case with every contender."""
    spark = session("local[2]", app="tidelog-bench", options={"spark.sql.shuffle.partitions": "2"})
    warm_up(spark, CONTENDERS)
    rows = [recursive_sql(spark) if name == "sql" else case(spark, name).run(CONTENDERS, 2) for name in names]
    close(spark)
    return rows


def updates() -> dict[str, object]:
    """The stream of small updates."""
    options = {"spark.sql.shuffle.partitions": "2", "spark.driver.memory": "4g"}
    spark = session("local[2]", app="tidelog-bench", options=options)
    warm_up(spark, ["bulk"])
    found = stream(spark)
    close(spark)
    return found


def cores(master: str) -> dict[str, object]:
    """Bulk work alone on a master: seconds, and the most memory that all its processes held, by core."""
    count = 1 if master == "local[1]" else 2
    spark = session(master, app="tidelog-bench", options={"spark.sql.shuffle.partitions": str(count)})
    warm_up(spark, ["bulk"])
    rows = [case(spark, name).run(["bulk"], 3) for name in ("closure", "lubm10")]
    found = {"master": master, "rows": rows, "megabytes per core": round(peak_bytes() / count / 2**20)}
    close(spark)
    return found


def part(name: str, cases: list[str]) -> object:
    """One part of the benchmark, in this process."""
    if name == "contenders":
        return contenders(cases)
    return updates() if name == "stream" else cores(MASTERS[name])


def _printed(command: list[str]) -> Any:
    """The last line that another process prints, as JSON."""
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    """Run all parts, or those named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", nargs="*", default=list(PARTS), choices=PARTS)
    parser.add_argument("--cases", nargs="*", default=list(CASES))
    parser.add_argument("--sizes", nargs="*", default=["1000000", "5000000"], help="of the part `size`")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--part", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part:
        print(json.dumps(part(options.part, options.cases)))
        return
    found: dict[str, Any] = json.loads(options.out.read_text()) if options.out.exists() else {}
    found = {name: found[name] for name in PARTS if name in found}
    for name in options.parts:
        say(f"--- {name}")
        command = [sys.executable, "-m", "benchmarks.spark", "--part", name, "--cases", *options.cases]
        if name == "size":
            for size in options.sizes:
                found[name] = _printed([sys.executable, "-m", "benchmarks.spark_size", size])
        else:
            found[name] = _printed(command)
        found["load"] = {**found.get("load", {}), name: round(os.getloadavg()[1], 1)}
        options.out.write_text(json.dumps(found, indent=1) + "\n")
    print("\n".join(lines(found)))
    draw(found, options.out.with_suffix(".svg"))


if __name__ == "__main__":
    main()

"""The pipeline at the size of Spark: a bill of materials, a state, a sink, and an update of ten facts per version.

What      : `python -m benchmarks.pipeline.at_size 5000000` runs `tidelog run` with `backend = "spark"` over the files
            of benchmarks/spark_size.py and a hundred files of updates; prints and stores what a version takes.
Idea      : `spark_size` asks the engine; here Spark's stream, the state and a sink of Parquet files are on the way, as
            they are for those who run pipelines.
Invariant : the same size gives the same files. Nothing is asserted: a shared machine proves no time.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.pipeline.big import figures, run
from benchmarks.spark_size import RULES

RESULTS = Path(__file__).parents[1] / "results" / "pipeline_at_size.json"
UPDATES = 100
PIPELINE = """
program = "rules.dl"
state = "state"
[sources.part]
format = "parquet"
path = "data/part"
[sources.price]
format = "parquet"
path = "data/price"
[updates]
path = "updates"
every = 0.2
[[sinks]]
format = "parquet"
path = "changes"
[engine]
backend = "spark"
[spark]
master = "local[2]"
memory = "8g"
options = { "spark.sql.shuffle.partitions" = "2" }
"""


def main() -> None:
    """Write the files, run the pipeline to their end, and note the figures of that size."""
    explicit = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory(prefix="tidelog-at-size-") as name:
        folder = Path(name)
        write(folder, explicit)
        found = figures(run(folder))
    known: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    RESULTS.write_text(json.dumps({**known, str(explicit): found}, indent=1) + "\n")
    print(json.dumps(found, indent=1))


def write(folder: Path, explicit: int) -> None:
    """Facts, rules, a pipeline, and updates in each of which five facts come and five go."""
    command = [sys.executable, "-m", "benchmarks.spark_size", str(explicit), str(folder / "data"), "files"]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    (folder / "rules.dl").write_text(RULES)
    (folder / "pipeline.toml").write_text(PIPELINE)
    (folder / "updates").mkdir()
    chosen = random.Random(1)
    for number in range(UPDATES):
        roots = [chosen.randrange(explicit // 10 - 1) * 10 for _ in range(5)]
        come = [["part", f"part-{root:09d}", f"part-{root + 5:09d}", 9] for root in roots]
        gone = [
            ["part", f"part-{at:09d}", f"part-{at + 1 + at * 7919 % 2:09d}", at % 5]
            for at in (root + 3 for root in roots)
        ]
        update = json.dumps({"delete": gone, "insert": come})
        (folder / "updates" / f"{number:06}.jsonl").write_text(update + "\n")


if __name__ == "__main__":
    main()

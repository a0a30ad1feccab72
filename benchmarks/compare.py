"""Two versions of the source side by side: `python -m benchmarks.compare OLD [NEW] --runs 5`.

What      : every local workload from scratch, and small updates with every strategy, measured in turns with the sources
            of two work trees; a table of CPU medians and their ratio.
Idea      : a machine that is busy now and quiet later treats both alike if they take turns, each run in a process of
            its own; kernels are compiled before anything counts.
Invariant : the two trees are only read; each runs its own benchmarks over its own package, by the public interface.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median

WORKLOADS = ("rand1k", "rmat1k", "sparse200k", "dense1k", "lubm1", "rs2", "generation300k")
UPDATES = """
import json, time, statistics, tidelog as tl
found = {}
rules = "path(x, y) :- edge(x, y). path(x, z) :- edge(x, y), path(y, z). far(x) :- path(x, y), !edge(x, y)."
for strategy in ("dred", "bf", "counting", "recompute", "auto"):
    engine = tl.Engine(rules, strategy=strategy)
    engine.apply(insert={"edge": [(c * 10 + i, c * 10 + i + 1) for c in range(1000) for i in range(5)]})
    spans = {"delete": [], "insert": []}
    for number in range(120 if strategy == "recompute" else 500):
        fact = [(number * 10 + 2, number * 10 + 3)]
        for key in spans:
            started = time.process_time()
            engine.apply(**{key: {"edge": fact}})
            spans[key].append(time.process_time() - started)
    for key, times in spans.items():
        found[f"{key} one fact, {strategy}"] = statistics.median(times[20:])
print(json.dumps(found))
"""


def main(argv: list[str] | None = None) -> int:
    """Measure in turns and print the table."""
    parser = argparse.ArgumentParser(description="two versions of the source side by side")
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path, nargs="?", default=Path(__file__).parents[1])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", nargs="*", default=None, help="some workloads, or `updates`")
    given = parser.parse_args(argv)
    names = given.only if given.only is not None else [*WORKLOADS, "updates"]
    print(f"{'':32} {'old ms':>10} {'new ms':>10} {'new / old':>10}")
    for name in names:
        runs: dict[Path, list[dict[str, float]]] = {given.old: [], given.new: []}
        for _ in range(given.runs):
            for tree, found in runs.items():
                found.append(_measured(tree, name))
        for row in runs[given.old][0]:
            old, new = (median(run[row] for run in found) for found in runs.values())
            print(f"{row:32} {old * 1e3:10.3f} {new * 1e3:10.3f} {new / old:10.2f}", flush=True)
    return 0


def _measured(tree: Path, name: str) -> dict[str, float]:
    """CPU seconds by row, with the sources of one tree."""
    what = ["-c", UPDATES] if name == "updates" else ["-m", "benchmarks.local.measure", "tidelog", name]
    env = {**os.environ, "PYTHONPATH": str(tree / "src")}
    done = subprocess.run([sys.executable, *what], cwd=tree, env=env, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout.strip().splitlines()[-1])
    return found if name == "updates" else {name: found["cpu"]}


if __name__ == "__main__":
    sys.exit(main())

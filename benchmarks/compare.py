"""Two versions of the source side by side: `python -m benchmarks.compare OLD [NEW] --runs 5`.

What      : every local workload from scratch, small updates with every strategy, and the reports of
            `benchmarks.maintenance`, measured in turns with the sources of two work trees; a table of CPU medians and
            their ratio.
Idea      : a machine that is busy now and quiet later treats both alike if they take turns, each run in a process of
            its own; kernels are compiled before anything counts. All of it runs on one core: processor time of several
            threads says little about either version, and `benchmarks.threads` measures what they gain.
Invariant : the two trees are only read: each is copied, and the copy runs its own benchmarks over its own package.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

WORKLOADS = ("rand1k", "rmat1k", "sparse200k", "dense1k", "lubm1", "rs2", "generation300k")
REPORTS = ("deletions", "streams", "batches", "rules")
IN_SECONDS = ("seconds", "answering")
"""What reports call a time in seconds; all others are in milliseconds and say so."""
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
    parser.add_argument("--only", nargs="*", default=None, help="some workloads or reports, or `updates`")
    given = parser.parse_args(argv)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    names = given.only if given.only is not None else [*WORKLOADS, "updates", *REPORTS]
    print(f"{'':60} {'old ms':>10} {'new ms':>10} {'new / old':>10}")
    with tempfile.TemporaryDirectory() as folder:
        trees = [_copied(tree, Path(folder) / name) for tree, name in ((given.old, "old"), (given.new, "new"))]
        for name in names:
            _compare(trees, name, given.runs)
    return 0


def _compare(trees: list[Path], name: str, runs: int) -> None:
    """Print the rows of one workload or report: medians and their ratio."""
    for tree in trees:
        _measured(tree, name)  # compiles what is not compiled yet
    found = [[_measured(tree, name) for tree in trees] for _ in range(runs)]
    for row in found[0][0]:
        old, new = (median(run[at].get(row, float("nan")) for run in found) for at in (0, 1))
        ratio = new / old if old else float("nan")
        print(f"{row[-60:]:60} {old * 1e3:10.3f} {new * 1e3:10.3f} {ratio:10.2f}", flush=True)


def _copied(tree: Path, copy: Path) -> Path:
    """What runs of a tree, where its results may be written."""
    for part in ("src", "benchmarks", "tests"):
        shutil.copytree(tree / part, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


def _measured(tree: Path, name: str) -> dict[str, float]:
    """CPU seconds by row, with the sources of one tree."""
    what = ["-m", "benchmarks.local.measure", "tidelog", name]
    if name in REPORTS:
        what = ["-m", "benchmarks.maintenance", name]
    elif name == "updates":
        what = ["-c", UPDATES]
    env = {**os.environ, "PYTHONPATH": str(tree / "src"), "TIDELOG_KERNELS": "compiled"}
    done = subprocess.run([sys.executable, *what], cwd=tree, env=env, capture_output=True, text=True, check=True)
    if name in REPORTS:
        report = json.loads((tree / "benchmarks" / "results" / f"maintenance_{name}.json").read_text())
        return dict(_rows(report, name))
    found = json.loads(done.stdout.strip().splitlines()[-1])
    return found if name == "updates" else {name: found["cpu"]}


def _rows(part: Any, path: str) -> Iterator[tuple[str, float]]:
    """Every time in a report, in seconds, by the words that lead to it."""
    if isinstance(part, list):
        for number, item in enumerate(part):
            words = [value for value in item.values() if isinstance(value, str)] if isinstance(item, dict) else []
            yield from _rows(item, f"{path} {number} {' '.join(words)}")
    elif isinstance(part, dict):
        for key, value in part.items():
            if isinstance(value, int | float) and f" {key}".endswith((" ms", *IN_SECONDS)):
                yield f"{path} {key}", value / (1 if key in IN_SECONDS else 1e3)
            elif isinstance(value, dict | list):
                yield from _rows(value, f"{path} {key}")


if __name__ == "__main__":
    sys.exit(main())

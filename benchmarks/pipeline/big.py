"""A million facts, two hundred update files, and a process that is killed on the way.

What      : runs a pipeline undisturbed and once more with `kill -9` at random versions, and compares state, change
            feed and counts; prints and stores the figures.
Usage     : python -m benchmarks.pipeline.big [--facts N] [--updates N] [--kills N] [--out FILE]
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds

import tidelog as tl
from benchmarks.pipeline.world import updates, write_pipeline


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--facts", type=int, default=1_000_000)
    parser.add_argument("--updates", type=int, default=200)
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tidelog-big-") as folder:
        result = measure(Path(folder), args.facts, args.updates, args.kills, args.seed)
    text = json.dumps(result, indent=2)
    print(text)
    if args.out:
        args.out.write_text(text + "\n")
    return 0 if result["equal"] else 1


def measure(folder: Path, facts: int, count: int, kills: int, seed: int = 1) -> dict[str, Any]:
    """Both runs and their comparison."""
    calm, rough = folder / "calm", folder / "rough"
    write_pipeline(calm, facts)
    for number, update in enumerate(islice(updates(facts), count), 1):
        (calm / "updates" / f"{number:06}.jsonl").write_text(update + "\n")
    shutil.copytree(calm, rough)
    events = run(calm)
    draw = random.Random(seed)
    moments = sorted(draw.sample(range(1, count), kills))
    killed = 0
    for moment in moments:
        killed += run(rough, moment - killed)[-1]["event"] != "stopped"
    run(rough)
    return {**figures(events), "kills": killed, "at": moments, **compared(calm, rough)}


def run(folder: Path, kill_after: int | None = None) -> list[dict[str, Any]]:
    """Run to the end, or until so many versions are reported; gives the events."""
    command = [sys.executable, "-m", "tidelog", "run", str(folder / "pipeline.toml"), "--once", "--json"]
    events = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout or ():
            events.append({**json.loads(line), "at": time.monotonic()})
            if kill_after is not None and sum(event["event"] == "batch" for event in events) >= kill_after:
                process.kill()
                break
    if kill_after is None and process.returncode:
        raise SystemExit(f"the run failed with exit code {process.returncode}")
    return events


def figures(events: list[dict[str, Any]]) -> dict[str, Any]:
    """Counts and latencies of an undisturbed run."""
    batches = [event for event in events if event["event"] == "batch"]
    whole = np.array([event["seconds"] for event in batches]) * 1000
    inner = np.array([event["maintenance"] for event in batches]) * 1000
    loaded = next(event for event in events if event["event"] == "loaded")
    return {
        "facts": loaded["facts"],
        "versions": batches[-1]["version"],
        "load_seconds": round(loaded["seconds"], 1),
        "total_seconds": round(events[-1]["at"] - events[0]["at"], 1),
        "maintenance_ms": {
            "median": round(float(np.median(inner)), 2),
            "p95": round(float(np.quantile(inner, 0.95)), 2),
        },
        "version_ms": {"median": round(float(np.median(whole)), 1), "p95": round(float(np.quantile(whole, 0.95)), 1)},
    }


def compared(calm: Path, rough: Path) -> dict[str, Any]:
    """Whether two runs ended alike: states, feeds, and feed against state."""
    engines = [tl.Engine.open(folder / "state") for folder in (calm, rough)]
    feeds = [feed(folder / "changes") for folder in (calm, rough)]
    sizes = [{name: len(engine[name]) for name in engine.relations} for engine in engines]
    engines[1].verify()
    summed = feeds[1].group_by(["relation", "values"]).aggregate([("sign", "sum")])
    left = summed.filter(pa.compute.not_equal(summed["sign_sum"], 0))
    counted = {row["values"]: row["counts"] for row in pa.compute.value_counts(left["relation"]).to_pylist()}
    return {
        "versions_equal": engines[0].version == engines[1].version,
        "sizes_equal": sizes[0] == sizes[1],
        "feeds_equal": feeds[0].equals(feeds[1]),
        "feed_is_state": counted == {name: size for name, size in sizes[1].items() if size},
        "equal": engines[0].version == engines[1].version and sizes[0] == sizes[1] and feeds[0].equals(feeds[1])
        and counted == {name: size for name, size in sizes[1].items() if size},
        "feed_rows": feeds[1].num_rows,
    }  # fmt: skip


def feed(folder: Path) -> pa.Table:
    """A published change feed in a fixed order, with signs."""
    table = ds.dataset(folder, format="parquet", partitioning="hive", exclude_invalid_files=True).to_table(
        columns=["version", "relation", "values", "op"]
    )
    signs = pa.compute.if_else(pa.compute.equal(table["op"], "insert"), 1, -1)
    keys = [(name, "ascending") for name in ("version", "relation", "values")]
    return table.drop_columns(["op"]).append_column("sign", signs).sort_by(keys).combine_chunks()


if __name__ == "__main__":
    raise SystemExit(main())

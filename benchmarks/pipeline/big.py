"""A million facts, two hundred update files, and a process that is killed on the way.

What      : runs a pipeline undisturbed and once more with `kill -9` at random moments, and compares state, change
            feed and counts; prints and stores the figures.
Idea      : a moment is drawn as a version and a delay after it, so that the kills are spread over the whole run and
            still fall anywhere: between two steps of a version, inside a file, inside Spark.
Usage     : python -m benchmarks.pipeline.big [--facts N] [--updates N] [--kills N] [--out FILE]
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import signal
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
    moments = [(version, draw.uniform(0, 1)) for version in sorted(draw.sample(range(2, count * 9 // 10), kills))]
    kills_at = [kill["version"] for kill in (run(rough, *moment)[-1] for moment in moments) if "killed" in kill]
    run(rough)
    return {**figures(events), "updates": count, "kills": len(kills_at), "killed_at": kills_at, **compared(calm, rough)}


def run(folder: Path, version: int | None = None, delay: float = 0.0) -> list[dict[str, Any]]:
    """Run to the end, or a number of seconds beyond the report of a version; gives the events, a kill as the last."""
    command = [sys.executable, "-m", "tidelog", "run", str(folder / "pipeline.toml"), "--once", "--json"]
    events: list[dict[str, Any]] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout or ():
            events.append({**json.loads(line), "at": time.monotonic()})
            if version is not None and events[-1]["event"] == "batch" and events[-1]["version"] >= version:
                time.sleep(delay)
                process.kill()
                events += [json.loads(line) for line in process.stdout or () if line.endswith("}\n")]
    if process.returncode == -signal.SIGKILL:
        return [*events, {"killed": True, "version": max(event.get("version", 0) for event in events)}]
    if process.returncode:
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
    """Whether two runs ended alike: versions, facts, feeds, and feed against state."""
    engines = [tl.Engine.open(folder / "state") for folder in (calm, rough)]
    feeds = [feed(folder / "changes") for folder in (calm, rough)]
    engines[1].verify()
    summed = feeds[1].group_by(["relation", "values"]).aggregate([("sign", "sum")])
    left = summed.filter(pa.compute.not_equal(summed["sign_sum"], 0))
    counted = {row["values"]: row["counts"] for row in pa.compute.value_counts(left["relation"]).to_pylist()}
    sizes = {name: len(engines[1][name]) for name in engines[1].relations if len(engines[1][name])}
    found = {
        "versions_equal": engines[0].version == engines[1].version,
        "facts_equal": _facts(engines[0]) == _facts(engines[1]),
        "feeds_equal": feeds[0].equals(feeds[1]),
        "feed_is_state": counted == sizes,
    }
    return {**found, "equal": all(found.values()), "feed_rows": feeds[1].num_rows}


def _facts(engine: tl.Engine) -> dict[str, pa.Table]:
    """Every fact, in a fixed order."""
    tables = {name: engine[name].to_arrow() for name in engine.relations}
    return {
        name: table.sort_by([(column, "ascending") for column in table.column_names]).combine_chunks()
        for name, table in tables.items()
    }


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

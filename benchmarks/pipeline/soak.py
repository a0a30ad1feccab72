"""Half an hour of following: is it the same at the end as at the beginning?

What      : runs a pipeline without `--once`, drops an update file every moment, and records latency, memory and files
            every minute; stops it by SIGTERM, and compares the last third with the second.
Idea      : the pipeline forgets old versions (`keep_versions`), as one that runs for ever has to;
            updates bring and take deliveries among the same companies, so that the facts stay as many as they are.
Usage     : python -m benchmarks.pipeline.soak [--minutes 30] [--facts N] [--every SECONDS] [--out FILE]
            writes FILE and, beside it, a picture.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from statistics import median
from typing import Any

import tidelog as tl
from benchmarks.pipeline.world import updates, write_pipeline

KEPT = 200
"""The number of versions that the pipeline keeps."""
MEMORY_GROWTH, LATENCY_GROWTH = 1.25, 1.5
"""How much more the last third may use than the second: machines are shared, leaks are not."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--facts", type=int, default=100_000)
    parser.add_argument("--every", type=float, default=0.5, help="seconds between updates")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tidelog-soak-") as folder:
        result = soak(Path(folder), args.minutes, args.facts, args.every)
    text = json.dumps(result, indent=2)
    print(text)
    if args.out:
        args.out.write_text(text + "\n")
        draw(result, args.out.with_suffix(".svg"))
    return 0 if result["is_flat"] and result["exit_code"] == 0 else 1


def soak(folder: Path, minutes: float, facts: int, every: float) -> dict[str, Any]:
    """The whole run and its figures."""
    place = folder / "p"
    write_pipeline(place, facts, memory="1g", keep_versions=KEPT)
    command = [sys.executable, "-m", "tidelog", "run", str(place / "pipeline.toml"), "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        events: list[dict[str, Any]] = []
        reader = threading.Thread(target=_read, args=(process, events), daemon=True)
        reader.start()
        while process.poll() is None and not any(event["event"] == "loaded" for event in events):
            time.sleep(0.2)
        samples = _feed(process, place, events, facts, minutes, every)
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=300)
        reader.join(timeout=10)
    engine = tl.Engine.open(place / "state")
    engine.verify()
    return {"exit_code": process.returncode, "versions": engine.version, "samples": samples, **verdict(samples)}


def verdict(samples: list[dict[str, float]]) -> dict[str, Any]:
    """Whether the last third is like the second; the first is warm-up."""
    third = max(len(samples) // 3, 1)
    middle, last = samples[third : 2 * third] or samples, samples[-third:]
    growth = {
        name: round(median(one[name] for one in last) / max(median(one[name] for one in middle), 1e-9), 3)
        for name in ("python_mb", "java_mb", "latency_ms")
    }
    is_flat = max(growth["python_mb"], growth["java_mb"]) <= MEMORY_GROWTH and growth["latency_ms"] <= LATENCY_GROWTH
    return {"growth": growth, "is_flat": is_flat}


def _feed(
    process: subprocess.Popen[str], place: Path, events: list[dict[str, Any]], facts: int, minutes: float, every: float
) -> list[dict[str, float]]:
    """Drop files into the folder and take a sample every minute, or ten of them in all if that is less."""
    source = updates(facts)
    started = sampled = time.monotonic()
    step = min(60.0, minutes * 6)
    samples, seen, number = [], 0, 0
    while process.poll() is None and time.monotonic() - started < minutes * 60:
        number += 1
        partial = place / f"{number:08}.partial"
        partial.write_text(next(source) + "\n")
        partial.rename(place / "updates" / f"{number:08}.jsonl")
        time.sleep(every)
        if time.monotonic() - sampled >= step:
            sampled = time.monotonic()
            batches = [event for event in events if event["event"] == "batch"]
            fresh = [event["seconds"] * 1000 for event in batches[seen:]] or [0.0]
            seen = len(batches)
            counts = {"minute": round((sampled - started) / 60, 2), "versions": seen, "behind": number - seen}
            latency = {"latency_ms": round(median(fresh), 2), "worst_ms": round(max(fresh), 2)}
            samples.append({**counts, **latency, **_memory(process.pid), **_files(place / "state")})
            print(samples[-1], file=sys.stderr, flush=True)
    return samples


def _memory(pid: int) -> dict[str, float]:
    """Megabytes of the process and of the Java process that it started."""
    found = {"python_mb": _resident(pid), "java_mb": 0.0}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = stat.read_text().partition("(")[2].rpartition(")")
            if name == "java" and int(rest.split()[1]) == pid:
                found["java_mb"] = _resident(int(stat.parent.name))
        except OSError:  # it ended meanwhile
            continue
    return found


def _files(state: Path) -> dict[str, float]:
    """How many files the state has and how large they are, what Spark remembers of the stream included."""
    sizes = [stat.st_size for path in state.rglob("*") if (stat := _stat(path)) and path.is_file()]
    return {"files": len(sizes), "state_mb": round(sum(sizes) / 2**20, 1)}


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:  # it was removed meanwhile
        return None


def draw(result: dict[str, Any], file: Path) -> None:
    """Memory and latency over time."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    samples = result["samples"]
    minutes = [one["minute"] for one in samples]
    figure, (memory, latency, files) = plt.subplots(3, 1, figsize=(8, 7), sharex=True, layout="constrained")
    for name, label in (("python_mb", "Python"), ("java_mb", "Java (Spark)")):
        memory.plot(minutes, [one[name] for one in samples], label=label)
    memory.set_ylabel("resident memory, MB")
    for name, label in (("latency_ms", "median of the minute"), ("worst_ms", "worst of the minute")):
        latency.plot(minutes, [one[name] for one in samples], label=label)
    latency.set_ylabel("latency of a version, ms")
    latency.set_yscale("log")
    files.plot(minutes, [one["files"] for one in samples], label="files of the state")
    files.set_ylabel("files")
    files.set_xlabel("minutes")
    for axes in (memory, files):
        axes.set_ylim(bottom=0)
    for axes in (memory, latency, files):
        axes.grid(alpha=0.3)
        axes.legend()
    figure.suptitle(f"{result['versions']:,} versions in {minutes[-1]:.0f} minutes")
    figure.savefig(file)
    plt.close(figure)


def _resident(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return round(int(line.split()[1]) / 1024, 1)


def _read(process: subprocess.Popen[str], events: list[dict[str, Any]]) -> None:
    events.extend(json.loads(line) for line in process.stdout or ())


if __name__ == "__main__":
    raise SystemExit(main())

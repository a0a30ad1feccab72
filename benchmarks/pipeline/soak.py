"""Half an hour of following: is it the same at the end as at the beginning?

What      : runs a pipeline without `--once`, drops an update file every moment, and records latency and memory every
            minute; stops it by SIGTERM, and compares the last third with the second.
Usage     : python -m benchmarks.pipeline.soak [--minutes 30] [--facts N] [--every SECONDS] [--out FILE]
"""

from __future__ import annotations

import argparse
import json
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
    return 0 if result["is_flat"] and result["exit_code"] == 0 else 1


def soak(folder: Path, minutes: float, facts: int, every: float) -> dict[str, Any]:
    """The whole run and its figures."""
    place = folder / "p"
    write_pipeline(place, facts)
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
            samples.append({**counts, "latency_ms": round(median(fresh), 2), **_memory(process.pid)})
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


def _resident(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return round(int(line.split()[1]) / 1024, 1)


def _read(process: subprocess.Popen[str], events: list[dict[str, Any]]) -> None:
    events.extend(json.loads(line) for line in process.stdout or ())


if __name__ == "__main__":
    raise SystemExit(main())

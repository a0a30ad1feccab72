"""Run long tiers and leave records: `python -m tests.records interrupts kills --minutes 25`.

What      : runs the steps of the named tiers (all of them if none is named), one after the other, and keeps one JSON
            record for each beside this file: which source it ran on, what was done, what failed.
Idea      : a step is a process of its own, so that a crash is a failure and not the end of the run. The record is
            written anew after each step: a command that is stopped, or given few minutes, goes on later.
Invariant : a record is about one source, named by the tree of `src` in git and the commit it was taken from; with
            another source, or with changes that are not committed, a tier begins again. A failure stops no tier; the
            exit code is 1 if a record has one.
Never     : nothing about the machine is written but how many seconds it took.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from tests.records.tiers import TIERS

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
LONGEST = 1_800
"""Seconds after which a step counts as hanging."""


def source() -> dict[str, str]:
    """The commit, and the tree of `src` there; both say so if there are changes that no commit has."""

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()

    changed = "+changes" if git("status", "--porcelain", "--", "src") else ""
    return {"commit": git("rev-parse", "HEAD") + changed, "src": git("rev-parse", "HEAD:src") + changed}


def begun(name: str, now: dict[str, str], *, again: bool, folder: Path = HERE) -> dict[str, Any]:
    """The record of a tier as far as it has come on this source, or a new one."""
    tier, path = TIERS[name], folder / f"{name}.json"
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() and not again else {}
    if known.get("src") == now["src"] and "+" not in now["src"]:
        return dict(known)
    of = {"tier": name, "figure": tier.figure, "asks": tier.asks, **now}
    return {**of, "steps": 0, "of": tier.steps, "done": {}, "failures": [], "seconds": 0}


def step(name: str, number: int) -> tuple[Counter[str], str | None]:
    """Do one step in a process of its own; what it did, and what went wrong."""
    command = [sys.executable, "-X", "faulthandler", "-m", "tests.records.tiers", name, str(number)]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=LONGEST)
    except subprocess.TimeoutExpired:
        return Counter(), f"not done after {LONGEST} seconds"
    if done.returncode:
        said = (done.stdout + done.stderr).replace(str(ROOT), "")
        return Counter(), f"exit code {done.returncode}: {said[-2_000:]}"
    return Counter(json.loads(done.stdout.splitlines()[-1])), None


def run(name: str, seconds: float, *, again: bool, folder: Path = HERE) -> dict[str, Any]:
    """Do steps of a tier until it is complete or the time is over; its record."""
    record, began = begun(name, source(), again=again, folder=folder), time.monotonic()
    while record["steps"] < record["of"] and time.monotonic() - began < seconds:
        started = time.monotonic()
        did, failure = step(name, record["steps"])
        if failure is not None:
            record["failures"].append({"step": record["steps"], "said": failure})
        record["done"] = dict(Counter(record["done"]) + did)
        record["steps"] += 1
        record["seconds"] = round(record["seconds"] + time.monotonic() - started, 1)
        (folder / f"{name}.json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
        told = ", ".join(f"{count:,} {what}" for what, count in record["done"].items())
        print(f"{name} {record['steps']}/{record['of']}: {told}; {len(record['failures'])} failures", flush=True)
    return record


def main() -> int:
    """Run the tiers that are named."""
    parser = argparse.ArgumentParser(prog="python -m tests.records", description=__doc__.partition("\n")[0])
    parser.add_argument("tiers", nargs="*", metavar="TIER", help=f"of {', '.join(TIERS)} (default: all)")
    parser.add_argument("--minutes", type=float, default=60, help="for each tier (default: %(default)s)")
    parser.add_argument("--again", action="store_true", help="begin again, also on the same source")
    given = parser.parse_args()
    unknown = set(given.tiers) - set(TIERS)
    if unknown:
        parser.error(f"there is no tier {', '.join(sorted(unknown))}")
    records = [run(name, given.minutes * 60, again=given.again) for name in given.tiers or TIERS]
    return int(any(record["failures"] for record in records))


if __name__ == "__main__":
    sys.exit(main())

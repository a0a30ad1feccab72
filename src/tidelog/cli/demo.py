"""`tidelog demo`: a story in fifty updates, told in a terminal.

What      : runs a real pipeline over generated companies: Spark loads, the rules are materialised, fifty updates are
            followed, two of them change rules; what changed and why is shown, and the end is compared with
            recomputation.
Idea      : what a newcomer should see first: a fact that takes a conclusion away, a deletion that leaves others
            standing, a rule that comes and goes, a proof, and what all this costs.
Invariant : the story is the same every time; the comparison at the end is real, and a difference ends the
            demonstration.
Never     : nothing is written outside one folder, a new temporary one unless another is named.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidelog.cli import Subparsers
from tidelog.cli.companies import RULES, Scene, write_world
from tidelog.errors import UsageError

if TYPE_CHECKING:
    from tidelog.changes.change import Change
    from tidelog.engine import Engine

_WATCHED = ("controls", "blocked", "exposed", "safe")
_LONGEST = 8
"""Causes with more lines are long to read; a shorter one is chosen if there is one."""
_OPENING = """\
A register of companies: who owns shares of whom, who supplies whom, who is sanctioned. Rules say what follows: who
controls whom, who is blocked (sanctioned, or controlled by somebody who is), who is exposed (supplied by somebody who
is blocked or exposed), and who is safe. Spark loads the register, the rules are materialised once, and then fifty
updates arrive. Each of them is a small repair, not a new computation. One line of the data is broken on purpose.
"""
_LEGEND = """Every update: the time that the repair took, how it was done, and what came (+) and went (-).
  insertion: only new derivations; bf, dred: deletions, by looking for other proofs first or by deleting and rederiving;
  recompute: a component from scratch; "none needed": no rule is concerned
"""


def register(subparsers: Subparsers) -> None:
    """Describe the command's arguments."""
    parser = subparsers.add_parser("demo", help="watch facts and rules come and go, on Spark, in two minutes")
    parser.add_argument("--out", metavar="FOLDER", help="where to put data and report (default: a temporary folder)")


def run(args: argparse.Namespace) -> int:
    """Tell the story."""
    from tidelog.cli.report import write_report
    from tidelog.pipeline.job import run_pipeline
    from tidelog.pipeline.settings.config import read_pipeline
    from tidelog.pipeline.status import Status

    folder = _folder(args.out)
    scenes = write_world(folder)
    print(f"{_OPENING}\n{_indented(RULES)}\nThe data are in {folder}. Starting Spark ...", flush=True)
    teller = Teller(scenes)
    started = time.perf_counter()
    engine = run_pipeline(
        read_pipeline(folder / "pipeline.toml"), Status(teller), once=True, verify=True, watch=teller.watch
    )
    teller.tell_quiet()
    report = write_report(folder / "report.html", engine.program, teller.batches)
    print(f"\n{_costs(teller.batches)}\nreport: {report}\nversions: tidelog state {folder / 'state'}")
    print(f"{time.perf_counter() - started:.0f} s in all\nverify: equal to recomputation")
    return 0


class Teller:
    """Shows the run as a story: a scene for every scripted update, and a line for those without consequences."""

    def __init__(self, scenes: list[Scene]) -> None:
        self._scenes = scenes
        self._told = 0
        self._quiet: list[tuple[int, float]] = []
        self.batches: list[dict[str, Any]] = []

    def show(self, kind: str, told: Mapping[str, Any]) -> None:
        """Say what the pipeline reports."""
        from tidelog.pipeline.status import sentence

        if kind == "batch":
            title = self._scenes[len(self.batches)].title
            self.batches.append({**told, "title": title})
        elif kind in ("source", "rejects", "backend", "loaded"):
            print(f"  {sentence(kind, told)}", flush=True)
            if kind == "loaded":
                print(f"\n{_LEGEND}", flush=True)

    def close(self) -> None:
        """The story ends with the command."""

    def watch(self, engine: Engine, change: Change) -> None:
        """Tell one update."""
        from tidelog.pipeline.job import strategies

        scene = self._scenes[self._told]
        self._told += 1
        milliseconds = change.stats.seconds * 1000
        counts = _counts(change)
        if not counts and not scene.title:
            self._quiet.append((self._told, milliseconds))
            return
        self.tell_quiet()
        if scene.title:
            print(f"\n{self._told:>6}. {scene.title}")
        number = "" if scene.title else f"{self._told}."
        told = f"{milliseconds:6.1f} ms, {strategies(change)}: {counts or 'no consequences'}"
        print(f"{number:>7} {told}", flush=True)
        if scene.title:
            print(_why(engine, change, scene.why), flush=True)

    def tell_quiet(self) -> None:
        """One line for the updates since the last one that had consequences."""
        if self._quiet:
            first, last = self._quiet[0][0], self._quiet[-1][0]
            times = [milliseconds for _, milliseconds in self._quiet]
            numbers = f"{first}." if first == last else f"{first}-{last}."
            span = f"{min(times):6.1f}" + ("" if first == last else f" to {max(times):.1f}")
            print(f"{numbers:>7} {span} ms: ordinary trade, no consequences", flush=True)
        self._quiet = []


def _counts(change: Change) -> str:
    """What came and went in the relations that the story is about."""
    return ", ".join(
        f"{relation} {'+' if sign > 0 else '-'}{len(tables[relation])}"
        for relation in _WATCHED
        for sign, tables in ((1, change.inserted), (-1, change.deleted))
        if relation in tables
    )


def _why(engine: Engine, change: Change, relation: str) -> str:
    """Why one fact of a relation went or, if none went, why one came: the cause that tells most in few lines."""
    tables = change.deleted if relation in change.deleted else change.inserted
    causes = [str(engine.explain_change(change, relation, fact)) for fact in islice(tables[relation], 12)]
    readable = sorted(causes, key=lambda cause: (cause.count("\n") > _LONGEST, -cause.count("\n")))
    return _indented(f"why? {readable[0]}", "        ") if readable else ""


def _costs(batches: list[dict[str, Any]]) -> str:
    """Latencies and strategies of all updates."""
    whole = sorted(batch["seconds"] * 1000 for batch in batches)
    inner = sorted(batch["maintenance"] * 1000 for batch in batches)
    chosen = Counter(name for batch in batches for name in batch["strategy"].split(", "))
    middle = len(batches) // 2
    names = ", ".join(f"{name} in {count}" for name, count in chosen.most_common())
    return (
        f"{len(batches)} updates: maintenance {inner[middle]:.1f} ms in the median, {inner[-1]:.1f} ms at most;\n"
        f"with durable versions and published changes {whole[middle]:.0f} ms in the median\nstrategies: {names}"
    )


def _folder(out: str | None) -> Path:
    if out is None:
        return Path(tempfile.mkdtemp(prefix="tidelog-demo-"))
    folder = Path(out)
    if folder.exists() and any(folder.iterdir()):
        raise UsageError.of("E806", f"{folder} is not empty", remedy="choose a new folder")
    return folder


def _indented(text: str, indent: str = "  ") -> str:
    return "\n".join(f"{indent}{line}".rstrip() for line in text.splitlines()) + "\n"

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
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidelog.cli import Subparsers
from tidelog.cli.companies import RULES, Scene, write_world
from tidelog.errors import UsageError
from tidelog.language.printer import print_fact

if TYPE_CHECKING:
    from tidelog.changes.change import Change
    from tidelog.engine import Engine

_WATCHED = ("controls", "blocked", "exposed", "safe")
_TALLEST = 6
"""Proofs higher than this are long to read; a lower one is chosen if there is one."""


def register(subparsers: Subparsers) -> None:
    """Describe the command's arguments."""
    parser = subparsers.add_parser("demo", help="watch facts and rules come and go, on Spark, in two minutes")
    parser.add_argument("--out", metavar="FOLDER", help="where to put data and report (default: a temporary folder)")


def run(args: argparse.Namespace) -> int:
    """Tell the story."""
    from tidelog.cli.report import write_report
    from tidelog.pipeline.config import read_pipeline
    from tidelog.pipeline.job import run_pipeline
    from tidelog.pipeline.status import Status

    folder = _folder(args.out)
    scenes = write_world(folder)
    print(f"Rules\n{_indented(RULES)}\nThe data are in {folder}. Starting Spark ...", flush=True)
    teller = Teller(scenes)
    started = time.perf_counter()
    engine = run_pipeline(
        read_pipeline(folder / "pipeline.toml"), Status(teller), once=True, verify=True, watch=teller.watch
    )
    report = write_report(folder / "report.html", engine.program, teller.batches)
    print(f"\n{_costs(teller.batches)}\nreport: {report}\nversions: tidelog state {folder / 'state'}")
    print(f"{time.perf_counter() - started:.0f} s in all\nverify: equal to recomputation")
    return 0


class Teller:
    """Shows the run as a story: one line per update, more for the scripted ones."""

    def __init__(self, scenes: list[Scene]) -> None:
        self._scenes = scenes
        self._told = 0
        self.batches: list[dict[str, Any]] = []

    def show(self, kind: str, told: Mapping[str, Any]) -> None:
        """Say what the pipeline reports."""
        from tidelog.pipeline.status import sentence

        if kind == "batch":
            title = self._scenes[len(self.batches)].title
            self.batches.append({**told, "title": title})
        elif kind in ("source", "rejects", "backend", "loaded"):
            print(f"  {sentence(kind, told)}", flush=True)

    def close(self) -> None:
        """The story ends with the command."""

    def watch(self, engine: Engine, change: Change) -> None:
        """Tell one update."""
        from tidelog.pipeline.job import strategies

        scene = self._scenes[self._told]
        self._told += 1
        counts = ", ".join(
            f"{relation} {'+' if sign > 0 else '-'}{len(tables[relation])}"
            for relation in _WATCHED
            for sign, tables in ((1, change.inserted), (-1, change.deleted))
            if relation in tables
        )
        milliseconds = change.stats.seconds * 1000
        if scene.title:
            print(f"\n{self._told:>3}. {scene.title}")
        print(
            f"{self._told:>3}. {milliseconds:7.1f} ms  {strategies(change):<22} {counts or 'no consequences'}",
            flush=True,
        )
        if scene.title:
            _why(engine, change, scene.why)


def _why(engine: Engine, change: Change, relation: str) -> None:
    """What went, what came, and the proof of one new fact."""
    for fact in islice(change.deleted[relation], 2):
        print(f"       gone: {print_fact(relation, fact)}")
    proofs = [engine.explain(relation, fact) for fact in islice(change.inserted[relation], 12)]
    readable = sorted(proofs, key=lambda proof: (proof.height > _TALLEST, -proof.height))
    if readable:
        print(_indented(f"why? {readable[0]}", "       "))


def _costs(batches: list[dict[str, Any]]) -> str:
    """Latencies and strategies of all updates."""
    whole = sorted(batch["seconds"] * 1000 for batch in batches)
    inner = sorted(batch["maintenance"] * 1000 for batch in batches)
    chosen: dict[str, int] = {}
    for batch in batches:
        chosen[batch["strategy"]] = chosen.get(batch["strategy"], 0) + 1
    middle = len(batches) // 2
    names = ", ".join(f"{name} {count}x" for name, count in sorted(chosen.items(), key=lambda item: -item[1]))
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

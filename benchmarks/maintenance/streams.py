"""The update streams of the Marking paper, with and without marking (Tables 1-3).

What      : every stream followed with every strategy; seconds for the whole stream, seconds spent in answering alone
            (marks are placed between two answers), and the paper's counters.
Source    : Illich, Glimm 2025; CPU seconds of the authors' program (SWI-Prolog, CHR) measured on a machine of the kind
            used for development.
Must reach: every stream for which the authors' seconds are known at least 100 times faster; `auto` at most 1.5 times
            the best strategy for the whole stream, from the first update on.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from functools import partial
from itertools import zip_longest
from pathlib import Path
from statistics import median
from typing import Any

import tidelog as tl
from benchmarks.maintenance import report
from benchmarks.maintenance.measure import against_best, counters, cpu, worst
from tidelog.changes.update import Update, read_updates
from tidelog.maintenance.profiled_store import profiling

NAME = "streams"
FILES = Path(__file__).parents[2] / "tests" / "data" / "streams"
PROGRAMS = Path(__file__).parents[2] / "tests" / "programs" / "marking"
STRATEGIES = ("recompute", "dred", "dred-mark", "bf", "bf-mark", "counting", "auto")
SHOWN = STRATEGIES[1:]
REPETITIONS = 5
"""A stream takes some twenty milliseconds: once is not enough."""

AUTHORS = {
    "trans size 10": {"bf": 59.0, "bf-mark": 60.0, "dred": 26.0, "dred-mark": 50.0},
    "seq size 10": {"bf": 14.0, "bf-mark": 11.0, "dred": 14.0, "dred-mark": 14.0},
    "track_0": {"bf": 171.0, "bf-mark": 161.0},
    "track_2": {"bf": 15.0, "bf-mark": 16.0, "dred": 31.0, "dred-mark": 19.0},
}
"""CPU seconds of the authors' program for a whole stream; of a range the lower end."""


def run() -> dict[str, Any]:
    """Follow all streams, store the results and plot them."""
    streams = [_measured(path) for path in sorted(FILES.glob("*.jsonl"))]
    content: dict[str, Any] = {"streams": streams, "against the authors": _against(streams), "marking": _gain(streams)}
    content["at most saved by marking"] = at_most_saved()
    ratios = {one["stream"]: against_best({name: one[name]["seconds"] for name in STRATEGIES}) for one in streams}
    content["must reach"] = {"auto against the best, worst case": worst(ratios)}
    report.write(NAME, content)
    _plot(streams)
    header = ("stream", "updates", *(f"{name} s" for name in STRATEGIES))
    print(report.table(header, [(s["stream"], s["updates"], *(s[n]["seconds"] for n in STRATEGIES)) for s in streams]))
    print(*(f"{key}: {value}" for key, value in content["against the authors"].items()), content["marking"], sep="\n")
    print("at most saved by marking:", content["at most saved by marking"])
    print(content["must reach"])
    return content


def _measured(path: Path) -> dict[str, Any]:
    updates = list(read_updates(path))
    kind = path.stem.split("_")[0].replace("track", "map")
    program = (PROGRAMS / kind / "program.dl").read_text()
    row: dict[str, Any] = {"stream": path.stem, "program": kind, "updates": len(updates)}
    seconds: dict[str, list[float]] = {strategy: [] for strategy in STRATEGIES}
    answering: dict[str, list[float]] = {strategy: [] for strategy in STRATEGIES}
    for strategy in STRATEGIES:
        row[strategy] = _follow(program, strategy, updates)
    for _ in range(REPETITIONS):  # in turns, so that a busy moment of the machine does not hit one strategy alone
        for strategy in STRATEGIES:
            seconds[strategy].append(cpu(partial(_follow, program, strategy, updates))[0])
            answering[strategy].append(_answering(program, strategy, updates))
    for strategy in STRATEGIES:
        measured = {"seconds": median(seconds[strategy]), "answering": median(answering[strategy])}
        row[strategy] |= {what: round(figure, 4) for what, figure in measured.items()}
    return row


def _follow(program: str, strategy: str, updates: Sequence[Update]) -> dict[str, int]:
    """Follow the stream; the sums of the counters over all updates but the first, which loads the data."""
    engine = tl.Engine(program, strategy=strategy)
    total: Counter[str] = Counter()
    for number, change in enumerate(engine.follow(updates)):
        if number:
            total.update(counters(change.stats))
    return dict(total)


def _answering(program: str, strategy: str, updates: Sequence[Update]) -> float:
    """As `_follow`, step by step: the seconds from an update to its change, without what is done in between."""
    engine = tl.Engine(program, strategy=strategy)
    total = 0.0
    for update, following in zip_longest(updates, updates[1:]):
        total += cpu(partial(engine.apply_update, update))[0]
        if following is not None:
            engine.look_ahead(following)
    return total


def at_most_saved() -> dict[str, float]:
    """The part of each program's streams in which rules are applied to find what a deletion takes.

    This is all that marks could save, if they cost nothing. Rules are measured one by one, which takes longer than
    together.
    """
    shares = {}
    for kind in ("trans", "seq", "map"):
        program = (PROGRAMS / kind / "program.dl").read_text()
        for strategy in ("dred", "bf"):
            deleting = whole = 0.0
            for path in FILES.glob(f"{kind.replace('map', 'track')}_*.jsonl"):
                with profiling():
                    engine, (first, *updates) = tl.Engine(program, strategy=strategy), read_updates(path)
                    engine.apply_update(first)
                    started = time.perf_counter()
                    changes = [engine.apply_update(update) for update in updates]
                    whole += time.perf_counter() - started
                found = [cost for change in changes for cost in change.stats.costs]
                deleting += sum(cost.seconds for cost in found if cost.phase in ("overdelete", "delete"))
            shares[f"{kind}, {strategy}"] = round(deleting / whole, 2)
    return shares


def _theirs(stream: str) -> dict[str, float] | None:
    """The authors' seconds for a stream, if they are known."""
    kind, _, size = stream.partition("_")
    return AUTHORS.get(stream) or AUTHORS.get(f"{kind} size {size.partition('size')[2]}")


def _against(streams: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """How many times faster than the authors' program, by stream and strategy."""
    found = {}
    for stream in streams:
        theirs = _theirs(stream["stream"])
        if theirs:
            found[stream["stream"]] = {name: round(old / stream[name]["seconds"], 1) for name, old in theirs.items()}
    return found


def _gain(streams: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """With marking against without, per program: whole seconds, seconds of answering, and derivations in deletion."""
    gains = {}
    for kind in ("trans", "seq", "map"):
        for plain in ("dred", "bf"):
            chosen = [stream for stream in streams if stream["program"] == kind]
            gains[f"{kind}, {plain}"] = {
                what: round(
                    sum(stream[f"{plain}-mark"][what] for stream in chosen)
                    / max(sum(stream[plain][what] for stream in chosen), 1e-9),
                    2,
                )
                for what in ("seconds", "answering", "deletions")
            }
    return gains


def _plot(streams: list[dict[str, Any]]) -> None:
    drawn, axes = report.figure(3)
    for axis, kind, title in zip(axes, ("trans", "seq", "map"), ("P_trans", "P_seq", "map tracks")):
        chosen = [stream for stream in streams if stream["program"] == kind and "seed2" not in stream["stream"]]
        labels = [stream["stream"].rpartition("size")[2].removeprefix("track_") for stream in chosen]
        chosen = [stream for _, stream in sorted(zip(map(int, labels), chosen), key=lambda pair: pair[0])]
        labels = sorted(labels, key=int)
        for name in SHOWN:
            seconds = [stream[name]["answering"] / stream["updates"] * 1_000 for stream in chosen]
            style = "--" if name.endswith("mark") else "-"
            axis.plot(labels, seconds, style, marker="o", ms=4, color=report.COLOURS[name], label=name)
        axis.set_title(title)
        axis.set_xlabel("facts per update" if kind != "map" else "track")
        axis.set_ylabel("CPU ms per answer")
        axis.set_ylim(bottom=0)
    axes[0].legend(frameon=False, ncols=2)
    report.finish(drawn, NAME, "Update streams: time from an update to its answer, with and without look-ahead marks")

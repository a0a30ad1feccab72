"""A picture of updates that arrive while others run.

What      : `draw` makes `benchmarks/results/dynamic.svg` of what `python -m benchmarks.dynamic` has stored.
Idea      : three questions, each with its goal as a dashed line: when is an opposite visible, what does it cost against
            one after the other, when is an urgent update visible.
Never     : nothing is measured here.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes

from benchmarks.maintenance.report import RESULTS, figure

SHARES = ("10%", "50%", "90%")
_COLOURS = ("#9ecae1", "#4292c6", "#084594")


def draw(found: Mapping[str, Mapping[str, Any]]) -> Path:
    """Draw what was measured."""
    drawn, (visible, cost, urgent) = figure(3, height=4.4)
    cases = found.get("opposites", {})
    _bars(visible, cases, lambda one, share: 1e3 * one[share]["visible after s"])
    visible.set_yscale("log")
    visible.set_title("its opposite is visible after, ms", loc="left", fontsize=9)
    _goal(visible, 200)
    visible.legend([f"after {share}" for share in SHARES], frameon=False, fontsize=7, loc="upper left")
    _bars(cost, cases, lambda one, share: one["a tenth back"][share])
    cost.set_title("a tenth comes back: CPU against consecutive", loc="left", fontsize=9)
    _goal(cost, 1.1)
    _steps(urgent, found.get("urgent", {}))
    drawn.suptitle("Updates that arrive during a large deletion; dashed: the goal", fontsize=11, x=0.01, ha="left")
    drawn.tight_layout(rect=(0, 0, 1, 0.97))
    path = RESULTS / "dynamic.svg"
    drawn.savefig(path, metadata={"Date": None})
    return path


def _bars(panel: Axes, cases: Mapping[str, Any], value: Any) -> None:
    """One group of bars for each case."""
    for at, share in enumerate(SHARES):
        heights = [value(one, share) for one in cases.values()]
        panel.bar([place + 0.27 * (at - 1) for place in range(len(cases))], heights, 0.25, color=_COLOURS[at])
    panel.set_xticks(range(len(cases)), [name.replace(", a third", "") for name in cases], rotation=40, ha="right")
    panel.tick_params(axis="x", labelsize=6)


def _steps(panel: Axes, cases: Mapping[str, Any]) -> None:
    """For each case the part of the urgent updates that are visible by then."""
    for name, one in cases.items():
        seen = [1e3 * seconds for seconds in one["visible s"]]
        parts = [(at + 1) / len(seen) for at in range(len(seen))]
        panel.step(seen, parts, where="post", label=name.replace("ten seconds", "").strip(" ,"))
    panel.axvline(100, color="#555555", linestyle="--", linewidth=0.8)
    panel.set_xscale("log")
    panel.set_title("part of the urgent updates visible after, ms", loc="left", fontsize=9)
    panel.legend(frameon=False, fontsize=6, loc="lower right")


def _goal(panel: Axes, height: float) -> None:
    panel.axhline(height, color="#555555", linestyle="--", linewidth=0.8)

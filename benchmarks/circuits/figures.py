"""Figures 4-6 of the DYRE paper with our strategies: time to materialise, time of updates, memory.

What      : `draw` makes `benchmarks/results/circuits.svg` of what `python -m benchmarks.circuits` has stored.
Idea      : the paper's figures are pictures of another machine, so what it says in words is drawn as ratios: what an
            update of 1 % takes of the first materialisation, and how much memory is taken beside an engine that keeps
            no weights.
Never     : nothing is measured here.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes

from benchmarks.maintenance.report import COLOURS, RESULTS, figure

STRATEGIES = ("circuit", "counting", "bf")
UPDATES = {"DYRE, LUBM RDFS": 8.4, "DYRE, dense closure": 100.0, "DDlog, LUBM RDFS": 1.3}
"""Section 5: an update of 1 % in per cent of the materialisation (7 of 83 ms; as much again; 10 of 780 ms)."""
MEMORY = {"DYRE / DDlog": 4.0, "DYRE / Souffle, at most": 100.0}
"""Section 5: how many times the memory."""


def draw(workloads: Mapping[str, Mapping[str, Any]]) -> Path:
    """Draw what was measured, by workload and strategy."""
    drawn, (time, update, memory) = figure(3, height=4.4)
    names = list(workloads)
    _bars(time, names, workloads, lambda one: one["materialise ms"]["100"])
    time.set_title("Figure 4: to materialise, CPU ms", loc="left", fontsize=9)
    _bars(update, names, workloads, _share)
    update.set_title("Figure 5: 1 % deleted, per cent of that", loc="left", fontsize=9)
    _published(update, UPDATES, len(names))
    least = {name: several["bf"]["bytes"] for name, several in workloads.items()}
    _bars(memory, names, workloads, lambda one: one["bytes"], least)
    memory.set_title("Figure 6: memory, times that of bf", loc="left", fontsize=9)
    _published(memory, MEMORY, len(names))
    time.legend(STRATEGIES, frameon=False, loc="upper left")
    drawn.suptitle("DYRE's figures with our strategies; dashed: what the paper says", fontsize=11, x=0.01, ha="left")
    drawn.tight_layout(rect=(0, 0, 1, 0.97))
    path = RESULTS / "circuits.svg"
    drawn.savefig(path, metadata={"Date": None})
    return path


def _share(one: Mapping[str, Any]) -> float:
    """A deletion of 1 % as per cent of the materialisation."""
    return float(100 * one["batches"]["1 %"]["-"] / one["materialise ms"]["100"])


def _bars(
    panel: Axes,
    names: list[str],
    workloads: Mapping[str, Mapping[str, Any]],
    value: Any,
    per: Mapping[str, float] | None = None,
) -> None:
    """One group of bars for each workload, on a logarithmic scale."""
    for at, strategy in enumerate(STRATEGIES):
        heights = [value(workloads[name][strategy]) / (per[name] if per else 1) for name in names]
        panel.bar([place + 0.27 * (at - 1) for place in range(len(names))], heights, 0.25, color=COLOURS[strategy])
    panel.set_yscale("log")
    panel.set_xticks(range(len(names)), names, rotation=40, ha="right", fontsize=7)


def _published(panel: Axes, figures: Mapping[str, float], width: int) -> None:
    """Lines for what the paper says, each with its words."""
    for words, height in figures.items():
        panel.axhline(height, color="#555555", linestyle="--", linewidth=0.8)
        box = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}
        panel.text(width - 0.5, height * 1.04, words, fontsize=6, ha="right", va="bottom", color="#333333", bbox=box)

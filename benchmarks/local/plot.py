"""Measurements as a picture.

What      : six panels: CPU time by size of the result for each family of closures, with its growth exponent; CPU time
            on the other workloads; seconds on the wall by threads; one inserted fact while the store grows.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.local.growth import FAMILIES, exponent, points

COLOURS = {
    "tidelog": "#0b6e99", "hash": "#5fb3d4", "kernel": "#8a8a8a", "duckdb": "#d9822b", "clingo": "#a03c78",
    "souffle": "#4d9044", "cozo": "#7a6bb0",
}  # fmt: skip


def draw(found: dict[str, Any], path: Path) -> None:
    """Draw all panels into one file; its ending says the format."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, panels = plt.subplots(2, 3, figsize=(15, 9.2), constrained_layout=True)
    runs = [run for run in found["runs"] if "failed" not in run]
    closures = {run["workload"] for run in runs if run["engine"] == "kernel"}
    for panel, family in zip(panels[0], FAMILIES):
        _growth(panel, runs, family)
    _bars(panels[1][0], [run for run in runs if run["workload"] not in closures])
    _threads(panels[1][1], found["threads"])
    _flat(panels[1][2], found["flat"])
    figure.savefig(path)
    plt.close(figure)


def _growth(panel: Any, runs: list[dict[str, Any]], family: str) -> None:
    for engine, colour in COLOURS.items():
        some = points(runs, family, engine)
        if some:
            slope = exponent(some)
            told = engine if slope is None else f"{engine}: size^{slope:.2f}"
            panel.plot(
                *zip(*some), "--" if engine == "kernel" else "-", marker="o", markersize=4, color=colour, label=told
            )
    panel.set(xscale="log", yscale="log", xlabel="facts in the closure", ylabel="CPU seconds, without loading")
    panel.set_title(f"Transitive closure, {family}")
    panel.grid(alpha=0.3)
    panel.legend()


def _threads(panel: Any, lines: list[dict[str, Any]]) -> None:
    for name in dict.fromkeys(line["case"] for line in lines):
        some = [(line["threads"], line["wall"]) for line in lines if line["case"] == name]
        panel.plot(*zip(*some), marker="o", markersize=4, label=f"{name}: {some[0][1] / some[-1][1]:.2f} times as fast")
    panel.set_xticks(sorted({line["threads"] for line in lines}))
    panel.set(yscale="log", xlabel="threads", ylabel="seconds on the wall")
    panel.set_title("Threads")
    panel.grid(alpha=0.3)
    panel.legend()


def _bars(panel: Any, runs: list[dict[str, Any]]) -> None:
    names = list(dict.fromkeys(run["workload"] for run in runs))
    engines = [engine for engine in COLOURS if any(run["engine"] == engine for run in runs)]
    width = 0.8 / max(len(engines), 1)
    for number, engine in enumerate(engines):
        bars = [(names.index(run["workload"]), run["cpu"]) for run in runs if run["engine"] == engine]
        places = [at + (number - (len(engines) - 1) / 2) * width for at, _ in bars]
        panel.bar(places, [seconds for _, seconds in bars], width, color=COLOURS[engine], label=engine)
    panel.set_xticks(range(len(names)), names, rotation=25, ha="right")
    panel.set(yscale="log", ylabel="CPU seconds, without loading")
    panel.set_title("Other workloads")
    panel.grid(axis="y", alpha=0.3)
    panel.legend()


def _flat(panel: Any, lines: list[dict[str, float]]) -> None:
    sizes, times = [line["facts"] for line in lines], [line["cpu_ms"] for line in lines]
    panel.plot(sizes, times, marker="o", color=COLOURS["tidelog"])
    panel.set(xscale="log", xlabel="facts in the store", ylabel="CPU milliseconds", ylim=(0, 2 * max(times)))
    panel.set_title(f"Inserting one fact that derives {lines[0]['derived']:.0f}")
    panel.grid(alpha=0.3)

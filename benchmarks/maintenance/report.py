"""Where the reports go: JSON for machines, a plot for people, a table for the terminal.

What      : `write` stores results, `figure` and `finish` make plots that look alike, `table` prints.
Never     : nothing is measured here.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

RESULTS = Path(__file__).parents[1] / "results"
COLOURS = {
    "recompute": "#8a8f98",
    "dred": "#d9822b",
    "dred-mark": "#f0b97d",
    "bf": "#1f6fb2",
    "bf-mark": "#86b9e0",
    "counting": "#8e5ea2",
    "circuit": "#c44e77",
    "auto": "#1a7f4b",
}
"""One colour per strategy in every plot."""


def write(name: str, results: Mapping[str, Any]) -> Path:
    """Store results with a word about the machine."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"maintenance_{name}.json"
    machine = {"python": platform.python_version(), "machine": platform.machine(), "time": "CPU"}
    path.write_text(json.dumps({"report": name, "machine": machine, **results}, indent=1) + "\n")
    return path


def figure(panels: int, *, columns: int | None = None, height: float = 3.6) -> tuple[Figure, list[Axes]]:
    """A figure with panels beside or under each other."""
    mpl.use("Agg")
    plt.rcParams.update(
        {"font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "svg.hashsalt": "tidelog"}
    )
    columns = columns or panels
    rows = -(-panels // columns)
    drawn, axes = plt.subplots(rows, columns, figsize=(4.3 * columns, height * rows), squeeze=False)
    flat = list(axes.flat)
    for unused in flat[panels:]:
        unused.set_visible(False)
    return drawn, flat[:panels]


def finish(drawn: Figure, name: str, title: str, *, bottom: float = 0.0) -> Path:
    """Give the figure its title and store it; `bottom` is the share that is left for a legend below."""
    drawn.suptitle(title, fontsize=11, x=0.01, ha="left")
    drawn.tight_layout(rect=(0, bottom, 1, 0.97))
    path = RESULTS / f"maintenance_{name}.svg"
    drawn.savefig(path, metadata={"Date": None})
    plt.close(drawn)
    return path


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Columns for the terminal, numbers to the right."""
    cells = [list(header), *([shown(cell) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if not at else cell.rjust(width) for at, (cell, width) in enumerate(zip(row, widths))
        )
        for row in cells
    )


def shown(cell: object) -> str:
    """A cell as people read it."""
    if isinstance(cell, float):
        return f"{cell:,.2f}" if cell < 100 else f"{cell:,.0f}"
    return f"{cell:,}" if isinstance(cell, int) else str(cell)

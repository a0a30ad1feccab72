"""The stored results as one page of tables: benchmarks/results/maintenance.md.

What      : a section per report, in the order of the reports; what was never run is left out.
Invariant : every figure comes from the stored JSON, so that the page cannot say anything else.
Never     : nothing is measured and nothing is judged here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.maintenance.report import RESULTS, shown

Results = Mapping[str, Any]

_COUNTED = {
    "dred": {"|D|": "overdeleted", "DR2": "deletions", "DR4": "backward", "DR5": "insertions"},
    "bf": {"|C|": "checked", "Bwd": "backward", "Sat": "forward", "Del": "deletions"},
}
"""The columns of the B/F paper's Table 2, and what they are called here."""

_LAST = ("counting", "circuit", "auto")


def write() -> Path:
    """Write the page."""
    parts = [
        "# Maintenance, measured",
        "CPU milliseconds unless a column says otherwise; made by `python -m benchmarks.maintenance`. "
        "docs/benchmarks.md says what the figures mean.",
    ]
    for name, section in _SECTIONS.items():
        path = RESULTS / f"maintenance_{name}.json"
        if path.exists():
            parts.extend(section(json.loads(path.read_text())))
    page = RESULTS / "maintenance.md"
    page.write_text("\n\n".join(parts) + "\n")
    return page


def _deletions(results: Results) -> Iterator[str]:
    yield "## Deletions (B/F paper, Table 2)"
    header = ["data", "deleted", "net", "recompute"]
    for strategy, columns in _COUNTED.items():
        header += [strategy, *columns]
    rows = []
    for workload in results["workloads"]:
        for step in workload["steps"]:
            row = [workload["workload"], step["deleted"], step["net"], step["recompute"]["ms"]]
            for strategy, columns in _COUNTED.items():
                row += [step[strategy]["ms"], *(step[strategy][name] for name in columns.values())]
            rows.append([*row, *(step[strategy]["ms"] if strategy in step else "" for strategy in _LAST)])
    yield _table([*header, *_LAST], rows)
    yield _reached(results["must reach"])


def _streams(results: Results) -> Iterator[str]:
    yield "## Streams (Marking paper, Tables 1-3)"
    strategies = [name for name, value in results["streams"][0].items() if isinstance(value, dict)]
    rows = [
        [one["stream"], one["updates"], *(1_000 * one[name]["seconds"] for name in strategies)]
        for one in results["streams"]
    ]
    yield _table(["stream", "updates", *strategies], rows)
    yield "How many times faster than the authors' program:"
    authors = results["against the authors"]
    names = list(dict.fromkeys(name for row in authors.values() for name in row))
    yield _table(["stream", *names], [[stream, *(row.get(n, "") for n in names)] for stream, row in authors.items()])
    yield "With marking against without: time of the whole stream, time to answer an update, derivations in deletion."
    rows = [[name, *row.values()] for name, row in results["marking"].items()]
    yield _table(["program, strategy", "seconds", "answering", "deletions"], rows)
    yield _reached(results.get("must reach", {}))


def _batches(results: Results) -> Iterator[str]:
    yield "## Batches (DYRE, Figure 5)"
    keys = ("data set", "batch", "strategy", "initial ms", "insert ms", "delete ms", "insert %", "delete %")
    yield _table(keys, [[row[key] for key in keys] for row in results["rows"]])
    yield _reached(results["must reach"])


def _rules(results: Results) -> Iterator[str]:
    yield "## Rules that come and go (ZodiacEdge, Figures 7-10 and Tables 2-3)"
    for part in ("rule changes", "rule set 1", "turbines come and go"):
        rows = results[part]
        yield _table(list(rows[0]), [list(row.values()) for row in rows])
    yield _reached(results["must reach"])


_SECTIONS: dict[str, Callable[[Results], Iterator[str]]] = {
    "deletions": _deletions,
    "streams": _streams,
    "batches": _batches,
    "rules": _rules,
}


def _reached(figures: Mapping[str, Any]) -> str:
    return "\n".join(f"- {name}: {figure}" for name, figure in figures.items())


def _table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    lines = [header, ["---"] * len(header), *([shown(cell) for cell in row] for row in rows)]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)

"""Measurements as text.

What      : the table of all runs, the ratios that the project has promised, and what small updates and memory cost.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Run = dict[str, Any]


def table(runs: list[Run]) -> Iterator[str]:
    """One line per workload and engine; the ratio is CPU time in units of ours."""
    yield f"{'workload':<16}{'engine':<9}{'results':>12}{'load s':>9}{'cpu s':>9}{'wall s':>9}{'MB':>8}{'ratio':>8}"
    own = {run["workload"]: run for run in runs if run["engine"] == "tidelog" and "failed" not in run}
    for run in runs:
        if "failed" in run:
            yield f"{run['workload']:<16}{run['engine']:<9}  {run['failed']}"
            continue
        ours = own.get(run["workload"])
        ratio = f"{run['cpu'] / ours['cpu']:8.2f}" if ours and ours["cpu"] else ""
        yield (
            f"{run['workload']:<16}{run['engine']:<9}{run['results']:>12,}{run['load_cpu']:>9.3f}{run['cpu']:>9.3f}"
            f"{run['wall']:>9.3f}{run['megabytes']:>8.0f}{ratio}"
        )


def ratios(runs: list[Run]) -> Iterator[str]:
    """Where we stand on closures: our time over the kernel's and DuckDB's, clingo's over ours."""
    by_name: dict[str, dict[str, Run]] = {}
    for run in runs:
        if "failed" not in run:
            by_name.setdefault(run["workload"], {})[run["engine"]] = run
    yield "closures, CPU without loading: ours / kernel (promised <= 1.5), ours / duckdb (<= 1), clingo / ours (>= 5)"
    for name, engines in by_name.items():
        if "kernel" not in engines or "tidelog" not in engines:
            continue
        ours = engines["tidelog"]["cpu"]
        cells = [f"{ours / engines['kernel']['cpu']:.2f}"]
        cells.append(f"{ours / engines['duckdb']['cpu']:.2f}" if "duckdb" in engines else "-")
        cells.append(f"{engines['clingo']['cpu'] / ours:.1f}" if "clingo" in engines else "-")
        yield f"  {name:<16}{cells[0]:>8}{cells[1]:>8}{cells[2]:>8}"


def limits(answers: dict[str, Any]) -> Iterator[str]:
    """Updates, memory, compile time."""
    for line in answers["single"] if isinstance(answers["single"], list) else ():
        yield (
            f"one fact, {line['workload']}, {line['update']}: {line['cpu_ms']} ms CPU (90 %: {line['p90_ms']}), "
            f"initial {line['initial_ms']:.0f} ms, first {line['first_ms']} ms"
        )
    for line in answers["flat"] if isinstance(answers["flat"], list) else ():
        yield f"one fact that derives {line['derived']} beside {line['facts']:,} facts: {line['cpu_ms']} ms CPU"
    yield f"LUBM(1) RDFS from files: {answers['files']}"
    yield f"memory: {answers['bytes']}"
    yield f"first compile of the kernels: {answers['compile']}"

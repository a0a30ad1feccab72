"""Deletions from 100 facts to the equilibrium point, as Table 2 of the B/F paper.

What      : every strategy on data without cliques (LUBM), with small cliques that are torn apart one after the other
            (UOBM-like), and with large ones that survive until one loses a vertex (Claros-LE-like).
Source    : Motik et al. 2015, section 5. Their rematerialisation starts from nothing; `recompute` here derives anew the
            components that a deletion reaches, in the same store, and is the harder one to beat.
Must reach: an edge goes from a clique of 300 that survives: B/F at least 100 times faster than DRed and recomputation;
            `auto` at most 1.5 times the best, deletion and insertion together (why together: batches.py).
"""

from __future__ import annotations

from functools import partial
from typing import Any

import tidelog as tl
from benchmarks.maintenance import report
from benchmarks.maintenance.measure import (
    STRATEGIES,
    against_best,
    counters,
    loaded,
    milliseconds,
    tables,
    there_and_back,
    worst,
)
from benchmarks.maintenance.workloads.lubm import lubm
from benchmarks.maintenance.workloads.places import clique, places
from benchmarks.maintenance.workloads.universities import universities
from benchmarks.maintenance.workloads.workload import Workload

NAME = "deletions"


def run() -> dict[str, Any]:
    """Measure all workloads, store the results and plot them."""
    results: list[dict[str, Any]] = []
    content: dict[str, Any] = {}
    for workload in (clique(300), lubm(), places(), universities()):
        results.append(_measured(workload))
        content = {"workloads": results, "must reach": _ratios(results)}
        report.write(NAME, content)
    _plot(results)
    print(_table(results), *(f"{key}: {value}" for key, value in content["must reach"].items()), sep="\n")
    return content


def _measured(workload: Workload) -> dict[str, Any]:
    engines, initial = {}, {}
    facts = tables(workload.facts)
    for strategy in STRATEGIES:
        initial[strategy], engines[strategy] = loaded(workload.program, facts, strategy)
    engine = engines["recompute"]
    steps = [_step(workload, size, engines) for size in workload.sizes]
    return {
        "workload": workload.name,
        "explicit": workload.explicit,
        "facts": sum(len(engine[relation]) for relation in engine.relations),
        "initial ms": {name: milliseconds([seconds]) for name, seconds in initial.items()},
        "equilibrium": _equilibrium(steps),
        "steps": steps,
    }


def _step(workload: Workload, size: int, engines: dict[str, tl.Engine]) -> dict[str, Any]:
    """One row of the table."""
    going = tables(workload.deletion(size))
    row: dict[str, Any] = {"deleted": size}
    for name, engine in engines.items():
        trips = there_and_back(partial(engine.apply, delete=going), partial(engine.apply, insert=going), name)
        row["net"] = trips.change.deleted.total
        row[name] = {"ms": milliseconds(trips.there), "insert ms": milliseconds(trips.back)}
        row[name] |= {"trips": trips.number, "whole ms": milliseconds([trips.whole])}
        row[name] |= counters(trips.change.stats)
        if name == "auto":
            row[name]["choices"] = list(trips.change.stats.strategies_used)
    return row


def _equilibrium(steps: list[dict[str, Any]]) -> list[int | None]:
    """The last step at which B/F is faster than recomputation, and the first at which it is not, if there is one."""
    slower = [row["deleted"] for row in steps if row["bf"]["ms"] > row["recompute"]["ms"]]
    first = min(slower, default=None)
    faster = [row["deleted"] for row in steps if first is None or row["deleted"] < first]
    return [max(faster, default=None), first]


def _ratios(results: list[dict[str, Any]]) -> dict[str, Any]:
    one = results[0]["steps"][0]
    steps = {f"{result['workload']}, {row['deleted']}": row for result in results for row in result["steps"]}
    alone = {case: against_best({name: row[name]["ms"] for name in STRATEGIES}) for case, row in steps.items()}
    both = {case: against_best({name: _trip(row[name]) for name in STRATEGIES}) for case, row in steps.items()}
    return {
        "clique of 300 that survives, bf faster than dred": round(one["dred"]["ms"] / one["bf"]["ms"], 1),
        "clique of 300 that survives, bf faster than recompute": round(one["recompute"]["ms"] / one["bf"]["ms"], 1),
        "auto against the best, delete and insert, worst case": worst(both),
        "auto against the best, delete alone, worst case": worst(alone),
        "auto against the best, with load and warm-up, worst case": worst(
            {result["workload"]: against_best(_whole(result)) for result in results}
        ),
    }


def _trip(measured: dict[str, Any]) -> float:
    return float(measured["ms"] + measured["insert ms"])


def _whole(result: dict[str, Any]) -> dict[str, float]:
    """The milliseconds of a workload, loading included; the others' for as many trips as `auto` made."""
    steps = result["steps"]
    costs = {name: sum(row["auto"]["trips"] * _trip(row[name]) for row in steps) for name in STRATEGIES}
    costs["auto"] = sum(row["auto"]["whole ms"] for row in steps)
    return {name: cost + result["initial ms"][name] for name, cost in costs.items()}


def _table(results: list[dict[str, Any]]) -> str:
    header = (
        "data set",
        "|E-|",
        "|I\\I'|",
        "recompute",
        "DRed ms",
        "|D|",
        "DR2",
        "DR4",
        "DR5",
        "B/F ms",
        "|C|",
        "Bwd",
        "Sat",
        "Del prop",
        "counting ms",
        "auto ms",
    )
    rows = []
    for result in results:
        for row in result["steps"]:
            dred, bf = row["dred"], row["bf"]
            first = (result["workload"], row["deleted"], row["net"], row["recompute"]["ms"])
            dreds = (dred[key] for key in ("ms", "overdeleted", "deletions", "backward", "insertions"))
            bfs = (bf[key] for key in ("ms", "checked", "backward", "forward", "deletions"))
            rows.append((*first, *dreds, *bfs, row["counting"]["ms"], row["auto"]["ms"]))
    return report.table(header, rows)


def _plot(results: list[dict[str, Any]]) -> None:
    drawn, axes = report.figure(4, columns=2)
    for axis, result in zip(axes, results):
        rows = result["steps"]
        for name in STRATEGIES:
            style = "--" if name == "auto" else "-"
            x, y = [row["deleted"] for row in rows], [row[name]["ms"] for row in rows]
            if len(rows) == 1:
                bar = axis.bar(name, y[0], color=report.COLOURS[name])
                axis.bar_label(bar, [f"{y[0]:,.1f}"], padding=2)
            else:
                axis.plot(x, y, style, marker="o", ms=4, color=report.COLOURS[name], label=name)
        axis.set_yscale("log")
        axis.set_ylabel("CPU ms")
        axis.set_title(
            f"{result['workload']}: {result['explicit']:,} explicit of {result['facts']:,} facts", fontsize=9.5
        )
        if len(rows) > 1:
            axis.set_xscale("log")
            axis.set_xlabel("facts deleted")
    axes[0].set_xlabel("one edge deleted, the clique survives")
    axes[0].set_ylim(top=8_000)
    axes[1].legend(frameon=False)
    report.finish(drawn, NAME, "Deletions: no strategy wins everywhere")

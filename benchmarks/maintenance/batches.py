"""Materialise, insert a batch, delete it again: Figure 5 of the DYRE paper.

What      : LUBM(1) under RDFS and the closures of two graphs; batches of 1 % and 50 %, and of a single fact.
Source    : DYRE, section 5 and Figure 5: the batch is held back from the materialisation, then added, then retracted.
Must reach: LUBM(1), 1 %: at most 5 % of the initial materialisation; a single fact: under 1 %. `auto`: deletion and
            insertion together at most 1.5 times the best strategy. A strategy is one choice for the whole workload:
            counts make deletions cheap and insertions dear, so the two are not compared apart.
"""

from __future__ import annotations

import csv
import random
from functools import partial
from pathlib import Path
from typing import Any

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
from benchmarks.maintenance.workloads.lubm import RDFS, ontology, university
from benchmarks.maintenance.workloads.workload import Fact

NAME = "batches"
GRAPHS = Path(__file__).parents[1] / "data" / "graphs"
CLOSURE = "path(x, y) :- edge(x, y). path(x, z) :- edge(x, y), path(y, z)."
SHARES = {"1 fact": 0.0, "1 %": 0.01, "50 %": 0.5}


def run() -> dict[str, Any]:
    """Measure all data sets, store the results and plot them."""
    rows = []
    for name, program, relation, fixed, changing in _data_sets():
        for label, share in SHARES.items():
            rows += _measured(name, program, relation, fixed, changing, label, max(1, round(share * len(changing))))
    content = {"rows": rows, "must reach": _reached(rows) | _against_best(rows)}
    report.write(NAME, content)
    _plot(rows)
    header = ("data set", "batch", "strategy", "initial ms", "+ ms", "- ms", "+ %", "- %")
    print(report.table(header, [tuple(row[key] for key in _SHOWN) for row in rows]))
    print(content["must reach"])
    return content


_SHOWN = ("data set", "batch", "strategy", "initial ms", "insert ms", "delete ms", "insert %", "delete %")


def _data_sets() -> list[tuple[str, str, str, tuple[Fact, ...], tuple[Fact, ...]]]:
    """Name, program, relation, facts that stay, and facts of which a batch is taken."""
    graphs = [(name, CLOSURE, "edge", (), _edges(name)) for name in ("rand1k", "rmat1k")]
    return [("LUBM(1) RDFS", RDFS, "t", ontology(), university()), *graphs]


def _edges(name: str) -> tuple[Fact, ...]:
    rows = csv.reader((GRAPHS / f"{name}.tsv").read_text().splitlines(), delimiter="\t")
    edges: list[Fact] = [tuple(map(int, row)) for row in rows]
    random.Random(5).shuffle(edges)
    return tuple(edges)


def _measured(
    name: str, program: str, relation: str, fixed: tuple[Fact, ...], changing: tuple[Fact, ...], label: str, size: int
) -> list[dict[str, Any]]:
    batch = tables({relation: changing[:size]}) if size > 1 else {relation: changing[:1]}  # one fact comes as a tuple
    rest = tables({relation: fixed + changing[size:]})
    found: list[dict[str, Any]] = []
    for strategy in STRATEGIES:
        initial, engine = loaded(program, rest, strategy)
        engine.apply(insert=batch)
        trips = there_and_back(partial(engine.apply, delete=batch), partial(engine.apply, insert=batch), strategy)
        row: dict[str, Any] = {
            "data set": name,
            "batch": label,
            "strategy": strategy,
            "initial ms": milliseconds([initial]),
        }
        row |= {"insert ms": milliseconds(trips.back), "delete ms": milliseconds(trips.there)}
        row |= {"trips": trips.number, "whole ms": milliseconds([initial + trips.whole])}
        row |= counters(trips.change.stats)
        found.append(row)
    whole = sorted(row["initial ms"] for row in found)[len(found) // 2]
    for row in found:
        row |= {f"{what} %": round(100 * row[f"{what} ms"] / whole, 2) for what in ("insert", "delete")}
    return found


def _reached(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Per cent of the initial materialisation on LUBM(1), with `auto`."""
    chosen = {row["batch"]: row for row in rows if row["data set"].startswith("LUBM") and row["strategy"] == "auto"}
    return {
        f"LUBM(1) {batch} {what}, %": chosen[batch][f"{what} %"] for batch in SHARES for what in ("insert", "delete")
    }


def _against_best(rows: list[dict[str, Any]]) -> dict[str, str]:
    """The worst ratios of `auto` to the best of the others: when it has settled, and for all that it did.

    The others do not change their minds: what they would have taken for as many trips follows from one of them.
    """
    steady, whole = {}, {}
    for case in dict.fromkeys(f"{row['data set']}, {row['batch']}" for row in rows):
        chosen = {row["strategy"]: row for row in rows if f"{row['data set']}, {row['batch']}" == case}
        trip = {name: row["insert ms"] + row["delete ms"] for name, row in chosen.items()}
        trips = chosen["auto"]["trips"]
        everything = {name: row["initial ms"] + trips * trip[name] for name, row in chosen.items()}
        steady[case] = against_best(trip)
        whole[f"{case}, {trips} times"] = against_best(everything | {"auto": chosen["auto"]["whole ms"]})
    return {
        "auto against the best, delete and insert, worst case": worst(steady),
        "auto against the best, with load and warm-up, worst case": worst(whole),
    }


def _plot(rows: list[dict[str, Any]]) -> None:
    sets = list(dict.fromkeys(row["data set"] for row in rows))
    drawn, axes = report.figure(len(sets))
    for axis, name in zip(axes, sets):
        for batch, style in zip(SHARES, (":", "-", "--")):
            for row in rows:
                if (row["data set"], row["batch"]) == (name, batch) and row["strategy"] in ("auto", "recompute"):
                    y = [row[key] for key in ("initial ms", "insert ms", "delete ms")]
                    colour = report.COLOURS[row["strategy"]]
                    axis.plot(
                        ("materialise", "insert", "delete"), y, style, marker="o", ms=4, color=colour,
                        label=f"{row['strategy']}, {batch}",
                    )  # fmt: skip
        axis.set_yscale("log")
        axis.set_title(name)
        axis.set_ylabel("CPU ms")
    drawn.legend(*axes[0].get_legend_handles_labels(), loc="lower center", ncols=6, frameon=False)
    report.finish(drawn, NAME, "Batches: materialise without the batch, insert it, delete it again", bottom=0.08)

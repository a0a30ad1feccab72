"""`python -m benchmarks.circuits [--pydbsp PYTHON]`: the circuit beside other strategies, the paper and pydbsp.

What      : runs every workload under every strategy, prints the tables of Figures 4-6 with what the paper says about
            them, and whether the circuit stays within its bounds; results go to `benchmarks/results/circuits.json`, and
            as a picture to `circuits.svg`.
Idea      : the machine may be shared, so CPU time, and only ratios of one run are stated. PYTHON is a Python 3.12 or
            newer with pydbsp 1.0.0 (`pip install pydbsp==1.0.0`); without it that part is left out.
Must reach: LUBM(1) RDFS, closures: initial, 1 % and memory at most three times those of `counting`, a single fact of
            LUBM(1) at most 1 ms; 50 times faster than pydbsp on its notebooks' workloads.
"""

from __future__ import annotations

import argparse
import gzip
import json
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.circuits import by_hand
from benchmarks.circuits.figures import STRATEGIES, draw
from benchmarks.circuits.measured import BATCHES, SHARES
from benchmarks.circuits.workloads import DATA, OWL, WORKLOADS
from benchmarks.maintenance.report import RESULTS, table

PUBLISHED = {
    "Figure 4": "closures: Souffle 3 times faster than DYRE with indexes, which is 7 times faster than DYRE without; "
    "LUBM RDFS: DYRE with indexes at least twice as fast as Souffle",
    "Figure 5": "LUBM RDFS: DYRE 83 ms initial, 7 ms for 1 % (8 % of it), DDlog 780 ms and 10 ms; dense closure: "
    "for DYRE 1 % costs what materialising costs (100 %)",
    "Figure 6": "DYRE takes 4 times the memory of DDlog, and up to 100 times that of Souffle",
}
"""What section 5 of the paper says in words; its figures are pictures."""
SIDE = Path(__file__).with_name("pydbsp_side.py")
PATIENCE = 600
NAMES = [*WORKLOADS, OWL]


def main() -> None:
    """Measure, print, store."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.circuits", description=__doc__.splitlines()[0])
    parser.add_argument("--pydbsp", metavar="PYTHON", help="a Python 3.12 or newer with pydbsp 1.0.0")
    parser.add_argument("--draw", action="store_true", help="only draw the stored results again")
    parser.add_argument("--only", nargs="*", default=NAMES, choices=NAMES, help="some workloads")
    args = parser.parse_args()
    if args.draw:
        print(draw(json.loads((RESULTS / "circuits.json").read_text())["workloads"]))
        return
    found = {name: {one: _measured(name, one) for one in STRATEGIES} for name in args.only}
    beside = _pydbsp(args.pydbsp, found) if args.pydbsp else {}
    _show(found, beside)
    machine = {"python": platform.python_version(), "machine": platform.machine(), "time": "CPU"}
    content = {"report": "circuits", "machine": machine, "published": PUBLISHED, "workloads": found}
    content |= {"against counting": _ratios(found), "pydbsp 1.0.0": beside}
    (RESULTS / "circuits.json").write_text(json.dumps(content, indent=1) + "\n")
    draw(found)


def _measured(name: str, strategy: str) -> dict[str, Any]:
    print(f"{name}, {strategy} ...", file=sys.stderr, flush=True)
    return _output([sys.executable, "-m", "benchmarks.circuits.measured", name, strategy])


def _output(command: list[str]) -> dict[str, Any]:
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=PATIENCE)
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def _pydbsp(python: str, found: dict[str, Any]) -> dict[str, Any]:
    """What pydbsp takes for the workloads of its notebooks, and how often we fit into that.

    Its Datalog circuit takes rules as data, as ours does. The others are made by hand for one program each; of these
    there are two comparisons: with `strategy="circuit"`, which does more, and with the same circuit made by hand in
    `tidelog.circuits`.
    """
    answers: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        university = Path(folder) / "abox.tsv"
        university.write_bytes(gzip.decompress((DATA / "lubm1" / "abox.tsv.gz").read_bytes()))
        triples, graphs = [str(DATA / "lubm1" / "tbox.tsv"), str(university)], DATA / "graphs"
        for name, kind, given in (
            ("rand1k", "closure", [str(graphs / "rand1k.tsv")]),
            ("LUBM(1) RDFS", "rdfs", triples),
            ("rand1k", "reach-plain", [str(graphs / "rand1k.tsv")]),
            ("rand1k", "reach", [str(graphs / "rand1k.tsv")]),
            ("rmat1k", "reach", [str(graphs / "rmat1k.tsv")]),
            ("LUBM(1) RDFS", "rdfs-by-hand", triples),
        ):
            if name not in found:
                continue
            print(f"{name}, pydbsp, {kind} ...", file=sys.stderr, flush=True)
            theirs, ours = _output([python, str(SIDE), kind, *given]), found[name]["circuit"]["materialise ms"]["100"]
            answer = {"CPU s": round(theirs["seconds"], 3), "facts": theirs["facts"]}
            answer |= {"circuit, CPU s": ours / 1000, "circuit, times": round(1000 * theirs["seconds"] / ours, 1)}
            if kind in by_hand.WORKLOADS:
                alike = _output([sys.executable, "-m", "benchmarks.circuits.by_hand", kind, *given])
                assert alike["facts"] == theirs["facts"]
                answer["by hand, CPU s"] = round(alike["seconds"], 4)
                answer["by hand, times"] = round(theirs["seconds"] / alike["seconds"], 1)
            answers[f"{name}, {kind}"] = answer
    return answers


def _ratios(found: dict[str, Any]) -> dict[str, dict[str, float]]:
    """What the circuit takes for what `counting` takes 1 for."""
    ratios = {}
    for name, one in found.items():
        ours, theirs = one["circuit"], one["counting"]
        ratios[name] = {
            "initial": ours["materialise ms"]["100"] / theirs["materialise ms"]["100"],
            "+ 1 %": ours["batches"]["1 %"]["+"] / theirs["batches"]["1 %"]["+"],
            "- 1 %": ours["batches"]["1 %"]["-"] / theirs["batches"]["1 %"]["-"],
            "bytes": ours["bytes"] / theirs["bytes"],
        }
        ratios[name] = {what: round(ratio, 2) for what, ratio in ratios[name].items()}
    return ratios


def _show(found: dict[str, Any], beside: dict[str, Any]) -> None:
    rows = [(name, strategy, one) for name, several in found.items() for strategy, one in several.items()]
    print(f"\nFigure 4: CPU ms to materialise a share of the facts. {PUBLISHED['Figure 4']}")
    header = ("workload", "strategy", *(f"{share} %" for share in SHARES))
    shares = [[one["materialise ms"][str(share)] for share in SHARES] for _, _, one in rows]
    print(table(header, [(name, strategy, *some) for (name, strategy, _), some in zip(rows, shares)]))
    print(f"\nFigure 5: CPU ms of batches that come and go. {PUBLISHED['Figure 5']}")
    header = ("workload", "strategy", *(f"{sign} {batch}" for batch in BATCHES for sign in "+-"))
    trips = [[one["batches"][batch][sign] for batch in BATCHES for sign in "+-"] for _, _, one in rows]
    print(table(header, [(name, strategy, *trip) for (name, strategy, _), trip in zip(rows, trips)]))
    print(f"\nFigure 6: memory. {PUBLISHED['Figure 6']}")
    header = ("workload", "strategy", "facts", "rewrites", "kept MB", "peak MB of the process")
    sizes = [(one["facts"], one["rewrites"], round(one["bytes"] / 1e6, 1), one["peak MB"]) for _, _, one in rows]
    print(table(header, [(name, strategy, *size) for (name, strategy, _), size in zip(rows, sizes)]))
    print("\nOne fact: instances that come or go, rounds, and CPU us for each instance.")
    print(table(("workload", "strategy", "+ instances", "rounds", "us", "- instances", "rounds", "us"), _single(rows)))
    print("\ncircuit against counting:", json.dumps(_ratios(found), indent=1))
    if beside:
        print("pydbsp 1.0.0, with indexes, CPU seconds and how many times our circuit's:", json.dumps(beside, indent=1))


def _single(rows: list[tuple[str, str, dict[str, Any]]]) -> list[tuple[Any, ...]]:
    """What one fact changes, and what each changed instance costs."""
    found = []
    for name, strategy, one in rows:
        batch = one["batches"]["1 fact"]
        if "instances +" in batch:
            parts = [(batch[f"instances {sign}"], batch[f"rounds {sign}"], batch[sign]) for sign in "+-"]
            cells = [(count, rounds, round(1000 * ms / max(count, 1), 2)) for count, rounds, ms in parts]
            found.append((name, strategy, *cells[0], *cells[1]))
    return found


if __name__ == "__main__":
    main()

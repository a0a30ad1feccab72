"""Measure the local backend beside other engines: `python -m benchmarks.run` (`make bench`, `tidelog bench`).

What      : every workload with every engine that can take it, each in a process of its own; small updates, memory and
            compile time of our own; how time grows with size and with threads; tables on stdout, `results/local.json`
            and `results/local.svg`.
Idea      : absolute times say more about the machine than about engines, so the table shows CPU seconds and ratios to
            ours, measured in one run.
Invariant : engines that finish agree on the size of the result, otherwise the run fails.
Never     : an engine that needs longer than the time-out is reported as such.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.local.engines import ENGINES
from benchmarks.local.growth import exponents, lines
from benchmarks.local.report import limits, ratios, table
from benchmarks.local.workloads import WORKLOADS

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "results"
QUICK = ("rand1k", "rmat1k", "sparse200k", "lubm1", "rs2", "generation300k")
TOO_MUCH = {"clingo": {"sparse10m", "dense2k"}, "cozo": {"sparse10m", "dense2k"}}
"""What takes minutes or gigabytes elsewhere, left out by default; `--all` measures it."""
QUESTIONS = ("compile", "single", "flat", "files", "bytes", "threads")


def main(argv: list[str] | None = None) -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(prog="benchmarks", description="measure the local backend beside other engines")
    parser.add_argument("--quick", action="store_true", help="a few small workloads only, nothing is written")
    parser.add_argument("--all", action="store_true", help="also what takes other engines minutes or gigabytes")
    parser.add_argument("--only", nargs="*", metavar="WORKLOAD", help=f"some of: {', '.join(WORKLOADS)}")
    parser.add_argument("--again", nargs="*", choices=QUESTIONS, help="ask these again, and keep the other results")
    parser.add_argument("--timeout", type=float, default=180, help="seconds per measurement (default: %(default)s)")
    parser.add_argument("--output", type=Path, default=RESULTS, help="where results are written")
    args = parser.parse_args(argv)
    if args.again:
        found = json.loads((args.output / "local.json").read_text(encoding="utf-8"))
        found.update((question, _answer(question)) for question in args.again)
        print("\n".join([*lines(found["runs"], found["threads"]), "", *limits(found)]))
        _write(args.output, found)
        return 0
    names = args.only or (QUICK if args.quick else list(WORKLOADS))
    runs = [run for name in names for run in _measure(name, args.timeout, everything=args.all)]
    print("\n".join(table(runs)))
    _check(runs)
    if args.quick or args.only:
        return 0
    answers = {question: _answer(question) for question in QUESTIONS}
    found = {"machine": _machine(), "runs": runs, "exponents": exponents(runs), **answers}
    print("\n".join(["", *ratios(runs), "", *lines(runs, answers["threads"]), "", *limits(answers)]))
    _write(args.output, found)
    return 0


def _answer(question: str) -> Any:
    if question == "threads":
        return _ask("benchmarks.local.growth", timeout=900)
    return _ask("benchmarks.local.updates", question, timeout=900)


def _measure(name: str, timeout: float, *, everything: bool) -> list[dict[str, Any]]:
    workload = WORKLOADS[name]()
    runs = []
    for engine, runner in ENGINES.items():
        if runner.takes(workload) and (everything or name not in TOO_MUCH.get(engine, ())):
            print(f"{name}: {engine} ...", file=sys.stderr, flush=True)
            run = _ask("benchmarks.local.measure", engine, name, timeout=timeout)
            runs.append({"engine": engine, "workload": name, "expected": workload.expected, **run})
    return runs


def _ask(module: str, *words: str, timeout: float) -> dict[str, Any]:
    """Run a module in a process of its own and read the JSON that it prints."""
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    with tempfile.TemporaryDirectory() as empty:
        if words == ("compile",):
            environment["NUMBA_CACHE_DIR"] = empty
        command = [sys.executable, "-m", module, *words]
        try:
            done = subprocess.run(command, env=environment, timeout=timeout, check=True, capture_output=True, text=True)
        except subprocess.TimeoutExpired:
            return {"failed": f"more than {timeout:g} s"}
        except subprocess.CalledProcessError as error:
            return {"failed": (error.stderr.strip().splitlines() or ["no message"])[-1]}
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def _check(runs: list[dict[str, Any]]) -> None:
    """All engines agree, with each other and with what is expected."""
    for name in {run["workload"] for run in runs}:
        sizes = {run.get("results") for run in runs if run["workload"] == name and "failed" not in run}
        sizes |= {run["expected"] for run in runs if run["workload"] == name and run["expected"] is not None}
        if len(sizes) > 1:
            raise SystemExit(f"{name}: engines disagree about the result: {sorted(map(str, sizes))}")


def _machine() -> dict[str, Any]:
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    return {"system": platform.system(), "cores": os.cpu_count(), "load": load, "python": platform.python_version()}


def _write(folder: Path, found: dict[str, Any]) -> None:
    from benchmarks.local.plot import draw

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "local.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    draw(found, folder / "local.svg")


if __name__ == "__main__":
    sys.exit(main())

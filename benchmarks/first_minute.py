"""What a first result costs, in time and memory: `python -m benchmarks.first_minute`.

What      : processor seconds (user and system) and peak memory of whole processes, as a table for docs/start.md.
Idea      : every case runs in processes of its own with a folder for compiled kernels that is empty at first: the first
            run is "fresh", the best of three more is "warm". `--python` measures another installation, for example one
            of the wheel with kernels, and `--demo` the demonstration on Spark as well.
Invariant : a case that fails ends the run.
Never     : nothing is written but in temporary folders.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ENGINE = "import tidelog as tl\nengine = tl.Engine('path(x, y) :- edge(x, y).{more}')\n"
STEP = "  path(x, z) :- edge(x, y), path(y, z)."
CHAIN = """engine.apply(insert={{'edge': [(n, n + 1) for n in range({0})]}})
assert len(engine['path']) == {0} * ({0} + 1) // 2
"""
TWO = "engine.apply(insert={'edge': [(1, 2), (2, 3)]})"
WARM_RUNS = 3


@dataclass(frozen=True)
class Case:
    """A process: its arguments after `python`, and what it is called in the table."""

    name: str
    arguments: tuple[str, ...]
    has_kernels: bool = True


def script(code: str) -> tuple[str, ...]:
    """Python code as arguments."""
    return ("-c", code)


def command(*words: str) -> tuple[str, ...]:
    """A command of ours as arguments."""
    return ("-m", "tidelog", *words)


CASES = (
    Case("`import numpy, numba`, for comparison", script("import numpy, numba"), has_kernels=False),
    Case("`import tidelog`", script("import tidelog"), has_kernels=False),
    Case("`tidelog --help`", command("--help"), has_kernels=False),
    Case("`tidelog check`, a plain program", command("check", "one.dl"), has_kernels=False),
    Case("`tidelog check`, one with aggregates", command("check", "groups.dl"), has_kernels=False),
    Case(
        "a script: one rule, two facts",
        script(ENGINE.format(more="") + TWO),
    ),
    Case("`tidelog materialize`, the same", command("materialize", "one.dl", "--facts", "facts")),
    Case("`tidelog query`, the same facts", command("query", "--facts", "facts", "edge(x, y), !edge(y, x)")),
    Case("a script: closure of a chain of 40, 820 facts", script(ENGINE.format(more=STEP) + CHAIN.format(40))),
    Case("a script: closure of a chain of 300, 45,150 facts", script(ENGINE.format(more=STEP) + CHAIN.format(300))),
)
DEMO = Case("`tidelog demo`, on Spark: Java included", command("demo", "--out", "demo"))


def main(argv: list[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="benchmarks.first_minute", description="what a first result costs")
    parser.add_argument("--python", default=sys.executable, help="the Python of another installation")
    parser.add_argument("--demo", action="store_true", help="also `tidelog demo`, which takes minutes")
    args = parser.parse_args(argv)
    print("| what | fresh | warm | memory |\n|---|---|---|---|", flush=True)
    for case in (*CASES, *([DEMO] if args.demo else [])):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            prepare(folder)
            runs = [measured(args.python, case, folder) for _ in range(1 + WARM_RUNS)]
        fresh = f"{runs[0][0]:.2f} s" if case.has_kernels else ""
        seconds, memory = min(run[0] for run in runs[1:]), max(run[1] for run in runs[1:])
        print(f"| {case.name} | {fresh} | {seconds:.2f} s | {memory:.0f} MB |", flush=True)
    return 0


def prepare(folder: Path) -> None:
    """The files of a user."""
    (folder / "one.dl").write_text("path(x, y) :- edge(x, y).\n")
    (folder / "groups.dl").write_text("degree(x, n) :- edge(x, _), n = count : { edge(x, _) }.\n")
    (folder / "facts").mkdir()
    (folder / "facts" / "edge.csv").write_text("a,b\nb,c\n")


def measured(python: str, case: Case, folder: Path) -> tuple[float, float]:
    """Processor seconds and megabytes of one process; its children count as far as it waits for them."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "kernels")}
    environment.pop("TIDELOG_KERNELS", None)  # other benchmarks interpret nothing; here that is the question
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installation has its bytecode
    with (folder / "output").open("w+") as output:
        process = subprocess.Popen(
            [python, *case.arguments], cwd=folder, env=environment, stdout=output, stderr=subprocess.STDOUT
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            output.seek(0)
            raise SystemExit(f"{case.name}: exit code {process.returncode}\n{output.read()}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


if __name__ == "__main__":
    sys.exit(main())

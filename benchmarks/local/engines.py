"""The engines that are measured, each behind the same two steps: load the facts, then derive.

What      : `ENGINES` has a `Runner` per engine: whether it can take a workload, and how it loads and derives.
Idea      : loading (encoding, tables, parsing) is measured apart from deriving; engines get one thread.
Invariant : `derive` gives the number of facts in the workload's output, which is compared between engines.
Never     : an engine that is not installed is left out, not failed.
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from benchmarks.local.workloads.workload import Workload

Derive = Callable[[], int]

COZO_CLOSURE = """path[x, y] := *edge[x, y]
path[x, z] := *edge[x, y], path[y, z]
?[count(x)] := path[x, y]"""


@dataclass(frozen=True)
class Runner:
    """One engine."""

    takes: Callable[[Workload], bool]
    load: Callable[[Workload], Derive]
    """Loads the facts; what it gives derives and counts."""


def _tidelog(workload: Workload, way: str = "auto") -> Derive:
    from tidelog.backends.local.bits.rows_or_bits import Way, computing
    from tidelog.engine import Engine

    engine = Engine(threads=1)
    engine.apply(insert=workload.facts)

    def derive() -> int:
        with computing(Way(way)):
            engine.apply(add_rules=workload.rules)
        return len(engine[workload.output])

    return derive


def _kernel(workload: Workload) -> Derive:
    from benchmarks.local.closure_kernel import closure

    edges = np.ascontiguousarray(workload.facts["edge"].T.astype(np.int64))
    nodes = int(edges.max()) + 1
    return lambda: int(closure(edges[0], edges[1], nodes)[0])


def _duckdb(workload: Workload) -> Derive:
    import duckdb
    import pyarrow as pa

    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    for name, facts in workload.facts.items():
        columns = pa.table({"abc"[at]: facts[:, at] for at in range(facts.shape[1])})
        connection.register(f"given_{name}", columns)
        connection.execute(f"CREATE TABLE {name} AS SELECT * FROM given_{name}")
    return lambda: int(connection.execute(workload.sql or "").fetchone()[0])  # type: ignore[index]


def _clingo(workload: Workload) -> Derive:
    import clingo

    control = clingo.Control(["--warn=none"])
    lines = []
    for name, facts in workload.facts.items():
        lines.extend(f"{name}({','.join(map(str, fact))})." for fact in facts.tolist())
    control.add("base", [], "\n".join(lines) + (workload.asp or ""))

    def derive() -> int:
        control.ground([("base", [])])
        arity = 3 if workload.output == "t" else 2
        return sum(1 for _ in control.symbolic_atoms.by_signature(workload.output, arity))

    return derive


def _cozo(workload: Workload) -> Derive:
    os.environ["RAYON_NUM_THREADS"] = "1"
    from cozo_embedded import CozoDbPy

    database = CozoDbPy("mem", "", "{}")
    database.run_script(":create edge {a: Int, b: Int}", {}, False)
    database.import_relations({"edge": {"headers": ["a", "b"], "rows": workload.facts["edge"].tolist()}})
    return lambda: int(database.run_script(COZO_CLOSURE, {}, True)["rows"][0][0])


def _souffle(workload: Workload) -> Derive:
    folder = Path(tempfile.mkdtemp())
    lines = []
    derived = {**workload.souffle_types, **{name: facts.shape[1] for name, facts in workload.facts.items()}}
    for name, arity in derived.items():
        lines.append(f".decl {name}({', '.join(f'c{at}: number' for at in range(arity))})")
    for name, facts in workload.facts.items():
        np.savetxt(folder / f"{name}.facts", facts, fmt="%d", delimiter="\t")
        lines.append(f".input {name}")
    unnamed = re.sub(r"(?m)^\s*\w+:\s", "", workload.rules)
    (folder / "p.dl").write_text("\n".join([*lines, f".printsize {workload.output}", unnamed]))

    def derive() -> int:
        shown = subprocess.run(
            ["souffle", "-j1", "-F", str(folder), str(folder / "p.dl")], check=True, capture_output=True, text=True
        )
        return int(shown.stdout.split()[-1])

    return derive


def _has(module: str) -> bool:
    return find_spec(module) is not None


ENGINES: dict[str, Runner] = {
    "tidelog": Runner(lambda _: True, _tidelog),
    "hash": Runner(lambda _: True, partial(_tidelog, way="rows")),
    "kernel": Runner(lambda workload: workload.is_closure, _kernel),
    "duckdb": Runner(lambda workload: workload.sql is not None and _has("duckdb"), _duckdb),
    "clingo": Runner(lambda workload: workload.asp is not None and _has("clingo"), _clingo),
    "cozo": Runner(lambda workload: workload.is_closure and _has("cozo_embedded"), _cozo),
    "souffle": Runner(lambda _: shutil.which("souffle") is not None, _souffle),
}


def peak_megabytes() -> float:
    """The most memory that this process and its children have held."""
    unit = 1024 if sys.platform != "darwin" else 1024 * 1024
    own, children = (resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return max(own, children) / unit


def cpu_seconds() -> float:
    """CPU seconds of this process and of those it has waited for."""
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)

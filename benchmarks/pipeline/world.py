"""A supply network of any size, with updates: deterministic, made of whole columns.

What      : `write_pipeline` writes rules, a CSV file of deliveries, a pipeline file; `updates` gives update after
            update.
Invariant : the same size gives the same files.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv

RULES = """
.decl supplies(a: number, b: number)
.decl sanctioned(a: number)
exposed(y) :- supplies(x, y), sanctioned(x).
down: exposed(y) :- supplies(x, y), exposed(x).
company(x) :- supplies(x, _).
company(y) :- supplies(_, y).
safe(x) :- company(x), !exposed(x), !sanctioned(x).
wide(x, n) :- sanctioned(x), n = count : { supplies(x, _) }.
"""
PIPELINE = """
program = "rules.dl"
state = "state"
[sources.supplies]
format = "csv"
path = "supplies.csv"
options = {{ header = true }}
[updates]
path = "updates"
every = 0.2
[[sinks]]
format = "parquet"
path = "changes"
[engine]
strategy = "auto"
[spark]
master = "local[2]"
memory = "{memory}"
"""
WINDOW = 400


def write_pipeline(folder: Path, facts: int, *, memory: str = "2g", keep_versions: int | None = None) -> None:
    """A pipeline over a number of deliveries; a supplier's customers are a little further down the list."""
    (folder / "updates").mkdir(parents=True)
    (folder / "rules.dl").write_text(RULES)
    kept = "" if keep_versions is None else f"keep_versions = {keep_versions}"
    (folder / "pipeline.toml").write_text(kept + PIPELINE.format(memory=memory))
    first, second = deliveries(np.random.default_rng(1), facts, companies(facts))
    csv.write_csv(pa.table({"a": first, "b": second}), folder / "supplies.csv")


def companies(facts: int) -> int:
    """How many companies there are: two of three deliveries concern a company that others supply as well."""
    return facts * 2 // 3


def deliveries(draw: np.random.Generator, count: int, among: int) -> tuple[np.ndarray, np.ndarray]:
    """Random pairs (supplier, customer)."""
    first = draw.integers(0, among - WINDOW, count)
    return first, first + draw.integers(1, WINDOW, count)


def updates(facts: int, seed: int = 2) -> Iterator[str]:
    """Update after update, without end: deliveries come and go, sanctions now and then, a rule every hundredth time."""
    draw = np.random.default_rng(seed)
    among = companies(facts)
    held: list[list[list[object]]] = []
    sanctioned: list[int] = []
    number = 0
    while True:
        number += 1
        pairs = deliveries(draw, 20, among)
        come: list[list[object]] = [["supplies", int(a), int(b)] for a, b in zip(*pairs)]
        gone = held.pop(0) if len(held) > 20 else []
        held.append(come)
        update: dict[str, object] = {"delete": list(gone), "insert": list(come)}
        if number % 5 == 1:
            sanctioned.append(int(draw.integers(among - 4 * WINDOW, among)))
            update["insert"] = [*come, ["sanctioned", sanctioned[-1]]]
        if len(sanctioned) > 8:
            update["delete"] = [*gone, ["sanctioned", sanctioned.pop(0)]]
        if number % 100 == 50:
            update["add_rules"] = (
                "twice: twice(x) :- supplies(y, x), sanctioned(y), supplies(z, x), sanctioned(z), y < z."
            )
        if number % 100 == 90:
            update["remove_rules"] = ["twice"]
        yield json.dumps(update)

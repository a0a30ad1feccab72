"""Small pipelines for tests: files in a folder, run in this process, looked at afterwards."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

import tidelog as tl
from tidelog.pipeline.job import run_pipeline
from tidelog.pipeline.settings.config import Pipeline, read_pipeline
from tidelog.pipeline.status import Status

RULES = """
.decl edge(a: symbol, b: symbol)
path(x, y) :- edge(x, y).
tr: path(x, z) :- path(x, y), edge(y, z).
lonely(x) :- node(x), !path(x, _).
node(x) :- edge(x, _).
node(y) :- edge(_, y).
"""
PIPELINE = """
program = "rules.dl"
state = "state"
on_bad = "{on_bad}"
rejects = "rejects"
[sources.edge]
format = "csv"
path = "edge.csv"
[updates]
path = "updates"
{updates}
[[sinks]]
format = "parquet"
path = "changes"
[engine]
backend = "local"
strategy = "{strategy}"
[spark]
master = "local[2]"
memory = "600m"
"""


class Recorder:
    """Keeps the events of a run."""

    def __init__(self) -> None:
        self.events: list[tuple[str, dict[str, Any]]] = []

    def show(self, kind: str, told: dict[str, Any]) -> None:
        self.events.append((kind, dict(told)))

    def close(self) -> None:
        """Everything is kept."""

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [told for found, told in self.events if found == kind]


class Place:
    """A folder with a pipeline in it."""

    def __init__(self, folder: Path, *, on_bad: str = "fail", updates: str = "", strategy: str = "auto") -> None:
        self.folder = folder
        (folder / "updates").mkdir(parents=True)
        self.write("rules.dl", RULES)
        self.write("edge.csv", "a,b\nb,c\n")
        self.write("pipeline.toml", PIPELINE.format(on_bad=on_bad, updates=updates, strategy=strategy))

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text, encoding="utf-8")

    def update(self, name: str, *updates: dict[str, Any] | str) -> None:
        lines = [one if isinstance(one, str) else json.dumps(one) for one in updates]
        self.write(f"updates/{name}.jsonl", "".join(f"{line}\n" for line in lines))

    def pipeline(self) -> Pipeline:
        return read_pipeline(self.folder / "pipeline.toml")

    def run(self, spark: Any) -> tuple[tl.Engine, Recorder]:
        recorder = Recorder()
        return run_pipeline(self.pipeline(), Status(recorder), once=True, spark=spark), recorder

    def feed(self) -> list[tuple[int, str, str, str]]:
        return feed(self.folder / "changes")

    def rejects(self) -> list[dict[str, Any]]:
        files = sorted((self.folder / "rejects").glob("part=*/*.parquet"))
        return [row for file in files for row in pq.ParquetFile(file).read().to_pylist()]


def feed(folder: Path) -> list[tuple[int, str, str, str]]:
    """The published change feed, in a fixed order."""
    rows = []
    for part in folder.glob("version=*"):
        for file in part.glob("*.parquet"):
            found = pq.ParquetFile(file).read().to_pylist()
            rows += [(int(part.name[8:]), row["relation"], row["op"], row["values"]) for row in found]
    return sorted(rows)


def summed(rows: Sequence[tuple[int, str, str, str]]) -> set[tuple[str, str]]:
    """The facts that a feed amounts to; a fact that comes twice or goes without having come is a fault of the feed."""
    facts: set[tuple[str, str]] = set()
    order = sorted(rows, key=lambda row: (row[0], row[2] == "insert"))
    for version, relation, op, values in order:
        fact = (relation, values)
        assert (fact in facts) == (op == "delete"), (version, op, fact)
        (facts.discard if op == "delete" else facts.add)(fact)
    return facts


def facts(engine: tl.Engine) -> set[tuple[str, str]]:
    """Every fact of an engine, spelled as in the feed."""
    return {(name, json.dumps(list(fact), ensure_ascii=False)) for name in engine.relations for fact in engine[name]}

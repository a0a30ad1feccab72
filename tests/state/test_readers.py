"""A reader of Delta tables that knows nothing of Tidelog finds the facts of a version with the query of docs/state.md.

Taught by a reader that counted rows: after incremental saves a fact that had gone was there twice, once with each sign.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from tests.backends.spark.engines import PAGED, driver
from tidelog import Engine
from tidelog.state import log

PAGE = (Path(__file__).parents[2] / "docs" / "state.md").read_text(encoding="utf-8")
RULES = """
path(x, y) :- edge(x, y).
path(x, z) :- edge(x, y), path(y, z).
out(x, n) :- edge(x, _), n = count : { path(x, _) }.
"""
UPDATES: list[dict[str, dict[str, list[tuple[Any, ...]]]]] = [
    {"insert": {"edge": [(1, 2), (2, 3)], "path": [(1, 2), (9, 9)], "mixed": [(1, "1"), (1.0, True)], "flag": [()]}},
    {"delete": {"edge": [(1, 2)], "flag": [()]}, "insert": {"mixed": [(True, 1.0)]}},
    {"insert": {"edge": [(1, 2), (3, 1)]}, "delete": {"path": [(1, 2)]}},
    {"insert": {"path": [(2, 2)], "flag": [()]}, "delete": {"edge": [(3, 1)], "mixed": [(1, "1")]}},
    {"delete": {"path": [(2, 2), (9, 9)]}, "insert": {"edge": [(5, 5)]}},
]


def read(state: Path, version: int) -> dict[str, dict[tuple[Any, ...], bool]]:
    """What the page tells a reader to do."""
    [query] = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)
    [program] = re.findall(r"```python\n(import duckdb\n.*?)```", PAGE, re.DOTALL)
    program = program.replace('"state"', repr(str(state))).replace("commits[7]", f"commits[{version}]")
    known: dict[str, Any] = {}
    exec(program, known)
    found: dict[str, dict[tuple[Any, ...], bool]] = {}
    for relation, values, explicit in known["rows"].query("rows", query).fetchall():
        found.setdefault(relation, {})[tuple(map(typed, values))] = explicit
    return found


def typed(cell: dict[str, Any]) -> tuple[str, Any]:
    """The one field that is filled."""
    [(kind, value)] = [(kind, value) for kind, value in cell.items() if value is not None]
    return kind, value


def known(engine: Engine) -> dict[str, dict[tuple[Any, ...], bool]]:
    """The same from an engine."""
    kinds = {bool: "bool", int: "int", float: "float", str: "text"}
    found = {}
    for name in engine.relations:
        explicit = {tuple((kinds[type(value)], value) for value in fact) for fact in engine.explicit(name)}
        facts = [tuple((kinds[type(value)], value) for value in fact) for fact in engine[name]]
        found[name] = {fact: fact in explicit for fact in facts}
    return {name: facts for name, facts in found.items() if facts}


@pytest.mark.parametrize("fan_out", [2, 32])
def test_a_reader_finds_the_facts_of_every_version(tmp_path, monkeypatch, fan_out):
    """Also where files of changes have been put together."""
    monkeypatch.setattr(log, "FAN_OUT", fan_out)
    engine, wanted = Engine(RULES), {}
    for update in UPDATES:
        engine.apply(**update)
        engine.save(tmp_path / "state")
        wanted[engine.version] = known(engine)
    assert {version: read(tmp_path / "state", version) for version in wanted} == wanted


def test_a_reader_finds_the_facts_that_a_spark_engine_saved(spark: SparkSession, tmp_path: Path) -> None:
    """The base is written by executors; ids and their files are no concern of a reader."""
    with driver(spark, PAGED, partitions=2), Engine(RULES, backend="spark", spark=spark) as engine:
        for update in UPDATES[:3]:
            engine.apply(**update)
            engine.save(tmp_path / "state")
        assert read(tmp_path / "state", engine.version) == known(engine)
        assert DeltaTable(tmp_path / "state").version() > 0

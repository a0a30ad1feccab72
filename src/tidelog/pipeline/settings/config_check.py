"""What may stand in a pipeline file, and what is wrong with one.

What      : `check_pipeline` compares a read TOML file with the tables below; `check_files` looks whether what it names
            is there.
Idea      : the tables are the documentation: each key with the kinds of values it takes, whether it is needed, and the
            words it may be. A key that nobody knows is an error, because a misspelt option would be silently ignored.
Invariant : all problems are found, in the order of the tables; none is raised here.
Never     : no default values (config.py).

Codes: E721 an unknown key, E722 a value of a wrong kind, E723 a missing key, E724 a missing file, E725 a value that is
not allowed.
"""

from __future__ import annotations

import glob
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

from tidelog.backends.spark.cluster.master import problem
from tidelog.errors import Problem
from tidelog.language.read import ENDINGS
from tidelog.maintenance.registry import STRATEGIES
from tidelog.pipeline.out.shelf import local_folder
from tidelog.pipeline.settings.toml_places import Places

OPERATORS = ("=", "!=", "<", "<=", ">", ">=", "in", "not in", "like", "is null", "is not null")
"""How a filter compares; `like` has the wildcards % and _."""

TYPES = ("number", "unsigned", "float", "symbol", "bool")
"""The types of columns; without one, text is a number, a float or a symbol, whichever fits all of a column."""

OPS = ("insert", "delete", "add_rules", "remove_rules")
"""What a row of updates can ask for."""

READ_FORMATS = ("csv", "json", "jsonl", "text", "rdf", "parquet", "orc", "avro", "xml", "jdbc", "delta")
WRITTEN_FORMATS = ("csv", "json", "parquet", "orc", "avro", "jdbc", "delta", "console")
FOLLOWED_FORMATS = ("jsonl", "json", "csv", "text", "parquet", "orc", "avro", "xml", "kafka", "delta", "rate")
"""The formats that most pipelines use; Spark knows more where packages are installed."""

_Kinds = tuple[type, ...]
_TEXT: _Kinds = (str,)
_NUMBER: _Kinds = (int, float)


@dataclass(frozen=True, slots=True)
class Key:
    """One key: the kinds of its value, those of the elements if it is a list, whether it is needed, allowed words."""

    kinds: _Kinds
    elements: _Kinds | None = None
    needed: bool = False
    words: tuple[object, ...] | None = None
    least: float | None = None
    usual: tuple[str, ...] = ()
    """Words that it mostly is: others are allowed, but not what looks like a misspelling of one of these."""


_OPTIONS = Key((dict,))
_PATH = Key(_TEXT)

ROOT = {
    "program": Key((str, list), _TEXT, needed=True),
    "state": Key(_TEXT, needed=True),
    "keep_versions": Key((int,), least=1),
    "sources": Key((dict,)),
    "updates": Key((dict,)),
    "sinks": Key((list,), (dict,)),
    "engine": Key((dict,)),
    "spark": Key((dict,)),
    "status": Key((dict,)),
    "on_bad": Key(_TEXT, words=("fail", "reject")),
    "rejects": _PATH,
    "reasoning": Key(_TEXT, words=("none", "rdfs", "owl-rl")),
}
SOURCE = {
    "format": Key(_TEXT, needed=True, usual=READ_FORMATS),
    "path": _PATH,
    "columns": Key((list,), (str, int)),
    "types": Key((list,), _TEXT, words=TYPES),
    "where": Key((list,), (dict,)),
    "options": _OPTIONS,
}
FILTER = {
    "column": Key(_TEXT, needed=True),
    "op": Key(_TEXT, needed=True, words=OPERATORS),
    "value": Key((str, int, float, bool, list)),
}
UPDATES = {
    "format": Key(_TEXT, usual=FOLLOWED_FORMATS),
    "path": _PATH,
    "files_per_batch": Key((int,), least=1),
    "latest": Key((bool,)),
    "every": Key(_NUMBER, least=0),
    "order": Key((list,), _TEXT),
    "line": Key(_TEXT),
    "columns": Key((dict,)),
    "checkpoint": _PATH,
    "options": _OPTIONS,
}
COLUMNS = {
    "op": Key((str, dict), needed=True),
    "relation": Key((str, dict), needed=True),
    "values": Key((str, list), _TEXT, needed=True),
    "types": Key((list,), _TEXT, words=TYPES),
}
ALWAYS = {"always": Key(_TEXT, needed=True)}
ALWAYS_OP = {"always": Key(_TEXT, needed=True, words=OPS)}
SINK = {
    "what": Key(_TEXT, words=("changes", "relations")),
    "format": Key(_TEXT, needed=True, usual=WRITTEN_FORMATS),
    "path": _PATH,
    "relations": Key((list,), _TEXT),
    "every": Key(_NUMBER, least=0),
    "keep": Key((int,), least=1),
    "options": _OPTIONS,
}
ENGINE = {
    "strategy": Key(_TEXT, words=tuple(STRATEGIES)),
    "backend": Key(_TEXT, words=("auto", "local", "spark")),
    "arithmetic": Key(_TEXT, words=("skip", "refuse")),
    "limits": Key((dict,)),
}
LIMITS = {
    name: Key(_NUMBER if name == "seconds" else (int,), least=1e-9) for name in ("facts", "rounds", "seconds", "bytes")
}
SPARK = {"master": Key(_TEXT), "memory": Key(_TEXT), "options": _OPTIONS}
STATUS = {"prometheus": _PATH, "port": Key((int,), least=0), "address": Key(_TEXT)}


def check_pipeline(content: Mapping[str, Any], places: Places) -> list[Problem]:
    """Everything that is wrong with the keys and values of a file."""
    return list(_check(content, places))


def check_files(content: Mapping[str, Any], places: Places, folder: Path) -> list[Problem]:
    """Programs and sources that are not there; addresses with a scheme are left to Spark."""
    found = []
    programs = content["program"]
    for name in [programs] if isinstance(programs, str) else programs:
        if not (folder / name).is_file():
            found.append(Problem("E724", f"there is no file {name}", places.of("program"), "check the path"))
        elif Path(name).suffix not in ENDINGS:
            found.append(Problem("E725", f"{name}: the ending names no dialect", places.of("program"), "use .dl"))
    for relation, table in content.get("sources", {}).items():
        path = table.get("path")
        if path and "://" not in path and not glob.glob(str(folder / path)):  # noqa: PTH207 - the pattern may be absolute
            found.append(
                Problem("E724", f"there is no file {path}", places.of("sources", relation, "path"), "check it")
            )
    return found


def _check(content: Mapping[str, Any], places: Places) -> Iterator[Problem]:
    yield from _table(content, ROOT, places)
    for name, keys in (("engine", ENGINE), ("spark", SPARK), ("status", STATUS), ("updates", UPDATES)):
        if isinstance(content.get(name), dict):
            yield from _table(content[name], keys, places, name)
    if isinstance(content.get("spark"), dict) and isinstance(content["spark"].get("master"), str):
        wrong = problem(content["spark"]["master"])
        if wrong is not None:
            yield Problem("E725", wrong[0], places.of("spark", "master"), wrong[1])
    if isinstance(content.get("engine"), dict) and isinstance(content["engine"].get("limits"), dict):
        yield from _table(content["engine"]["limits"], LIMITS, places, "engine", "limits")
    status = content.get("status")
    if isinstance(status, dict) and isinstance(status.get("address"), str):
        yield from _address(status, places)
    sources = content.get("sources")
    for relation, table in sources.items() if isinstance(sources, dict) else ():
        yield from _source(table, places, relation)
    sinks = content.get("sinks")
    for index, table in enumerate(sinks if isinstance(sinks, list) else ()):
        if isinstance(table, dict):
            yield from _table(table, SINK, places, "sinks", index)
            yield from _sink(table, places, index)
    if isinstance(content.get("updates"), dict):
        yield from _updates(content["updates"], places)


def _address(status: Mapping[str, Any], places: Places) -> Iterator[Problem]:
    place = places.of("status", "address")
    try:
        IPv4Address(status["address"])
    except ValueError:
        remedy = "write 127.0.0.1, 0.0.0.0, or another IPv4 address of this machine in numbers"
        yield Problem("E725", f"address cannot be {status['address']!r}", place, remedy)
    if "port" not in status:
        yield Problem("E723", "status has an address and no port", place, "add port = 9464, or leave address out")


def _source(table: object, places: Places, relation: str) -> Iterator[Problem]:
    where = ("sources", relation)
    if not isinstance(table, dict):
        yield Problem("E722", f"sources.{relation} is not a table", places.of(*where), f"write [sources.{relation}]")
        return
    yield from _table(table, SOURCE, places, *where)
    filters = table.get("where")
    for part in filters if isinstance(filters, list) else ():
        if isinstance(part, dict):
            yield from _table(part, FILTER, places, *where, "where")
            if "value" not in part and not str(part.get("op", "")).startswith("is "):
                yield Problem("E723", "a filter lacks value", places.of(*where, "where"), "compare with something")
    if "path" not in table and table.get("format") in ("csv", "json", "jsonl", "text", "rdf", "parquet"):
        yield Problem("E723", f"sources.{relation} lacks path", places.of(*where), "name a file or a folder")


def _updates(table: Mapping[str, Any], places: Places) -> Iterator[Problem]:
    if "path" not in table and table.get("format", "jsonl") in ("jsonl", "parquet"):
        yield Problem("E723", "updates lacks path", places.of("updates"), "name the folder that receives updates")
    columns = table.get("columns")
    if isinstance(columns, dict):
        yield from _columns(columns, places)
        if table.get("format", "jsonl") == "jsonl":
            remedy = "leave updates.columns out, or name the format that has them"
            yield Problem("E725", "JSON lines have no columns", places.of("updates", "columns"), remedy)
        if "line" in table:
            remedy = "keep line if a column holds JSON lines, else columns"
            yield Problem("E725", "updates has both line and columns", places.of("updates", "line"), remedy)


def _columns(table: Mapping[str, Any], places: Places) -> Iterator[Problem]:
    where = ("updates", "columns")
    yield from _table(table, COLUMNS, places, *where)
    for name, keys in (("op", ALWAYS_OP), ("relation", ALWAYS)):
        if isinstance(table.get(name), dict):
            yield from _table(table[name], keys, places, *where, name)
    values, types = table.get("values"), table.get("types")
    if isinstance(types, list) and isinstance(values, str):
        remedy = 'write values = ["..."] if the column holds one value; JSON says its own types'
        yield Problem("E725", "one column of JSON arrays takes no types", places.of(*where, "types"), remedy)
    elif isinstance(types, list) and isinstance(values, list) and len(types) != len(values):
        sentence = f"there are {len(values)} values and {len(types)} types"
        yield Problem("E725", sentence, places.of(*where, "types"), "write a type for each value")


def _sink(table: Mapping[str, Any], places: Places, index: int) -> Iterator[Problem]:
    format_ = table.get("format")
    if "path" not in table and format_ in ("parquet", "csv", "json"):
        yield Problem("E723", f"a {format_} sink lacks path", places.of("sinks", index), "name a folder")
    if "keep" in table and (not table.get("path") or local_folder(str(table["path"])) is None):
        remedy = "leave it out, and have the store's own means (life-cycle rules, a job) remove old versions"
        yield Problem("E725", "keep works in folders of this machine", places.of("sinks", index, "keep"), remedy)
    if format_ == "jdbc" and not {"url", "dbtable"} <= set(table.get("options", {})):
        yield Problem("E723", "a jdbc sink lacks options url and dbtable", places.of("sinks", index), "give both")


def _table(table: Mapping[str, Any], keys: Mapping[str, Key], places: Places, *at: str | int) -> Iterator[Problem]:
    """The problems of one table: unknown keys, wrong values, missing keys."""
    name = ".".join(str(part) for part in at)
    for key, value in table.items():
        if key in keys:
            yield from _value(value, keys[key], places, *at, key)
        else:
            close = get_close_matches(key, keys, 1)
            remedy = f"did you mean {close[0]}?" if close else f"use one of {', '.join(keys)}"
            yield Problem("E721", f"{name or 'a pipeline'} has no key {key}", places.of(*at, key), remedy)
    for key, described in keys.items():
        if described.needed and key not in table:
            yield Problem("E723", f"{name or 'the file'} lacks {key}", places.of(*at), f"add {key} = ...")


def _value(value: object, key: Key, places: Places, *at: str | int) -> Iterator[Problem]:
    name, place = at[-1], places.of(*at)
    if not _is_one_of(value, key.kinds):
        yield Problem("E722", f"{name} is {_called(type(value))}", place, f"write {_names(key.kinds)}")
        return
    parts = value if isinstance(value, list) else [value]
    if isinstance(value, list) and key.elements:
        for part in value:
            if not _is_one_of(part, key.elements):
                yield Problem("E722", f"{name} holds {_called(type(part))}", place, f"write {_names(key.elements)}")
                return
    for part in parts if key.words else ():
        if part not in (key.words or ()):
            close = get_close_matches(str(part), map(str, key.words or ()), 1)
            remedy = f"did you mean {close[0]}?" if close else f"use one of {', '.join(map(str, key.words or ()))}"
            yield Problem("E725", f"{name} cannot be {part!r}", place, remedy)
    close = get_close_matches(value, key.usual, 1, 0.6) if isinstance(value, str) and value not in key.usual else []
    if close and len(str(value)) <= len(close[0]) + 1:
        yield Problem("E725", f"{name} cannot be {value!r}", place, f"did you mean {close[0]}?")
    if key.least is not None and isinstance(value, int | float) and value < key.least:
        yield Problem("E725", f"{name} cannot be {value}", place, f"write at least {key.least:g}")


def _is_one_of(value: object, kinds: _Kinds) -> bool:
    return isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool))


_NAMES = {str: "a text", int: "a number", float: "a number", bool: "true or false", list: "a list", dict: "a table"}


def _called(kind: type) -> str:
    return _NAMES.get(kind, f"a {kind.__name__}")


def _names(kinds: _Kinds) -> str:
    return " or ".join(dict.fromkeys(_NAMES[kind] for kind in kinds))

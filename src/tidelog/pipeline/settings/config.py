"""What a pipeline file says.

What      : `read_pipeline` turns a TOML file into a `Pipeline`: programs, sources, updates, sinks, engine and Spark
            options.
Idea      : the file is data and stays data: filters are column, operator and value, never text of another language;
            what cannot be understood is refused before anything starts (see config_check.py).
Invariant : a `Pipeline` is complete and typed; its paths are absolute or addresses that Spark understands, resolved
            against the file's folder. Everything wrong with a file is reported at once, each problem with its line.
Never     : no Spark, and nothing is opened except the pipeline file itself.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from tidelog.errors import PipelineError, Place
from tidelog.language.terms import Value
from tidelog.limits import Limits
from tidelog.pipeline.settings.config_check import check_files, check_pipeline
from tidelog.pipeline.settings.toml_places import Places
from tidelog.state.address import directory_of
from tidelog.state.file_systems import for_spark
from tidelog.state.remote import Location

TRIPLE = "triple"
"""The relation of a graph that is reasoned over."""

LINE_FORMATS = ("csv", "json", "jsonl", "text", "rdf")
"""Formats whose records are lines: rejects carry the line's number and its text."""

NOT_TEXT = "the line is not UTF-8"
"""What is wrong with a line that cannot be decoded."""

Options = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Filter:
    """Keep the records whose column compares with the value as the operator says."""

    column: str
    op: str
    value: Value


@dataclass(frozen=True, slots=True)
class FactSource:
    """Where the explicit facts of one relation come from."""

    relation: str
    format: str
    path: str | None = None
    columns: tuple[str | int, ...] | None = None
    types: tuple[str, ...] | None = None
    where: tuple[Filter, ...] = ()
    options: Options = field(default_factory=dict)
    place: Place | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Always:
    """A text that stands for a column: every row has it."""

    text: str


@dataclass(frozen=True, slots=True)
class RowColumns:
    """Which columns of a stream make an update of each row: its op, its relation, and its values.

    One column of values holds them as a JSON array; several columns hold a value each, of the types that are given.
    """

    op: str | Always
    relation: str | Always
    values: str | tuple[str, ...]
    types: tuple[str, ...] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that have to be there."""
        values = (self.values,) if isinstance(self.values, str) else self.values
        return tuple(name for name in (self.op, self.relation, *values) if isinstance(name, str))


@dataclass(frozen=True, slots=True)
class UpdateSource:
    """Where updates come from: a folder of files that Spark watches, or any streaming format."""

    format: str
    path: str | None = None
    files_per_batch: int = 1
    latest: bool = False
    every: float = 0.0
    order: tuple[str, ...] = ()
    options: Options = field(default_factory=dict)
    line: str | None = None
    """The column that holds updates as JSON lines, in a format that has columns of its own."""
    columns: RowColumns | None = None
    """The columns that make an update of each row, in such a format."""
    checkpoint: str | None = None
    """Where Spark keeps what it has handed over; None stands for a folder in the state."""


@dataclass(frozen=True, slots=True)
class Sink:
    """Where changes or whole relations go."""

    what: Literal["changes", "relations"]
    format: str
    path: str | None = None
    relations: tuple[str, ...] | None = None
    every: float = 30.0
    keep: int = 2
    """How many versions of a relation stay, in a folder of this machine."""
    options: Options = field(default_factory=dict)
    number: int = 1


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A whole pipeline, as its file says."""

    file: Path
    programs: tuple[Path, ...]
    state: Location
    keep_versions: int | None = None
    sources: tuple[FactSource, ...] = ()
    updates: UpdateSource | None = None
    sinks: tuple[Sink, ...] = ()
    on_bad: Literal["fail", "reject"] = "fail"
    rejects: str = ""
    strategy: str = "auto"
    backend: str = "auto"
    arithmetic: str = "skip"
    reasoning: str = "none"
    limits: Limits = field(default_factory=Limits)
    master: str = "local[*]"
    spark: Options = field(default_factory=dict)
    prometheus: Path | None = None
    port: int | None = None
    address: str = "127.0.0.1"

    def relation_of(self, source: FactSource) -> str:
        """The relation that a source fills: of a graph that is reasoned over, every RDF source gives triples."""
        return TRIPLE if self.reasoning != "none" and source.format == "rdf" else source.relation


def read_pipeline(path: str | Path) -> Pipeline:
    """The pipeline in a TOML file; every mistake in it is reported, with its line."""
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise PipelineError.of(
            "E720", f"{path} cannot be read: {reason}", remedy="tidelog init writes an example"
        ) from error
    places = Places(text, str(path))
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line, column = _place_of(str(error), text)
        raise PipelineError.of(
            "E720", f"the file is not TOML: {error}", place=places.at(line, column), remedy="correct the line"
        ) from error
    problems = check_pipeline(content, places) or check_files(content, places, file.parent)
    if problems:
        raise PipelineError(problems)
    return _pipeline(content, file, places)


def resolve(path: str, folder: Path) -> str:
    """A path relative to the pipeline file, absolute; an address with a scheme stays as it is."""
    return path if "://" in path or path.startswith("file:/") else str((folder / path).resolve())


def _place_of(message: str, text: str) -> tuple[int, int]:
    """Line and column out of `... (at line 3, column 5)`; the last line if the file just ends."""
    words = message.rpartition("(at line ")[2].rstrip(")").split(", column ")
    if len(words) == 2 and all(word.isdigit() for word in words):
        return int(words[0]), int(words[1])
    return text.count("\n") + 1, 1


def _pipeline(content: Mapping[str, Any], file: Path, places: Places) -> Pipeline:
    folder = file.parent
    engine, spark, status = (content.get(name, {}) for name in ("engine", "spark", "status"))
    programs = content["program"]
    options = {name: _option(value) for name, value in spark.get("options", {}).items()}
    if "memory" in spark:
        options.setdefault("spark.driver.memory", spark["memory"])
    state = directory_of(resolve(content["state"], folder))
    if not isinstance(state, Path) and content.get("reasoning", "none") != "none":
        sentence, remedy = f"a graph that is reasoned over cannot be kept at {state}", "give a directory"
        raise PipelineError.of("E725", sentence, place=places.of("state"), remedy=remedy)
    own = for_spark(str(state / "_pipeline" / "rejects"))
    return Pipeline(
        file=file,
        programs=tuple(folder / name for name in ([programs] if isinstance(programs, str) else programs)),
        state=state,
        keep_versions=content.get("keep_versions"),
        sources=tuple(
            _source(name, table, folder, places.of("sources", name))
            for name, table in content.get("sources", {}).items()
        ),
        updates=_updates(content["updates"], folder) if "updates" in content else None,
        sinks=tuple(_sink(table, folder, number) for number, table in enumerate(content.get("sinks", []), 1)),
        on_bad=content.get("on_bad", "fail"),
        rejects=resolve(content["rejects"], folder) if "rejects" in content else own,
        strategy=engine.get("strategy", "auto"),
        backend=engine.get("backend", "auto"),
        arithmetic=engine.get("arithmetic", "skip"),
        reasoning=content.get("reasoning", "none"),
        limits=Limits(**engine.get("limits", {})),
        master=spark.get("master", "local[*]"),
        spark=options,
        prometheus=folder / status["prometheus"] if "prometheus" in status else None,
        port=status.get("port"),
        address=status.get("address", "127.0.0.1"),
    )


def _source(relation: str, table: Mapping[str, Any], folder: Path, place: Place) -> FactSource:
    columns, types = table.get("columns"), table.get("types")
    return FactSource(
        relation,
        table["format"],
        resolve(table["path"], folder) if "path" in table else None,
        None if columns is None else tuple(columns),
        None if types is None else tuple(types),
        tuple(Filter(part["column"], part["op"], part["value"]) for part in table.get("where", [])),
        _options(table),
        place,
    )


def _updates(table: Mapping[str, Any], folder: Path) -> UpdateSource:
    return UpdateSource(
        table.get("format", "jsonl"),
        resolve(table["path"], folder) if "path" in table else None,
        table.get("files_per_batch", 1),
        table.get("latest", False),
        float(table.get("every", 0.0)),
        tuple(table.get("order", ())),
        _options(table),
        table.get("line"),
        _columns(table["columns"]) if "columns" in table else None,
        resolve(table["checkpoint"], folder) if "checkpoint" in table else None,
    )


def _columns(table: Mapping[str, Any]) -> RowColumns:
    op, relation = (Always(one["always"]) if isinstance(one, dict) else one for one in (table["op"], table["relation"]))
    values, types = table["values"], table.get("types")
    return RowColumns(
        op,
        relation,
        values if isinstance(values, str) else tuple(values),
        None if types is None else tuple(types),
    )


def _sink(table: Mapping[str, Any], folder: Path, number: int) -> Sink:
    relations = table.get("relations")
    return Sink(
        table.get("what", "changes"),
        table["format"],
        resolve(table["path"], folder) if "path" in table else None,
        None if relations is None else tuple(relations),
        float(table.get("every", 30.0)),
        table.get("keep", 2),
        _options(table),
        number,
    )


def _options(table: Mapping[str, Any]) -> dict[str, str]:
    return {name: _option(value) for name, value in table.get("options", {}).items()}


def _option(value: object) -> str:
    """An option as the text that Spark expects."""
    return str(value).lower() if isinstance(value, bool) else str(value)

"""Micro-batches become updates.

What      : `parts_of` takes a micro-batch apart, in the order of its files and lines; `admitted` leaves out of a part
            what does not fit the engine, with a reason.
Idea      : Spark brings the files that are waiting, in no order that could be relied on among files of one moment;
            inside a micro-batch we go by name. Files are read whole, one row per file, so that the order of lines is
            the file's. A line is a transaction: if one of its facts is bad, all of it is rejected. The lines of a part
            (a file, or as many as `files_per_batch` says, or with `latest` all that wait) are netted into one update:
            one version.
Invariant : what is admitted can be applied as one update; what is not is a reject. Same micro-batch, same parts.
Never     : nothing is applied here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql import types as T  # noqa: N812

from tidelog.changes.update import Update, net, read_update
from tidelog.engine import Engine
from tidelog.errors import PipelineError, TidelogError
from tidelog.language.terms import Value
from tidelog.pipeline.settings.config import UpdateSource
from tidelog.pipeline.sources.rejects import Reject, readable

ROW = T.StructType([T.StructField(name, T.StringType()) for name in ("op", "relation", "values")])
"""The columns of updates that come as rows; `values` is a JSON array, for rules an array with their text or name."""

MOST_FILES = 1000
"""The most files of a micro-batch, so that it fits the driver."""

_SOURCE = "updates"
_LEADING = {"insert": "insert", "delete": "delete", "add_rules": "add_rules", "add_rule": "add_rules",
            "remove_rules": "remove_rules", "remove_rule": "remove_rules"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Line:
    """One transaction of a batch, and where it stood."""

    update: Update
    file: str
    number: int
    text: str

    def reject(self, reason: str) -> Reject:
        """The line as a reject."""
        return Reject(_SOURCE, self.file, self.number, self.text, reason)


def stream_of(spark: SparkSession, source: UpdateSource) -> DataFrame:
    """The stream of micro-batches of a source."""
    return _columns(_load(spark, source), source)


@dataclass(frozen=True, slots=True)
class Part:
    """What becomes one version: transactions in order, and the lines that are no transaction."""

    lines: tuple[Line, ...]
    rejects: tuple[Reject, ...]


def parts_of(batch: DataFrame, source: UpdateSource) -> list[Part]:
    """The parts of a micro-batch, in the order of its files."""
    read = _whole_files if "content" in batch.columns else _rows
    files: dict[str, list[Line | Reject]] = {}
    for text, file, number in read(batch.toArrow().to_pylist()):
        files.setdefault(file, []).append(_read(text, file, number))
    step = max(len(files), 1) if source.latest else source.files_per_batch
    found = list(files.values())
    return [_part([one for file in found[at : at + step] for one in file]) for at in range(0, len(found), step)]


def announced(part: Part, rules: frozenset[str]) -> Update | None:
    """What a part will ask for, as far as can be said before it is checked; None if it cannot."""
    try:
        return net([line.update for line in part.lines], rules)
    except TidelogError:
        return None


def _read(text: str, file: str, number: int) -> Line | Reject:
    try:
        return Line(read_update(text, readable(file), number), file, number, text)
    except TidelogError as error:
        return Reject(_SOURCE, file, number, text, error.problems[0].sentence)


def _part(found: list[Line | Reject]) -> Part:
    lines = tuple(one for one in found if isinstance(one, Line))
    return Part(lines, tuple(one for one in found if isinstance(one, Reject)))


def admitted(engine: Engine, lines: Sequence[Line]) -> tuple[Update, list[Reject]]:
    """The lines that fit the engine, netted into one update, and those that do not."""
    rules = rule_names(engine)
    types = {one.relation: [kind for _, kind in one.columns] for one in engine.program.declarations}
    arities: dict[str, int] = {}
    kept: list[Line] = []
    rejects = []
    for line in lines:
        reason = _misfit(line.update, engine, types, arities) or _wrong_rules(engine, kept, line, rules)
        if reason:
            rejects.append(line.reject(reason))
        else:
            kept.append(line)
    updates = [line.update for line in kept]
    return (updates[0] if len(updates) == 1 else net(updates, rules)), rejects


def rule_names(engine: Engine) -> frozenset[str]:
    """What rules can be called: their names, and their texts."""
    from tidelog.language.printer import canonical_text, print_rule, rule_key

    return frozenset(
        key for rule in engine.program.rules for key in (rule_key(rule), canonical_text(rule), print_rule(rule))
    )


def _misfit(update: Update, engine: Engine, types: dict[str, list[str]], arities: dict[str, int]) -> str | None:
    """Why facts of an update do not fit the relations, as far as is known at this point of the batch."""
    new: dict[str, int] = {}
    for facts in (update.delete, update.insert):
        for relation, table in facts.items():
            known = engine[relation].arity if relation in engine else arities.get(relation, new.get(relation))
            if known is not None and table.arity != known:
                return f"{relation} has {known} columns, not {table.arity}"
            if relation.startswith("@"):
                return f"relation names must not begin with @: {relation}"
            new[relation] = table.arity
    for relation, table in update.insert.items():
        for values in table if relation in types else ():
            for value, kind in zip(values, types[relation]):
                if not _fits(value, kind):
                    return f"{relation}: {value!r} is no {kind}"
    arities |= {name: arity for name, arity in new.items() if name in update.insert}
    return None


def _fits(value: Value, kind: str) -> bool:
    match kind:
        case "number":
            return type(value) is int
        case "unsigned":
            return type(value) is int and value >= 0
        case "float":
            return type(value) is float
        case "bool":
            return type(value) is bool
        case "symbol":
            return type(value) is str
    return True


def _wrong_rules(engine: Engine, kept: Sequence[Line], line: Line, rules: frozenset[str]) -> str | None:
    """Why the rules of a line cannot be added or removed after those of the lines before it."""
    if not (line.update.add_rules or line.update.remove_rules):
        return None
    changes = [Update.of(None, None, one.update.add_rules, one.update.remove_rules) for one in (*kept, line)]
    try:
        together = net(changes, rules)
        engine.preview(together.add_rules, together.remove_rules)
    except TidelogError as error:
        return error.problems[0].sentence
    return None


def _load(spark: SparkSession, source: UpdateSource) -> DataFrame:
    """The stream of a source, with the columns it has."""
    reader = spark.readStream.options(**source.options)
    if source.path and "maxFilesPerTrigger" not in source.options:
        reader = reader.option("maxFilesPerTrigger", str(MOST_FILES))
    if source.format == "jsonl":
        return reader.format("text").option("wholetext", "true").load(source.path)
    if source.format == "parquet":
        return reader.format("parquet").schema(ROW).load(source.path)
    reader = reader.format(source.format)
    return reader.load(source.path) if source.path else reader.load()


def _columns(frame: DataFrame, source: UpdateSource) -> DataFrame:
    """The columns that matter: content and file of whole files, or op, relation, values with what orders them."""
    if source.format == "jsonl":
        return frame.select(F.col("value").alias("content"), F.col("_metadata.file_path").alias("file"))
    missing = [name for name in ROW.names if name not in frame.columns]
    if missing:
        raise PipelineError.of(
            "E727", f"the update source has no column {missing[0]}", remedy="give it columns op, relation and values"
        )
    kind = frame.schema["values"].dataType
    values = F.col("values") if isinstance(kind, T.StringType) else F.to_json("values")
    return frame.select(F.col("op"), F.col("relation"), values.alias("values"), *_order(frame, source))


def _order(frame: DataFrame, source: UpdateSource) -> list[Column]:
    """File and number of rows where Spark knows them; else the columns that the user names."""
    if source.format == "parquet":
        return [F.col("_metadata.file_path").alias("file"), F.col("_metadata.row_index").alias("number")]
    missing = [name for name in source.order if name not in frame.columns]
    if missing:
        raise PipelineError.of("E727", f"the update source has no column {missing[0]}", remedy="correct updates.order")
    number = F.struct(*source.order) if source.order else F.lit(None).cast("bigint")
    return [F.lit(source.format).alias("file"), number.alias("number")]


def _whole_files(rows: list[dict[str, Any]]) -> Iterator[tuple[str, str, int]]:
    for row in sorted(rows, key=lambda row: str(row["file"])):
        for number, text in enumerate((row["content"] or "").split("\n"), 1):
            if text.strip():
                yield text, row["file"], number


def _rows(rows: list[dict[str, Any]]) -> Iterator[tuple[str, str, int]]:
    """Rows as lines of an update file; a row that is no update becomes a line that is rejected like any other."""

    def place(row: dict[str, Any]) -> tuple[Any, ...]:
        number = row["number"]
        return str(row["file"]), tuple(number.values()) if isinstance(number, dict) else number, row["op"] != "delete"

    for counted, row in enumerate(sorted(rows, key=place), 1):
        number = row["number"]
        yield _line(row), str(row["file"]), number + 1 if isinstance(number, int) else counted


def _line(row: dict[str, Any]) -> str:
    key, relation, text = _LEADING.get(str(row["op"]), str(row["op"])), row["relation"], row["values"] or "[]"
    try:
        values = json.loads(text)
    except ValueError:
        return json.dumps([row["op"], relation, text])
    if key == "add_rules":
        return json.dumps({key: "\n".join(map(str, values))}, ensure_ascii=False)
    return json.dumps({key: values if key == "remove_rules" else [[relation, *values]]}, ensure_ascii=False)

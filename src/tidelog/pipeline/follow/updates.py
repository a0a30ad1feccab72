"""Micro-batches become updates.

What      : `parts_of` takes a micro-batch apart, in the order of its files and lines.
Idea      : Spark brings the files that are waiting, in no order that could be relied on among files of one moment;
            inside a micro-batch we go by name. Files are read whole, one row per file, so that the order of lines is
            the file's. A line is a transaction: if one of its facts is bad, all of it is rejected. The lines of a part
            (a file, or as many as `files_per_batch` says) are settled together, with `latest` those of all parts that
            wait (settling.py).
Invariant : every line that is not blank is an update or a reject, in its place. Lines end at a newline and nowhere
            else. Same micro-batch, same parts.
Never     : nothing is applied here.
"""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql import types as T  # noqa: N812

from tidelog.changes.strict_json import read_json
from tidelog.changes.update import Update, net, read_update
from tidelog.errors import PipelineError, TidelogError
from tidelog.pipeline.settings.config import NOT_TEXT, UpdateSource
from tidelog.pipeline.sources.rejects import Reject, readable

ROW = T.StructType([T.StructField(name, T.StringType()) for name in ("op", "relation", "values")])
"""The columns of updates that come as rows; `values` is a JSON array, for rules an array with their text or name."""

MOST_BYTES = 16 << 20
"""The most bytes of files of a micro-batch, so that it fits the driver: its lines take some ten times as much there."""

_SOURCE = "updates"
_BOUNDS = {"maxfilespertrigger", "maxbytespertrigger"}
"""Spark's options that bound a micro-batch of files; it takes one of them, and the user's wins."""
_BLANK = b" \t\r"
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
    """What is settled together: transactions in order, and between them the lines that are refused."""

    lines: tuple[Line | Reject, ...]


def parts_of(batch: DataFrame, source: UpdateSource) -> list[Part]:
    """The parts of a micro-batch, in the order of its files."""
    read = _whole_files if "content" in batch.columns else _rows
    files: dict[str, list[Line | Reject]] = {}
    for text, file, number in read(batch.toArrow().to_pylist()):
        files.setdefault(file, []).append(read_line(text, file, number))
    step, found = source.files_per_batch, list(files.values())
    return [Part(tuple(chain.from_iterable(found[at : at + step]))) for at in range(0, len(found), step)]


def announced(part: Part, rules: frozenset[str]) -> Update | None:
    """What a part will ask for, as far as can be said before it is checked; None if it cannot."""
    try:
        return net([line.update for line in part.lines if isinstance(line, Line)], rules)
    except TidelogError:
        return None


def read_line(text: str | bytes, file: str, number: int) -> Line | Reject:
    """A line as a transaction, or as a reject with the reason why it cannot be one."""
    if isinstance(text, bytes):
        try:
            text = text.decode()
        except UnicodeDecodeError as error:
            shown = error.object.decode(errors="backslashreplace")
            return Reject(_SOURCE, file, number, shown, NOT_TEXT)
    try:
        return Line(read_update(text, readable(file), number), file, number, text)
    except TidelogError as error:
        return Reject(_SOURCE, file, number, text, error.problems[0].sentence)


def _load(spark: SparkSession, source: UpdateSource) -> DataFrame:
    """The stream of a source, with the columns it has."""
    reader = spark.readStream.options(**source.options)
    if source.path and not _BOUNDS.intersection(map(str.lower, source.options)):
        reader = reader.option("maxBytesPerTrigger", str(MOST_BYTES))
    if source.format == "jsonl":
        return reader.format("text").option("wholetext", "true").load(source.path)
    if source.format == "parquet":
        return reader.format("parquet").schema(ROW).load(source.path)
    reader = reader.format(source.format)
    return reader.load(source.path) if source.path else reader.load()


def _columns(frame: DataFrame, source: UpdateSource) -> DataFrame:
    """The columns that matter: the content of whole files or messages, or op, relation, values; and what orders them.

    A source with columns of its own (Kafka: key, value, topic, partition, offset) says which one holds JSON lines.
    """
    if source.format == "jsonl":
        content = F.col("value").cast("binary").alias("content")  # Spark does not look whether it is UTF-8
        return frame.select(content, F.col("_metadata.file_path").alias("file"))
    if source.line:
        if source.line not in frame.columns:
            remedy = f"correct updates.line; there are {', '.join(frame.columns)}"
            raise PipelineError.of("E727", f"the update source has no column {source.line}", remedy=remedy)
        return frame.select(F.col(source.line).cast("binary").alias("content"), *_order(frame, source))
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


def _whole_files(rows: list[dict[str, Any]]) -> Iterator[tuple[bytes, str, int]]:
    """The lines of files, or of messages (updates.line), of which each may have several; an empty one has none."""
    counted = Counter[str]()
    for row in sorted(rows, key=_place):
        content = (row["content"] or b"").removeprefix(BOM_UTF8)
        for text in content.split(b"\n"):
            counted[row["file"]] += 1
            if text.strip(_BLANK):
                yield text, row["file"], counted[row["file"]]


def _place(row: dict[str, Any]) -> tuple[Any, ...]:
    """What a row is ordered by: its file, then its number, or the columns that the user names."""
    number = row.get("number")
    keys = tuple(number.values()) if isinstance(number, dict) else (number,)
    return str(row["file"]), *((key is None, 0 if key is None else key) for key in keys)


def _rows(rows: list[dict[str, Any]]) -> Iterator[tuple[str, str, int]]:
    """Rows as lines of an update file; a row that is no update becomes a line that is rejected like any other."""
    for counted, row in enumerate(sorted(rows, key=lambda row: (*_place(row), row["op"] != "delete")), 1):
        number = row["number"]
        yield _line(row), str(row["file"]), number + 1 if isinstance(number, int) else counted


def _line(row: dict[str, Any]) -> str:
    key, relation, text = _LEADING.get(str(row["op"]), str(row["op"])), row["relation"], row["values"] or "[]"
    try:
        values = read_json(text)
    except ValueError:
        values = None
    if not isinstance(values, list):
        return json.dumps([row["op"], relation, text], ensure_ascii=False)
    if key == "add_rules":
        return json.dumps({key: "\n".join(map(str, values))}, ensure_ascii=False)
    return json.dumps({key: values if key == "remove_rules" else [[relation, *values]]}, ensure_ascii=False)

"""Bad records: counted, shown, kept.

What      : a table of rejects (source, file, line, text, reason) as Parquet, one folder per source or batch.
Idea      : numbering lines is expensive for a parallel reader and needed only for bad ones, so files are read once
            more, unsplit, when there are any, and the lines whose text was rejected get their numbers.
Invariant : every record that did not become a fact is in the table exactly once, however often its batch is replayed:
            a folder is written anew, never added to.
Never     : no decision whether a record is bad (records.py, cleaning.py, follow/updates.py).

Codes: E728 bad records where `on_bad = "fail"`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import unquote

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from tidelog.errors import PipelineError, Place, Problem
from tidelog.observe.logs import log
from tidelog.pipeline.out.folders import LONGEST, folder_name
from tidelog.pipeline.out.shelf import Shelf, local_folder
from tidelog.pipeline.settings.config import LINE_FORMATS, FactSource
from tidelog.pipeline.sources.records import HEADER

SCHEMA = pa.schema(
    [
        ("source", pa.string()),
        ("file", pa.string()),
        ("line", pa.int64()),
        ("text", pa.string()),
        ("reason", pa.string()),
    ]
)
_SHOWN = 5
_UNSPLIT = str(1 << 40)
_LOG = log(__name__)


@dataclass(frozen=True, slots=True)
class Reject:
    """One bad record: where it stood, its text, and why it is no fact or update."""

    source: str
    file: str
    line: int | None
    text: str
    reason: str

    def problem(self) -> Problem:
        """The reject as a problem with its place."""
        place = Place(readable(self.file), self.line or 1, 1, self.text if len(self.text) <= 200 else None)
        return Problem("E728", self.reason, place, 'correct it, or set on_bad = "reject"')


class RejectsTable:
    """The folder of rejects, and what to do when there are any."""

    def __init__(self, spark: SparkSession, path: str, on_bad: str) -> None:
        self._spark, self._path, self._on_bad = spark, path, on_bad
        folder = local_folder(path)
        self._shelf = None if folder is None else Shelf(folder)
        self.count = 0

    def take(self, part: str, rejects: Sequence[Reject]) -> None:
        """Bad records of one batch: a failure, or rows of the table."""
        if not rejects:
            return
        self._judge(len(rejects), rejects[:_SHOWN])
        rows = [[_storable(getattr(reject, name)) for reject in rejects] for name in SCHEMA.names]
        table = pa.table([pa.array(column, field.type) for column, field in zip(rows, SCHEMA)], schema=SCHEMA)
        self._write(part, self._spark.createDataFrame(table))

    def take_frame(self, part: str, rejects: DataFrame, count: int) -> None:
        """Bad records of a source, as many as there may be."""
        shown = rejects.limit(_SHOWN).toArrow().to_pylist()
        self._judge(count, [Reject(**row) for row in shown])
        self._write(part, rejects)

    def _judge(self, count: int, shown: Sequence[Reject]) -> None:
        if self._on_bad == "fail":
            problems = [reject.problem() for reject in shown]
            if count > len(problems):
                problems.append(Problem("E728", f"... and {count - len(problems):,} more bad records"))
            raise PipelineError(problems)
        self.count += count
        _LOG.warning("bad records of %s: %d", shown[0].source if shown else "a source", count)
        for reject in shown:
            _LOG.warning("rejected %s:%s: %s", readable(reject.file), reject.line, reject.reason)

    def _write(self, part: str, rejects: DataFrame) -> None:
        frame, name = rejects.coalesce(1), f"part={folder_name(part, LONGEST - len('part='))}"
        if self._shelf is None:
            frame.write.mode("overwrite").parquet(f"{self._path}/{name}")
        else:
            self._shelf.put("rejects", name, lambda path: frame.write.parquet(str(path)))


def rejected(spark: SparkSession, source: FactSource, frame: DataFrame) -> DataFrame:
    """The bad records of a cleaned frame as rows of the table, with line numbers where records are lines."""
    bad = frame.where(F.col("problem").isNotNull()).select("file", "text", F.col("problem").alias("reason"))
    if source.format in LINE_FORMATS:
        value = F.make_valid_utf8("value").alias("value")
        lines = spark.read.text(source.path or "").select(F.col("_metadata.file_path").alias("file"), value)
        counted = lines.mapInArrow(_numbered, "file string, line bigint, text string")
        whole = bad.where(F.col("text").isNull()).select(
            "file", F.lit("").alias("text"), "reason", _told_line(F.col("reason")).alias("line")
        )
        rows = counted.join(bad.distinct(), ["file", "text"]).where((F.col("reason") != HEADER) | (F.col("line") > 1))
        rows = rows.unionByName(whole)
    else:
        rows = bad.withColumn("line", F.lit(None).cast("bigint"))
    return rows.select(F.lit(source.relation).alias("source"), "file", "line", "text", "reason")


def _told_line(reason: Column) -> Column:
    """The line that a reason ends with, where a file was read as a whole."""
    return F.regexp_extract(reason, r"\(line ([0-9]+)\)$", 1).try_cast("bigint")


def readable(file: str) -> str:
    """A file as people write it: Spark gives local files as encoded addresses."""
    return unquote(file.removeprefix("file://").removeprefix("file:")) if file.startswith("file:") else file


@contextmanager
def unsplit_files(spark: SparkSession) -> Iterator[None]:
    """While this lasts, Spark reads every file in one piece, from its first line to its last."""
    names = ("spark.sql.files.maxPartitionBytes", "spark.sql.files.openCostInBytes")
    before = {name: spark.conf.get(name) for name in names}
    for name in names:
        spark.conf.set(name, _UNSPLIT)
    try:
        yield
    finally:
        for name, value in before.items():
            spark.conf.set(name, value or "")


def _storable(value: str | int | None) -> str | int | None:
    """A text that any table takes: lone surrogates, which an escape of JSON can name, are shown as such."""
    return value.encode(errors="backslashreplace").decode() if isinstance(value, str) else value


def _numbered(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Lines with their numbers; a file's lines come one after the other, in order."""
    file, line = None, 0
    for batch in batches:
        files = batch.column(0).to_pylist()
        numbers = []
        for name in files:
            line = line + 1 if name == file else 1
            file = name
            numbers.append(line)
        columns = [batch.column(0), pa.array(numbers, pa.int64()), batch.column(1)]
        yield pa.RecordBatch.from_arrays(columns, names=["file", "line", "text"])

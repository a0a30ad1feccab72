"""Where changes and relations go.

What      : change sinks take the feed of every version; relation sinks take whole relations now and then.
Idea      : a version is published under its number, so that publishing it again writes the same thing in the same
            place: a folder `version=N` is written anew, a database table that knows the version already is left alone.
Invariant : what a sink holds of version N is all of it or nothing: folders appear whole, and a database gets one
            transaction. Only stored versions are published. The console may repeat a version after a crash.
Never     : names of relations never become paths as they are (they are quoted), nor text of a query.

Codes: E729 a sink that cannot be written.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Protocol, TextIO, TypeAlias
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from tidelog.engine import Engine
from tidelog.errors import PipelineError
from tidelog.pipeline.out.feed import spelled
from tidelog.pipeline.settings.config import Sink
from tidelog.pipeline.sources.records import SPARK_ERRORS

Rows: TypeAlias = "pa.Table | DataFrame"
"""Rows of the change feed: an Arrow table, or a frame where there are too many for the driver."""

_SHOWN = 20


class ChangeSink(Protocol):
    """Takes the change feed, version by version."""

    def publish(self, version: int, rows: Rows) -> None:
        """Take the rows of a version; taking them twice has the effect of taking them once."""


def change_sinks(spark: SparkSession, sinks: Sequence[Sink], out: TextIO) -> list[ChangeSink]:
    """The sinks that want changes."""
    return [_change_sink(spark, sink, out) for sink in sinks if sink.what == "changes"]


def relation_sinks(spark: SparkSession, sinks: Sequence[Sink], out: TextIO) -> list[RelationSink]:
    """The sinks that want whole relations."""
    return [RelationSink(spark, sink, out) for sink in sinks if sink.what == "relations"]


def _change_sink(spark: SparkSession, sink: Sink, out: TextIO) -> ChangeSink:
    if sink.format == "console":
        return ConsoleChanges(sink, out)
    if sink.format == "jdbc":
        return DatabaseChanges(spark, sink)
    return FolderOfChanges(spark, sink)


class FolderOfChanges:
    """A folder with one folder per version: to Spark, a table partitioned by version."""

    def __init__(self, spark: SparkSession, sink: Sink) -> None:
        self._spark, self._sink = spark, sink

    def publish(self, version: int, rows: Rows) -> None:
        """Write the folder of the version anew."""
        with _writing(self._sink):
            wanted = _wanted(self._spark, rows, self._sink)
            if wanted is not None:
                _write(wanted.drop("version"), self._sink, f"{self._sink.path}/version={version}")


class DatabaseChanges:
    """A table that grows by one transaction per version."""

    def __init__(self, spark: SparkSession, sink: Sink) -> None:
        self._spark, self._sink = spark, sink
        self._last: int | None = None

    def publish(self, version: int, rows: Rows) -> None:
        """Add the rows, unless the table has them already."""
        last = self._stored() if self._last is None else self._last
        if version <= last:
            return
        with _writing(self._sink):
            wanted = _wanted(self._spark, rows, self._sink)
            if wanted is not None:  # one partition is one transaction
                wanted.coalesce(1).write.format("jdbc").options(**self._sink.options).mode("append").save()
        self._last = version

    def _stored(self) -> int:
        """The last version in the table; -1 if there is none, or no table yet."""
        try:
            table = self._spark.read.format("jdbc").options(**self._sink.options).load()
            row = table.agg(F.max("version")).first()
        except SPARK_ERRORS:
            return -1
        return -1 if row is None or row[0] is None else int(row[0])


class ConsoleChanges:
    """Lines for people."""

    def __init__(self, sink: Sink, out: TextIO) -> None:
        self._sink, self._out = sink, out

    def publish(self, version: int, rows: Rows) -> None:
        """Print the first rows of a version."""
        wanted = _of(rows if isinstance(rows, pa.Table) else rows.limit(10 * _SHOWN).toArrow(), self._sink)
        for row in wanted.slice(0, _SHOWN).to_pylist():
            sign = "+" if row["op"] == "insert" else "-"
            print(f"{version:>6} {sign} {row['relation']}({row['values'][1:-1]})", file=self._out, flush=True)
        if wanted.num_rows > _SHOWN:
            print(f"{version:>6}   ... and {wanted.num_rows - _SHOWN:,} more", file=self._out, flush=True)


class RelationSink:
    """Whole relations, written when a run ends and, during a run, not more often than the sink's `every` seconds."""

    def __init__(self, spark: SparkSession, sink: Sink, out: TextIO) -> None:
        self._spark, self._sink, self._out = spark, sink, out
        self._published: int | None = None
        self._at = time.monotonic()
        if sink.format == "jdbc" and len(sink.relations or ()) != 1:
            raise PipelineError.of(
                "E725",
                f"sink {sink.number}: a database table takes one relation",
                remedy='name it: relations = ["..."]',
            )

    def publish(self, engine: Engine, now: float, final: bool = False) -> None:
        """Write the relations if it is time, or if it is the last time."""
        if engine.version == self._published or not (final or now - self._at >= self._sink.every):
            return
        for relation in self._sink.relations or engine.relations:
            if relation in engine:
                with _writing(self._sink):
                    self._publish(engine, relation)
        self._published, self._at = engine.version, now

    def _publish(self, engine: Engine, relation: str) -> None:
        if self._sink.format == "console":
            for fact in islice(engine[relation], _SHOWN):
                print(f"{relation}({', '.join(map(repr, fact))})", file=self._out)
            return
        frame = _frame(engine, relation, self._spark)
        if self._sink.format == "jdbc":
            options = {"truncate": "true", **self._sink.options}
            frame.write.format("jdbc").options(**options).mode("overwrite").save()
            return
        folder = f"{self._sink.path}/{quote(relation, safe='')}"
        _write(frame, self._sink, f"{folder}/version={engine.version}")
        _forget(folder, engine.version, self._sink.keep)


def _of(rows: pa.Table, sink: Sink) -> pa.Table:
    """The rows of the relations that a sink wants."""
    if sink.relations is None:
        return rows
    return rows.filter(pc.is_in(rows["relation"], pa.array(sink.relations, pa.string())))


def _wanted(spark: SparkSession, rows: Rows, sink: Sink) -> DataFrame | None:
    """The same as a frame, None if there are no rows; what fits the driver becomes one file."""
    if isinstance(rows, pa.Table):
        wanted = _of(rows, sink)
        return spark.createDataFrame(wanted).coalesce(1) if wanted.num_rows else None
    return rows if sink.relations is None else rows.where(F.col("relation").isin(*sink.relations))


def _frame(engine: Engine, relation: str, spark: SparkSession) -> DataFrame:
    """A relation for Spark; a column of mixed types becomes JSON, which keeps them apart."""
    held = engine[relation]
    if engine.backend == "spark":
        frame: DataFrame = held.to_spark()
        return frame
    table = held.to_arrow()
    columns = [
        spelled(pa.table([column], names=["c"]), len(column)) if pa.types.is_union(column.type) else column
        for column in table.columns
    ]
    typed = [pc.cast(column, pa.string()) if pa.types.is_null(column.type) else column for column in columns]
    return spark.createDataFrame(pa.table(typed, names=table.column_names)).coalesce(1)


def _write(frame: DataFrame, sink: Sink, path: str) -> None:
    """Write a folder anew; in CSV a quote is doubled, as everybody but Spark expects it."""
    options = {"escape": '"', **sink.options} if sink.format == "csv" else sink.options
    frame.write.format(sink.format).options(**options).mode("overwrite").save(path)


def _forget(folder: str, version: int, keep: int) -> None:
    """Remove all but the last versions of a local folder; in other storage nothing is removed."""
    if "://" in folder:
        return
    versions = sorted(
        (int(path.name.partition("=")[2]), path)
        for path in Path(folder).glob("version=*")
        if path.name.partition("=")[2].isdigit()
    )
    for number, path in versions:
        if number > version or (number, path) in versions[:-keep]:
            shutil.rmtree(path)


@contextmanager
def _writing(sink: Sink) -> Iterator[None]:
    """What goes wrong with a sink is said in one line; the state is safe, and a restart publishes again."""
    try:
        yield
    except SPARK_ERRORS as error:
        first = (str(error).splitlines() or [type(error).__name__])[0]
        raise PipelineError.of(
            "E729",
            f"sink {sink.number} ({sink.format}) cannot be written: {first}",
            remedy="look after the sink and start again; nothing is lost",
        ) from error

"""Parquet files of this machine, read by tasks themselves.

What      : `near_files` says of which files and columns a DataFrame consists, if it is nothing else;
            `NearFiles.parcels` has tasks read them.
Idea      : facts that Spark reads are columns in the file, rows in Java, and columns again for our tasks: a microsecond
            of processor time a fact, a fifth of a load. A task that opens the file itself has the columns at once.
Invariant : the facts are those that Spark would give: the files that it has listed, columns by exact name, of the very
            types that it has for them, and of bytes that agree with the checksums beside them. Whatever is not plain
            (a filter, a computed column, folders that are columns, cached rows, other types, a footer that cannot be
            read) is left to Spark.
Never     : no file but those of a session whose tasks run on the driver's machine and end with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
from py4j.java_gateway import JavaObject  # type: ignore[import-untyped]
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import DataFrame
from pyspark.sql import types as T  # noqa: N812

from tidelog.backends.spark.cluster import table_files
from tidelog.backends.spark.files.hadoop_checksums import verify
from tidelog.backends.spark.files.parcels import PARCEL, Batches

_TYPES: Mapping[T.DataType, tuple[pa.DataType, ...]] = {
    T.StringType(): (pa.string(), pa.large_string()),
    T.BooleanType(): (pa.bool_(),),
    T.LongType(): (pa.int64(),),
    T.IntegerType(): (pa.int32(),),
    T.ShortType(): (pa.int16(),),
    T.ByteType(): (pa.int8(),),
    T.DoubleType(): (pa.float64(),),
    T.FloatType(): (pa.float32(),),
}
"""How Arrow calls what Spark has for a column of a file."""
_HARMLESS = {"path", "paths", "mergeschema", "pathglobfilter", "recursivefilelookup"}
"""Options that say which files there are, and nothing about how they are read."""
_FORGIVING = (
    "spark.sql.files.ignoreCorruptFiles",
    "spark.sql.files.ignoreMissingFiles",
    "spark.sql.parquet.fieldId.read.enabled",
)
"""Settings with which Spark reads otherwise."""
_MOST_FILES = 1000
"""Up to this number of files, footers are looked at before the job: half a second."""
_ROWS, _BYTES = 1 << 13, 128 << 20
"""Rows that are read at once, however long their texts are, and bytes that are worth a task."""


class Piece(NamedTuple):
    """A row group of a file, and the bytes that end with it; those of the first begin with the file, those of the last
    end with it.
    """

    path: str
    group: int
    start: int
    stop: int
    size: int
    """The bytes of the whole file."""


@dataclass(frozen=True)
class NearFiles:
    """Columns of files, divided into the pieces of tasks."""

    columns: tuple[str, ...]
    tasks: tuple[tuple[Piece, ...], ...]

    def parcels(self, frame: DataFrame, pack: Callable[[Batches], Batches]) -> DataFrame:
        """What an Arrow task makes of the facts; `frame` tells the session."""
        count = len(self.tasks)
        return frame.sparkSession.range(0, count, 1, count).mapInArrow(_Read(self, pack), PARCEL)


@dataclass(frozen=True)
class _Read:
    """An Arrow task: numbers of tasks to what is packed of their pieces."""

    files: NearFiles
    pack: Callable[[Batches], Batches]

    def __call__(self, batches: Batches) -> Batches:
        """Read, and pack."""
        return self.pack(self._rows(batches))

    def _rows(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        names = [f"v{at}" for at in range(len(self.files.columns))]
        for number in (number for batch in batches for number in batch.column(0).to_pylist()):
            for piece in self.files.tasks[number]:
                verify(piece.path, piece.start, piece.stop, piece.size)
                wanted = list(dict.fromkeys(self.files.columns))
                with pq.ParquetFile(piece.path, buffer_size=1 << 20, page_checksum_verification=True) as file:
                    for rows in file.iter_batches(_ROWS, [piece.group], wanted, use_threads=False):
                        found = [_as_spark_has_it(rows.column(name)) for name in self.files.columns]
                        yield pa.RecordBatch.from_arrays(found, names)


def near_files(frame: DataFrame, tasks: int) -> NearFiles | None:
    """The files and columns that a DataFrame consists of, for about a number of tasks; None if it is anything else."""
    spark = frame.sparkSession
    if table_files.loses_executors(spark) or any(spark.conf.get(name, "false") != "false" for name in _FORGIVING):
        return None
    try:
        anew = frame.select("*")  # what is kept is asked when a plan is first looked at, and this one is new
        columns = _plain_columns(anew)
        paths = [_path(address) for address in anew.inputFiles()] if columns else []
        if not columns or not paths or len(paths) > _MOST_FILES or None in paths:
            return None
        wanted = dict(zip(columns, (field.dataType for field in frame.schema.fields)))
        found = [_pieces(path, wanted) for path in paths if path is not None]
    except (Py4JError, OSError, ValueError, pa.ArrowException):  # a name that is not UTF-8 is a ValueError
        return None
    pieces = [piece for some in found for piece in some or ()]
    return NearFiles(tuple(columns), _divided(pieces, tasks)) if pieces and None not in found else None


def _plain_columns(frame: DataFrame) -> list[str] | None:
    """The columns of the files that are those of the frame, in its order; None if it does more than read them."""
    plan = frame._jdf.queryExecution().withCachedData()
    renamed: dict[str, str] = {}
    """By the identity that Spark gives to a column, of which column of the plan below it is."""
    while _kind(plan) == "Project":
        for expression in _each(plan.projectList()):
            kind = _kind(expression)
            source = expression.child() if kind == "Alias" else expression
            if _kind(source) != "AttributeReference":
                return None
            renamed[str(expression.exprId())] = str(source.exprId())
        plan = plan.child()
    if _kind(plan) != "LogicalRelation" or _kind(plan.relation()) != "HadoopFsRelation":
        return None
    relation = plan.relation()
    options = {str(name).lower() for name in _each(relation.options().keys().toSeq())}
    if _kind(relation.fileFormat()) != "ParquetFileFormat" or not options <= _HARMLESS:
        return None
    if not (relation.partitionSchema().isEmpty() and relation.bucketSpec().isEmpty()):
        return None
    names = {str(column.exprId()): str(column.name()) for column in _each(plan.output())}
    found = [_followed(str(column.exprId()), renamed) for column in _each(_output(frame))]
    columns = [names.get(one) for one in found]
    return [name for name in columns if name is not None] if None not in columns else None


def _output(frame: DataFrame) -> JavaObject:
    return frame._jdf.queryExecution().analyzed().output()


def _followed(column: str, renamed: Mapping[str, str]) -> str:
    """The column of the files that a column is, through projections, which may keep its identity."""
    while column in renamed and renamed[column] != column:
        column = renamed[column]
    return column


def _kind(thing: JavaObject) -> str:
    return str(thing.getClass().getSimpleName()).rstrip("$")


def _each(sequence: JavaObject) -> Iterator[JavaObject]:
    return (sequence.apply(at) for at in range(sequence.size()))


def _path(address: str) -> str | None:
    """The path of a file that every task can open; None if it is elsewhere."""
    parts = urlsplit(address)
    return unquote(parts.path) if parts.scheme == "file" and not parts.netloc else None


def _pieces(path: str, wanted: Mapping[str, T.DataType]) -> list[Piece] | None:
    """The row groups of a file; None if its columns are not the ones that are wanted."""
    with pq.ParquetFile(path) as file:
        there = {field.name: field.type for field in file.schema_arrow}
        if len({name.lower() for name in there}) < len(file.schema_arrow):
            return None
        for name, kind in wanted.items():
            if "." in name or name not in there or there[name] not in _TYPES.get(kind, ()):
                return None
        size, said = Path(path).stat().st_size, file.metadata
        starts = [_start(said.row_group(group)) for group in range(said.num_row_groups)]
    bounds = [0, *starts[1:], size]
    if bounds != sorted(bounds):
        return None
    return [Piece(path, group, bounds[group], bounds[group + 1], size) for group in range(len(starts))]


def _start(group: pq.RowGroupMetaData) -> int:
    """Where the first page of a row group begins."""
    columns = [group.column(at) for at in range(group.num_columns)]
    pages = [(int(one.data_page_offset), int(one.dictionary_page_offset or 0)) for one in columns]
    return min(dictionary or data for data, dictionary in pages)


def _divided(pieces: Sequence[Piece], tasks: int) -> tuple[tuple[Piece, ...], ...]:
    """Row groups in turn for tasks of about the same number of bytes."""
    total = sum(piece.stop - piece.start for piece in pieces)
    count = min(len(pieces), max(tasks, -(-total // _BYTES)))
    found: list[list[Piece]] = [[] for _ in range(count)]
    before = 0
    for piece in pieces:
        size = piece.stop - piece.start
        found[min(count * (2 * before + size) // max(2 * total, 1), count - 1)].append(piece)
        before += size
    return tuple(tuple(some) for some in found if some)


def _as_spark_has_it(column: pa.Array) -> pa.Array:
    return column.cast(pa.string()) if pa.types.is_large_string(column.type) else column

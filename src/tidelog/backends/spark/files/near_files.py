"""Parquet files of this machine, read by tasks themselves.

What      : `near_files` says of which files and columns a DataFrame consists, if it is nothing else;
            `NearFiles.parcels` has tasks read them.
Idea      : facts that Spark reads are columns in the file, rows in Java, and columns again for our tasks: a microsecond
            of processor time a fact, a fifth of a load. A task that opens the file itself has the columns at once, of
            all the row groups that it reads of one file.
Invariant : the facts are those that Spark would give: the files that it has listed, columns by exact name, of the very
            types that it has for them. What is read, footers included, agrees with the checksums beside the files
            (hadoop_checksums.py), and with those of pages where Spark is told to compare them. Whatever is not plain (a
            filter, a computed column, folders that are columns, cached rows, other types, a codec that Arrow lacks, a
            footer that cannot be read, files for which Spark compares no checksums) is left to Spark.
Never     : no file but those of a session whose tasks run on the driver's machine and end with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
from py4j.java_gateway import JavaObject, is_instance_of  # type: ignore[import-untyped]
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T  # noqa: N812

from tidelog.backends.spark.cluster import table_files
from tidelog.backends.spark.cluster.failures import DAMAGED
from tidelog.backends.spark.files.hadoop_checksums import CheckedFile
from tidelog.backends.spark.files.parcels import PARCEL, Batches
from tidelog.errors import PipelineError

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
_SYSTEMS = "org.apache.hadoop.fs"
_VERIFY_PAGES = "parquet.page.verify-checksum.enabled"
"""Whether Spark compares the checksums of pages: those that Parquet has within files."""
_MOST_FILES = 1000
"""Up to this number of files, footers are looked at before the job: half a second."""
_TAIL = 8
"""A file ends with the length of its footer and four letters."""
_ROWS, _BYTES = 1 << 13, 128 << 20
"""Rows that are read at once, however long their texts are, and bytes that are worth a task."""


class Piece(NamedTuple):
    """Row groups of a file that follow each other, from the first to the one before `stop`."""

    path: str
    first: int
    stop: int
    weight: int
    """The bytes of the columns that are read."""
    size: int
    """The bytes of the whole file."""


@dataclass(frozen=True)
class NearFiles:
    """Columns of files, divided into the pieces of tasks."""

    columns: tuple[str, ...]
    tasks: tuple[tuple[Piece, ...], ...]
    are_pages_verified: bool = False

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
                for rows in self._read(piece):
                    found = [_as_spark_has_it(rows.column(name)) for name in self.files.columns]
                    yield pa.RecordBatch.from_arrays(found, names)

    def _read(self, piece: Piece) -> Iterator[pa.RecordBatch]:
        """The rows of a piece; what goes wrong says which file it is."""
        wanted, groups = list(dict.fromkeys(self.files.columns)), list(range(piece.first, piece.stop))
        is_verified = self.files.are_pages_verified
        try:
            with _opened(CheckedFile(piece.path, piece.size), is_verified) as file:
                yield from file.iter_batches(_ROWS, groups, wanted, use_threads=False)
        except (OSError, pa.ArrowException) as error:
            reason = str(error).partition("\n")[0] or type(error).__name__
            said = reason if piece.path in reason else f"{piece.path} cannot be read: {reason}"
            raise PipelineError.of(
                "E702",
                f"a Spark job failed: {said}",
                remedy=DAMAGED,
            ) from error


@contextmanager
def _opened(source: CheckedFile, are_pages_verified: bool = False) -> Iterator[pq.ParquetFile]:
    """A file of which Arrow reads what is wanted: neither what is between the columns nor what is before the footer."""
    with (
        source,
        pq.ParquetFile(
            source,
            metadata=_footer(source),
            buffer_size=1 << 20,
            pre_buffer=False,
            page_checksum_verification=are_pages_verified,
        ) as file,
    ):
        yield file


def _footer(source: CheckedFile) -> pq.FileMetaData:
    """What a file says about itself; an OSError if a part of it is encrypted.

    Arrow ends the process of who looks at an encrypted column without its key. Such a footer is encrypted, and says so,
    or is signed, and the signature is no part of what it says.
    """
    source.seek(max(source.size - _TAIL, 0))
    end = source.read(_TAIL)
    length = int.from_bytes(end[:4], "little")
    source.seek(max(source.size - _TAIL - length, 0))
    said = pq.read_metadata(pa.BufferReader(b"PAR1" + source.read(length) + end))
    if said.serialized_size != length:
        raise OSError("the file is encrypted")
    return said


def near_files(frame: DataFrame, tasks: int) -> NearFiles | None:
    """The files and columns that a DataFrame consists of, for about a number of tasks; None if it is anything else."""
    spark = frame.sparkSession
    if table_files.loses_executors(spark) or any(spark.conf.get(name, "false") != "false" for name in _FORGIVING):
        return None
    try:
        conf = spark._jsparkSession.sessionState().newHadoopConf()
        if not _compares_checksums(spark, conf):
            return None
        are_pages_verified = bool(conf.getBoolean(_VERIFY_PAGES, False))
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
    if not pieces or None in found:
        return None
    return NearFiles(tuple(columns), _divided(pieces, tasks), are_pages_verified)


def _compares_checksums(spark: SparkSession, conf: JavaObject) -> bool:
    """Whether Spark compares what it reads on this machine with checksums; another file system may be chosen."""
    gateway = spark.sparkContext._gateway
    found = gateway.jvm.org.apache.hadoop.fs.Path("file:/").getFileSystem(conf)  # type: ignore[union-attr]
    while not is_instance_of(gateway, found, f"{_SYSTEMS}.ChecksumFileSystem"):
        if not is_instance_of(gateway, found, f"{_SYSTEMS}.FilterFileSystem"):
            return False
        found = found.getRawFileSystem()  # as Hive's, which hands on to another one
    return True


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
    """The row groups of a file; None if its columns are not the ones that are wanted, or Arrow cannot decode them."""
    source = CheckedFile(path)
    with _opened(source) as file:
        there = {field.name: field.type for field in file.schema_arrow}
        if len({name.lower() for name in there}) < len(file.schema_arrow):
            return None
        for name, kind in wanted.items():
            if "." in name or name not in there or there[name] not in _TYPES.get(kind, ()):
                return None
        places = [at for at in range(len(file.schema.names)) if file.schema.column(at).path in wanted]
        said, found = file.metadata, []
        for number in range(said.num_row_groups):
            group = said.row_group(number)
            columns = [group.column(at) for at in places]
            if not all(_is_decoded(column.compression) for column in columns):
                return None
            weight = sum(int(column.total_compressed_size) for column in columns)
            found.append(Piece(path, number, number + 1, weight, source.size))
    return found


@cache
def _is_decoded(codec: str) -> bool:
    """Whether Arrow knows a codec of Parquet, by the name that it gives to it."""
    try:
        return codec == "UNCOMPRESSED" or bool(pa.Codec.is_available(codec.lower()))
    except ValueError:
        return False


def _divided(pieces: Sequence[Piece], tasks: int) -> tuple[tuple[Piece, ...], ...]:
    """Row groups in turn for tasks of about the same number of bytes; those of one file and one task are one piece."""
    total = sum(piece.weight for piece in pieces)
    count = min(len(pieces), max(tasks, -(-total // _BYTES)))
    found: list[list[Piece]] = [[] for _ in range(count)]
    before = 0
    for piece in pieces:
        own = found[min(count * (2 * before + piece.weight) // max(2 * total, 1), count - 1)]
        before += piece.weight
        if own and own[-1].path == piece.path and own[-1].stop == piece.first:
            own[-1] = own[-1]._replace(stop=piece.stop, weight=own[-1].weight + piece.weight)
        else:
            own.append(piece)
    return tuple(tuple(some) for some in found if some)


def _as_spark_has_it(column: pa.Array) -> pa.Array:
    return column.cast(pa.string()) if pa.types.is_large_string(column.type) else column

"""RDF as records of terms.

What      : `term_records` reads a source of RDF files, in any format, into records of subject, predicate and object;
            `parsed` does so for any form of record (packed_triples.py has another).
Idea      : N-Triples and N-Quads are lines, which are divided among tasks: pieces of files that tasks open themselves
            (line_ranges.py), else lines as Spark reads them. A task gives many lines at once to the scanner of
            `tidelog.rdf`. Any other format is parsed file by file, each in one task. A term travels as its
            typed text (changes/typed_texts.py), so that an IRI, a string and a number stay what they are.
Invariant : a line that is no statement is a bad record, and so is a file of another format that is no RDF. Blank nodes
            of two files do not meet: their labels carry a digest of the file's address. A statement in a named graph
            is a bad record, unless the option `named_graphs` is `union`. A bad record of a file that is no lines has
            no text; its reason ends with the line, if the parser told it.
Never     : no relations and no reasoning.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import reduce
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from tidelog.changes.typed_texts import typed_texts
from tidelog.errors import UpdateError
from tidelog.pipeline.settings.config import NOT_TEXT
from tidelog.pipeline.sources.line_ranges import local_path, ranges, texts_of

if TYPE_CHECKING:
    from tidelog.rdf.quads import Quads

NAMES = ("subject", "predicate", "object")
NAMED_GRAPH = "the statement stands in a named graph"
"""What is wrong with a quad where triples are wanted."""

_SCHEMA = "f1 string, f2 string, f3 string, text string, file string, problem string"
_FIELDS = [pa.field(name, pa.large_string()) for name in ("f1", "f2", "f3", "text", "file", "problem")]
_EMPTY, _NEWLINE = pa.scalar("", pa.large_string()), pa.scalar("\n", pa.large_string())
_LINES = (".nt", ".nq")
_NO_LINE = r"^\s*(#.*)?$"
PORTION = 100_000
"""Lines that are parsed at once."""
_SPLIT_BY_SPARK = (".gz", ".bz2")


def term_records(spark: SparkSession, lines: DataFrame, path: str, options: Mapping[str, str]) -> DataFrame:
    """Records with typed texts f1, f2, f3, and text, file and problem; `lines` are those of all files at the path."""
    return parsed(spark, lines, path, options, _Terms(), _SCHEMA)


def parsed(
    spark: SparkSession, lines: DataFrame, path: str, options: Mapping[str, str], form: Parsed, schema: str
) -> DataFrame:
    """The statements of all files at a path, in the form that tasks give them."""
    union = options.get("named_graphs", "refuse") == "union"
    lookup = {name: value for name, value in options.items() if name in ("recursiveFileLookup", "pathGlobFilter")}
    files = spark.read.format("binaryFile").options(**lookup).load(path)
    sizes = {row.path: row.length for row in files.select("path", "length").toLocalIterator()}
    whole = [file for file in sizes if not _is_lines(file)]
    near = [file for file in sizes if file not in whole and _is_near(file, options)]
    found = []
    if near:
        found.append(_pieces(spark, {file: sizes[file] for file in near}).mapInArrow(_Pieces(form, union), schema))
    if len(near) + len(whole) < len(sizes) or not sizes:
        others = [*near, *whole]
        told = lines.where(~F.col("file").isin(others)) if others else lines
        found.append(told.select("value", "file", "is_text").mapInArrow(_Lines(form, union), schema))
    if whole:
        contents = files.where(F.col("path").isin(whole)).select("path", "content").repartition(len(whole))
        found.append(contents.mapInArrow(_Files(form, union), schema))
    return reduce(DataFrame.unionAll, found)


def _is_near(file: str, options: Mapping[str, str]) -> bool:
    """Whether tasks read the lines of a file themselves (line_ranges.py)."""
    return local_path(file) is not None and not file.endswith(".bz2") and not {"lineSep", "encoding"} & set(options)


def _pieces(spark: SparkSession, sizes: Mapping[str, int]) -> DataFrame:
    """Files in pieces, each for a task of its own."""
    found = ranges(sizes.items())
    rows = [(number, *one) for number, one in enumerate(found)]
    frame = spark.createDataFrame(rows, "number int, address string, start long, stop long")
    return frame.repartitionById(max(len(rows), 1), "number").select("address", "start", "stop")


def plain_text(column: Any) -> Any:  # noqa: ANN401 - a column of Spark
    """What filters compare with: an IRI without brackets, the text of a string, a number as it is written."""
    rest = F.substring(column, 2, 2**31 - 1)
    return F.when(column.startswith("t<"), F.regexp_extract(rest, r"^<(.*)>$", 1)).otherwise(rest)


def _is_lines(address: str) -> bool:
    """Whether a file is read by lines; names that say nothing are taken for N-Triples."""
    from tidelog.rdf.read import format_of

    path = PurePosixPath(unquote(address))
    endings = [ending.lower() for ending in path.suffixes]
    if endings and endings[-1] == ".xz":
        return False
    if endings and endings[-1] in _SPLIT_BY_SPARK:
        endings.pop()
    return format_of(path) is None or (bool(endings) and endings[-1] in _LINES)  # type: ignore[arg-type]


class Parsed(Protocol):
    """What a task gives for statements."""

    def records(self, quads: Quads, file: str, lines: pa.Array | None, *, union: bool) -> Iterator[pa.RecordBatch]:
        """Statements as records; with `lines` every statement has its own, which a bad one keeps."""

    def rejects(self, lines: Sequence[str | None], file: str, reason: str) -> pa.RecordBatch:
        """Lines that are no statements."""


class _Terms:
    """A record for every statement, its terms as typed texts."""

    def records(self, quads: Quads, file: str, lines: pa.Array | None, *, union: bool) -> Iterator[pa.RecordBatch]:
        """Statements as records."""
        constants = own_labels(typed_texts(quads.constants.values), file)
        rows = quads.rows
        terms = [constants.take(pa.array(rows[:, at])) for at in range(3)]
        nothing = pa.nulls(len(rows), pa.large_string())
        is_bad = pa.array(rows[:, 3] >= 0)
        text = problem = nothing
        if not union and pc.any(is_bad).as_py():
            text = nothing if lines is None else pc.if_else(is_bad, lines.cast(pa.large_string()), nothing)
            problem = pc.if_else(is_bad, _constant(NAMED_GRAPH, len(rows)), nothing)
        yield _batch([*terms, text, _constant(file, len(rows)), problem])

    def rejects(self, lines: Sequence[str | None], file: str, reason: str) -> pa.RecordBatch:
        """Bad records."""
        nothing = pa.nulls(len(lines), pa.large_string())
        text = pa.array(lines, pa.large_string())
        return _batch([nothing] * 3 + [text, _constant(file, len(lines)), _constant(reason, len(lines))])


@dataclass(frozen=True)
class _Lines:
    """Lines to records, in Arrow tasks, without a Python object per line."""

    form: Parsed
    union: bool

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for table in portions(batches):
            files = table.column("file").combine_chunks()
            runs = pc.run_end_encode(files)
            start = 0
            for stop, file in zip(runs.run_ends.to_pylist(), runs.values.to_pylist()):
                part = table.slice(start, stop - start)
                good = part.filter(part.column("is_text")).column("value").combine_chunks()
                if len(good):
                    yield from self.parsed(good, file)
                if len(good) < len(part):
                    bad = part.filter(pc.invert(part.column("is_text"))).column("value").to_pylist()
                    yield self.form.rejects(bad, file, NOT_TEXT)
                start = stop

    def parsed(self, lines: pa.Array, file: str) -> Iterator[pa.RecordBatch]:
        """All lines at once; if one of them is bad, it is found by halves. Blank lines and comments are no lines."""
        import pyoxigraph as ox

        from tidelog.rdf.read import read_text
        from tidelog.rdf.write import concatenated

        ended = pc.binary_join_element_wise(lines.cast(pa.large_string()), _EMPTY, _NEWLINE)
        try:
            quads, reason = read_text(concatenated(ended), ox.RdfFormat.N_QUADS, file, keep_labels=True), ""
        except UpdateError as error:
            quads, reason = None, error.problems[0].sentence
        if quads is not None and len(quads) == len(lines):
            yield from self.form.records(quads, file, lines, union=self.union)
            return
        told = lines.filter(pc.invert(pc.match_substring_regex(lines, _NO_LINE)))
        if len(told) < len(lines):
            if len(told):
                yield from self.parsed(told, file)
        elif len(lines) == 1:
            yield self.form.rejects(lines.to_pylist(), file, reason or "the line is no triple")
        else:
            half = len(lines) // 2
            yield from self.parsed(lines.slice(0, half), file)
            yield from self.parsed(lines.slice(half), file)


def portions(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Batches put together to what is parsed at once, so that a term which occurs often is looked at once."""
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        waiting.append(batch)
        rows += batch.num_rows
        if rows >= PORTION:
            yield pa.Table.from_batches(waiting)
            waiting, rows = [], 0
    if rows:
        yield pa.Table.from_batches(waiting)


@dataclass(frozen=True)
class _Pieces:
    """Pieces of files to records, in Arrow tasks; lines are told apart only where one of them is bad."""

    form: Parsed
    union: bool

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for address, start, stop in zip(*(column.to_pylist() for column in batch.columns)):
                path = local_path(address)
                assert path is not None
                for text in texts_of(path, start, stop):
                    yield from self._records(text, address)

    def _records(self, text: bytes, file: str) -> Iterator[pa.RecordBatch]:
        import pyoxigraph as ox

        from tidelog.rdf.read import read_text

        quads = None
        if _is_text(text):
            with suppress(UpdateError):
                quads = read_text(text, ox.RdfFormat.N_QUADS, file, keep_labels=True)
        if quads is not None and (self.union or not quads.has_graphs):
            yield from self.form.records(quads, file, None, union=self.union)
            return
        lines = text.splitlines()
        are_texts = [_is_text(line) for line in lines]
        good = [line for line, is_text in zip(lines, are_texts) if is_text]
        bad = [line.decode(errors="replace") for line, is_text in zip(lines, are_texts) if not is_text]
        if good:
            yield from _Lines(self.form, self.union).parsed(pa.array(good, pa.binary()).cast(pa.string()), file)
        if bad:
            yield self.form.rejects(bad, file, NOT_TEXT)


def _is_text(text: bytes) -> bool:
    """Whether bytes are UTF-8."""
    try:
        pa.array([text], pa.large_binary()).cast(pa.large_string())
    except pa.ArrowInvalid:
        return False
    return True


@dataclass(frozen=True)
class _Files:
    """Whole files to records, in Arrow tasks."""

    form: Parsed
    union: bool

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from tidelog.rdf.read import COMPRESSIONS, format_of, read_text

        for batch in batches:
            for address, content in zip(batch.column(0).to_pylist(), batch.column(1).to_pylist()):
                path = PurePosixPath(unquote(address))
                form = format_of(path)  # type: ignore[arg-type]
                unpack = COMPRESSIONS.get(path.suffix.lower())
                try:
                    text = unpack(content) if unpack is not None else content
                    assert form is not None
                    quads = read_text(text, form, _base(address), keep_labels=True)
                    yield from self.form.records(quads, address, None, union=self.union)
                except UpdateError as error:
                    problem = error.problems[0]
                    where = f" (line {problem.place.line})" if problem.place else ""
                    yield self.form.rejects([None], address, f"{problem.sentence}{where}")
                except (OSError, EOFError, ValueError) as error:
                    yield self.form.rejects([None], address, f"the file cannot be unpacked: {error}")


def _base(address: str) -> str:
    """What relative IRIs of a file are relative to: a local file to itself, as everywhere else."""
    return unquote(address.removeprefix("file://").removeprefix("file:")) if address.startswith("file:") else "<rdf>"


def own_labels(texts: pa.Array, file: str) -> pa.Array:
    """The constants with labels for blank nodes that only this file has."""
    is_blank = pc.starts_with(texts, "t_:")
    if not pc.any(is_blank).as_py():
        return texts
    digest = hashlib.blake2b(file.encode(), digest_size=5).hexdigest()
    labels = texts.filter(is_blank).to_pylist()
    named = [f"t_:t{digest}x{_number(label[3:].encode())}" for label in labels]
    return pc.replace_with_mask(texts, is_blank, pa.array(named, pa.large_string()))


def _number(label: bytes) -> int:
    """A number that no other label of the file has: the label itself, or 128 bits of a long one."""
    short = label if len(label) <= 8 else hashlib.blake2b(label, digest_size=16).digest()
    return int.from_bytes(short)


def _constant(text: str, count: int) -> pa.Array:
    return pa.repeat(pa.scalar(text, pa.large_string()), count)


def _batch(columns: list[pa.Array]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([column.cast(pa.string()) for column in columns], [f.name for f in _FIELDS])

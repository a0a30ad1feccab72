"""Records as Spark reads them, before anybody has decided whether they are facts.

What      : `read_records` reads one source into `Records`: fields by position, the file and text of every record, and
            what is wrong with its shape, if anything.
Idea      : formats made of lines (csv, json, text) are read as lines and taken apart by Spark's own expressions, so
            that every record keeps its text; RDF has a reader of its own (triples.py), every other format the one
            that Spark has for it.
Invariant : each record of the source is there, good or bad; only blank lines, comments of N-Triples, and records that
            a filter excludes are left out. Names of columns are data: they are looked up, never written into an
            expression.
Never     : no type is decided here (cleaning.py).

Codes: E726 a source that Spark cannot read, E727 a column that is not there or holds no constants.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass, replace

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql import types as T  # noqa: N812

from tidelog.backends.spark.cluster.failures import cause
from tidelog.errors import PipelineError
from tidelog.pipeline.settings.config import NOT_TEXT, FactSource
from tidelog.pipeline.settings.filters import matches
from tidelog.pipeline.sources.json_lines import first_keys, json_records
from tidelog.pipeline.sources.triples import NAMES, plain_text, term_records

HEADER = "the line repeats the header"
"""The problem of lines that look like the header; the first line of every file has it rightly (rejects.py)."""

_LINE_OPTIONS = ("lineSep", "encoding", "recursiveFileLookup", "pathGlobFilter", "modifiedBefore", "modifiedAfter")
SPARK_ERRORS = (PySparkException, Py4JError)
"""What Spark raises when it cannot do what it is asked for."""


@dataclass(frozen=True, slots=True)
class Records:
    """Records of one source: `frame` has the columns f1, f2, ... and text, file, problem; `names` are what f1, ... are.

    With `kinded` there are also k1, k2, ...: what kind of value JSON says a field is. With `typed` the fields are typed
    texts (changes/typed_texts.py).
    """

    frame: DataFrame
    names: tuple[str, ...]
    kinded: bool = False
    files: int = 0
    typed: bool = False


def read_records(spark: SparkSession, source: FactSource) -> Records:
    """All records of a source, filtered, with the chosen columns only."""
    try:
        records = _chosen(_read(spark, source), source)
        records.frame.schema  # noqa: B018 - analyses the plan, so that what cannot be read is found here
    except SPARK_ERRORS as error:
        raise unreadable(source, error) from error
    return records


def unreadable(source: FactSource, error: Exception) -> PipelineError:
    """The error for a source that Spark refuses, in one line."""
    first = cause(str(error)) or type(error).__name__
    return PipelineError.of(
        "E726",
        f"the source of {source.relation} cannot be read: {first}",
        place=source.place,
        remedy="check its format, path and options",
    )


def _read(spark: SparkSession, source: FactSource) -> Records:
    match source.format:
        case "csv":
            return _csv(lines_of(spark, source), source)
        case "text":
            lines = lines_of(spark, source)
            return Records(lines.select(F.col("value").alias("f1"), *_kept(F.lit(None))), ("value",))
        case "json" | "jsonl":
            lines = lines_of(spark, source)
            names = _json_names(lines, source)
            return Records(json_records(lines, names), names, kinded=True)
        case "rdf":
            frame = term_records(spark, lines_of(spark, source), source.path or "", source.options)
            return Records(frame, NAMES, typed=True)
    return _table(spark, source)


def _json_names(lines: DataFrame, source: FactSource) -> tuple[str, ...]:
    """The fields to read: those that columns and filters name, or all of the first line where columns are numbered."""
    columns = source.columns or ()
    if not columns or any(isinstance(column, int) for column in columns):
        return tuple(first_keys(lines, source))
    return tuple(dict.fromkeys(map(str, (*columns, *(part.column for part in source.where)))))


def lines_of(spark: SparkSession, source: FactSource) -> DataFrame:
    """The lines of all files: value, file, and whether the value was UTF-8 as it stood."""
    options = {name: value for name, value in source.options.items() if name in _LINE_OPTIONS}
    read = spark.read.format("text").options(**options).load(source.path)
    value, is_text = F.make_valid_utf8("value").alias("value"), F.is_valid_utf8("value").alias("is_text")
    return read.select(value, F.col("_metadata.file_path").alias("file"), is_text)


def _csv(lines: DataFrame, source: FactSource) -> Records:
    options = dict(source.options)
    header = options.pop("header", "false") == "true"
    if options.pop("multiLine", "false") == "true":
        raise PipelineError.of(
            "E725",
            f"{source.relation}: records over several lines have no line",
            place=source.place,
            remedy="use Parquet or JSON lines",
        )
    quote, separator = options.get("quote", '"'), options.get("sep", options.get("delimiter", ","))
    filled = lines.where(F.trim("value") != "")
    first = filled.first()
    if first is None:
        return Records(lines.limit(0).select(*_kept(F.lit(None))), ())
    fields = next(csv.reader([first["value"].removeprefix("\ufeff")], delimiter=separator, quotechar=quote or None), [])
    names = tuple(fields) if header else tuple(f"c{number}" for number in range(1, len(fields) + 1))
    settings = {"escape": quote, **options}
    parsed = F.from_csv(
        "value", _strings(len(names)), settings | {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "corrupt"}
    )
    problem = (
        F.when(F.lit(header) & (F.col("value") == F.lit(first["value"])), HEADER)
        .when(_open_quote(quote), "a quote is not closed")
        .when(F.col("parsed.corrupt").isNotNull(), f"the line does not have {len(names)} fields")
    )
    frame = filled.withColumn("parsed", parsed).select(*_fields(len(names), "nullValue" in options), *_kept(problem))
    return Records(frame, names, files=len(lines.inputFiles()) if header else 0)


def _fields(count: int, with_nulls: bool) -> list[Column]:
    """The fields of a parsed line; Spark reads an empty field as null, which it is only where the user says so."""
    found = (F.col("parsed").getField(f"f{number}") for number in range(1, count + 1))
    kept = (field if with_nulls else F.coalesce(field, F.lit("")) for field in found)
    return [field.alias(f"f{number}") for number, field in enumerate(kept, 1)]


def _strings(count: int) -> str:
    """A schema of `count` strings, and a column for the text of a malformed line."""
    return ", ".join([*(f"f{number} string" for number in range(1, count + 1)), "corrupt string"])


def _open_quote(quote: str) -> Column:
    if not quote:
        return F.lit(False)
    return (F.length("value") - F.length(F.replace("value", F.lit(quote), F.lit("")))) % 2 == 1


def _kept(problem: Column) -> tuple[Column, Column, Column]:
    """What every record of a line keeps besides its fields."""
    found = F.when(~F.col("is_text"), NOT_TEXT).otherwise(problem.cast("string"))
    return F.col("value").alias("text"), F.col("file"), found.alias("problem")


def _table(spark: SparkSession, source: FactSource) -> Records:
    """A format that has columns of its own: Parquet, JDBC, or whatever else the session knows."""
    reader = spark.read.format(source.format).options(**source.options)
    read = reader.load(source.path) if source.path else reader.load()
    names = tuple(read.columns)
    described = read.toDF(*(f"f{number}" for number in range(1, len(names) + 1)))
    fields = F.to_json(F.struct(*(F.col(f"f{number}").alias(name) for number, name in enumerate(names, 1))))
    return Records(
        described.select("*", fields.alias("text"), _file_of(source), F.lit(None).cast("string").alias("problem")),
        names,
    )


def _file_of(source: FactSource) -> Column:
    """The file of a record; a table that is no file is called by its name."""
    if source.path:
        return F.input_file_name().alias("file")
    return F.lit(source.options.get("dbtable", source.format)).alias("file")


def _chosen(records: Records, source: FactSource) -> Records:
    """The records that the filters keep, with the columns that the source asks for, in its order."""
    known = _positions(records.names, source)
    frame = records.frame
    for part in source.where:
        at = _position(part.column, known, source)
        field = plain_text(F.col(f"f{at}")) if records.typed else F.col(f"f{at}")
        kept = matches(field, part, F.col(f"k{at}") if records.kinded else None)
        frame = frame.where(F.col("problem").isNotNull() | F.coalesce(kept, F.lit(False)))
    if source.columns is None:
        return replace(records, frame=frame)
    positions = [_position(column, known, source) for column in source.columns]
    letters = ("f", "k") if records.kinded else ("f",)
    fields = [F.col(f"{one}{at}").alias(f"{one}{number}") for number, at in enumerate(positions, 1) for one in letters]
    names = tuple(records.names[position - 1] for position in positions)
    return replace(records, frame=frame.select(*fields, "text", "file", "problem"), names=names)


def _positions(names: tuple[str, ...], source: FactSource) -> Mapping[str | int, int]:
    known: dict[str | int, int] = {number: number for number in range(1, len(names) + 1)}
    for number, name in enumerate(names, 1):
        if known.setdefault(name, number) != number and name in (source.columns or ()):
            raise _no_column(source, f"two columns are called {name}", "name columns by number")
    return known


def _position(column: str | int, known: Mapping[str | int, int], source: FactSource) -> int:
    if column not in known:
        there = ", ".join(str(name) for name in known if isinstance(name, str)) or "none"
        raise _no_column(source, f"there is no column {column}", f"columns are {there}")
    return known[column]


def _no_column(source: FactSource, sentence: str, remedy: str) -> PipelineError:
    return PipelineError.of("E727", f"the source of {source.relation}: {sentence}", place=source.place, remedy=remedy)


def is_text(frame: DataFrame, column: str) -> bool:
    """Whether a column holds text."""
    return isinstance(frame.schema[column].dataType, T.StringType | T.CharType | T.VarcharType)

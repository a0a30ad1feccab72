"""The stream of a source: what Spark reads, how much of it at once, and which of its columns matter.

What      : `stream_of` gives the stream of micro-batches of an update source, with the columns named below.
Idea      : a source is files of lines, messages that hold lines, or rows. Files are read by lines, so that a large file
            is never one row; where a line stood is known by its file and by the piece of the file in which Spark found
            it. Rows have a place as well: in files the same one, in messages topic, partition and offset. Every
            micro-batch is bounded where the format knows how, unless the user bounds it.
Invariant : a bound of the user wins. Lines end at a newline and nowhere else. A place does not depend on how Spark
            shares out the work.
Never     : nothing is read here.

A stream has one of
  `line` (files of lines), `content` (messages), or `op`, `relation` and `values` or `v1`, `v2`, ... (rows),
and `file` and `o1`, `o2`, ..., which say in which order they are taken. What is alike in them is ordered by
`found_in` and `found_at` (files of rows) or by `topic`, `partition` and `offset` (messages), where there are such.
Codes: E727 a column that is not there or holds no constants.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql import types as T  # noqa: N812

from tidelog.errors import PipelineError
from tidelog.pipeline.settings.config import Always, RowColumns, UpdateSource

ROW = T.StructType([T.StructField(name, T.StringType()) for name in ("op", "relation", "values")])
"""The columns of updates that come as rows; `values` is a JSON array, for rules an array with their text or name."""

MOST_BYTES = 16 << 20
"""About how many bytes of new files a micro-batch takes; of a larger file it takes all."""

MOST_MESSAGES = 100_000
"""How many messages of Kafka a micro-batch takes. It is not held in memory; the bound is for the time until a stop."""

_FILES = ("parquet", "orc", "avro", "csv", "json")
"""Formats of files, whose columns Spark wants to know before there is one."""
_OWN_NAMES = RowColumns("op", "relation", "values")
_SPARK_TYPES = {"number": T.LongType(), "unsigned": T.LongType(), "float": T.DoubleType(), "bool": T.BooleanType(),
                "symbol": T.StringType()}  # fmt: skip
_TEXTS = (T.StringType, T.BinaryType)
_CONSTANTS = (*_TEXTS, T.BooleanType, T.ByteType, T.ShortType, T.IntegerType, T.LongType, T.FloatType, T.DoubleType)
_FILE_BOUNDS = {"maxfilespertrigger", "maxbytespertrigger"}
"""Spark's options that bound a micro-batch of files; it takes one of them, and the user's wins."""
_MESSAGE_BOUND, _LEAST_MESSAGES = "maxoffsetspertrigger", "minoffsetspertrigger"
_PLACES = ("topic", "partition", "offset")
"""The columns that say where a message stood. The last two are needed; without them a table has no places."""
_SUBSCRIPTIONS = {"subscribe", "subscribepattern", "assign"}
"""Options of Kafka that say what is followed; a source that is given one of them takes Kafka's other options, too."""


def stream_of(spark: SparkSession, source: UpdateSource) -> DataFrame:
    """The stream of micro-batches of a source."""
    return columns_of(_load(spark, source), source)


def columns_of(frame: DataFrame, source: UpdateSource) -> DataFrame:
    """The columns that matter.

    A source with columns of its own (Kafka: key, value, topic, partition, offset) says which one holds JSON lines.
    """
    if source.format == "jsonl":
        order = [F.col("_metadata.file_path").alias("file"), F.col("_metadata.file_block_start").alias("o1")]
        return frame.select(
            F.col("value").cast("binary").alias("line"), *order
        )  # Spark does not check that it is UTF-8
    if source.line:
        if source.line not in frame.columns:
            raise _no_column(source.line, f"correct updates.line; there are {', '.join(frame.columns)}")
        content = frame[source.line].cast("binary").alias("content")
        return frame.select(content, *_order(frame, source), *_places(frame, source))
    asked = source.columns or _OWN_NAMES
    missing = [name for name in asked.names if name not in frame.columns]
    if missing and source.columns:
        raise _no_column(missing[0], f"correct updates.columns; there are {', '.join(frame.columns)}")
    if missing:
        raise _no_column(missing[0], "give it columns op, relation and values, or name others in [updates.columns]")
    op, relation = (_text(frame, one) for one in (asked.op, asked.relation))
    columns = [op.alias("op"), relation.alias("relation"), *_values(frame, asked)]
    return frame.select(*columns, *_order(frame, source), *_places(frame, source))


def bounded(source: UpdateSource) -> dict[str, str]:
    """The options of a source, with a bound for micro-batches where the format has one and the user has set none."""
    given = {name.lower(): value for name, value in source.options.items()}
    if source.path:
        ours = {} if _FILE_BOUNDS & given.keys() else {"maxBytesPerTrigger": str(MOST_BYTES)}
    elif _is_kafka(source.format, given) and _MESSAGE_BOUND not in given:
        least = given.get(_LEAST_MESSAGES, "")
        ours = {"maxOffsetsPerTrigger": str(max(MOST_MESSAGES, int(least) if least.isdecimal() else 0))}
    else:
        ours = {}
    return {**source.options, **ours}


def _is_kafka(form: str, given: Mapping[str, str]) -> bool:
    return form == "kafka" or bool(_SUBSCRIPTIONS & given.keys())


def _load(spark: SparkSession, source: UpdateSource) -> DataFrame:
    """The stream of a source, with the columns it has."""
    reader = spark.readStream.options(**bounded(source))
    if source.format == "jsonl":
        return reader.format("text").option("wholetext", "false").option("lineSep", "\n").load(source.path)
    reader = reader.format(source.format)
    if source.columns and source.format in _FILES:
        reader = reader.schema(_schema_of(spark, source, source.columns))
    elif source.format == "parquet":
        reader = reader.schema(ROW)
    return reader.load(source.path) if source.path else reader.load()


def _schema_of(spark: SparkSession, source: UpdateSource, asked: RowColumns) -> T.StructType:
    """The columns of files: of the types that are given, else of those that the files have which are there."""
    if asked.types is None and not isinstance(asked.values, str):
        try:
            return spark.read.format(source.format).options(**source.options).load(source.path).schema
        except PySparkException as error:
            remedy = "say of which types the values are: types = [...] in [updates.columns]"
            raise PipelineError.of("E727", "no file tells the columns of updates yet", remedy=remedy) from error
    types = dict.fromkeys(asked.names, "symbol") | dict(zip(asked.values, asked.types or ()))
    return T.StructType([T.StructField(name, _SPARK_TYPES[kind]) for name, kind in types.items()])


def _text(frame: DataFrame, name: str | Always) -> Column:
    """A column of texts: as it is (bytes are read later, where a bad one is a reject), or the same for all rows."""
    if isinstance(name, Always):
        return F.lit(name.text)
    return frame[name] if isinstance(frame.schema[name].dataType, _TEXTS) else frame[name].cast("string")


def _values(frame: DataFrame, asked: RowColumns) -> list[Column]:
    """One column of JSON arrays, which Spark spells if they are no texts; or a column for each value."""
    if isinstance(asked.values, str):
        is_text = isinstance(frame.schema[asked.values].dataType, _TEXTS)
        return [(frame[asked.values] if is_text else F.to_json(frame[asked.values])).alias("values")]
    found = []
    for number, name in enumerate(asked.values, 1):
        column, kind = frame[name], frame.schema[name].dataType
        wants_text = asked.types is not None and asked.types[number - 1] == "symbol"
        if not isinstance(kind, _CONSTANTS) and not wants_text:
            sentence = f"column {name} of the update source has the type {kind.simpleString()}"
            remedy = 'say types = [..., "symbol", ...] in [updates.columns] to take its text, or leave it out'
            raise PipelineError.of("E727", sentence, remedy=remedy)
        is_text = isinstance(kind, _TEXTS)
        found.append((column.cast("string") if wants_text and not is_text else column).alias(f"v{number}"))
    return found


def _order(frame: DataFrame, source: UpdateSource) -> list[Column]:
    """File and number of rows where Spark knows them; else the columns that the user names."""
    if source.format == "parquet":
        return [F.col("_metadata.file_path").alias("file"), F.col("_metadata.row_index").alias("o1")]
    missing = [name for name in source.order if name not in frame.columns]
    if missing:
        raise _no_column(missing[0], "correct updates.order")
    keys = [frame[name].alias(f"o{number}") for number, name in enumerate(source.order, 1)]
    return [F.lit(source.format).alias("file"), *keys]


def _places(frame: DataFrame, source: UpdateSource) -> list[Column]:
    """Where a row stood: what orders rows that are alike in everything else."""
    if source.format == "parquet":
        return []
    if source.path and _knows_files(frame):
        described = frame.metadataColumn("_metadata")
        return [described["file_path"].alias("found_in"), described["file_block_start"].alias("found_at")]
    return [frame[name] for name in _PLACES if name in frame.columns] if {*_PLACES[1:]} <= {*frame.columns} else []


def _knows_files(frame: DataFrame) -> bool:
    """Whether Spark can say in which piece of which file it found a row; asking for the column would log an error."""
    hidden = frame._jdf.queryExecution().analyzed().metadataOutput()
    kinds = [hidden.apply(at).dataType().catalogString() for at in range(hidden.size())]
    return any("file_path:" in kind and "file_block_start:" in kind for kind in kinds)


def _no_column(name: str, remedy: str) -> PipelineError:
    return PipelineError.of("E727", f"the update source has no column {name}", remedy=remedy)

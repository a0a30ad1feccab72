"""A micro-batch in order, a piece at a time.

What      : `rows_in_order` goes through the rows of a micro-batch; the driver never has all of a large one.
Idea      : a small micro-batch is one job and one table. Of any other Spark keeps the rows where they were read, counts
            their bytes, sorts them into pieces of a bounded size, and hands over a piece after the other. Plans know
            how large files are, so that the usual small one is not counted first.
Invariant : rows are ordered by their file, by what the user names, by deletions first, and at last by where Spark found
            them: a micro-batch that comes again has the same order. A value that is missing comes last. Both ways
            order alike.
Never     : no row is looked into.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

PIECE = 4 << 20
"""About how many bytes the driver is handed at once: Java holds them several times on the way."""

_UNPACKED = 20
"""Files may be compressed, and then hold up to about this many times the bytes that Spark knows of."""
_ROW = 100
"""Bytes of a row besides its texts."""

Row = dict[str, Any]


def rows_in_order(batch: DataFrame) -> Generator[Row]:
    """The rows of a micro-batch."""
    known = _known_size(batch)
    if known is not None and known * _UNPACKED <= PIECE:
        yield from _at_once(batch)
        return
    kept = batch.persist(StorageLevel.DISK_ONLY)  # in memory they take the room of what is on the way to the driver
    try:
        size = _counted_size(kept)
        if size <= PIECE:
            yield from _at_once(kept)
        else:
            yield from _in_pieces(kept, -(-size // PIECE))
    finally:
        kept.unpersist()


def _known_size(batch: DataFrame) -> int | None:
    """How many bytes Spark believes to find; None if it cannot be asked, and very many if it does not know."""
    try:
        return int(str(batch._jdf.queryExecution().optimizedPlan().stats().sizeInBytes()))
    except (Py4JError, AttributeError):
        return None


def _counted_size(batch: DataFrame) -> int:
    """How many bytes the rows have, counted."""
    texts = [F.coalesce(F.octet_length(batch[name].cast("string")), F.lit(0)) for name in batch.columns]
    (row,) = batch.agg(F.sum(sum(texts, F.lit(_ROW)).cast("bigint"))).collect()
    return int(row[0] or 0)


def _at_once(batch: DataFrame) -> Iterator[Row]:
    """All rows in one table, put in order here; those that are alike stay in the order in which Spark gives them."""
    rows = batch.toArrow().to_pylist()
    keys = _keys(batch)
    rows.sort(key=lambda row: (*(_last_if_missing(row[name]) for name in keys), row.get("op") != "delete"))
    return iter(rows)


def _in_pieces(batch: DataFrame, count: int) -> Iterator[Row]:
    """The rows as Spark sorts them, in about that number of pieces, each of which is a job."""
    found = batch.withColumn("at", F.monotonically_increasing_id())
    order: list[Column] = [found[name].asc_nulls_last() for name in _keys(batch)]
    if "op" in batch.columns:
        order.append(F.coalesce(found["op"] != F.lit("delete"), F.lit(True)).asc())
    order.append(found["at"].asc())
    pieces = found.repartitionByRange(count, *order).sortWithinPartitions(*order)
    names = pieces.columns
    for row in pieces.toLocalIterator():
        yield dict(zip(names, row))


def _keys(batch: DataFrame) -> list[str]:
    """The columns that order rows, in their order."""
    named = [name for name in batch.columns if name[:1] == "o" and name[1:].isdecimal()]
    return ["file", *sorted(named, key=lambda name: int(name[1:]))]


def _last_if_missing(value: Any) -> tuple[bool, Any]:  # noqa: ANN401 - whatever a column holds
    return value is None, 0 if value is None else value

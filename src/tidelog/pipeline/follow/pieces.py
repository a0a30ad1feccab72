"""A micro-batch in order, a piece at a time.

What      : `rows_in_order` goes through the rows of a micro-batch; the driver never has all of a large one.
Idea      : a small micro-batch is one job and one table. Of any other Spark keeps the rows where they were read, counts
            their bytes, sorts them into pieces of a bounded size, and hands over a piece after the other. Plans know
            how large files are, so that the usual small one is not counted first.
Invariant : rows are ordered by their file, by what the user names, by deletions first, by the place where they stood,
            and at last as Spark gives them. Rows that have a place in a file (`have_places`) have the same order when
            the micro-batch comes again, however Spark shares out the work: rows of one piece of a file are given in
            the file's order. Of others this holds as far as `rank` tells them apart. A value that is missing comes
            last, before it one that is no number. Both ways order alike.
Never     : no row is looked into.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
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

_IN_FILES = ("found_in", "found_at")
"""The file of a row, and where in it the piece begins that Spark read."""
_PLACES = (*_IN_FILES, "topic", "partition", "offset")
_DELETE = ("delete", b"delete")
"""How a row asks for a deletion, in text and in bytes."""

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


def have_places(columns: Sequence[str]) -> bool:
    """Whether rows with these columns are known to have a place in a file."""
    return set(_IN_FILES) <= set(columns)


def rank(columns: Sequence[str]) -> Callable[[Row], object]:
    """What tells rows apart that have no place in a file; rows alike in it may come in another order next time.

    Where nothing orders them they are all alike.
    """
    keys, places = _keys(columns), _places(columns)
    if len(keys) + len(places) == 1:
        return lambda _: None
    return lambda row: _key(row, keys, places)


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
    keys, places = _keys(batch.columns), _places(batch.columns)
    rows.sort(key=lambda row: _key(row, keys, places))
    return iter(rows)


def _in_pieces(batch: DataFrame, count: int) -> Iterator[Row]:
    """The rows as Spark sorts them, in about that number of pieces, each of which is a job."""
    found = batch.withColumn("at", F.monotonically_increasing_id())
    order: list[Column] = [found[name].asc_nulls_last() for name in _keys(batch.columns)]
    if "op" in batch.columns:
        order.append(F.coalesce(found["op"].cast("binary") != F.lit(b"delete"), F.lit(True)).asc())
    order.extend(found[name].asc_nulls_last() for name in _places(batch.columns))
    order.append(found["at"].asc())
    pieces = found.repartitionByRange(count, *order).sortWithinPartitions(*order)
    names = pieces.columns
    for row in pieces.toLocalIterator():
        yield dict(zip(names, row))


def _keys(columns: Sequence[str]) -> list[str]:
    """The columns that order rows, in their order."""
    named = [name for name in columns if name[:1] == "o" and name[1:].isdecimal()]
    return ["file", *sorted(named, key=lambda name: int(name[1:]))]


def _places(columns: Sequence[str]) -> list[str]:
    """The columns that order rows which are alike in the others."""
    return [name for name in _PLACES if name in columns]


def _key(row: Row, keys: Sequence[str], places: Sequence[str]) -> tuple[object, ...]:
    """What orders rows here."""
    ordered, placed = ([_last_if_missing(row[name]) for name in names] for names in (keys, places))
    return *ordered, row.get("op") not in _DELETE, *placed


def _last_if_missing(value: Any) -> tuple[int, Any]:  # noqa: ANN401 - whatever a column holds
    if value is None:
        return 2, 0
    return (0, value) if value == value else (1, 0)  # only what is no number differs from itself

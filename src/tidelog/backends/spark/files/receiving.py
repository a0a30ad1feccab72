"""Facts from DataFrames of values, written as sorted files by one job.

What      : `receive` reads any number of DataFrames, gives ids to their values, and has executors write the facts into
            segments, in all orders that are wanted, and the texts of their constants into a generation of texts.
Idea      : a row of a source is read once and becomes several rows: one for each order of its relation, and one for
            each text. All go through one exchange to the file that they belong to, are sorted there, and are written:
            the files in which relations are kept are the first thing that facts from outside become. What repeats is
            adjacent by then and dropped; what is no constant is found by the task that writes.
Invariant : afterwards the files hold each fact once, all explicit. If a fact is refused, or two texts have one id,
            nothing of the whole is kept.
Never     : no fact passes through the driver; columns count by position, names of users are not used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from tidelog.backends.spark.bulk.placement import home_column
from tidelog.backends.spark.cluster.jobs import Jobs
from tidelog.backends.spark.files.file_store import FileStore
from tidelog.backends.spark.files.segments import Segments
from tidelog.backends.spark.files.texts import TextFiles
from tidelog.backends.spark.files.writing import expanded, gathered, into, orders
from tidelog.backends.spark.values.constants import Constants
from tidelog.backends.spark.values.encoding import identified, refuse
from tidelog.errors import UpdateError


class Values(NamedTuple):
    """Facts of one relation as values, checked by their schema, with the types that are declared."""

    frame: DataFrame
    types: tuple[str, ...] | None


def receive(jobs: Jobs, files: FileStore, constants: Constants, sources: Mapping[str, Values]) -> dict[str, Segments]:
    """The facts of sources in files: one job for all of them."""
    return constants.settled(lambda: _received(jobs, files, constants, sources))


def _received(jobs: Jobs, files: FileStore, constants: Constants, sources: Mapping[str, Values]) -> dict[str, Segments]:
    constants.flush()  # what waits on the driver is a generation, too, so that no text is stored twice
    widths = {name: max(len(source.frame.columns), 1) for name, source in sources.items()}
    leads = {name: files.leads(name, width) for name, width in widths.items()}
    shapes = tuple((widths[name], lead) for name in sources for lead in leads[name])
    shards, texts, number, rows = files.shards(), constants.texts, 0, []
    assert isinstance(texts, TextFiles)
    for name, source in sources.items():
        known = identified(source.frame, source.types, constants.naming)
        rows.append(_rows(known, leads[name], number, (len(shapes), max(widths.values())), shards))
        number += len(leads[name])
    with jobs.named(f"read {', '.join(sources)}"):
        task, partitions = texts.task(shapes), (len(shapes) + 1) * shards
        records = into(jobs, reduce(DataFrame.unionAll, rows), task, partitions, shards)
    found = gathered([(widths[name], leads[name]) for name in sources], shards, records)
    owned = dict(zip(sources, map(files.owned, found)))
    told = [row for row in records if row["part"] == len(shapes)]
    try:
        _check(leads, records)
    except UpdateError:
        texts.take([{**row, "clashes": ["refused"]} for row in told], shards)
        raise
    constants.move(texts.take(told, shards))
    return owned


def _rows(known: DataFrame, leads: Sequence[int], first: int, shape: tuple[int, int], shards: int) -> DataFrame:
    """A row for every order of a fact and for every text; `shape` is the number of parts and of columns."""
    parts, width = shape
    names = [name for name in known.columns if name[0] == "c"]
    explicit, nothing = F.lit(True).alias("explicit"), F.lit(None).cast("string").alias("text")
    made = orders([F.col(name) for name in names], [explicit, nothing], leads, first, width, shards)
    zero = [F.lit(0).cast("long").alias(f"k{at}") for at in range(1, width)]
    for at, name in enumerate(names):
        if f"t{at}" in known.columns:
            place = F.lit(parts).alias("part"), home_column(F.col(name), shards).alias("shard")
            text = F.col(f"t{at}").alias("text")
            row = F.struct(*place, F.col(name).alias("k0"), *zero, explicit, text)
            made.append(F.when(F.col(f"t{at}").isNotNull(), row))
    return expanded(known, made).where("part is not null")


def _check(leads: Mapping[str, Sequence[int]], records: Sequence[Mapping[str, Any]]) -> None:
    """Refuse everything if one value is no constant; relations and columns in the order in which they were given."""
    number = 0
    for name, wanted in leads.items():
        told = [row["refused"] for row in records if row["part"] == number]
        turned = [min(least) for least in zip(*told)]
        refuse(name, [turned[(at - wanted[0]) % len(turned)] for at in range(len(turned))])
        number += len(wanted)

"""Facts from DataFrames of values, written as sorted files by one job.

What      : `receive` reads any number of DataFrames, of one relation each or of several (shared_frames.py), gives ids
            to their values, and has executors write the facts into segments, in all orders that are wanted, and the
            texts of their constants into a generation of texts.
Idea      : Spark reads the sources and hands their values to tasks of ours as Arrow arrays. These give ids
            (values/numbered.py) and pack each fact for the file of every order that it belongs to, and each text for
            its file (parcels.py). One exchange brings the parcels to the tasks that sort and write: the files in which
            relations are kept are the first thing that facts from outside become. What repeats is adjacent by then and
            dropped; what is no constant is found by the task that writes.
Invariant : afterwards the files hold each fact once, all explicit. If a fact is refused, or two texts have one id,
            nothing of the whole is kept.
Never     : no fact passes through the driver; columns count by position, names of users are not used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import islice
from typing import Any, NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from tidelog.backends.spark.cluster.jobs import Jobs
from tidelog.backends.spark.files.file_store import FileStore
from tidelog.backends.spark.files.near_files import near_files
from tidelog.backends.spark.files.parcels import PARCEL, PackValues, shapes_of
from tidelog.backends.spark.files.segments import Segments
from tidelog.backends.spark.files.shared_frames import FarFacts, PackShared
from tidelog.backends.spark.files.texts import TextFiles
from tidelog.backends.spark.files.writing import gathered, into
from tidelog.backends.spark.values.constants import Constants
from tidelog.backends.spark.values.encoding import kinds_of
from tidelog.backends.spark.values.refusals import refuse
from tidelog.errors import UpdateError


class Values(NamedTuple):
    """Facts of one relation as values, checked by their schema, with the types that are declared."""

    frame: DataFrame
    types: tuple[str, ...] | None


def receive(
    jobs: Jobs,
    files: FileStore,
    constants: Constants,
    sources: Mapping[str, Values],
    shared: Mapping[str, FarFacts] | None = None,
) -> dict[str, Segments]:
    """The facts of sources, and of relations in shared frames, in files: one job for all of them."""
    return constants.settled(lambda: _received(jobs, files, constants, sources, shared or {}))


def _received(
    jobs: Jobs,
    files: FileStore,
    constants: Constants,
    sources: Mapping[str, Values],
    shared: Mapping[str, FarFacts],
) -> dict[str, Segments]:
    constants.flush()  # what waits on the driver is a generation, too, so that no text is stored twice
    widths = {name: max(len(source.frame.columns), 1) for name, source in sources.items()}
    widths |= {name: facts.arity for name, facts in shared.items()}
    leads = {name: files.leads(name, width) for name, width in widths.items()}
    packing = files.packing(shapes_of((widths[name], leads[name]) for name in widths), files.shards())
    texts, parcels, first = constants.texts, [], 0
    assert isinstance(texts, TextFiles)
    parts = {}
    for name in widths:
        parts[name] = tuple(range(first, first + len(leads[name])))
        first += len(leads[name])
    for name, source in sources.items():
        task = PackValues(packing, parts[name], kinds_of(source.frame, source.types), constants.naming)
        near = near_files(source.frame, files.shards())
        read = _plain(source.frame).mapInArrow(task, PARCEL) if near is None else near.parcels(source.frame, task)
        parcels.append(read)
    for frame in dict.fromkeys(facts.shared for facts in shared.values()):
        own = {(name, facts.arity): parts[name] for name, facts in shared.items() if facts.shared is frame}
        several = PackShared(packing, own, frame.split, constants.naming)
        parcels.append(frame.frame.select("constants", "rows").mapInArrow(several, PARCEL))
    with jobs.named(f"read {', '.join(islice(widths, 8))}"):
        records = into(jobs, reduce(DataFrame.unionAll, parcels), texts.task(packing))
    found = gathered([(widths[name], leads[name]) for name in widths], packing.shards, records)
    owned = dict(zip(widths, map(files.owned, found)))
    told = [row for row in records if row["part"] == len(packing.shapes)]
    try:
        _check(leads, records)
    except UpdateError:
        texts.take([{**row, "clashes": ["refused"]} for row in told], packing.shards)
        raise
    constants.move(texts.take(told, packing.shards))
    return owned


def _plain(frame: DataFrame) -> DataFrame:
    """The frame under names of ours; a fact without columns is one row."""
    if not frame.columns:
        return frame.limit(1).select(F.lit(0).cast("long").alias("v0"))
    return frame.toDF(*(f"v{at}" for at in range(len(frame.columns))))


def _check(leads: Mapping[str, Sequence[int]], records: Sequence[Mapping[str, Any]]) -> None:
    """Refuse everything if one value is no constant; relations and columns in the order in which they were given."""
    number = 0
    for name, wanted in leads.items():
        told = [row["refused"] for row in records if row["part"] == number]
        turned = [min(least) for least in zip(*told)]
        refuse(name, [turned[(at - wanted[0]) % len(turned)] for at in range(len(turned))])
        number += len(wanted)

"""Where bulk work writes what it derives: files of relations.

What      : `Target` takes the rows that shards give (tag, c0, c1, ...) and writes those of each relation into segments,
            in all orders that are wanted, together with the explicit facts of the stage.
Idea      : the task that derives also packs (files/parcels.py), so that facts go straight to the exchange that brings
            them to their files. Nothing is kept between, and what shards report travels along: deriving a stage and
            storing it is one job.
Invariant : a fact is written once, as explicit if it is. Rows with a negative tag are no facts; they come back.
Never     : no rules, and no fact passes through the driver.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame

from tidelog.backends.spark.cluster import frames
from tidelog.backends.spark.cluster.jobs import Jobs
from tidelog.backends.spark.files.file_store import FileStore
from tidelog.backends.spark.files.parcels import PARCEL, PackDerived, PackFacts, shapes_of
from tidelog.backends.spark.files.segments import Segments
from tidelog.backends.spark.files.writing import Write, gathered, into

Work = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""What derives facts inside a task."""


@dataclass(frozen=True)
class Target:
    """The files of an engine, and the explicit facts of a stage by relation, which are written too."""

    jobs: Jobs
    files: FileStore
    seeds: Mapping[str, DataFrame]

    def write(
        self, given: DataFrame, work: Work, homes: Mapping[int, tuple[str, int]], shards: int
    ) -> tuple[dict[str, Segments], pa.Table]:
        """Write what the task `work` makes of rows, by tag a relation and its width; what shards reported, too."""
        leads = {name: self.files.leads(name, width) for name, width in homes.values()}
        packing = self.files.packing(shapes_of((width, leads[name]) for name, width in homes.values()), shards)
        first, parts = 0, {}
        for tag, (name, _) in homes.items():
            parts[tag] = tuple(range(first, first + len(leads[name])))
            first += len(leads[name])
        parcels = given.mapInArrow(PackDerived(packing, parts, work), PARCEL)
        for tag, (name, own) in homes.items():
            if name in self.seeds:
                seeds = self.seeds[name].select(*frames.names(own))
                parcels = parcels.unionAll(seeds.mapInArrow(PackFacts(packing, parts[tag]), PARCEL))
        task = Write(self.files.folder, uuid.uuid4().hex, packing)
        records = into(self.jobs, parcels, task)
        found = gathered([(own, leads[name]) for name, own in homes.values()], shards, records)
        made_of = {name: self.files.owned(each) for (name, _), each in zip(homes.values(), found)}
        reports = [row for row in records if row["part"] < 0]
        return made_of, pa.table(
            {
                "tag": pa.array([row["part"] for row in reports], pa.int32()),
                "c0": pa.array([row["rows"] for row in reports], pa.int64()),
            }
        )

"""Where bulk work writes what it derives: files of relations.

What      : `Target` takes the rows that shards give (tag, c0, c1, ...) and writes those of each relation into segments,
            in all orders that are wanted, together with the explicit facts of the stage.
Idea      : the rows of a task go straight to the exchange that sorts them for their files. Nothing is kept between, and
            what shards report travels along: deriving a stage and storing it is one job.
Invariant : a fact is written once, as explicit if it is. Rows with a negative tag are no facts; they come back.
Never     : no rules, and no fact passes through the driver.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from tidelog.backends.spark.cluster import frames
from tidelog.backends.spark.cluster.jobs import Jobs
from tidelog.backends.spark.files.file_store import FileStore
from tidelog.backends.spark.files.segments import Segments
from tidelog.backends.spark.files.writing import Write, expanded, gathered, into, orders


@dataclass(frozen=True)
class Target:
    """The files of an engine, and the explicit facts of a stage by relation, which are written too."""

    jobs: Jobs
    files: FileStore
    seeds: Mapping[str, DataFrame]

    def write(
        self, derived: DataFrame, homes: Mapping[int, tuple[str, int]], shards: int
    ) -> tuple[dict[str, Segments], pa.Table]:
        """Write the rows of the tags `homes`, each a relation and its width; the files, and what shards reported."""
        leads = {name: self.files.leads(name, width) for name, width in homes.values()}
        shapes = [(width, lead) for name, width in homes.values() for lead in leads[name]]
        width, number = max(width for width, _ in shapes), 0
        zero = [F.lit(0).cast("long").alias(f"k{at}") for at in range(1, width)]
        told = [F.col("tag").alias("part"), F.lit(0).alias("shard"), F.col("c0").alias("k0"), *zero]
        rows = F.when(F.col("tag") < 0, F.array(F.struct(*told, F.lit(False).alias("explicit"))))
        others = []
        for tag, (name, own) in homes.items():
            columns = [F.col(column) for column in frames.names(own)]
            for flag in (False, True):
                made = orders(columns, [F.lit(flag).alias("explicit")], leads[name], number, width, shards)
                if not flag:
                    rows = rows.when(F.col("tag") == tag, F.array(*made))
                elif name in self.seeds:
                    others.append(expanded(self.seeds[name], made))
            number += len(leads[name])
        task = Write(self.files.folder, uuid.uuid4().hex, tuple(shapes))
        everything = reduce(DataFrame.unionAll, others, derived.select(F.inline(rows)))
        records = into(self.jobs, everything, task, len(shapes) * shards + 1, shards)
        found = gathered([(own, leads[name]) for name, own in homes.values()], shards, records)
        made_of = {name: self.files.owned(each) for (name, _), each in zip(homes.values(), found)}
        reports = [row for row in records if row["part"] < 0]
        return made_of, pa.table(
            {
                "tag": pa.array([row["part"] for row in reports], pa.int32()),
                "c0": pa.array([row["rows"] for row in reports], pa.int64()),
            }
        )

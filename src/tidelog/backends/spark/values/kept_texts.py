"""The texts behind ids, as a DataFrame that Spark keeps.

What      : `KeptTexts` does what files/texts.py does, where no folder is known that every executor reaches.
Idea      : all texts are one kept DataFrame (id, text); an addition makes another one.
Invariant : an id occurs once. Two texts with one id are found when the second is added; nothing is added then, and the
            second has to get another id.
Never     : no relation.
"""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from tidelog.backends.spark.cluster import frames
from tidelog.backends.spark.cluster.jobs import Jobs
from tidelog.backends.spark.values.ids import Ids


class KeptTexts:
    """Texts in one DataFrame."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs
        self._stored: DataFrame | None = None
        self.put_last: object = None
        """What the texts came from that were put last: they wait no more."""

    def __bool__(self) -> bool:
        return self._stored is not None

    def seen(self, jobs: Jobs) -> KeptTexts:
        """The same texts for a reader. They are gone when others have come: a read that fails then can be repeated."""
        copy = KeptTexts(jobs)
        copy._stored = self._stored
        return copy

    def frame(self) -> DataFrame:
        """All texts as a DataFrame (id, text)."""
        if self._stored is None:
            return self._jobs.spark.createDataFrame([], "id long, text string")
        return self._stored

    def find(self, ids: Ids) -> pa.Table:
        """The texts of these ids, without ids that have no text here: one job."""
        wanted = frames.of_ids(self._jobs.spark, ids.reshape(-1, 1)).withColumnRenamed("c0", "id")
        return self._jobs.run(lambda: self.frame().join(F.broadcast(wanted), "id", "left_semi").toArrow())

    def add(self, texts: DataFrame) -> list[str]:
        """Add texts, which may be known and may repeat.

        The texts that cannot have their ids, because others have them; nothing is added then.
        """
        known, given = (
            frame.select("id", "text", F.lit(number).alias("when"))
            for number, frame in enumerate((self.frame(), texts))
        )
        first, others = F.min_by("text", F.struct("when", "text")), F.collect_set("text")
        found = known.unionAll(given).groupBy("id").agg(first.alias("text"), others.alias("others"))
        kept = frames.keep(self._jobs, found)
        clashing = kept.where(F.size("others") > 1).select(F.explode("others").alias("other"), "text")
        clashes = self._jobs.run(lambda: clashing.where("other <> text").select("other").toArrow())
        if clashes.num_rows:
            frames.release(kept)
            return sorted(set(clashes.column("other").to_pylist()))
        before = self._stored
        self._stored = frames.part(kept, ["id", "text"])  # before the former one is gone: an interrupt loses no text
        frames.release(before)
        return []

    def put(self, texts: pa.Table, source: object = None) -> None:
        """Add texts from the driver whose ids are not here."""
        self.add(self._jobs.spark.createDataFrame(texts, "id long, text string"))
        self.put_last = source  # texts that are put twice are the same rows: nothing is lost before this line

    def close(self) -> None:
        """Free the texts."""
        stored, self._stored = self._stored, None
        frames.release(stored)

"""A relation while a large change goes through it.

What      : all facts of one relation with their marks, as a DataFrame; sets of facts are bits in a column beside.
Idea      : with marks and sets as columns, giving marks and restricting sets are projections, which cost nothing until
            somebody counts; only facts that come from outside need an exchange.
Invariant : one row per fact. A `Selection` stays the set that it was when it was made, whatever marks change later.
Never     : no rules, no values.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from tidelog.backends.spark.cluster import frames
from tidelog.backends.spark.cluster.jobs import Jobs
from tidelog.backends.spark.large.cold import ColdRelation
from tidelog.errors import LawError
from tidelog.planning.views import ANY, DELETED, INSERTED, NOW, Mark, View

_MOST_SETS = 62
_LASTING = int(Mark.OLD | Mark.WAS_EXPLICIT | Mark.EXPLICIT)


class Lease:
    """Frees kept frames when nobody holds it any more; the files of a relation stay for as long."""

    def __init__(self, kept: list[DataFrame], cold: ColdRelation | None = None) -> None:
        self._cold = cold
        for frame in kept:
            weakref.finalize(self, frames.release, frame)


@dataclass(frozen=True, eq=False)
class Selection:
    """A set of facts of one relation in its working frame."""

    working: Working
    bit: int

    def __len__(self) -> int:
        return self.working.size(self.bit)


class Working:
    """The facts of one relation, with marks."""

    def __init__(self, jobs: Jobs, cold: ColdRelation, changed: DataFrame | None) -> None:
        """The committed facts; `changed` (columns, marks) are those whose marks this transaction has changed."""
        self._jobs, self._cold = jobs, cold
        self._kept: list[DataFrame] = []
        self._sizes: dict[int, int] = {}
        self._tally: dict[View, int] = {}
        self._lease: Lease | None = None
        self._sets = 0
        self._is_empty = not cold.size and not cold.overlay and changed is None
        """Whether there are no facts yet; then given ones, which are distinct, meet no others."""
        self.columns, self.arity = cold.columns, cold.arity
        explicit = F.when(F.col("explicit"), F.lit(_marks(Mark.EXPLICIT | Mark.WAS_EXPLICIT))).otherwise(F.lit(0))
        marks = explicit.bitwiseOR(F.lit(_marks(Mark.OLD | Mark.NOW))).alias("marks")
        frame = cold.frame(jobs).select(*self.columns, marks)
        if changed is not None:
            frame = frame.join(F.broadcast(changed.select(*self.columns)), self.columns, "left_anti").unionAll(
                changed.select(*self.columns, F.col("marks").cast("int").alias("marks"))
            )
        self.frame = frame.withColumn("sets", F.lit(0).cast("long"))

    def include(self, facts: DataFrame) -> Selection:
        """Given facts, which are distinct, added without marks where they are not there yet, as a set."""
        bit = self._bit()
        given = facts.select(*self.columns, F.lit(0).alias("marks"), F.lit(1 << bit).cast("long").alias("sets"))
        if self._is_empty:
            self._hold(given)
        else:
            self._merge(given)
        return Selection(self, bit)

    def select(self, view: View) -> Selection:
        """All facts in a view."""
        chosen = self._chosen(_in_view(view))
        if view in self._tally:
            self._sizes[chosen.bit] = self._tally[view]
        return chosen

    def tally(self) -> dict[View, int]:
        """How many facts are NOW, INSERTED, DELETED, and in any other way changed (ANY): one pass for all."""
        if not self._tally:
            views = (NOW, INSERTED, DELETED)
            counts = [F.count_if(_in_view(view)) for view in views]
            row = self._jobs.run(lambda: self.frame.agg(*counts, F.count_if(_is_changed())).collect())[0]
            self._tally = dict(zip((*views, ANY), row))
        return self._tally

    @property
    def known(self) -> int:
        """How many facts are NOW, 0 if nobody has counted."""
        return self._tally.get(NOW, 0)

    def restrict(self, facts: Selection, view: View) -> Selection:
        """Those of the facts that are in a view."""
        return self._chosen(_has(facts.bit) & _in_view(view))

    def besides(self, facts: Selection, view: View) -> Selection:
        """The facts in a view that are not among the given ones."""
        return self._chosen(~_has(facts.bit) & _in_view(view))

    def union(self, one: Selection, other: Selection) -> Selection:
        """Both sets."""
        return self._chosen(_has(one.bit) | _has(other.bit))

    def mark(self, facts: Selection, add: Mark, remove: Mark) -> None:
        """Give and take marks."""
        self._tally = {}
        marks = F.col("marks")
        changed = marks.bitwiseAND(F.lit(~int(remove) & 0xFFFF)).bitwiseOR(F.lit(int(add)))
        self.frame = self.frame.withColumn("marks", F.when(_has(facts.bit), changed).otherwise(marks))

    def renew(self, facts: DataFrame) -> None:
        """These facts, and no others, are NOW; the marks that a strategy has left on the way are taken away."""
        self.frame = self.frame.withColumn("marks", F.col("marks").bitwiseAND(F.lit(_LASTING)))
        self._merge(
            facts.select(*self.columns, F.lit(_marks(Mark.NOW)).alias("marks"), F.lit(0).cast("long").alias("sets"))
        )

    def size(self, bit: int) -> int:
        """How many facts a set has; counted once."""
        if bit not in self._sizes:
            self._sizes[bit] = self._jobs.run(self.frame.where(_has(bit)).count)
        return self._sizes[bit]

    def facts(self, view: View) -> DataFrame:
        """The facts in a view (columns of ids)."""
        return self.frame.where(_in_view(view)).select(*self.columns)

    def of(self, facts: Selection) -> DataFrame:
        """The facts of a set (columns of ids)."""
        return self.frame.where(_has(facts.bit)).select(*self.columns)

    @property
    def changed(self) -> DataFrame:
        """The facts that came, went, or became or ceased to be explicit, with their marks."""
        return self.frame.where(_is_changed()).select(*self.columns, "marks")

    @property
    def committed(self) -> DataFrame:
        """The facts that are NOW, and whether they are explicit."""
        explicit = F.col("marks").bitwiseAND(F.lit(_marks(Mark.EXPLICIT))) != 0
        return self.frame.where(_in_view(View(Mark.NOW))).select(*self.columns, explicit.alias("explicit"))

    def release(self) -> None:
        """Free what was kept on the way."""
        if self._lease is None:
            for frame in self._kept:
                frames.release(frame)
        self._kept = []

    def retire(self) -> None:
        """Nobody works on it any more; its sets can be read for as long as somebody holds one."""
        self._lease = self.lease
        self._kept = []

    @property
    def lease(self) -> Lease:
        """Keeps the frames of the present sets: they can be read for as long as the lease is held."""
        if self._lease is None:
            self._lease = Lease(self._kept, self._cold)
        return self._lease

    def _merge(self, more: DataFrame) -> None:
        merged = self.frame.unionAll(more).groupBy(*self.columns)
        self._hold(merged.agg(F.bit_or("marks").alias("marks"), F.bit_or("sets").alias("sets")))

    def _hold(self, facts: DataFrame) -> None:
        """These are all facts from now on."""
        self._tally, self._is_empty = {}, False
        kept = frames.keep(self._jobs, facts)
        self.release()
        self._kept.append(kept)
        self.frame = kept

    def _chosen(self, condition: Column) -> Selection:
        bit = self._bit()
        member = F.when(condition, F.lit(1 << bit).cast("long")).otherwise(F.lit(0).cast("long"))
        self.frame = self.frame.withColumn("sets", F.col("sets").bitwiseOR(member))
        return Selection(self, bit)

    def _bit(self) -> int:
        if self._sets >= _MOST_SETS:
            raise LawError.of("E905", f"a large change of {self._cold.name} takes too many steps", remedy="report this")
        self._sets += 1
        return self._sets - 1


def _marks(marks: Mark) -> int:
    return int(marks)


def _is_changed() -> Column:
    """Whether a fact came, went, or became or ceased to be explicit: each mark of the old version is one lower."""
    marks, old = F.col("marks"), F.lit(int(Mark.OLD | Mark.WAS_EXPLICIT))
    return marks.bitwiseAND(old) != F.shiftright(marks, 1).bitwiseAND(old)


def _has(bit: int) -> Column:
    return F.col("sets").bitwiseAND(F.lit(1 << bit).cast("long")) != 0


def _in_view(view: View) -> Column:
    return F.col("marks").bitwiseAND(F.lit(view.care)) == F.lit(int(view.inside))

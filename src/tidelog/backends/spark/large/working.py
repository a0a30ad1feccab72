"""A relation while a large change goes through it.

What      : all facts of one relation with their marks; sets of facts are bits beside. As long as all explicit facts of
            its files are alike, and all others, marks and bits are numbers (marks_by_class.py). When facts join that
            are not alike they become columns of a DataFrame.
Idea      : with marks and sets as numbers or columns, giving marks and restricting sets cost nothing until somebody
            counts; only facts that come from outside need an exchange, and the facts of an empty relation not even
            that: the files that they come in (files/receiving.py) are those that are committed.
Invariant : one row per fact. A `Selection` stays the set that it was when it was made, whatever marks change later.
Never     : no rules, no values.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from tidelog.backends.spark.cluster import frames
from tidelog.backends.spark.cluster.jobs import Jobs
from tidelog.backends.spark.files.reading import Reader
from tidelog.backends.spark.files.segments import Segments
from tidelog.backends.spark.files.writing import read
from tidelog.backends.spark.large.cold import ColdRelation, of_files
from tidelog.backends.spark.large.marks_by_class import Classes, Test, in_set, in_view, is_changed
from tidelog.errors import LawError
from tidelog.planning.views import ANY, DELETED, INSERTED, NOW, Mark, View

_MOST_SETS = 62
_LASTING = int(Mark.OLD | Mark.WAS_EXPLICIT | Mark.EXPLICIT)
_HAS = int(Mark.OLD | Mark.NOW)
_HAS_EXPLICIT = int(Mark.OLD | Mark.NOW | Mark.EXPLICIT | Mark.WAS_EXPLICIT)


class Lease:
    """Frees kept frames when nobody holds it any more; the files of a relation stay for as long."""

    def __init__(self, kept: list[DataFrame], *held: object) -> None:
        self._held = held
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
        self.columns, self.arity = cold.columns, cold.arity
        self._files = cold.base if isinstance(cold.base, Segments) else None
        self._classes = _classes(cold) if changed is None else None
        if self._classes is None:
            self._frame = _marked(jobs, cold, changed)

    def include(self, facts: DataFrame | Segments) -> Selection:
        """Given facts, which are distinct, added without marks where they are not there yet, as a set."""
        bit = self._bit()
        if isinstance(facts, Segments) and self._classes is not None and self._classes.is_empty:
            self._take(facts, Classes((0, facts.rows), sets=[0, 1 << bit]))
            return Selection(self, bit)
        frame = read(self._jobs, facts.first, facts.width) if isinstance(facts, Segments) else facts
        given = frame.select(*self.columns, F.lit(0).alias("marks"), F.lit(1 << bit).cast("long").alias("sets"))
        if self._classes is not None and self._classes.is_empty:
            self._hold(given)
        else:
            self._merge(given)
        return Selection(self, bit)

    def select(self, view: View) -> Selection:
        """All facts in a view."""
        chosen = self._chosen(in_view(view), lambda: _in_view(view))
        if view in self._tally:
            self._sizes[chosen.bit] = self._tally[view]
        return chosen

    def tally(self) -> dict[View, int]:
        """How many facts are NOW, INSERTED, DELETED, and in any other way changed (ANY): one pass for all."""
        if not self._tally:
            views = (NOW, INSERTED, DELETED)
            if self._classes is not None:
                found = [self._classes.count(test) for test in (*map(in_view, views), is_changed)]
            else:
                counts = [F.count_if(_in_view(view)) for view in views]
                found = list(self._jobs.run(lambda: self._frame.agg(*counts, F.count_if(_is_changed())).collect())[0])
            self._tally = dict(zip((*views, ANY), found))
        return self._tally

    def count(self, view: View) -> int | None:
        """How many facts are in a view; None if that takes a job."""
        return None if self._classes is None else self._classes.count(in_view(view))

    @property
    def known(self) -> int:
        """How many facts are NOW, 0 if nobody has counted."""
        return self._tally.get(NOW, 0)

    def restrict(self, facts: Selection, view: View) -> Selection:
        """Those of the facts that are in a view."""
        inside, among = in_view(view), in_set(facts.bit)
        return self._chosen(lambda *fact: inside(*fact) and among(*fact), lambda: _has(facts.bit) & _in_view(view))

    def besides(self, facts: Selection, view: View) -> Selection:
        """The facts in a view that are not among the given ones."""
        inside, among = in_view(view), in_set(facts.bit)
        return self._chosen(lambda *fact: inside(*fact) and not among(*fact), lambda: ~_has(facts.bit) & _in_view(view))

    def union(self, one: Selection, other: Selection) -> Selection:
        """Both sets."""
        first, second = in_set(one.bit), in_set(other.bit)
        return self._chosen(lambda *fact: first(*fact) or second(*fact), lambda: _has(one.bit) | _has(other.bit))

    def mark(self, facts: Selection, add: Mark, remove: Mark) -> None:
        """Give and take marks."""
        self._tally = {}
        if self._classes is not None:
            self._classes.mark(facts.bit, add, remove)
            return
        marks = F.col("marks")
        changed = marks.bitwiseAND(F.lit(~int(remove) & 0xFFFF)).bitwiseOR(F.lit(int(add)))
        self._frame = self._frame.withColumn("marks", F.when(_has(facts.bit), changed).otherwise(marks))

    @property
    def is_fresh(self) -> bool:
        """Whether the relation had no facts before, and all that it has are explicit now."""
        fresh = View(Mark.EXPLICIT, Mark.OLD)
        return self._classes is not None and not self._classes.counts[0] and self._classes.all_hold(in_view(fresh))

    def renew(self, facts: DataFrame | Segments) -> None:
        """These facts, and no others, are NOW; the marks that a strategy has left on the way are taken away.

        Files hold the facts of a fresh relation: its explicit ones, as such, and the derived ones.
        """
        if isinstance(facts, Segments):
            assert self._classes is not None and self.is_fresh and facts.explicit is not None  # noqa: PT018
            marks = [int(Mark.NOW), self._classes.marks[1] & _LASTING | int(Mark.NOW)]
            counts = facts.rows - facts.explicit, facts.explicit
            self._take(facts, Classes(counts, marks, [0, self._classes.sets[1]]))
            return
        self._frame = self.frame.withColumn("marks", F.col("marks").bitwiseAND(F.lit(_LASTING)))
        self._classes = None
        self._merge(
            facts.select(*self.columns, F.lit(_marks(Mark.NOW)).alias("marks"), F.lit(0).cast("long").alias("sets"))
        )

    def size(self, bit: int) -> int:
        """How many facts a set has; counted once."""
        if bit not in self._sizes:
            if self._classes is not None:
                return self._classes.count(in_set(bit))
            self._sizes[bit] = self._jobs.run(self._frame.where(_has(bit)).count)
        return self._sizes[bit]

    def facts(self, view: View) -> DataFrame:
        """The facts in a view (columns of ids)."""
        if self._classes is not None:
            return self._of_classes(in_view(view))
        return self._frame.where(_in_view(view)).select(*self.columns)

    def of(self, facts: Selection) -> DataFrame:
        """The facts of a set (columns of ids)."""
        if self._classes is not None:
            return self._of_classes(in_set(facts.bit))
        return self._frame.where(_has(facts.bit)).select(*self.columns)

    @property
    def frame(self) -> DataFrame:
        """All facts: columns of ids, `marks` and `sets`."""
        if self._classes is None:
            return self._frame
        (marks, more), (sets, others) = self._classes.marks, self._classes.sets
        explicit = F.col("explicit")
        given = F.when(explicit, F.lit(more)).otherwise(F.lit(marks)).cast("int").alias("marks")
        members = F.when(explicit, F.lit(others)).otherwise(F.lit(sets)).cast("long").alias("sets")
        return self._stored.select(*self.columns, given, members)

    @property
    def changed(self) -> DataFrame:
        """The facts that came, went, or became or ceased to be explicit, with their marks."""
        return self.frame.where(_is_changed()).select(*self.columns, "marks")

    def brought(self) -> pa.Table:
        """The facts of `changed` on the driver; those of files are read there, without a job."""
        if self._classes is None:
            return self._jobs.run(self.changed.toArrow)
        is_wanted = np.array(self._classes.holds(is_changed))
        tables = [pa.schema([*((name, pa.int64()) for name in self.columns), ("marks", pa.int32())]).empty_table()]
        if self._files is not None and self._classes.count(is_changed):
            reader, marks = Reader(), np.array(self._classes.marks, np.int32)
            for file in self._files.first.files.values():
                for rows in reader.whole(file.address):
                    explicit = rows.column("explicit").to_numpy().astype(np.int8)
                    marked = rows.select(self.columns).append_column("marks", pa.array(marks[explicit]))
                    tables.append(marked.filter(pa.array(is_wanted[explicit])))
        return pa.concat_tables(tables)

    @property
    def committed(self) -> DataFrame:
        """The facts that are NOW, and whether they are explicit."""
        explicit = F.col("marks").bitwiseAND(F.lit(_marks(Mark.EXPLICIT))) != 0
        return self.frame.where(_in_view(View(Mark.NOW))).select(*self.columns, explicit.alias("explicit"))

    @property
    def files(self) -> Segments | None:
        """The files that hold exactly the facts that are NOW; None if there are no such files."""
        if self._classes is None or self._classes.is_empty or not self._classes.all_hold(in_view(NOW)):
            return None
        return self._files

    @property
    def settled(self) -> ColdRelation | None:
        """The relation as it will be committed, if its files say all about it already."""
        classes = self._classes
        if classes is None:
            return None
        if not classes.count(in_view(NOW)):
            return ColdRelation(self._cold.name, self.arity)
        explicit = classes.holds(in_view(View(Mark.EXPLICIT)))
        if self.files is None or any(explicit[at] != bool(at) for at in (0, 1) if classes.counts[at]):
            return None
        return self._cold if self.files is self._cold.base else of_files(self._cold.name, self.arity, self.files)

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
        """Keeps what the present sets are read from: they can be read for as long as the lease is held."""
        if self._lease is None:
            self._lease = Lease(self._kept, self._cold, self._files)
        return self._lease

    @property
    def _stored(self) -> DataFrame:
        """The facts of the files (columns of ids, `explicit`)."""
        if self._files is None:
            return ColdRelation(self._cold.name, self.arity).frame(self._jobs)
        return read(self._jobs, self._files.first, self._files.width)

    def _of_classes(self, test: Test) -> DataFrame:
        assert self._classes is not None
        derived, explicit = self._classes.holds(test)
        is_some, is_more = (bool(count) for count in self._classes.counts)
        facts = self._stored
        if not (derived and is_some) and not (explicit and is_more):
            facts = facts.limit(0)
        elif (is_some and not derived) or (is_more and not explicit):
            facts = facts.where("explicit" if explicit else "not explicit")
        return facts.select(*self.columns)

    def _take(self, files: Segments, classes: Classes) -> None:
        """These files hold all facts from now on."""
        self._tally, self._sizes = {}, {}
        self._files, self._classes = files, classes

    def _merge(self, more: DataFrame) -> None:
        merged = self.frame.unionAll(more).groupBy(*self.columns)
        self._hold(merged.agg(F.bit_or("marks").alias("marks"), F.bit_or("sets").alias("sets")))

    def _hold(self, facts: DataFrame) -> None:
        """These are all facts from now on."""
        kept = frames.keep(self._jobs, facts)
        self._tally, self._classes, self._files = {}, None, None
        self.release()
        self._kept.append(kept)
        self._frame = kept

    def _chosen(self, test: Test, condition: Callable[[], Column]) -> Selection:
        bit = self._bit()
        if self._classes is not None:
            self._classes.choose(bit, test)
            return Selection(self, bit)
        member = F.when(condition(), F.lit(1 << bit).cast("long")).otherwise(F.lit(0).cast("long"))
        self._frame = self._frame.withColumn("sets", F.col("sets").bitwiseOR(member))
        return Selection(self, bit)

    def _bit(self) -> int:
        if self._sets >= _MOST_SETS:
            raise LawError.of("E905", f"a large change of {self._cold.name} takes too many steps", remedy="report this")
        self._sets += 1
        return self._sets - 1


def _classes(cold: ColdRelation) -> Classes | None:
    """The classes of a committed relation; None if its facts are not those of its files, or nobody has counted."""
    if cold.overlay or (cold.base is None and cold.size):
        return None
    if cold.base is None:
        return Classes()
    if not isinstance(cold.base, Segments) or cold.base.explicit is None:
        return None
    return Classes((cold.base.rows - cold.base.explicit, cold.base.explicit), [_HAS, _HAS_EXPLICIT])


def _marked(jobs: Jobs, cold: ColdRelation, changed: DataFrame | None) -> DataFrame:
    """The committed facts with their marks, as a transaction has changed them so far."""
    marks = F.when(F.col("explicit"), F.lit(_HAS_EXPLICIT)).otherwise(F.lit(_HAS)).alias("marks")
    frame = cold.frame(jobs).select(*cold.columns, marks)
    if changed is not None:
        frame = frame.join(F.broadcast(changed.select(*cold.columns)), cold.columns, "left_anti").unionAll(
            changed.select(*cold.columns, F.col("marks").cast("int").alias("marks"))
        )
    return frame.withColumn("sets", F.lit(0).cast("long"))


def _marks(marks: Mark) -> int:
    return int(marks)


def _is_changed() -> Column:
    """Whether OLD differs from NOW, or WAS_EXPLICIT from EXPLICIT; shifted by one bit, the new marks lie on the old."""
    marks, old = F.col("marks"), F.lit(int(Mark.OLD | Mark.WAS_EXPLICIT))
    return marks.bitwiseAND(old) != F.shiftright(marks, 1).bitwiseAND(old)


def _has(bit: int) -> Column:
    return F.col("sets").bitwiseAND(F.lit(1 << bit).cast("long")) != 0


def _in_view(view: View) -> Column:
    return F.col("marks").bitwiseAND(F.lit(view.care)) == F.lit(int(view.inside))

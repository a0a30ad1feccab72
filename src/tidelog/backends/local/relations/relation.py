"""A relation on this machine: facts that are stored, found, marked, committed and forgotten.

What      : the work on the arrays of one relation (arrays.py), each call a kernel or a few.
Idea      : a fact is a row number, sets of facts are arrays of row numbers or marks; a row whose marks are gone stays
            where it is until many have gone, so that deleting and re-inserting move nothing.
Invariant : rows are distinct. Unless there are bare rows, every stored row carries NOW or NEXT. A relation that a
            transaction has touched is in the list `opened` of its owner.
            An interrupt can fall between any two statements, and leaves all of this true: what moves is made aside and
            swapped in by one step (`_swap`), everything else is one kernel call, except what several threads store
            (parts.py): meanwhile the relation `_is_torn`, and a rollback then looks at every row. `commit` and
            `rollback` can be repeated after an interrupt inside them.
Never     : no rules, no constants, no strategy.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from tidelog.backends.local.kernels.compiled import Array
from tidelog.backends.local.kernels.workers import ranges as shares
from tidelog.backends.local.relations import new_rows, parts, relation_kernels, row_table, steps
from tidelog.backends.local.relations.arrays import Arrays
from tidelog.backends.local.relations.growth import LEAST_ROWS
from tidelog.backends.local.relations.steps import joined, never, pieces, ranges
from tidelog.backends.local.relations.tidying import tidied
from tidelog.maintenance.versions import TRANSIENT
from tidelog.planning.views import NO_MARKS, OLD, Mark, View

_KEPT = int(Mark.FORESEEN)
_NEW = int(Mark.NOW | Mark.EXPLICIT)
_PREVIOUS = int(Mark.OLD | Mark.WAS_EXPLICIT)
_NOW = int(Mark.NOW)
_PRESENT = int(Mark.NOW | Mark.NEXT)
_UNSETTLED = int(Mark.OLD | Mark.TURNED | TRANSIENT)
_IN_BOTH, _ONLY_IN_LAST = View(Mark.OLD, Mark.TURNED), View(Mark.TURNED, Mark.OLD)
_ABSENT = View(outside=Mark.OLD)
_NOT_PRESENT = View(outside=Mark.NOW | Mark.NEXT)
_FEW_NEW = 4
"""Rows that are known to be new are entered one by one if those that are there are this many times as many."""
_CACHED = 1 << 22
"""About how many slots a cache holds. Until then two threads gain nothing over one that enters new rows."""
_LEAST_DEAD, _MANY = 1024, 1 << 12
_SELECTED = 1 << 19
"""How many rows are looked through in one step, at about 1 ns each; what is found goes into memory that is touched for
the first time, which takes longer."""


class Aside(NamedTuple):
    """What a transaction has marked in a relation, while it is set aside."""

    rows: Array
    marks: Array
    """Those of the rows, or if it `is_whole` those of all rows that there were."""
    is_whole: bool
    is_turned: bool
    journal: Array
    """The array of which the rows are the first ones."""


class Relation(Arrays):
    """The stored facts of one relation."""

    def store(self, table: Array, view: View, add: Mark) -> Array:
        """Store rows; the distinct ones in the view get the marks and are returned.

        With no marks to add, rows that occur twice in the table are returned twice.
        """
        size, outside, added = len(table), int(view.outside), int(add)
        if view.inside:
            slots = self.slots  # before there is room in the journal: what has arrived may be let pass here
            self._reserve_journal(0, size)
            if outside & added and self._is_shared(size, only_new=False):
                return self._by_parts(table, view.care, view.want, added)
            return self._found(table, view, slots, self._ahead, added)
        if not self._has_room(size):
            self._reserve(size)  # before the latch is held, so that readers need not wait for it
        with self.latch:
            if self._has_room(size):
                self._reserve_journal(size)
            else:  # an index was made meanwhile
                self._reserve(size)
            only_new = not self._has_bare_rows and bool(outside & _NOW) and bool(outside & added)
            self._has_bare_rows |= not added & _PRESENT
            if outside & added and self._is_shared(size, only_new=only_new):
                return self._by_parts(table, 0 if only_new else outside, 0, added)
            found = np.empty(size, np.int32)
            if only_new:
                hits = relation_kernels.store_new_rows(
                    table, self.rows, self.marks, self.slots, self._heads, self._counters, self._journal, added, found,
                    self._ahead,
                )  # fmt: skip
            else:
                hits = relation_kernels.store_rows(
                    table, self.rows, self.marks, self.slots, self._heads, self._counters, self._journal, view.care, 0,
                    added, found, self._ahead,
                )  # fmt: skip
        return found[:hits]

    def _is_shared(self, size: int, *, only_new: bool) -> bool:
        """Whether several threads store the rows faster than one. Each looks at all of them, and each does more with a
        row than one thread alone, so two gain only where new rows go into a table that no cache holds.
        """
        return self._workers.takes(size) and (self._workers.threads > 2 or (only_new and len(self._slots) > _CACHED))

    def _by_parts(self, table: Array, care: int, want: int, add: int) -> Array:
        """As `store`, by several threads. Until it is done, table and indexes are as if they were not made yet."""
        with self.latch:
            slots, indexes, heads, base = self.slots, self._indexes, self._heads, self.count
            self._swap(_indexes={}, _is_behind=True, _is_torn=True)
            arrays = np.ascontiguousarray(table, self.rows.dtype), self.rows, base, self.marks, slots
            if care:
                stored = parts.store_rows(self._workers, *arrays, self._journal, self.journalled, care, want, add)
            else:
                stored = new_rows.store_new_rows(self._workers, *arrays, self._journal[self.journalled :], add)
            parts.link_rows(self._workers.of(stored.new), heads, self.rows, base, base + stored.new)
            parts.count_rows(self._counters, stored.new, stored.journalled)
            self._swap(_slots=slots, _is_behind=False, _indexes=indexes, _is_torn=False)
        return stored.found

    def append_waiting(self, add: Mark) -> None:
        """Store the rows that wait, which are known to be new, with marks of presence.

        If they are many, they are entered into no table and no index: these are made anew when somebody asks for them.
        """
        size, self.waiting = self.waiting, 0
        if not size:
            return
        if size * _FEW_NEW < self.count:
            self.store(self.rows[self.count : self.count + size].copy(), _NOT_PRESENT, add)
        else:
            with self.latch:
                self._reserve_journal(size)
                self._swap(_indexes={}, _is_behind=True)
                relation_kernels.append_rows_behind(size, self.marks, self._counters, self._journal, int(add))

    def lend(self, given: int, room: int, view: View, *, baring: bool) -> tuple[Array, ...]:
        """The arrays for a kernel that marks `given` rows by itself, and finds or stores as many as there is room for.

        `baring` says that it may take the last mark of presence (NOW or NEXT) from a row.
        """
        if not view.want:
            self._reserve(room)
        slots = self.slots
        self._reserve_journal(0 if view.want else room, given + room if view.want else given)
        self._has_bare_rows |= baring
        return self.rows, self.marks, slots, self._heads, self._counters, self._journal, self._ahead

    def find(self, table: Array, view: View) -> Array:
        """The stored rows equal to rows of the table and in the view."""
        return self._found(table, view, self.slots, self._ahead)

    def find_beside(self, table: Array, view: View) -> Array:
        """As `find`, for readers of other threads, who hold the latch: with scratch space of their own."""
        return self._found(table, view, self.slots, np.empty(row_table.BLOCK, np.uint64))

    def _found(self, table: Array, view: View, slots: Array, ahead: Array, add: int = 0) -> Array:
        found = np.empty(len(table), np.int32)
        hits = relation_kernels.find_rows(
            table, self.rows, self.marks, slots, self._counters, self._journal, view.care, view.want, add, found, ahead
        )
        return found[:hits]

    def place(self, table: Array, marks: Mark) -> None:
        """Store facts of the last version that were elsewhere; facts that are stored here already do not change."""
        with self.latch:
            self.count_alive(len(self.store(table, _ABSENT, marks)))

    def count_alive(self, more: int) -> None:
        """Add to the number of facts of the last version: some came from elsewhere, or turned out not to be facts."""
        self._counters[relation_kernels.ALIVE] += more

    def restrict(self, chosen: Array, view: View, add: Mark = NO_MARKS) -> Array:
        """Those of the chosen rows that are in the view, found in steps; they get the marks."""
        if len(chosen) > steps.STEP:
            if self._workers.takes(len(chosen)) and not add:
                return self._restricted(chosen, view)
            return joined([self.restrict(some, view, add) for some in pieces(chosen, self._pause)], self._pause)
        if add:
            self._reserve_journal(0, len(chosen))
        found = np.empty(len(chosen), np.int32)
        hits = relation_kernels.collect_rows(
            chosen, self.marks, self._counters, self._journal, view.care, view.want, int(add), found
        )
        return found[:hits]

    def _restricted(self, chosen: Array, view: View) -> Array:
        """As `restrict` without marks to give, by several threads; a piece is found in its place and then moved up."""
        found, hits = steps.untouched((len(chosen),), np.dtype(np.int32)), 0

        def collect(start: int, stop: int) -> int:
            arrays = self.marks, self._counters, self._journal
            hit = relation_kernels.collect_rows(chosen[start:stop], *arrays, view.care, view.want, 0, found[start:stop])
            return int(hit)

        for first, last in ranges(len(chosen), workers=self._workers):
            parts = [(first + start, first + stop) for start, stop in shares(last - first, self._workers.threads)]
            for (start, _), hit in zip(parts, self._workers.run([partial(collect, *some) for some in parts])):
                if hits < start:
                    found[hits : hits + hit] = found[start : start + hit]
                hits += hit
            self._pause()
        return found[:hits] if 2 * hits > len(found) else found[:hits].copy()

    def table(self, chosen: Array, pause: Callable[[], None] = never) -> Array:
        """The chosen rows as a table, in any order; neighbours, as a round finds them, are not copied."""
        if len(chosen) > _MANY:
            first = int(chosen.min())
            if int(chosen.max()) - first + 1 == len(chosen):
                return self.rows[first : first + len(chosen)]
        return self._taken(chosen, pause)

    def _taken(self, chosen: Array, pause: Callable[[], None]) -> Array:
        """The chosen rows, copied in steps."""
        if len(chosen) <= _MANY:
            return self.rows.take(chosen, axis=0)
        return joined([self.rows.take(some, axis=0) for some in pieces(chosen, pause)], pause)

    def frozen(self, chosen: Array) -> Array:
        """The chosen rows in a table that outlives this transaction.

        They are copied only if a view would keep many rows in memory that are not chosen.
        """
        if 2 * len(chosen) > self.count:
            return self.table(chosen, self._pause)
        return self._taken(chosen, self._pause)

    def select(self, view: View) -> Array:
        """All rows in the view."""
        count, hits = self.count, 0
        found = np.empty(count, np.int32)
        several = ranges(count, _SELECTED) if count > _SELECTED else ((0, count),)
        for start, stop in several:
            hits = relation_kernels.select_rows(self.marks, start, stop, view.care, view.want, found, hits)
            self._pause()
        return found[:hits]

    def mark(self, chosen: Array, add: Mark, remove: Mark) -> None:
        """Give and take marks."""
        self._has_bare_rows |= bool(int(remove) & _PRESENT) and not int(add) & _NOW
        self._reserve_journal(0, len(chosen))
        relation_kernels.mark_rows(chosen, self.marks, self._counters, self._journal, int(add), int(remove))

    def unmark(self) -> None:
        """Take away all marks that look-ahead has left: one pass over the marks."""
        np.bitwise_and(self.marks, np.uint16(0xFFFF & ~_KEPT), out=self.marks)

    def commit(self, *, tidies: bool = True) -> bool:
        """What is NOW becomes OLD; `tidies` when most rows are dead, or answers that it is time for it."""
        with self.latch:
            self._settle(_NEW, 1)
            self.is_turned = False  # a transaction that is decided has seen all that has passed
            is_untidy = self.is_untidy
            if tidies and is_untidy:
                self.tidy()
            self._settled, _, alive = self._counters.tolist()
            self._has_bare_rows = self._settled != alive
            self.is_open = False
            return is_untidy and not tidies

    @property
    def is_untidy(self) -> bool:
        """Between transactions: whether most rows are dead, so that it is time for `tidy`."""
        count, _, alive = self._counters.tolist()
        dead = count - alive
        return dead > _LEAST_DEAD and dead * 2 > count

    def rollback(self) -> None:
        """What is OLD becomes NOW again."""
        self.waiting = 0
        if self._is_torn:  # and marks may have changed that are in no journal
            counters, journal = self._counters.copy(), np.arange(self.count, dtype=np.int32)
            counters[relation_kernels.JOURNALLED] = len(journal)
            self._swap(_counters=counters, _journal=journal, _is_torn=False)
        self.straighten()
        self._has_bare_rows = True  # before the marks are gone, so that an interrupt in between finds it said
        self._settle(_PREVIOUS, -1)
        self._settled = self.count
        self._has_bare_rows = self.count != self.alive
        self.is_open = False

    def bring_back(self) -> None:
        """What is OLD is NOW again, without marks that a strategy has left; the transaction goes on."""
        is_whole, self._has_bare_rows = relation_kernels.are_many(self._counters), True
        for start, stop in ranges(self.count if is_whole else self.journalled, _SELECTED):
            arrays = self._journal, self.marks
            relation_kernels.bring_back_rows(start, stop, int(is_whole), *arrays, 0xFFFF & ~(_NOW | int(TRANSIENT)))
            self._pause()

    def set_aside(self) -> Aside:
        """Leave the transaction for another one to be done first: the rows that it has marked, and their marks.

        The journal is handed over, not copied: memory for millions of rows may take half a second to come by.
        """
        rows, is_whole = self.journal, relation_kernels.are_many(self._counters)
        marks = steps.copied(self.marks[: self.count]) if is_whole else self.marks.take(rows)
        kept = Aside(rows, marks, is_whole, self.is_turned, self._journal)
        self.rollback()
        self._journal = np.empty(LEAST_ROWS, np.int32)
        return kept

    def _take_back(self, kept: Aside) -> None:
        """Use the journal again that was handed over, while nothing is in the present one."""
        if len(kept.journal) > len(self._journal):
            self._journal = kept.journal

    def resume(self, kept: Aside) -> None:
        """Go on where `set_aside` was called, if nothing has changed since; the marks are as they were.

        The journal may be another array than before, as after a growth.
        """
        self.epoch += 1
        self._take_back(kept)
        self._reserve_journal(len(kept.rows))
        with self.latch:
            self._has_bare_rows, self.is_turned = True, kept.is_turned
            arrays = self.marks, self._counters, self._journal
            relation_kernels.resume_rows(kept.rows, kept.marks, int(kept.is_whole), *arrays)

    def turn(self, changed: tuple[Array, Array], kept: Aside | None) -> None:
        """Go on as if another transaction, which has ended, had not been: what it has changed is TURNED (views.py).

        `changed` are the rows that it has marked, and their marks before it ended.
        """
        rows, before = changed
        kept = kept or Aside(rows[:0], before[:0], False, False, rows[:0])
        self.epoch += 1
        self._take_back(kept)
        with self.latch:
            after = self.marks.take(rows)
            self._reserve_journal(len(kept.rows) + len(rows))  # before anything is changed: memory may be short
            self._has_bare_rows = self.is_turned = True
            arrays = self.marks, self._counters, self._journal
            relation_kernels.turn_rows(kept.rows, kept.marks, int(kept.is_whole), rows, before, after, *arrays)

    def straighten(self) -> None:
        """OLD is the last version again, whatever has passed."""
        if self.is_turned:
            with self.latch:
                relation_kernels.straighten_rows(self._journal, self._counters, self.marks)
                self.is_turned = False

    def rebase(self) -> None:
        """From here on OLD is what is NOW, for an update on top of this one; readers and a rollback know better."""
        for some in pieces(self.journal, never):
            with self.latch:
                self.is_turned = True
                relation_kernels.rebase_rows(some, self.marks, 0xFFFF & ~_UNSETTLED)

    def last(self, view: View) -> tuple[View, ...]:
        """The views that together are OLD, or another view, in the last version: for readers, who hold the latch."""
        return (_IN_BOTH, _ONLY_IN_LAST) if self.is_turned and view is OLD else (view,)

    def select_last(self, view: View) -> Array:
        """All rows in a view of the last version."""
        return joined([self.select(one) for one in self.last(view)])

    def _settle(self, copied: int, shift: int) -> None:
        relation_kernels.settle_rows(self._journal, self._counters, self.marks, copied, shift, _KEPT)
        if len(self._journal) > 4 * self.count + _LEAST_DEAD:
            self._journal = np.empty(LEAST_ROWS, np.int32)

    def tidy(self, pause: Callable[[], None] = never) -> None:
        """Forget dead rows and build the tables anew; readers who were given a table keep the rows as they were.

        Between transactions, or at the end of one. A `pause` that raises gives it up, and nothing is changed.
        """
        arrays, places = tidied(self.rows, self.marks, self._counters, self._indexes, pause, self._workers)
        with self.latch:
            self._swap(**arrays)
            if self.on_move is not None:
                self.on_move(places)

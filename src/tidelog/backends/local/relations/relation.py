"""A relation on this machine: rows of ids, marks, and hash indexes.

What      : the arrays of one relation and their growth; the work itself is done by kernels.
Idea      : a fact is a row number, sets of facts are arrays of row numbers or marks; a row whose marks are gone stays
            where it is until many have gone, so that deleting and re-inserting move nothing.
Invariant : rows are distinct; every index holds every row, and the table of full rows does unless it `_is_behind`;
            `epoch` changes whenever an array may have moved. Unless there are bare rows, every stored row carries NOW
            or NEXT. A relation that a transaction has touched is in the list `opened` of its owner.
            An interrupt can fall between any two statements, and leaves all of this true: what grows or moves is made
            aside and swapped in by one step (`_swap`), everything else is one kernel call, except what several threads
            store (parts.py): meanwhile the relation `_is_torn`, and a rollback then looks at every row. `commit` and
            `rollback` can be repeated after an interrupt inside them.
            Rows, tables and indexes change only under the latch, so that readers of other threads who hold it see the
            marks of the last commit on arrays that stand still.
Never     : no rules, no constants, no strategy.

A relation without columns is stored with one column that is always 0.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from threading import RLock
from typing import TypeAlias

import numpy as np

from tidelog.backends.local.kernels.compiled import Array
from tidelog.backends.local.kernels.workers import ALONE, Workers
from tidelog.backends.local.relations import parts, relation_kernels, row_table
from tidelog.backends.local.relations.index import Index
from tidelog.backends.local.relations.room import LEAST_ROWS, MEDIUM, capacity_for, empty_table, grown
from tidelog.errors import BudgetError
from tidelog.planning.views import NO_MARKS, Mark, View

_KEPT = int(Mark.FORESEEN | Mark.POSITIVE)
_NEW = int(Mark.NOW | Mark.EXPLICIT)
_PREVIOUS = int(Mark.OLD | Mark.WAS_EXPLICIT)
_NOW = int(Mark.NOW)
_PRESENT = int(Mark.NOW | Mark.NEXT)
_ABSENT = View(outside=Mark.OLD)
_NOT_PRESENT = View(outside=Mark.NOW | Mark.NEXT)
_FEW_NEW = 4
"""Rows that are known to be new are entered one by one if those that are there are this many times as many."""
_MOST_ROWS = 2**31 - 1
_LEAST_DEAD = 1024
_MANY = 1 << 12

Latch: TypeAlias = AbstractContextManager[bool]
"""What a writer holds while arrays change, and a reader of another thread while it reads them: an `RLock`."""


class Relation:
    """The stored facts of one relation."""

    def __init__(
        self, name: str, arity: int, opened: list[Relation] | None = None, latch: Latch | None = None,
        workers: Workers = ALONE,
    ) -> None:  # fmt: skip
        self.name = name
        self.arity = arity
        self._opened, self._workers = opened, workers
        self.latch = latch or RLock()
        self._is_open = self._is_torn = False
        self._noted = 0
        self.epoch = 0
        self._settled = 0
        self._counters = np.zeros(relation_kernels.COUNTERS, np.int64)
        self.rows = np.empty((LEAST_ROWS, max(arity, 1)), np.int32)
        self.marks = np.zeros(LEAST_ROWS, np.uint16)
        self._slots = empty_table(LEAST_ROWS)
        self._is_behind = False
        self.waiting = 0
        """How many rows wait behind the stored ones, to be stored or forgotten; budgets count them."""
        self._ahead = np.empty(row_table.BLOCK, np.uint64)
        self._has_bare_rows = False
        self._indexes: dict[tuple[int, ...], Index] = {}
        self._heads = np.empty(0, np.int64)
        self._journal = np.empty(LEAST_ROWS, np.int32)
        self.on_move: Callable[[Array], None] | None = None

    @property
    def count(self) -> int:
        """The number of stored rows, those without marks included."""
        return int(self._counters[relation_kernels.COUNT])

    @property
    def alive(self) -> int:
        """The number of facts as of the last commit."""
        return int(self._counters[relation_kernels.ALIVE])

    @property
    def size(self) -> int:
        """The facts as of the last commit, and the rows stored since then or about to be."""
        return self.alive + self.count - self._settled + self.waiting

    @property
    def journalled(self) -> int:
        """The number of rows whose marks this transaction has changed."""
        return int(self._counters[relation_kernels.JOURNALLED])

    @property
    def journal(self) -> Array:
        """The rows whose marks this transaction has changed."""
        return self._journal[: self._counters[relation_kernels.JOURNALLED]]

    @property
    def nbytes(self) -> int:
        """The memory that rows, marks and indexes take; room that has never been used takes none."""
        arrays: list[Array] = [self.rows, self.marks, self._journal]
        per_row = sum(array.itemsize * array.size // len(array) for array in arrays)
        indexes = sum(index.nbytes(self.count) for index in self._indexes.values())
        return (self.count + self.waiting) * per_row + self._slots.nbytes + indexes

    @property
    def slots(self) -> Array:
        """The table of full rows; rows that were appended are entered when it is first asked for."""
        if self._is_behind:
            self.enter_rows()
        return self._slots

    def enter_rows(self) -> None:
        """Enter rows that were appended into the table of full rows, if there are any."""
        with self.latch:
            if self._is_behind:
                self._swap(_slots=self._filled(self.rows, self.count, self.count), _is_behind=False)

    def index(self, columns: tuple[int, ...]) -> Index:
        """The index on some columns; it is built when it is first asked for and kept from then on."""
        found = self._indexes.get(columns)
        if found is None:
            with self.latch:
                found = Index(columns, self.rows, self.count, len(self.marks), self._workers)
                self._swap(_indexes={**self._indexes, columns: found})
        return found

    def has_index(self, columns: tuple[int, ...]) -> bool:
        """Whether an index on these columns is there."""
        return columns in self._indexes

    def distinct(self, column: int) -> int:
        """About how many distinct values a column has, if an index knows; else 0."""
        found = self._indexes.get((column,))
        return found.keys if found else 0

    def store(self, table: Array, view: View, add: Mark) -> Array:
        """Store rows; the distinct ones in the view get the marks and are returned.

        With no marks to add, rows that occur twice in the table are returned twice.
        """
        size, outside, added = len(table), int(view.outside), int(add)
        if view.inside:
            self._reserve_journal(size)
            if outside & added and self._workers.takes(size):
                return self._by_parts(table, view.care, view.want, added)
            return self._found(table, view, self._ahead, added)
        with self.latch:
            self._reserve(size)
            only_new = not self._has_bare_rows and bool(outside & _NOW) and bool(outside & added)
            self._has_bare_rows |= not added & _PRESENT
            if outside & added and self._workers.takes(size):
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

    def _by_parts(self, table: Array, care: int, want: int, add: int) -> Array:
        """As `store`, by several threads. Until it is done, table and indexes are as if they were not made yet."""
        with self.latch:
            slots, indexes, heads, base = self.slots, self._indexes, self._heads, self.count
            self._swap(_indexes={}, _is_behind=True, _is_torn=True)
            arrays = self.rows, base, self.marks, slots, self._journal, self.journalled
            stored = parts.store_rows(self._workers, np.ascontiguousarray(table), *arrays, care, want, add)
            parts.link_rows(self._workers, heads, self.rows, base, base + stored.new)
            parts.count_rows(self._counters, stored.new, stored.journalled)
            self._swap(_slots=slots, _is_behind=False, _indexes=indexes, _is_torn=False)
        return stored.found

    def room(self, more: int) -> Array:
        """Space behind the stored rows and those that wait there: `more` rows that wait may be written into it."""
        with self.latch:
            self._reserve_journal(self.waiting + more)
            rows, marks = self._roomy(self.waiting + more)
            if rows is not self.rows:
                indexes = {columns: one.roomier(0, rows, self._workers) for columns, one in self._indexes.items()}
                self._swap(rows=rows, marks=marks, _indexes=indexes)
        return self.rows[self.count + self.waiting :]

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
        self._reserve_journal(given + room)
        if not view.want:
            with self.latch:
                self._reserve(room)
        self._has_bare_rows |= baring
        return self.rows, self.marks, self.slots, self._heads, self._counters, self._journal, self._ahead

    def find(self, table: Array, view: View) -> Array:
        """The stored rows equal to rows of the table and in the view."""
        return self._found(table, view, self._ahead)

    def place(self, table: Array, marks: Mark) -> None:
        """Store facts of the last version that were elsewhere; those that are here already stay as they are."""
        with self.latch:
            self.count_alive(len(self.store(table, _ABSENT, marks)))

    def count_alive(self, more: int) -> None:
        """Facts of the last version have come from elsewhere, or were none."""
        self._counters[relation_kernels.ALIVE] += more

    def find_beside(self, table: Array, view: View) -> Array:
        """As `find`, for readers of other threads, who hold the latch: with scratch space of their own."""
        return self._found(table, view, np.empty(row_table.BLOCK, np.uint64))

    def _found(self, table: Array, view: View, ahead: Array, add: int = 0) -> Array:
        found = np.empty(len(table), np.int32)
        hits = relation_kernels.find_rows(
            table, self.rows, self.marks, self.slots, self._counters, self._journal,
            view.care, view.want, add, found, ahead,
        )  # fmt: skip
        return found[:hits]

    def restrict(self, chosen: Array, view: View, add: Mark = NO_MARKS) -> Array:
        """Those of the chosen rows that are in the view; they get the marks."""
        if add:
            self._reserve_journal(len(chosen))
        found = np.empty(len(chosen), np.int32)
        hits = relation_kernels.collect_rows(
            chosen, self.marks, self._counters, self._journal, view.care, view.want, int(add), found
        )
        return found[:hits]

    def table(self, chosen: Array) -> Array:
        """The chosen rows as a table, in any order; neighbours, as a round finds them, are not copied."""
        if len(chosen) > _MANY:
            first = int(chosen.min())
            if int(chosen.max()) - first + 1 == len(chosen):
                return self.rows[first : first + len(chosen)]
        return self.rows.take(chosen, axis=0)

    def frozen(self, chosen: Array) -> Array:
        """The chosen rows in a table that outlives this transaction.

        They are copied only if a view would keep many rows in memory that are not chosen.
        """
        return self.table(chosen) if 2 * len(chosen) > self.count else self.rows.take(chosen, axis=0)

    def select(self, view: View) -> Array:
        """All rows in the view."""
        found = np.empty(self.count, np.int32)
        hits = relation_kernels.select_rows(self.marks, self.count, view.care, view.want, found)
        return found[:hits]

    def mark(self, chosen: Array, add: Mark, remove: Mark) -> None:
        """Give and take marks."""
        self._has_bare_rows |= bool(int(remove) & _PRESENT) and not int(add) & _NOW
        self._reserve_journal(len(chosen))
        relation_kernels.mark_rows(chosen, self.marks, self._counters, self._journal, int(add), int(remove))

    def unmark(self) -> None:
        """Take away all marks that look-ahead has left: one pass over the marks."""
        np.bitwise_and(self.marks, np.uint16(0xFFFF & ~_KEPT), out=self.marks)

    def note_growth(self) -> bool:
        """Note the number of rows if it has doubled or halved since it was last noted; whether it has."""
        if self.count <= 2 * self._noted + 64 and self._noted <= 2 * self.count + 64:
            return False
        self._noted = self.count
        return True

    def commit(self) -> None:
        """What is NOW becomes OLD; compact when most rows are dead."""
        with self.latch:
            self._settle(_NEW, 1)
            dead = self.count - self.alive
            if dead > _LEAST_DEAD and dead * 2 > self.count:
                self._compact()
            self._settled = self.count
            self._has_bare_rows = self.count != self.alive
            self._is_open = False

    def rollback(self) -> None:
        """What is OLD becomes NOW again."""
        self.waiting = 0
        if self._is_torn:  # and marks may have changed that are in no journal
            counters, journal = self._counters.copy(), np.arange(self.count, dtype=np.int32)
            counters[relation_kernels.JOURNALLED] = len(journal)
            self._swap(_counters=counters, _journal=journal, _is_torn=False)
        self._has_bare_rows = True  # before the marks are gone, so that an interrupt in between finds it said
        self._settle(_PREVIOUS, -1)
        self._settled = self.count
        self._has_bare_rows = self.count != self.alive
        self._is_open = False

    def _settle(self, copied: int, shift: int) -> None:
        relation_kernels.settle_rows(self._journal, self._counters, self.marks, copied, shift, _KEPT)
        if len(self._journal) > 4 * self.count + _LEAST_DEAD:
            self._journal = np.empty(LEAST_ROWS, np.int32)

    def _reserve(self, more: int) -> None:
        """Make room for `more` further rows everywhere."""
        self._reserve_journal(more)
        needed, slots = self.count + more, self.slots
        rows, marks = self._roomy(more)
        is_roomy = needed < MEDIUM  # room saves collisions, as long as it costs little
        if needed * 4 > len(slots) * (2 if is_roomy else 3):
            slots = self._filled(rows, self.count, 2 * needed if is_roomy else needed)
        indexes = self._indexes
        for columns, one in self._indexes.items():
            roomier = one.roomier(more, rows, self._workers)
            if roomier is not one:
                indexes = {**indexes, columns: roomier}
        if indexes is not self._indexes or slots is not self.slots or marks is not self.marks:
            self._swap(rows=rows, marks=marks, _slots=slots, _indexes=indexes)

    def _roomy(self, more: int) -> tuple[Array, Array]:
        """Rows and marks with room for `more` further rows."""
        needed = self.count + more
        if needed > _MOST_ROWS:
            raise BudgetError.of("E405", f"{self.name} has more than 2^31 rows", remedy="use the Spark backend")
        if needed <= len(self.marks):
            return self.rows, self.marks
        capacity = capacity_for(needed, len(self.marks))
        return grown(self.rows, capacity, self._workers), grown(self.marks, capacity, self._workers)

    def _filled(self, rows: Array, count: int, room: int) -> Array:
        """A table of the first rows, with room for that number of rows."""
        slots = empty_table(room)
        if self._workers.takes(count):
            parts.enter_rows(self._workers, rows, count, slots)
            return slots
        row_table.enter_all(rows, count, slots, np.empty(row_table.BLOCK, np.uint64))  # a reader may have asked
        return slots

    def _reserve_journal(self, more: int) -> None:
        if not self._is_open:  # nothing is stored or marked without coming by here
            if self._opened is not None:
                self._opened.append(self)  # before the flag: an interrupt in between leaves it listed
            self._is_open = True
        needed = int(self._counters[relation_kernels.JOURNALLED]) + more
        if needed > len(self._journal):
            self._journal = grown(self._journal, capacity_for(needed, len(self._journal)), self._workers)

    def _swap(self, **arrays: object) -> None:
        """Put new arrays in the place of old ones, with the addresses of all indexes and a new epoch, in one step.

        `dict.update` runs no Python code of ours, so that no interrupt can fall into it.
        """
        indexes: dict[tuple[int, ...], Index] = arrays.get("_indexes", self._indexes)  # type: ignore[assignment]
        heads = np.array([index.head.ctypes.data for index in indexes.values()], np.int64)
        self.__dict__.update(arrays, _heads=heads, epoch=self.epoch + 1)

    def _compact(self) -> None:
        """Forget dead rows and build the tables anew; readers who were given a table keep the rows as they were."""
        places = np.empty(self.count, np.int32)
        rows, marks = self.rows[: self.count].copy(), self.marks[: self.count].copy()
        count = relation_kernels.compact_rows(rows, marks, self.count, places)
        rows, marks = rows[: max(count, LEAST_ROWS)].copy(), marks[: max(count, LEAST_ROWS)].copy()
        counters = self._counters.copy()
        counters[relation_kernels.COUNT] = count
        self._swap(
            rows=rows,
            marks=marks,
            _slots=self._filled(rows, count, count),
            _is_behind=False,
            _indexes={columns: Index(columns, rows, count, len(marks), self._workers) for columns in self._indexes},
            _counters=counters,
            _journal=np.empty(LEAST_ROWS, np.int32),
        )
        if self.on_move is not None:
            self.on_move(places)

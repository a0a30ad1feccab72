"""The arrays of a relation: rows of ids, marks, a table of full rows, hash indexes, and their growth.

What      : `Arrays` holds them, makes tables and indexes when they are first asked for, and makes room.
Idea      : what grows is made aside, in steps, by one thread or several, and put in its place in one step.
Invariant : every index holds every row, and the table of full rows does unless it `_is_behind`; `epoch` changes
            whenever an array may have moved. An interrupt, or a pause that raises, can fall between any two statements,
            and leaves all of this true.
            Rows, tables and indexes change only under the latch, so that readers of other threads who hold it see the
            marks of the last commit on arrays that stand still.
Never     : no fact is stored, found or marked here (relation.py).

A relation without columns is stored with one column that is always 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import RLock
from typing import Any

import numpy as np

from tidelog.backends.local.kernels.compiled import Array
from tidelog.backends.local.kernels.workers import ALONE, Workers
from tidelog.backends.local.relations import relation_kernels, row_table
from tidelog.backends.local.relations.full_table import filled
from tidelog.backends.local.relations.growth import LEAST_ROWS, MEDIUM, capacity_for, empty_table, grown
from tidelog.backends.local.relations.index import Index
from tidelog.backends.local.relations.steps import Pause, never
from tidelog.errors import BudgetError

_MOST_ROWS = 2**31 - 1


class Arrays:
    """The arrays of one relation."""

    def __init__(
        self,
        name: str,
        arity: int,
        opened: list[Any] | None = None,
        latch: RLock | None = None,
        pause: Pause | None = None,
        workers: Workers = ALONE,
    ) -> None:
        self.name, self.arity, self._workers = name, arity, workers
        self._opened, self.latch = opened, latch or RLock()
        self._pause = pause or Pause(self.latch)
        self.is_open = self._is_torn = False
        self.epoch = self._settled = self._roomy_until = 0
        self._counters = np.zeros(relation_kernels.COUNTERS, np.int64)
        self.rows = np.empty((LEAST_ROWS, max(arity, 1)), np.int32)
        self.marks = np.zeros(LEAST_ROWS, np.uint16)
        self._slots = empty_table(LEAST_ROWS)
        self._is_behind = False
        self.waiting = 0
        """How many rows wait behind the stored ones, to be stored or forgotten; budgets count them."""
        self._ahead = np.empty(row_table.BLOCK, np.uint64)
        self._has_bare_rows = self._is_growing = False
        self.is_turned = False
        """Whether the last version may be other than OLD says: another transaction has passed this one."""
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
    def has_old(self) -> bool:
        """Whether any row may be OLD."""
        return self.is_turned or bool(self._counters[relation_kernels.ALIVE])

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

    @property
    def is_storing(self) -> bool:
        """Whether a step is under way for which room was made, or rows wait."""
        return self._is_growing or self.waiting > 0

    def enter_rows(self) -> None:
        """Enter rows that were appended into the table of full rows, if there are any."""
        with self._building():
            if self._is_behind:
                slots = filled(self.rows, self.count, self.count, self._pause, self._workers)
                with self.latch:
                    self._swap(_slots=slots, _is_behind=False)

    def index(self, columns: tuple[int, ...]) -> Index:
        """The index on some columns; it is built when it is first asked for and kept from then on."""
        found = self._indexes.get(columns)
        if found is None:
            with self._building():
                found = Index(columns, self.rows, self.count, len(self.marks), self._pause, self._workers)
                with self.latch:
                    self._swap(_indexes={**self._indexes, columns: found})
        return found

    def thin(self) -> None:
        """Give up the table of full rows and all indexes; each is made anew when it is asked for."""
        with self.latch:
            self._swap(_slots=empty_table(LEAST_ROWS), _is_behind=self.count > 0, _indexes={})

    def has_index(self, columns: tuple[int, ...]) -> bool:
        """Whether an index on these columns is there."""
        return columns in self._indexes

    def distinct(self, column: int) -> int:
        """About how many distinct values a column has, if an index knows; else 0."""
        found = self._indexes.get((column,))
        return found.keys if found else 0

    def room(self, more: int) -> Array:
        """Space behind the stored rows and those that wait there: `more` rows that wait may be written into it."""
        self._reserve_journal(self.waiting + more)
        with self._building():
            rows, marks = self._roomy(self.waiting + more)
            if rows is not self.rows:
                indexes = {columns: self._roomier(one, 0, rows) for columns, one in self._indexes.items()}
                with self.latch:
                    self._swap(rows=rows, marks=marks, _indexes=indexes)
        return self.rows[self.count + self.waiting :]

    def expect(self, rows: int) -> None:
        """Make room for rows that are about to be stored in steps: a table that grows in each is filled in each."""
        self._reserve(rows)

    def _reserve(self, more: int) -> None:
        """Make room for `more` further rows everywhere, in steps."""
        if not self._has_room(more):
            with self._building():
                self._grow(more)
        if self.journalled + more > len(self._journal):
            with self._building():
                self._reserve_journal(more, pause=self._pause)
        else:
            self._reserve_journal(more)

    def _has_room(self, more: int) -> bool:
        return self.count + more <= self._roomy_until and not self._is_behind

    @contextmanager
    def _building(self) -> Iterator[None]:
        """While arrays are made aside. Readers go on beside the thread that writes, and what arrives keeps off here."""
        if not self._pause.is_mine:
            with self.latch:
                yield
            return
        before = self._is_growing
        try:
            self._is_growing = True
            yield
        finally:
            self._is_growing = before

    def _grow(self, more: int) -> None:
        needed, slots = self.count + more, self.slots
        rows, marks = self._roomy(more)
        is_roomy = needed < MEDIUM  # room saves collisions, as long as it costs little
        if needed * 4 > len(slots) * (2 if is_roomy else 3):
            slots = filled(rows, self.count, 2 * needed if is_roomy else needed, self._pause, self._workers)
        indexes = self._indexes
        for columns, one in self._indexes.items():
            roomier = self._roomier(one, more, rows)
            if roomier is not one:
                indexes = {**indexes, columns: roomier}
        with self.latch:  # an index that a reader has made meanwhile is given up
            if indexes is not self._indexes or slots is not self.slots or marks is not self.marks:
                self._swap(rows=rows, marks=marks, _slots=slots, _indexes=indexes)
            until = min([len(marks), *(self.count + one.spare for one in indexes.values())])
            self._roomy_until = min(until, len(slots) // 2) if is_roomy else needed

    def _roomy(self, more: int) -> tuple[Array, Array]:
        """Rows and marks with room for `more` further rows."""
        needed = self.count + more
        if needed > _MOST_ROWS:
            raise BudgetError.of("E405", f"{self.name} has more than 2^31 rows", remedy="use the Spark backend")
        if needed <= len(self.marks):
            return self.rows, self.marks
        capacity = capacity_for(needed, len(self.marks))
        rows = grown(self.rows, capacity, self._pause, self._workers)
        return rows, grown(self.marks, capacity, self._pause, self._workers, zeroed=True)

    def _roomier(self, index: Index, more: int, rows: Array) -> Index:
        return index.roomier(more, rows, self._pause, self._workers)

    def _reserve_journal(self, more: int, stored: int = 0, pause: Callable[[], None] = never) -> None:
        """Make room for `more` new rows, and for changes of `stored` ones, each of which is listed once at most."""
        if not self.is_open:  # nothing is stored or marked without coming by here
            if self._opened is not None:
                self._opened.append(self)  # before the flag: an interrupt in between leaves it listed
            self.is_open = True
        needed = self.journalled + stored + more
        if needed > len(self._journal) and (needed := min(needed, self.count + more)) > len(self._journal):
            self._journal = grown(self.journal, capacity_for(needed, len(self._journal)), pause, self._workers)

    def _swap(self, **arrays: object) -> None:
        """Put new arrays in the place of old ones, with the addresses of all indexes and a new epoch, in one step.

        `dict.update` runs no Python code of ours, so that no interrupt can fall into it.
        """
        indexes: dict[tuple[int, ...], Index] = arrays.get("_indexes", self._indexes)  # type: ignore[assignment]
        heads = self._heads
        if indexes is not self._indexes:
            heads = np.array([index.head.ctypes.data for index in indexes.values()], np.int64)
        self.__dict__.update(arrays, _heads=heads, epoch=self.epoch + 1, _roomy_until=0)

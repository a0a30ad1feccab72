"""A relation on this machine: rows of ids, marks, and hash indexes.

What      : the arrays of one relation and their growth; the work itself is done by kernels.
Idea      : a fact is a row number, sets of facts are arrays of row numbers or marks; a row whose marks are gone stays
            where it is until many have gone, so that deleting and re-inserting move nothing.
Invariant : rows are distinct; every index holds every row; `epoch` changes whenever an array may have moved. Unless
            there are bare rows, every stored row carries NOW or NEXT. A relation that a transaction has touched is in
            the list `opened` of its owner.
Never     : no rules, no constants, no strategy.

A relation without columns is stored with one column that is always 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tidelog.backends.local.kernels import hashing
from tidelog.backends.local.kernels.compiled import Array
from tidelog.backends.local.relations import relation_kernels, row_table
from tidelog.errors import BudgetError
from tidelog.planning.views import NO_MARKS, Mark, View

_KEPT = int(Mark.MARKED | Mark.POSITIVE)
_NEW = int(Mark.NOW | Mark.EXPLICIT)
_PREVIOUS = int(Mark.OLD | Mark.WAS_EXPLICIT)
_NOW = int(Mark.NOW)
_PRESENT = int(Mark.NOW | Mark.NEXT)
_LEAST_ROWS, _MOST_ROWS = 16, 2**31 - 1
_LEAST_DEAD = 1024
_MANY = 1 << 12
_MEDIUM = 1 << 20
_LARGE = 1 << 24


class Index:
    """A hash index on some columns of a relation."""

    def __init__(self, columns: Sequence[int], relation: Relation) -> None:
        self.columns = tuple(columns)
        self._relation = relation
        self.head = np.zeros(hashing.COLUMNS + len(self.columns), np.int64)
        self.head[hashing.WIDTH] = len(self.columns)
        self.head[hashing.COLUMNS :] = self.columns
        self.links = np.empty(len(relation.marks), np.int32)
        self.slots = _empty_slots(0)
        self._point()
        self.reserve(relation.count)
        hashing.link_all(self.head.ctypes.data, relation.rows.ctypes.data, relation.rows.shape[1], 0, relation.count)
        if _table_size(self.keys * 9 // 8) < len(self.slots):
            self._move(self.keys * 9 // 8)  # there was room for as many keys as rows

    @property
    def keys(self) -> int:
        """The number of distinct keys among all stored rows."""
        return int(self.head[hashing.KEYS])

    def reserve(self, more: int) -> bool:
        """Make room for `more` further keys, and for as many rows as the relation can hold; whether arrays moved."""
        needed = self.keys + more
        is_full = needed * 8 > len(self.slots) * 5
        if not is_full and len(self.links) >= len(self._relation.marks):
            return False
        self.links = _grown(self.links, len(self._relation.marks))
        self._point()
        if is_full:
            self._move(needed)
        return True

    @property
    def nbytes(self) -> int:
        """The memory that the index takes."""
        return self._relation.count * self.links.itemsize + self.slots.nbytes

    def _move(self, keys: int) -> None:
        """Go on in a table for so many keys."""
        slots, rows = _empty_slots(keys), self._relation.rows
        hashing.rehash(self.slots, slots, rows.ctypes.data, rows.shape[1], self.head.ctypes.data)
        self.slots = slots
        self._point()

    def _point(self) -> None:
        self.head[hashing.SLOTS] = self.slots.ctypes.data
        self.head[hashing.ROOM] = len(self.slots) - 1
        self.head[hashing.LINKS] = self.links.ctypes.data


class Relation:
    """The stored facts of one relation."""

    def __init__(self, name: str, arity: int, opened: list[Relation] | None = None) -> None:
        self.name = name
        self.arity = arity
        self._opened = opened
        self._is_open = False
        self._noted = 0
        self.epoch = 0
        self.alive = 0
        self._settled = 0
        self._counters = np.zeros(2, np.int64)
        self.rows = np.empty((_LEAST_ROWS, max(arity, 1)), np.int32)
        self.marks = np.zeros(_LEAST_ROWS, np.uint16)
        self.slots = _empty_table(_LEAST_ROWS)
        self._ahead = np.empty(row_table.BLOCK, np.uint64)
        self._has_bare_rows = False
        self._indexes: dict[tuple[int, ...], Index] = {}
        self._heads = np.empty(0, np.int64)
        self._journal = np.empty(_LEAST_ROWS, np.int32)
        self.on_move: Callable[[Array], None] | None = None

    @property
    def count(self) -> int:
        """The number of stored rows, those without marks included."""
        return int(self._counters[relation_kernels.COUNT])

    @property
    def size(self) -> int:
        """The facts as of the last commit, and the rows stored since then."""
        return self.alive + self.count - self._settled

    @property
    def journal(self) -> Array:
        """The rows whose marks this transaction has changed."""
        return self._journal[: self._counters[relation_kernels.JOURNALLED]]

    @property
    def nbytes(self) -> int:
        """The memory that rows, marks and indexes take; room that has never been used takes none."""
        arrays: list[Array] = [self.rows, self.marks, self._journal]
        per_row = sum(array.itemsize * array.size // len(array) for array in arrays)
        return self.count * per_row + self.slots.nbytes + sum(index.nbytes for index in self._indexes.values())

    def index(self, columns: tuple[int, ...]) -> Index:
        """The index on some columns; it is built when it is first asked for and kept from then on."""
        found = self._indexes.get(columns)
        if found is None:
            found = self._indexes[columns] = Index(columns, self)
            self._refresh()
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
        size = len(table)
        found = np.empty(size, np.int32)
        if view.inside:
            self._reserve_journal(size)
            hits = relation_kernels.find_rows(
                table, self.rows, self.marks, self.slots, self._counters, self._journal,
                view.care, view.want, int(add), found, self._ahead,
            )  # fmt: skip
        else:
            self._reserve(size)
            outside, added = int(view.outside), int(add)
            only_new = not self._has_bare_rows and bool(outside & _NOW) and bool(outside & added)
            self._has_bare_rows |= not added & _PRESENT
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

    def lend(self, given: int, room: int, view: View, *, baring: bool) -> tuple[Array, ...]:
        """The arrays for a kernel that marks `given` rows by itself, and finds or stores as many as there is room for.

        `baring` tells that it may leave rows without a mark of those that are present.
        """
        self._reserve_journal(given + room)
        if not view.want:
            self._reserve(room)
        self._has_bare_rows |= baring
        return self.rows, self.marks, self.slots, self._heads, self._counters, self._journal, self._ahead

    def find(self, table: Array, view: View) -> Array:
        """The stored rows equal to rows of the table and in the view."""
        found = np.empty(len(table), np.int32)
        hits = relation_kernels.find_rows(
            table, self.rows, self.marks, self.slots, self._counters, self._journal,
            view.care, view.want, 0, found, self._ahead,
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
        """The chosen rows for somebody who keeps them: not copied if they are most of what would be kept with them."""
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

    def note_growth(self) -> bool:
        """Note the number of rows if it has doubled or halved since it was last noted; whether it has."""
        if self.count <= 2 * self._noted + 64 and self._noted <= 2 * self.count + 64:
            return False
        self._noted = self.count
        return True

    def commit(self) -> None:
        """What is NOW becomes OLD; compact when most rows are dead."""
        self._settle(_NEW, 1)
        dead = self.count - self.alive
        if dead > _LEAST_DEAD and dead * 2 > self.count:
            self._compact()
        self._settled = self.count
        self._has_bare_rows = self.count != self.alive

    def rollback(self) -> None:
        """What is OLD becomes NOW again."""
        self._settle(_PREVIOUS, -1)
        self._settled = self.count
        self._has_bare_rows = self.count != self.alive

    def _settle(self, copied: int, shift: int) -> None:
        born, died = relation_kernels.settle_rows(self.journal, len(self.journal), self.marks, copied, shift, _KEPT)
        self.alive += born - died
        self._is_open = False
        self._counters[relation_kernels.JOURNALLED] = 0
        if len(self._journal) > 4 * self.count + _LEAST_DEAD:
            self._journal = np.empty(_LEAST_ROWS, np.int32)

    def _reserve(self, more: int) -> None:
        """Make room for `more` further rows everywhere."""
        self._reserve_journal(more)
        needed = self.count + more
        if needed > _MOST_ROWS:
            raise BudgetError.of("E405", f"{self.name} has more than 2^31 rows", remedy="use the Spark backend")
        if needed > len(self.marks):
            capacity = max(needed, _more(len(self.marks)))
            self.rows = _grown(self.rows, capacity)
            self.marks = _grown(self.marks, capacity)
            self.epoch += 1
        is_roomy = needed < _MEDIUM  # room saves collisions, as long as it costs little
        if needed * 4 > len(self.slots) * (2 if is_roomy else 3):
            self._fill(2 * needed if is_roomy else needed)
            self.epoch += 1
        for index in self._indexes.values():
            self.epoch += index.reserve(more)

    def _fill(self, rows: int) -> None:
        """Enter all rows into a new table with room for so many."""
        self.slots = _empty_table(rows)
        row_table.enter_all(self.rows, self.count, self.slots, self._ahead)

    def _reserve_journal(self, more: int) -> None:
        if not self._is_open:  # nothing is stored or marked without coming by here
            if self._opened is not None:
                self._opened.append(self)  # before the flag: whoever interrupts in between leaves it listed
            self._is_open = True
        needed = int(self._counters[relation_kernels.JOURNALLED]) + more
        if needed > len(self._journal):
            self._journal = _grown(self._journal, max(needed, _more(len(self._journal))))

    def _refresh(self) -> None:
        self._heads = np.array([index.head.ctypes.data for index in self._indexes.values()], np.int64)
        self.epoch += 1

    def _compact(self) -> None:
        """Forget dead rows and build the tables anew; whoever has been given a table keeps the rows as they were."""
        alive = np.empty(self.count, np.int32)
        self.rows = self.rows[: self.count].copy()
        count = relation_kernels.compact_rows(self.rows, self.marks, self.count, alive)
        self._counters[relation_kernels.COUNT] = count
        self.rows = self.rows[: max(count, _LEAST_ROWS)].copy()
        self.marks = self.marks[: max(count, _LEAST_ROWS)].copy()
        self._fill(count)
        self._indexes = {columns: Index(columns, self) for columns in self._indexes}
        self._journal = np.empty(_LEAST_ROWS, np.int32)
        self._refresh()
        if self.on_move is not None:
            self.on_move(alive)


def _empty_slots(keys: int) -> Array:
    """The slots of an index with room for so many keys."""
    return np.full(_table_size(keys), -1, np.int64)


def _empty_table(rows: int) -> Array:
    """The table of full rows with room for so many rows."""
    size = 32
    while size * 3 < rows * 4:
        size *= 2
    return np.zeros(size, np.uint32)


def _table_size(keys: int) -> int:
    """A power of two of which the keys take at most five eighths, with some to spare."""
    size = 16
    while size * 5 < keys * 8 + 8:
        size *= 2
    return size


def _more(capacity: int) -> int:
    """The next capacity: fourfold, as moving costs more than room, which is no memory before it is used."""
    return capacity * 4 if capacity < _LARGE else capacity * 2


def _grown(array: Array, capacity: int) -> Array:
    """The array with at least the given capacity; new entries are zero."""
    if len(array) >= capacity:
        return array
    larger = np.zeros((capacity, *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger

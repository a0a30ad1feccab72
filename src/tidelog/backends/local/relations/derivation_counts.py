"""Derivation counts of facts, by round.

What      : for every fact of a counted relation its rank (the round in which it is first derived) and, per round, the
            number of instances that derive it.
Idea      : most facts have all their derivations in one round, so each has one count beside it, with its round. Further
            counts are cells (fact, round): rows of a small relation of their own, indexed by fact. What a fact has in a
            round is the count beside it, if that is of the round, and the cell together.
Invariant : counts never go below zero and never overflow; both raise. Everything can be undone until the commit.
Never     : no fact enters or leaves because of a count (maintenance/counting.py decides that).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tidelog.backends.local.kernels import hashing
from tidelog.backends.local.kernels.compiled import Array, Int, compiled
from tidelog.backends.local.kernels.hashing import find_one
from tidelog.backends.local.kernels.memory import load32
from tidelog.backends.local.relations.relation import Relation
from tidelog.errors import LawError
from tidelog.planning.views import ANY, NO_MARKS, Mark

NEVER = np.int64(1 << 40)
_NEGATIVE, _OVERFLOW = 1, 2
_GREATEST = np.int64(2**62)
_LEAST_GARBAGE = 4096
_EXPLICIT = int(Mark.EXPLICIT)


@compiled
def _add(counts: Array, cells: Array, sign: Int) -> Int:
    wrong = 0
    for i in range(cells.shape[0]):
        counts[cells[i]] += sign
        if counts[cells[i]] < 0:
            wrong |= _NEGATIVE
        if counts[cells[i]] > _GREATEST:
            wrong |= _OVERFLOW
    return wrong


@compiled
def _add_near(
    near: Array, facts: Array, rounds: Array, sign: Int, far: Array, ranks: Array, due: Array
) -> tuple[Int, Int]:
    """Add to the counts beside the facts; `far` gets the positions of those that need a cell.

    Their number is returned, negative if a count has become too great. No count beside a fact goes below zero.
    `due` gets the facts that may be due now, where none was due before or is looked at anyway; how many they are is
    returned as well. More in a round before its rank lets a fact enter that one, and less in the round of its rank
    lets it leave; what it has in later rounds does not matter.
    """
    found, hits, wrong = 0, 0, False
    for i in range(facts.shape[0]):
        due[hits] = facts[i]
        hits += rounds[i] < ranks[facts[i]] if sign > 0 else rounds[i] <= ranks[facts[i]]
        at = 2 * np.int64(facts[i])
        count = near[at + 1]
        if sign > 0 and count == 0:
            near[at] = rounds[i]
            near[at + 1] = sign
        elif near[at] == rounds[i] and count > 0:
            near[at + 1] = count + sign
            wrong |= count + sign > _GREATEST
        else:
            far[found] = i
            found += 1
    return -1 - found if wrong else found, hits


@compiled
def _find_due(
    facts: Array, marks: Array, ranks: Array, near: Array, index: Array, cells: Array, counts: Array, found: Array,
    events: Array, leaves: Array,
) -> tuple[Int, Int]:  # fmt: skip
    """The facts whose rank is not their first round, the lesser of both, and whether it is the rank.

    The first round is the least in which a fact has a count, 0 if it is explicit, NEVER if it has none. How many facts
    there are is returned, and the least of the rounds.
    """
    due, first = 0, NEVER
    slots, room, links = index[hashing.SLOTS], index[hashing.ROOM], index[hashing.LINKS]
    for i in range(facts.shape[0]):
        fact = np.int64(facts[i])
        least = near[2 * fact] if near[2 * fact + 1] > 0 else NEVER
        end = find_one(slots, room, fact)
        cell = np.int64(-1) if end == -1 else load32(links, end)
        while cell != -1:
            if counts[cell] > 0 and cells[cell, 1] < least:
                least = np.int64(cells[cell, 1])
            cell = np.int64(-1) if cell == end else load32(links, cell)
        if marks[fact] & _EXPLICIT:
            least = np.int64(0)
        if least != ranks[fact]:
            found[due], events[due], leaves[due] = fact, min(least, ranks[fact]), ranks[fact] < least
            first = min(first, events[due])
            due += 1
    return due, first


@compiled
def raise_rounds(body: Array, column: Int, ranks: Array, rounds: Array) -> None:
    """Let the round of each instance be at least the one after the rank of what a column of its body names."""
    for i in range(body.shape[0]):
        rounds[i] = max(np.int64(rounds[i]), ranks[body[i, column]] + 1)


@compiled
def _name_cells(facts: Array, rounds: Array, far: Array, table: Array) -> None:
    """Write the facts and rounds at some positions as rows."""
    for i in range(far.shape[0]):
        table[i, 0], table[i, 1] = facts[far[i]], rounds[far[i]]


@compiled
def _part_due(found: Array, events: Array, leaves: Array, least: Int, parts: Array, sizes: Array) -> None:
    """Part facts by when they are due: `parts` gets those that leave the least round, that enter it, and the others."""
    for i in range(found.shape[0]):
        part = 2 if events[i] != least else 0 if leaves[i] else 1
        parts[part, sizes[part]] = found[i]
        sizes[part] += 1


class Due(NamedTuple):
    """Facts of a relation that have to change their rank."""

    least: int
    """The least round that one of the facts has to leave or enter."""
    facts: Array
    events: Array
    """In which round each has to."""
    leaves: Array
    """Whether it leaves that one."""


class Counts:
    """Ranks and counts of one relation."""

    def __init__(self, relation: Relation) -> None:
        self._relation = relation
        self._ranks = np.full(relation.count, NEVER, np.int64)
        self._near = np.zeros(2 * relation.count, np.int64)
        self._cells = Relation(f"@cells of {relation.name}", 2)
        self._counts = np.zeros(self._cells.count, np.int64)
        self._churn = 0

    @property
    def nbytes(self) -> int:
        """The memory that ranks and counts take."""
        return self._ranks.nbytes + self._near.nbytes + self._cells.nbytes + self._counts.nbytes

    def begin(self, ranks: Array, near: Array, cells: Array, further: Array) -> None:
        """Take over what was counted elsewhere: ranks, the counts beside the facts, and cells with their counts."""
        self._ranks, self._near = ranks, near
        self._rebuild(cells, further)

    def add(self, facts: Array, rounds: Array, sign: int) -> tuple[Array, Callable[[], None]]:
        """Add to the count of each fact in its round, once per occurrence; returns what undoes it, too.

        The facts that are returned are those that may be due now, any number of times.
        """
        self._near = _longer(self._near, 2 * self._relation.count, 0)
        positions, due = np.empty(len(facts), np.int64), np.empty(len(facts), np.int32)
        found, hits = _add_near(self._near, facts, rounds, sign, positions, self.ranks(), due)
        far, due = positions[: found if found >= 0 else -1 - found], due[:hits]
        if not len(far) and found >= 0:
            return due, lambda: self._take_back(facts, rounds, sign)
        cells = self._cells_of(facts, rounds, far)
        wrong = _add(self._counts, cells, sign) | (_OVERFLOW if found < 0 else 0)

        def undo() -> None:
            _add(self._counts, cells, -sign)
            self._take_back(np.delete(facts, far), np.delete(rounds, far), sign)

        if wrong:
            undo()
            name = self._relation.name
            if wrong & _NEGATIVE:
                raise LawError.of("E902", f"a fact of {name} has fewer derivations than none", remedy="report this")
            raise LawError.of("E903", f"a fact of {name} has too many derivations to count", remedy="use dred or bf")
        return due, undo

    def _take_back(self, facts: Array, rounds: Array, sign: int) -> None:
        """Undo what was added beside the facts; whatever came later is undone already, so that nothing is far."""
        far, due = np.empty(len(facts), np.int64), np.empty(len(facts), np.int32)
        left, _ = _add_near(self._near, facts, rounds, -sign, far, self.ranks(), due)
        assert left == 0

    def _cells_of(self, facts: Array, rounds: Array, far: Array) -> Array:
        """The cells of facts in rounds at some positions, which are made if there are none."""
        table = np.empty((len(far), 2), np.int32)
        _name_cells(facts, rounds, far, table)
        cells = self._cells.store(table, ANY, NO_MARKS)
        self._counts = _longer(self._counts, self._cells.count, 0)
        self._churn += len(cells)
        return cells

    def ranks(self, facts: Array | None = None) -> Array:
        """The rank of each of the facts, or of every fact by its row; NEVER where it has none."""
        self._ranks = _longer(self._ranks, self._relation.count, NEVER)
        return self._ranks if facts is None else self._ranks.take(facts)

    def rank(self, facts: Array, round_number: int | None) -> Callable[[], None]:
        """Give the facts a rank, or none; returns what undoes it."""
        before = self.ranks(facts)
        self._ranks[facts] = NEVER if round_number is None else round_number

        def undo() -> None:
            self._ranks[facts] = before

        return undo

    def due(self, facts: Array) -> Due:
        """Facts whose rank is not their first round."""
        size = len(facts)
        found, events, leaves = np.empty(size, np.int32), np.empty(size, np.int64), np.empty(size, np.bool_)
        index, cells = self._cells.index((0,)).head, self._cells.rows
        self._near = _longer(self._near, 2 * self._relation.count, 0)
        due, least = _find_due(
            facts, self._relation.marks, self.ranks(), self._near, index, cells, self._counts, found, events, leaves
        )
        return Due(least, found[:due], events[:due], leaves[:due])

    def tidy(self) -> None:
        """Between transactions: remove cells whose count is 0, if they are many.

        A change emptied each of them, so this costs no more than those changes did.
        """
        size = self._cells.count
        if 2 * self._churn <= max(size, _LEAST_GARBAGE):
            return
        self._churn = 0
        used = np.flatnonzero(self._counts[:size])
        if size - len(used) > max(len(used), _LEAST_GARBAGE):
            self._rebuild(self._cells.rows[used], self._counts[used])

    def follow(self) -> None:
        """Be told when rows of the relation move."""
        self._relation.on_move = self.moved

    def follow_no_longer(self) -> None:
        """Be told no more. (As long as the relation tells these counts about moves, they stay in memory.)"""
        self._relation.on_move = None

    def moved(self, destinations: Array) -> None:
        """Row i of the relation is now row `destinations[i]`, or gone if that is -1."""
        self._ranks = _longer(self._ranks, len(destinations), NEVER)
        size = self._cells.count
        table, counts = self._cells.rows[:size].copy(), self._counts[:size]
        table[:, 0] = destinations[table[:, 0]]
        kept = (table[:, 0] >= 0) & (counts > 0)
        old = self._ranks[: len(destinations)]
        self._ranks = np.full(self._relation.count, NEVER, np.int64)
        alive = destinations >= 0
        self._ranks[destinations[alive]] = old[alive]
        near = _longer(self._near, 2 * len(destinations), 0)[: 2 * len(destinations)].reshape(-1, 2)
        self._near = np.zeros(2 * self._relation.count, np.int64)
        self._near.reshape(-1, 2)[destinations[alive]] = near[alive]
        self._rebuild(table[kept], counts[kept])

    def _rebuild(self, table: Array, counts: Array) -> None:
        self._cells = Relation(self._cells.name, 2)
        cells = self._cells.store(np.ascontiguousarray(table), ANY, NO_MARKS)
        self._counts = np.zeros(self._cells.count, np.int64)
        self._counts[cells] = counts


def due(counted: dict[str, tuple[Counts, Array]]) -> tuple[int, dict[str, Array], dict[str, Array], dict[str, Array]]:
    """Facts whose rank is not their first round.

    Gives the least such round, the facts that leave it, the facts that enter it, and those that come later.
    """
    found = {name: counts.due(facts) for name, (counts, facts) in counted.items()}
    rounds = [one.least for one in found.values() if len(one.facts)]
    if not rounds:
        return 0, {}, {}, {}
    least, leaving, entering, later = min(rounds), {}, {}, {}
    for name, (_, rows, events, leaves) in found.items():
        parts, sizes = np.empty((3, len(rows)), np.int32), np.zeros(3, np.int64)
        _part_due(rows, events, leaves, least, parts, sizes)
        leaving[name], entering[name], later[name] = (part[:size] for part, size in zip(parts, sizes.tolist()))
    return least, leaving, entering, later


def _longer(array: Array, size: int, fill: int | np.int64) -> Array:
    """The array with at least the given length, and some to spare if it has to move."""
    if len(array) >= size:
        return array
    longer = np.full(size * 3 // 2, fill, array.dtype)
    longer[: len(array)] = array
    return longer

"""What is known about the members of one large group, kept up to date.

What      : a ledger takes the members that come and go, and says what the aggregate of the group is; `Sums` for
            `count`, `sum` and `mean`, `Ordering` for `min`, `max` and `median`.
Idea      : sums can be taken back exactly (exact_sums.py), and an ordered tree tells what stands first, last and in the
            middle (arranged_kernels.py). So a changed member costs at most the logarithm of the group.
Invariant : a ledger is about the last version and, after a `change`, about the one that is being made; `settle` and
            `undo` choose between the two. `known` is the constant that is the aggregate in the last version.
Never     : RDF terms: a group that has one has no ledger.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from tidelog.backends.local.constants import arranged_kernels as kernels
from tidelog.backends.local.constants.dictionary import Dictionary
from tidelog.backends.local.constants.dictionary_kernels import KIND_FLOAT, KIND_INT, KIND_STRING, KIND_TERM
from tidelog.backends.local.constants.exact_sums import Total, total_of
from tidelog.backends.local.constants.functions import NO_VALUE
from tidelog.backends.local.kernels.compiled import Array, read_only
from tidelog.language import partial
from tidelog.language.terms import Value

_LEAST_EMPTY = 1024
Place = tuple[int, int]
"""The number of a row, and the epoch of its relation in which it is that."""


class Ledger(ABC):
    """One group of one aggregate."""

    price: ClassVar[int]
    """What a changed member costs here, in members that could be read for it."""
    known: int
    """The constant that was the aggregate at the last commit; NO_VALUE if it had no value."""
    fresh: int
    """The constant that it is now."""
    known_at: Place | None = None
    """Where the fact with the known constant is stored, if that is remembered."""
    fresh_at: Place | None = None
    """The same for the fresh one."""

    @property
    @abstractmethod
    def members(self) -> int:
        """How many there are now."""

    @abstractmethod
    def change(self, ids: Array, signs: Array) -> bool:
        """Take members in (+1) and out (-1); False if the ledger cannot be used any more."""

    @abstractmethod
    def change_one(self, constant: int, sign: int) -> bool:
        """As `change`, for a single member: without arrays."""

    @abstractmethod
    def result(self) -> int:
        """The constant that is the aggregate now, or NO_VALUE."""

    @abstractmethod
    def undo(self) -> bool:
        """Be about the last version again; False if the ledger cannot be used any more."""

    @abstractmethod
    def settle(self) -> None:
        """What was changed stays."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """The memory that it takes, about."""


class Sums(Ledger):
    """The total of a group."""

    price = 1

    def __init__(self, function: str, dictionary: Dictionary) -> None:
        self._function, self._dictionary = function, dictionary
        self._total = self._before = Total()
        self.known = self.fresh = NO_VALUE

    @property
    def members(self) -> int:
        """How many there are now."""
        return self._total.members

    def open(self, ids: Array, came: Array, signs: Array) -> bool:
        """Begin with all members, of which some came or went since the last version."""
        is_count = self._function == "count"
        self._total = total_of(self._dictionary, ids, np.ones(len(ids), np.int8), is_count=is_count)
        self._before = self._total.minus(total_of(self._dictionary, came, signs, is_count=is_count))
        return not self._total.terms and not self._before.terms

    def change(self, ids: Array, signs: Array) -> bool:
        """Take members in and out."""
        change = total_of(self._dictionary, ids, signs, is_count=self._function == "count")
        self._total = self._total.plus(change)
        return not self._total.terms

    def change_one(self, constant: int, sign: int) -> bool:
        """Take one member in or out."""
        if self._function == "count":
            self._total = Total(self._total.members + sign)
            return True
        self._total = self._total.with_one(self._dictionary, constant, sign)
        return not self._total.terms

    def result(self) -> int:
        """The aggregate as a constant."""
        return _id(self._dictionary, self._total.result(self._function))

    def undo(self) -> bool:
        """Be about the last version again."""
        self._total = self._before
        return True

    def settle(self) -> None:
        """What was changed stays."""
        self._before = self._total

    @property
    def nbytes(self) -> int:
        """About the memory of its numbers."""
        return 1024


class Ordering(Ledger):
    """The members of a group in order."""

    price = 16

    def __init__(self, function: str, dictionary: Dictionary) -> None:
        self._function, self._dictionary = function, dictionary
        self._kinds, self._size = [0] * (KIND_TERM + 1), 0
        self._nodes = np.empty((0, kernels.COLUMNS), np.int32)
        self._header = np.array([-1, 0, 0], np.int64)
        self._path, self._sides = np.empty(kernels.DEPTH, np.int64), np.empty(kernels.DEPTH, np.int64)
        self._changes: list[tuple[Array, Array] | tuple[int, int]] = []
        self._id, self._sign = np.empty(1, np.int32), np.empty(1, np.int8)
        self._one = read_only(self._id), read_only(self._sign)
        self.known = self.fresh = NO_VALUE

    @property
    def members(self) -> int:
        """How many there are now."""
        return self._size

    def open(self, ids: Array, came: Array, signs: Array) -> bool:
        """Begin with all members, of which some came or went since the last version."""
        kinds = self._dictionary.kinds[ids]
        self._kinds, self._size = np.bincount(kinds, minlength=KIND_TERM + 1).tolist(), len(ids)
        self._changes = [(came, signs)]
        if self._kinds[KIND_TERM] or (self._dictionary.kinds[came] == KIND_TERM).any():
            return False
        return self._build(*np.unique(ids, return_counts=True))

    def change(self, ids: Array, signs: Array) -> bool:
        """Take members in and out."""
        self._changes.append((ids, signs))
        return self._apply(ids, signs)

    def change_one(self, constant: int, sign: int) -> bool:
        """Take one member in or out."""
        self._id[0], self._sign[0] = constant, sign
        self._changes.append((constant, sign))
        kind = int(self._dictionary.kinds[constant])
        self._kinds[kind] += sign
        self._size += sign
        return kind != KIND_TERM and self._make_room(1) and self._entered(*self._one)

    def result(self) -> int:
        """The aggregate as a constant."""
        size, d = self._size, self._dictionary
        numbers = self._kinds[KIND_INT] + self._kinds[KIND_FLOAT]
        if self._function == "median":
            if numbers < size:
                return NO_VALUE
            middle = kernels.keys_at(self._nodes, self._header, (size - 1) // 2, size // 2)
            return _id(d, partial.aggregate("median", list(map(d.number, middle))))
        if size not in (numbers, *self._kinds[KIND_FLOAT + 1 : KIND_STRING + 1]):
            return NO_VALUE  # numbers, bools and strings have no order among each other
        return self._at(0) if self._function == "min" else self._greatest(size)

    def undo(self) -> bool:
        """Be about the last version again."""
        while self._changes:
            ids, signs = self._changes.pop()
            if not self._apply(np.atleast_1d(np.int32(ids)), -np.atleast_1d(np.int8(signs))):
                return False
        return True

    def settle(self) -> None:
        """What was changed stays."""
        self._changes = []

    @property
    def nbytes(self) -> int:
        """The memory of its nodes."""
        return self._nodes.nbytes + self._path.nbytes + self._sides.nbytes

    def _greatest(self, size: int) -> int:
        """The last member; of an int and an equal float the int, which stands before the float."""
        last, d = self._at(size - 1), self._dictionary
        if d.kinds[last] != KIND_FLOAT:
            return last
        node = kernels.at_place(self._nodes, self._header, size - 1)
        if size == self._nodes[node, kernels.MEMBERS]:
            return last
        before = self._at(size - 1 - int(self._nodes[node, kernels.MEMBERS]))
        value, other = d.decode(np.array([before, last]))
        return before if value == other else last

    def _at(self, place: int) -> int:
        return int(kernels.keys_at(self._nodes, self._header, place, place)[0])

    def _apply(self, ids: Array, signs: Array) -> bool:
        kinds = self._dictionary.kinds[ids]
        changes = np.bincount(kinds, signs, KIND_TERM + 1).astype(np.int64).tolist()
        self._kinds = list(map(int.__add__, self._kinds, changes))
        self._size += sum(changes)
        if (kinds == KIND_TERM).any() or not self._make_room(len(ids)):
            return False
        return self._entered(read_only(ids), read_only(signs))

    def _entered(self, ids: Array, signs: Array) -> bool:
        d = self._dictionary
        return bool(
            kernels.add(
                self._nodes, self._header, ids, signs, d.kinds, d.payloads, d.heap, d.offsets, self._path, self._sides
            )
        )

    def _make_room(self, more: int) -> bool:
        """Have nodes for that many further constants; False if the tree cannot be built anew without empty ones."""
        used, empty = int(self._header[kernels.NODES]), int(self._header[kernels.EMPTY])
        if empty > _LEAST_EMPTY and 2 * empty > used:
            kept = self._nodes[:used]
            kept = kept[kept[:, kernels.MEMBERS] > 0]
            if not self._build(kept[:, kernels.KEY].copy(), kept[:, kernels.MEMBERS].copy()):
                return False
            used = int(self._header[kernels.NODES])
        if used + more > len(self._nodes):
            larger = np.empty(((used + more) * 3 // 2, kernels.COLUMNS), np.int32)
            larger[: len(self._nodes)] = self._nodes
            self._nodes = larger
        return True

    def _build(self, ids: Array, counts: Array) -> bool:
        """A tree of distinct constants."""
        d, kinds = self._dictionary, self._dictionary.kinds[ids]
        if len(ids) and kinds.max() == kinds.min() <= KIND_FLOAT:
            payloads = d.payloads[ids]
            order = np.argsort(payloads.view(np.float64) if kinds[0] == KIND_FLOAT else payloads)
        else:
            arranged = ids.copy()
            kernels.sort(arranged, np.empty_like(ids), d.kinds, d.payloads, d.heap, d.offsets)
            by_id = np.argsort(ids)
            order = by_id[np.searchsorted(ids, arranged, sorter=by_id)]
        nodes, header = np.empty((len(ids), kernels.COLUMNS), np.int32), np.array([-1, 0, 0], np.int64)
        nodes[:, kernels.KEY], nodes[:, kernels.MEMBERS] = ids[order], counts[order]
        if not kernels.build(nodes, header, self._path):
            return False
        self._nodes, self._header = nodes, header
        return True


def ledger(function: str, dictionary: Dictionary) -> Sums | Ordering:
    """An empty ledger for an aggregate."""
    return (Ordering if function in ("min", "max", "median") else Sums)(function, dictionary)


def _id(dictionary: Dictionary, value: Value | None) -> int:
    return NO_VALUE if value is None else dictionary.id_of(value)

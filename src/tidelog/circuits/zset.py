"""Z-sets: rows with weights, in columns.

What      : a `ZSet` is a table in which every row has an integer weight: how often it is there, or, below zero, how
            often it is taken away. A change of a table is a Z-set as well as the table itself.
Idea      : constants are numbers of one dictionary per circuit, so that a row is a few integers, and adding two Z-sets
            is putting their rows under each other, sorting, and adding up equal neighbours. Between the operators of a
            circuit a Z-set may be `loose`: rows in any order and any number, which are added up when somebody asks.
            Most are never asked, because what keeps them adds them up where they are stored (trace.py).
Invariant : `rows` are distinct and in order, no weight is zero, and a weight that does not fit 64 bits is refused
            (E874). With `+`, `-` and the empty Z-set they are an Abelian group (tests/circuits/test_laws.py).
Never     : changed, as far as anybody sees; every operation makes a new one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from tidelog.backends.local.constants.dictionary import Dictionary
from tidelog.backends.local.kernels.compiled import Array
from tidelog.changes.fact_sources import to_table
from tidelog.errors import UsageError
from tidelog.language.terms import Value

if TYPE_CHECKING:
    from collections.abc import Mapping

_SURE = 2.0**62
"""A sum of magnitudes below this cannot have left 64 bits, rounding included."""
Piece = tuple[Array, Array]
"""Rows and their weights."""
LOOSE, SUMMED, ORDERED = range(3)
"""Rows in any order and any number; distinct ones without weight zero in any order; these in order."""


class ZSet:
    """Distinct rows of constants, each with a weight that is not zero."""

    __slots__ = ("_held", "dictionary")

    def __init__(self, dictionary: Dictionary, rows: Array, weights: Array, state: int = ORDERED) -> None:
        """Rows of numbers of the dictionary's constants; how much is known of them is their state."""
        self.dictionary = dictionary
        self._held: tuple[Sequence[Piece], int] = ((rows, weights),), state
        # replaced as a whole, because several threads may read

    @classmethod
    def summed(cls, dictionary: Dictionary, rows: Array, weights: Array) -> ZSet:
        """The Z-set of rows in any order and any number: weights of equal rows are added up."""
        return cls(dictionary, *_summed(rows, weights))

    @classmethod
    def loose(cls, dictionary: Dictionary, rows: Array, weights: Array) -> ZSet:
        """The same, but nothing is added up, and no weight refused, before somebody asks."""
        return cls(dictionary, rows, weights, LOOSE)

    @classmethod
    def together(cls, dictionary: Dictionary, arity: int, parts: Iterable[ZSet]) -> ZSet:
        """The sum of some Z-sets, loose."""
        found = [one for one in parts if not one.is_empty]
        if len(found) < 2:
            return found[0] if found else cls.nothing(dictionary, arity)
        return cls.in_pieces(dictionary, [piece for one in found for piece in one._held[0]])

    @classmethod
    def in_pieces(cls, dictionary: Dictionary, pieces: Sequence[Piece]) -> ZSet:
        """The sum of at least one piece, loose; pieces are put together when somebody asks for them as one."""
        made = cls(dictionary, *pieces[0], LOOSE)
        made._held = pieces, LOOSE
        return made

    @property
    def is_empty(self) -> bool:
        """Whether there is no row at all, not even one whose weights add up to zero."""
        pieces = self._held[0]
        return not (len(pieces[0][1]) if len(pieces) == 1 else any(len(weights) for _, weights in pieces))

    @property
    def is_summed(self) -> bool:
        """Whether its rows are known to be distinct, with weights that are not zero."""
        return self._held[1] != LOOSE

    @property
    def pieces(self) -> Sequence[Piece]:
        """Rows and weights as they are held: rows may come twice, and in any order."""
        return self._held[0]

    @property
    def held(self) -> tuple[Array, Array, int]:
        """The same as one piece, and how much is known of it: in one look, as other threads may settle it meanwhile."""
        pieces, state = self._held
        if len(pieces) == 1:
            return *pieces[0], state
        rows, weights = (np.concatenate([piece[at] for piece in pieces]) for at in (0, 1))
        return rows, weights, state

    @property
    def given(self) -> Piece:
        """Rows and weights as one piece."""
        return self.held[:2]

    @property
    def parts(self) -> Piece:
        """Distinct rows in any order, and their weights, none of which is zero."""
        return self._settled(SUMMED)

    def settle(self) -> None:
        """Add up what is loose, or refuse it."""
        self._settled(SUMMED)

    @property
    def rows(self) -> Array:
        """The distinct rows, in order."""
        return self._settled(ORDERED)[0]

    @property
    def weights(self) -> Array:
        """Their weights."""
        return self._settled(ORDERED)[1]

    def _settled(self, wanted: int) -> tuple[Array, Array]:
        """Rows and weights in a state that is good enough."""
        rows, weights, state = self.held
        if state < wanted:
            if state == LOOSE:
                rows, weights = _summed(rows, weights)
            else:
                order = _order(rows)
                rows, weights = rows[order], weights[order]
            self._held = ((rows, weights),), ORDERED
        return rows, weights

    @classmethod
    def of(cls, dictionary: Dictionary, source: object, weight: int = 1, *, arity: int, name: str = "rows") -> ZSet:
        """The rows of anything that holds facts, each with the same weight."""
        columns = to_table(source, name, arity)
        rows = np.empty((len(columns), arity), np.int32)
        for at, column in enumerate(columns.columns):
            rows[:, at] = dictionary.encode(column)
        return cls.summed(dictionary, rows, np.full(len(rows), weight, np.int64))

    @classmethod
    def nothing(cls, dictionary: Dictionary, arity: int) -> ZSet:
        """The Z-set that adds nothing."""
        return cls(dictionary, np.empty((0, arity), np.int32), np.empty(0, np.int64))

    @property
    def arity(self) -> int:
        """The number of columns."""
        return int(self._held[0][0][0].shape[1])

    def __len__(self) -> int:
        """The number of distinct rows."""
        return len(self.parts[0])

    def __iter__(self) -> Iterator[tuple[tuple[Value, ...], int]]:
        """Rows as Python values with their weights; for tests and small results."""
        columns = [self.dictionary.decode(np.ascontiguousarray(self.rows[:, at])) for at in range(self.arity)]
        rows = zip(*columns) if columns else iter([()] * len(self))
        return zip(rows, self.weights.tolist())

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, ZSet)
            and self.rows.shape == other.rows.shape
            and np.array_equal(self.rows, other.rows)
            and np.array_equal(self.weights, other.weights)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ", ".join(f"{row}: {weight:+d}" for (row, weight), _ in zip(self, range(10)))
        return f"ZSet({{{shown}{', ...' if len(self) > 10 else ''}}})"

    def __add__(self, other: ZSet) -> ZSet:
        if not len(other):
            return self
        if not len(self):
            return other
        rows = np.concatenate([self.rows, other.rows])
        return ZSet.summed(self.dictionary, rows, np.concatenate([self.weights, other.weights]))

    def __neg__(self) -> ZSet:
        rows, weights, state = self.held
        if len(weights) and int(weights.min()) == -(2**63):
            raise too_heavy()
        return ZSet(self.dictionary, rows, -weights, state)

    def __sub__(self, other: ZSet) -> ZSet:
        return self + -other

    def where(self, chosen: Array) -> ZSet:
        """The rows that are chosen."""
        return ZSet(self.dictionary, np.ascontiguousarray(self.rows[chosen]), self.weights[chosen])

    def select(self, columns: Sequence[int]) -> ZSet:
        """Some columns in a given order; weights of rows that become equal are added up."""
        return ZSet.summed(self.dictionary, self.rows.take(list(columns), axis=1), self.weights)

    def distinct(self) -> ZSet:
        """The rows of positive weight, each once."""
        kept = self.where(self.weights > 0)
        return ZSet(self.dictionary, kept.rows, np.ones(len(kept), np.int64))

    def join(self, other: ZSet, on: Sequence[tuple[int, int]]) -> ZSet:
        """Rows of both that agree in pairs of columns, side by side; weights are multiplied."""
        left, right = _pairs(self.rows[:, [at for at, _ in on]], other.rows[:, [at for _, at in on]])
        rows = np.concatenate([self.rows[left], other.rows[right]], axis=1)
        return ZSet.summed(self.dictionary, rows, product(self.weights[left], other.weights[right]))

    def table(self) -> pa.Table:
        """The rows as an Arrow table with columns c1, c2, ..., without weights."""
        return decoded(self.dictionary, self.rows)

    def to_arrow(self) -> pa.Table:
        """The rows as an Arrow table with columns c1, c2, ... and a last column `weight`."""
        return self.table().append_column("weight", pa.array(self.weights))

    def to_dict(self) -> Mapping[tuple[Value, ...], int]:
        """Weights by row."""
        return dict(self)


def decoded(dictionary: Dictionary, rows: Array) -> pa.Table:
    """Rows as an Arrow table with columns c1, c2, ..."""
    arrays = [dictionary.decode_arrow(np.ascontiguousarray(rows[:, at])) for at in range(rows.shape[1])]
    return pa.table(arrays, names=[f"c{number}" for number in range(1, len(arrays) + 1)])


def _order(rows: Array) -> Array:
    """In which order rows come; two columns are compared as one word."""
    if rows.shape[1] == 2 and rows.dtype == np.int32:
        return np.argsort(rows[:, 0].astype(np.int64) << 32 | rows[:, 1])  # numbers of constants are not negative
    return np.lexsort(rows.T[::-1]) if rows.shape[1] else np.arange(len(rows))


def _summed(rows: Array, weights: Array) -> tuple[Array, Array]:
    """Distinct rows in order, with the sums of their weights that are not zero."""
    if len(rows) == 0:
        return rows.astype(np.int32), weights.astype(np.int64)
    order = _order(rows)
    rows, weights = rows[order], weights[order]
    is_first = np.empty(len(rows), np.bool_)
    is_first[0] = True
    np.any(rows[1:] != rows[:-1], axis=1, out=is_first[1:])
    starts = np.flatnonzero(is_first)
    sums = np.add.reduceat(weights, starts)
    if np.add.reduceat(np.abs(weights.astype(np.float64)), starts).max() >= _SURE:
        _check(weights, starts)
    kept = sums != 0
    return np.ascontiguousarray(rows[starts[kept]]), sums[kept]


def _pairs(left: Array, right: Array) -> tuple[Array, Array]:
    """The places of equal keys in two tables: every pair."""
    if not left.shape[1]:
        return np.repeat(np.arange(len(left)), len(right)), np.tile(np.arange(len(right)), len(left))
    _, numbers = np.unique(np.concatenate([left, right]), axis=0, return_inverse=True)
    numbers = numbers.reshape(-1)
    mine, theirs = numbers[: len(left)], numbers[len(left) :]
    order = np.argsort(theirs, kind="stable")
    first, last = (np.searchsorted(theirs[order], mine, side) for side in ("left", "right"))
    counts = last - first
    places = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(first, counts)
    return np.repeat(np.arange(len(left)), counts), order[places]


def too_heavy() -> UsageError:
    """The error for a weight beyond 64 bits."""
    return UsageError.of(
        "E874", "a weight does not fit 64 bits", remedy="make the rows distinct before they are joined"
    )


def product(left: Array, right: Array) -> Array:
    """The products of weights; refused if one does not fit."""
    if len(left) and np.abs(left.astype(np.float64) * right.astype(np.float64)).max() >= _SURE:
        exact: list[Any] = [one * other for one, other in zip(left.tolist(), right.tolist())]
        if not all(-(2**63) <= one < 2**63 for one in exact):
            raise too_heavy()
    return left * right


def _check(weights: Array, starts: Array) -> None:
    """Refuse sums beyond 64 bits; exactly, for the few cases in which that is not plain from afar."""
    bounds = [*starts.tolist(), len(weights)]
    for start, stop in pairwise(bounds):
        if not -(2**63) <= sum(weights[start:stop].tolist()) < 2**63:
            raise too_heavy()

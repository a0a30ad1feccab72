"""Z-sets: sets whose elements carry integer weights.

What      : an immutable map from elements to weights that are not zero; addition and negation make it an Abelian group.
Idea      : a change is a value like any other. Weight +1 inserts, -1 deletes, sums cancel.
Source    : de Lima et al. 2024, Definition 4.1, with `toset` and `todiff`; the join and the projection of section 4.2.
Invariant : a weight fits 64 bits; a sum or product that does not raises E502, it never wraps.
Never     : no time here (streams.py) and no rules (dyre.py).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Generic, TypeVar

from tidelog.errors import EvaluationError
from tidelog.language.values import INT_MAX, INT_MIN

A = TypeVar("A", bound=Hashable)
B = TypeVar("B", bound=Hashable)
C = TypeVar("C", bound=Hashable)


class ZSet(Generic[A]):
    """Elements with weights; an element that is absent has weight 0."""

    __slots__ = ("_weights",)

    def __init__(self, weights: Mapping[A, int] | Iterable[tuple[A, int]] = ()) -> None:
        pairs = weights.items() if isinstance(weights, Mapping) else weights
        total: dict[A, int] = {}
        for element, weight in pairs:
            total[element] = _within_64_bits(total.get(element, 0) + weight, element)
        self._weights = {element: weight for element, weight in total.items() if weight}

    @classmethod
    def of(cls, elements: Iterable[A], weight: int = 1) -> ZSet[A]:
        """The Z-set in which every given element has one weight."""
        return cls((element, weight) for element in set(elements))

    def __getitem__(self, element: A) -> int:
        return self._weights.get(element, 0)

    def __iter__(self) -> Iterator[A]:
        return iter(self._weights)

    def __len__(self) -> int:
        return len(self._weights)

    def __contains__(self, element: object) -> bool:
        return element in self._weights

    def items(self) -> Iterable[tuple[A, int]]:
        """The elements with their weights."""
        return self._weights.items()

    def __add__(self, other: ZSet[A]) -> ZSet[A]:
        if not other:
            return self
        if not self:
            return other
        total = dict(self._weights)
        for element, weight in other.items():
            merged = _within_64_bits(total.get(element, 0) + weight, element)
            if merged:
                total[element] = merged
            else:
                del total[element]
        return _trusted(total)

    def __neg__(self) -> ZSet[A]:
        return ZSet((element, -weight) for element, weight in self.items())

    def __sub__(self, other: ZSet[A]) -> ZSet[A]:
        return self + (-other)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ZSet) and self._weights == other._weights

    def __hash__(self) -> int:
        return hash(frozenset(self._weights.items()))

    def __repr__(self) -> str:
        return f"ZSet({self._weights!r})"

    @property
    def is_set(self) -> bool:
        """Whether every weight is 1."""
        return all(weight == 1 for weight in self._weights.values())

    def where(self, keep: Callable[[A], bool]) -> ZSet[A]:
        """The elements that satisfy a condition, with their weights (linear)."""
        return _trusted({element: weight for element, weight in self.items() if keep(element)})

    def project(self, scalar: Callable[[A], Iterable[B]]) -> ZSet[B]:
        """Every element replaced by what `scalar` makes of it: none, one or several; weights add up (linear)."""
        return ZSet((made, weight) for element, weight in self.items() for made in scalar(element))


def toset(zset: ZSet[A]) -> ZSet[A]:
    """Weight 1 for every element of positive weight, nothing for the others: `distinct`."""
    return _trusted({element: 1 for element, weight in zset.items() if weight > 0})


def todiff(zset: ZSet[A]) -> ZSet[A]:
    """The signs of the weights."""
    return _trusted({element: 1 if weight > 0 else -1 for element, weight in zset.items()})


def join(
    left: ZSet[A],
    right: ZSet[B],
    left_key: Callable[[A], Hashable],
    right_key: Callable[[B], Hashable],
    combine: Callable[[A, B], Iterable[C]],
) -> ZSet[C]:
    """What `combine` makes of all pairs with equal keys; weights multiply (bilinear)."""
    if not left or not right:
        return ZSet()
    by_key: dict[Hashable, list[tuple[B, int]]] = {}
    for right_element, right_weight in right.items():
        by_key.setdefault(right_key(right_element), []).append((right_element, right_weight))
    return ZSet(
        (made, left_weight * right_weight)
        for left_element, left_weight in left.items()
        for right_element, right_weight in by_key.get(left_key(left_element), ())
        for made in combine(left_element, right_element)
    )


def _trusted(weights: dict[A, int]) -> ZSet[A]:
    """A Z-set of weights that are known to be in range and not zero."""
    made: ZSet[A] = ZSet()
    made._weights = weights
    return made


def _within_64_bits(weight: int, element: object) -> int:
    if not INT_MIN <= weight <= INT_MAX:
        raise EvaluationError.of(
            "E502", f"the weight of {element!r} overflows 64 bits", remedy="split the update, or remove repeated rules"
        )
    return weight

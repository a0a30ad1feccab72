"""The operators that circuits are made of.

What      : functions from streams to streams; lifting makes one of any function on values, lifting twice one on streams
            of streams.
Source    : de Lima et al. 2024, section 4 (delay, integration, introduction, elimination, incremental joins); Budiu et
            al. 2023 for `incremental`, which is the definition that every faster form must equal.
Invariant : all are causal: the value at a moment depends on nothing later. `delay` is strict.
Departures: the paper's elimination sums up to the first zero. A nested change can be zero in one round and not in the
            next, so `eliminate` is told how many rounds to sum.
Never     : no rules and no facts.

In a stream of streams `s[t][i]`, t is the arrival of an update and i the round of the fixpoint. `delay` and `integrate`
work on t, `lift(delay)` and `lift(integrate)` on i.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

from tidelog.reference.streams import Group, Stream
from tidelog.reference.zset import ZSet, join, toset

G = TypeVar("G", bound=Group)
H = TypeVar("H", bound=Group)
K = TypeVar("K", bound=Group)
A = TypeVar("A", bound=Hashable)
B = TypeVar("B", bound=Hashable)
C = TypeVar("C", bound=Hashable)

Nested = Stream[Stream[G]]


def lift(function: Callable[[G], H]) -> Callable[[Stream[G]], Stream[H]]:
    """The operator that applies a function at every moment."""
    return lambda stream: Stream(lambda time: function(stream[time]), function(stream.zero))


def lift2(function: Callable[[G, H], K]) -> Callable[[Stream[G], Stream[H]], Stream[K]]:
    """The operator that applies a function of two values at every moment."""
    return lambda left, right: Stream(
        lambda time: function(left[time], right[time]), function(left.zero, right.zero)
    )  # fmt: skip


def delay(stream: Stream[G]) -> Stream[G]:
    """z^-1: every value one moment later, zero first."""
    return Stream(lambda time: stream[time - 1] if time else stream.zero, stream.zero)


def integrate(stream: Stream[G]) -> Stream[G]:
    """I: the sum of all values so far."""
    total: Stream[G] = Stream(lambda time: total[time - 1] + stream[time] if time else stream[0], stream.zero)
    return total


def differentiate(stream: Stream[G]) -> Stream[G]:
    """D: the difference to the moment before; the inverse of `integrate`."""
    return stream + (-delay(stream))


def introduce(value: G) -> Stream[G]:
    """delta_0: a stream that is the value first and zero afterwards."""
    return Stream(lambda time: value if time == 0 else value + (-value), value + (-value))


def eliminate(stream: Stream[G], rounds: int) -> G:
    """The sum of the first values, where the stream is known to be zero afterwards."""
    return integrate(stream).prefix(rounds)[-1] if rounds else stream.zero


def incremental(operator: Callable[[Stream[G]], Stream[H]]) -> Callable[[Stream[G]], Stream[H]]:
    """Q^Delta = D . Q . I: the operator on changes instead of values, for every Q."""
    return lambda stream: differentiate(operator(integrate(stream)))


def incremental2(operator: Callable[[Stream[G], Stream[H]], Stream[K]]) -> Callable[[Stream[G], Stream[H]], Stream[K]]:
    """Q^Delta for an operator of two streams."""
    return lambda left, right: differentiate(operator(integrate(left), integrate(right)))


def nested_distinct(stream: Nested[ZSet[A]]) -> Nested[ZSet[A]]:
    """(lift (lift distinct)^Delta)^Delta: changes that make every accumulated weight 0 or 1."""
    distinct: Callable[[Stream[ZSet[A]]], Stream[ZSet[A]]] = incremental(lift(toset))
    return incremental(lift(distinct))(stream)


def incremental_join(
    left: Stream[ZSet[A]],
    right: Stream[ZSet[B]],
    left_key: Callable[[A], Hashable],
    right_key: Callable[[B], Hashable],
    combine: Callable[[A, B], Iterable[C]],
) -> Stream[ZSet[C]]:
    """(lift join)^Delta: new with new, new with old, old with new; right because joins are bilinear."""

    def joined(a: ZSet[A], b: ZSet[B]) -> ZSet[C]:
        return join(a, b, left_key, right_key, combine)

    both = lift2(joined)
    return both(left, right) + both(left, delay(integrate(right))) + both(delay(integrate(left)), right)


def nested_join(
    left: Nested[ZSet[A]],
    right: Nested[ZSet[B]],
    left_key: Callable[[A], Hashable],
    right_key: Callable[[B], Hashable],
    combine: Callable[[A, B], Iterable[C]],
) -> Nested[ZSet[C]]:
    """(lift (lift join)^Delta)^Delta: every pair of changes meets once, at the later arrival and the later round."""

    def joined(a: ZSet[A], b: ZSet[B]) -> ZSet[C]:
        return join(a, b, left_key, right_key, combine)

    both = lift2(lift2(joined))
    rounds_left, rounds_right = lift(integrate)(left), lift(integrate)(right)
    return (
        both(left, integrate(rounds_right))  # left has the later arrival and the later round
        + both(lift(delay)(rounds_left), integrate(right))  # left the later arrival, right the later round
        + both(delay(integrate(left)), rounds_right)  # right the later arrival, left the later round
        + both(delay(integrate(lift(delay)(rounds_left))), right)  # right has both
    )

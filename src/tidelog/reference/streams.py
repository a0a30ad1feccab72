"""Streams: values of an Abelian group, one for every moment.

What      : `Stream` is a function from time (0, 1, 2, ...) to values that remembers what it has computed; `Feed` is a
            stream that somebody appends to; `Knot` is a stream of streams that is used before it is defined.
Idea      : a stream is its definition. `delay(s)[t]` *is* `s[t - 1]`, so operators are one line each, and a circuit
            with a feedback loop is a stream that mentions itself, as long as the loop passes through a delay.
Source    : de Lima et al. 2024, section 4; streams of streams are streams, because streams add and negate like values.
Invariant : the value at a moment never changes once computed. `zero` is the group's identity.
Never     : no rules and no facts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, Protocol, Self, TypeVar

from tidelog.errors import UsageError


class Group(Protocol):
    """What the values of a stream can do: add and negate."""

    def __add__(self, other: Self, /) -> Self:
        """The sum."""
        ...

    def __neg__(self) -> Self:
        """The inverse."""
        ...


G = TypeVar("G", bound=Group)


class Stream(Generic[G]):
    """A value for every moment; `zero` is the value that adds nothing."""

    def __init__(self, at: Callable[[int], G], zero: G) -> None:
        self._at, self.zero = at, zero
        self._known: dict[int, G] = {}

    @classmethod
    def of(cls, values: Sequence[G], zero: G) -> Stream[G]:
        """A stream that starts with the values and is zero afterwards."""
        return Stream(lambda time: values[time] if time < len(values) else zero, zero)

    def __getitem__(self, time: int) -> G:
        if time not in self._known:
            self._known[time] = self._at(time)
        return self._known[time]

    def prefix(self, length: int) -> list[G]:
        """The values of the first moments, computed in order."""
        return [self[time] for time in range(length)]

    def __add__(self, other: Stream[G]) -> Stream[G]:
        return Stream(lambda time: self[time] + other[time], self.zero)

    def __neg__(self) -> Stream[G]:
        return Stream(lambda time: -self[time], self.zero)


class Feed(Stream[G]):
    """A stream whose values arrive one by one."""

    def __init__(self, zero: G) -> None:
        self._values: list[G] = []
        super().__init__(self._arrived, zero)

    def append(self, value: G) -> int:
        """Let the next value arrive; the moment of its arrival."""
        self._values.append(value)
        return len(self._values) - 1

    def _arrived(self, time: int) -> G:
        if time >= len(self._values):
            raise UsageError.of("E850", f"nothing has arrived at moment {time}", remedy="append a value first")
        return self._values[time]


class Knot(Stream[Stream[G]]):
    """A stream of streams that is part of a loop: used first, defined by `tie` afterwards."""

    def __init__(self, zero: G) -> None:
        self._defined: Stream[Stream[G]] | None = None
        super().__init__(lambda outer: Stream(lambda inner: self._value(outer, inner), zero), Stream.of((), zero))

    def tie(self, defined: Stream[Stream[G]]) -> None:
        """Say what the stream is."""
        self._defined = defined

    def _value(self, outer: int, inner: int) -> G:
        if self._defined is None:
            raise UsageError.of("E850", "a loop is read before it is closed", remedy="tie the knot first")
        return self._defined[outer][inner]

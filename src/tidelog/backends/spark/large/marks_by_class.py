"""The facts of files by class: those that are explicit there, and the others.

What      : `Classes` knows how many facts each class has, and the marks and sets that all facts of a class share.
Idea      : a large change mostly treats all facts of a relation alike: all were inserted, all are derived. Then marks
            and sets are two numbers each and not columns, and counting them takes no job.
Invariant : every fact of a class has the marks and is in the sets of its class.
Never     : no session, no files.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tidelog.planning.views import Mark, View

Test = Callable[[int, int], bool]
"""A question about the marks and the sets of a fact."""


@dataclass
class Classes:
    """Two classes: facts that are not explicit in the files, and facts that are."""

    counts: tuple[int, int] = (0, 0)
    marks: list[int] = field(default_factory=lambda: [0, 0])
    sets: list[int] = field(default_factory=lambda: [0, 0])

    @property
    def is_empty(self) -> bool:
        """Whether there are no facts."""
        return not any(self.counts)

    def holds(self, test: Test) -> list[bool]:
        """Which classes pass a test."""
        return [bool(test(marks, sets)) for marks, sets in zip(self.marks, self.sets)]

    def all_hold(self, test: Test) -> bool:
        """Whether all facts pass a test."""
        return all(holds or not count for holds, count in zip(self.holds(test), self.counts))

    def count(self, test: Test) -> int:
        """How many facts pass a test."""
        return sum(count for holds, count in zip(self.holds(test), self.counts) if holds)

    def choose(self, bit: int, test: Test) -> None:
        """Put the facts that pass a test into a set."""
        self.sets = [sets | holds << bit for sets, holds in zip(self.sets, self.holds(test))]

    def mark(self, bit: int, add: Mark, remove: Mark) -> None:
        """Give and take marks of the facts in a set."""
        self.marks = [
            (marks & ~int(remove)) | int(add) if sets >> bit & 1 else marks
            for marks, sets in zip(self.marks, self.sets)
        ]


def in_view(view: View) -> Test:
    """Whether a fact is in a view."""
    return lambda marks, _: view.contains(marks)


def in_set(bit: int) -> Test:
    """Whether a fact is in a set."""
    return lambda _, sets: bool(sets >> bit & 1)


def is_changed(marks: int, _: int) -> bool:
    """Whether OLD differs from NOW, or WAS_EXPLICIT from EXPLICIT.

    Shifted right by one bit, the new marks lie on the old ones.
    """
    old = int(Mark.OLD | Mark.WAS_EXPLICIT)
    return marks & old != marks >> 1 & old

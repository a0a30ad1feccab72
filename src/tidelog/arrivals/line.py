"""Submitted updates that wait for their turn.

What      : `Line`, the submitted updates that are not visible yet, in order of arrival.
Idea      : one thread works, any thread submits. The worker takes as many updates as may share a version; urgent ones
            come first. While it works it looks at `arrived`, a number, and takes the lock only if that has changed.
Invariant : what is waiting is ordered by number. An update is waiting, or being worked on, or ended. At most
            MOST_WAITING updates with MOST_FACTS facts wait (one that is larger waits alone); a thread that submits more
            waits until there is room.
Never     : nothing is applied here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import CancelledError
from threading import Condition

from tidelog.arrivals.submission import Submission
from tidelog.errors import UsageError

MOST_WAITING = 1000
"""How many updates may wait. Memory is bounded by MOST_FACTS; this bounds how old the last one gets."""
MOST_FACTS = 10_000_000
"""How many facts may wait: some hundreds of megabytes as columns."""


class Line:
    """Submitted updates that are not visible yet."""

    def __init__(self) -> None:
        self.changed = Condition()
        self.arrived = 0
        """How many have arrived so far."""
        self.waiting: list[Submission] = []
        self.open: dict[int, Submission] = {}
        """Those that wait or are worked on, by number."""
        self.is_closed = False

    def wait_for_room(self, submission: Submission, *, may_wait: bool) -> None:
        """Wait until an update may stand in line; within `changed`, which is released meanwhile."""
        if not may_wait and not self._has_room(submission):
            raise UsageError.of(
                "E818",
                f"{len(self.waiting)} updates wait already, and this thread is the one that works on them",
                remedy="submit from another thread, or fewer at a time",
            )
        self.changed.wait_for(lambda: self.is_closed or self._has_room(submission))
        if self.is_closed:
            raise UsageError.of("E815", "the engine is closed", remedy="open its saved state, or make another one")

    def add(self, submission: Submission) -> None:
        """Stand in line; within `changed`, which is held since there was room."""
        submission.number = self.arrived
        self.waiting.append(submission)
        self.open[submission.number] = submission
        self.arrived += 1
        self.changed.notify_all()

    def _has_room(self, submission: Submission) -> bool:
        if not self.waiting:
            return True
        facts = sum(one.size for one in self.waiting)
        return len(self.waiting) < MOST_WAITING and facts + submission.size <= MOST_FACTS

    @property
    def has_urgent(self) -> bool:
        """Whether an urgent update waits."""
        return any(one.is_urgent for one in tuple(self.waiting))

    def first_urgent(self) -> Submission | None:
        """The first urgent update that waits and is wanted; it goes on waiting."""
        with self.changed:
            for one in [one for one in self.waiting if one.is_urgent]:
                if one.starts():
                    return one
                self.end_first(one)
        return None

    def end_first(self, urgent: Submission) -> None:
        """An urgent update waits no longer."""
        with self.changed:
            self.waiting.remove(urgent)
            self.end([urgent])

    def next_group(self, *, merges: bool) -> list[Submission]:
        """The updates to work on next: an urgent one, or the first and those after it that may share its version."""
        with self.changed:
            urgent = next((at for at, one in enumerate(self.waiting) if one.is_urgent), None)
            if urgent is not None and self.waiting[0].is_patient:
                group = [self.waiting.pop(urgent)]
            else:
                group, self.waiting = self.waiting[:1], self.waiting[1:]
                if merges and group and not group[0].is_alone:
                    group += self._pop_while(lambda one: not one.is_alone)
            wanted, void = self._started(group)
        return _told(wanted, void)

    def pop_while(self, joins: Callable[[Submission], bool]) -> list[Submission]:
        """The first updates that join what is being worked on."""
        with self.changed:
            wanted, void = self._started(self._pop_while(joins))
        return _told(wanted, void)

    def _pop_while(self, joins: Callable[[Submission], bool]) -> list[Submission]:
        count = 0
        while count < len(self.waiting) and not self.waiting[count].is_urgent and joins(self.waiting[count]):
            count += 1
        found, self.waiting = self.waiting[:count], self.waiting[count:]
        return found

    def _started(self, group: list[Submission]) -> tuple[list[Submission], list[Submission]]:
        """Those of the group that are wanted, and those that never happen; there is room for others now."""
        wanted, void = list[Submission](), list[Submission]()
        for one in group:
            if one.starts():
                (void if one.is_void(void) else wanted).append(one)
        self.end(one for one in group if one not in wanted)
        return wanted, void

    def put_back(self, group: Iterable[Submission]) -> None:
        """They were stopped, and wait again in their places."""
        with self.changed:
            self.waiting = sorted([*group, *self.waiting], key=lambda one: one.number)

    def drop(self, submission: Submission) -> None:
        """Stop an update if it is not decided yet; wait until that is certain."""
        if submission.future.cancel():
            return  # it was waiting, and is passed over
        with self.changed:
            submission.is_dropped = True
            self.arrived += 1  # the thread that works on it looks up
            self.changed.wait_for(lambda: submission.number not in self.open)

    def overtake(self, urgent: Submission) -> None:
        """An urgent update is visible. It is done again after each update that arrived before it and still waits."""
        with self.changed:
            for one in self.waiting:
                if one.number < urgent.number:
                    one.overtaken_by.append(urgent)
                    one.times_overtaken += 1

    def end(self, group: Iterable[Submission]) -> None:
        """They wait no longer."""
        with self.changed:
            for one in group:
                self.open.pop(one.number, None)
            self.changed.notify_all()

    def wait(self) -> None:
        """Wait until all that have arrived by now have ended."""
        with self.changed:
            last = self.arrived
            self.changed.wait_for(lambda: not any(number < last for number in self.open))

    def close(self) -> None:
        """Nobody can join the line any more; wait until it is empty."""
        with self.changed:
            self.is_closed = True
            self.changed.notify_all()
        self.wait()


def _told(wanted: list[Submission], void: Iterable[Submission]) -> list[Submission]:
    """Those that are wanted; the others hear that they never happen, without the lock: they may have callbacks."""
    for one in void:
        one.future.set_exception(CancelledError())
    return wanted

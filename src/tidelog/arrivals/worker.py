"""The thread that works on submitted updates.

What      : `Worker` takes groups of updates from the line, one transaction each, in a thread that lives while there is
            work; `Running` is what one transaction asks while it runs.
Idea      : at every question of the budget the worker looks whether something has arrived. An update that undoes at
            least half of what is asked for makes the transaction turn back and take it in; an urgent one passes, or
            makes it stand aside. Everything else waits, or joins where it costs nothing (maintenance/joining.py).
Source    : Illich, Glimm 2023, Algorithm 1, line 3: before each step it is asked whether an update is there.
Departures: the paper takes every update in at once; here most wait, for turning back costs more than it saves (below).
Invariant : the facts after a group are those of applying all updates in order of arrival. An update that cannot be
            applied fails alone: a group that fails is tried again one by one. An update is stopped and overtaken a
            bounded number of times (submission.py), so that an endless stream of others cannot starve it.
Never     : no update is dropped: its future ends with a change or an error, unless it was cancelled while it waited.

Why half: let W be the time of the running update, s what it has spent, c the part of it that the arrival undoes. Going
on costs (W - s) + cW, beginning again costs (1 - c)W; so turning back gains 2cW - s. As s <= W, that is never a loss
from c = 1/2 on, whatever W is. Below, s would have to be known to be less than 2cW; it is not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from threading import Thread, current_thread
from time import perf_counter, sleep
from typing import NoReturn, TypeAlias

from tidelog.arrivals.line import Line
from tidelog.arrivals.submission import MOST_STOPS, Submission
from tidelog.attempt import Asked
from tidelog.beginning import begin_thread
from tidelog.changes.change import Change
from tidelog.errors import ProgramError, UsageError
from tidelog.maintenance.joining import Progress, StandAsideError, TurnBackError
from tidelog.observe.logs import log

_GRACE = 0.05
"""Seconds for which urgent updates may pass before a transaction has had as much time itself."""
_LINGER = 0.2
"""How many seconds the thread waits for more work. Making a thread costs about 50 us."""

Tell: TypeAlias = Callable[[Change | Exception, bool], None]
"""What became of an urgent update, and whether the running transaction has to catch up with it."""


@dataclass(frozen=True, slots=True)
class Hall:
    """What the worker needs of an engine."""

    transact: Callable[[Sequence[tuple[Submission, bool]], Running | None], Change]
    """Make one version of updates, in order; those with True are done again, so that rules they remove may be gone."""
    interject: Callable[[Submission, Progress, Tell], bool]
    """Make a version of an urgent update in the middle of the running transaction; False if it cannot be done here."""
    undone: Callable[[Submission], int]
    """How many of the operations in the running transaction an update undoes."""
    merges: Callable[[], bool]
    """Whether updates may share a version."""
    turns_back: Callable[[], bool]
    """Whether a transaction can take in an update that undoes a part of it, without being rolled back."""
    is_in_a_step: Callable[[], bool]
    """Whether the running transaction does something in which nobody can pass, and which ends soon."""
    tidy: Callable[[Callable[[], None]], None]
    """Do between two transactions what need not be done before the next; what it asks may raise, to put it off."""


class Running:
    """One transaction, as it looks at what arrives; used by the worker's thread only."""

    def __init__(self, line: Line, hall: Hall, group: list[Submission], *, joins: bool) -> None:
        self._line, self._hall, self.group, self._joins = line, hall, group, joins
        self._is_open = self._has_begun = self._is_taking_in = self.is_due = False
        self._progress: Progress | None = None
        self._passed: list[Submission] = []
        self._gives_way, self._waits_since = False, 0.0
        self._looked_at = line.arrived - len(line.waiting)
        self._known: set[int] = set()
        self._started, self._beside = perf_counter(), 0.0
        self._undone, self._size = 0, max(1, sum(one.size for one in group))
        self.turns = 0

    def ask(self) -> None:
        """Asked by the budget: raise if what has arrived cannot wait."""
        if self._looked_at != self._line.arrived:
            self._look()

    def _look(self) -> None:
        is_patient = all(one.is_patient and not one.is_urgent for one in self.group)
        arrived = self._line.arrived
        if any(one.is_dropped for one in self.group) and (self._is_open or not self._has_begun):
            raise StandAsideError.of("E408", "nobody waits for this update any more")
        if is_patient and (self._is_open or not self._has_begun) and not self._is_taking_in:
            self._let_pass()
        if not self._has_begun or self._is_taking_in or self._line.has_urgent:
            return  # what would be undone cannot be told yet; or it has to be looked again
        self._looked_at = arrived
        if not self._is_open or not is_patient or self.turns >= MOST_STOPS or not self._joins:
            return
        for one in self._waiting():
            if one.number not in self._known:
                self._known.add(one.number)
                self._undone += self._hall.undone(one)
        if 2 * self._undone >= self._size:
            changed = {name for one in self._waiting() for name in one.relations}
            if self._progress is not None and not self._progress.reaches(changed):
                self.is_due = True
                return
            if self._hall.turns_back():
                raise TurnBackError.of("E408", "an update undoes most of this one")
            raise StandAsideError.of("E408", "an update undoes most of this one")

    def _let_pass(self) -> None:
        """Let an urgent update pass, in the middle of this transaction or at the end of a stage; else it stands aside.

        What passes takes at most half of the time, so that this transaction gets on under any stream of them.
        """
        now = perf_counter()
        urgent = self._line.first_urgent() if 2 * self._beside <= now - self._started + _GRACE else None
        if urgent is None:
            return
        has_rules = any(one.has_rules for one in (urgent, *self.group))
        if self._progress is None or has_rules or not self._hall.merges():
            raise StandAsideError.of("E408", "an urgent update goes first")
        self._is_taking_in = True
        try:
            is_done = self._hall.interject(urgent, self._progress, partial(self._end, urgent))
        finally:
            self._is_taking_in = False
        if is_done:
            taken, waited = perf_counter() - now, now - (self._waits_since or now)
            self._beside, self._waits_since = self._beside + taken, 0.0
            log(__name__).debug("urgent update %d took %.4f s, and waited %.4f s to pass", urgent.number, taken, waited)
            return
        self._waits_since = self._waits_since or now
        if not self._hall.is_in_a_step() or now - self._waits_since > _GRACE:
            self._turn_back_for(urgent)

    def _turn_back_for(self, urgent: Submission) -> NoReturn:
        """An urgent update cannot pass in the stage that is being visited, which is given up for it; once."""
        if self._gives_way or not self._hall.turns_back():
            raise StandAsideError.of("E408", "an urgent update goes first")
        self._gives_way = True
        for one in self.group:
            one.times_stopped += 1
        log(__name__).debug("update %d turns back for urgent update %d", self.group[0].number, urgent.number)
        raise TurnBackError.of("E408", "an urgent update goes first")

    def _end(self, urgent: Submission, outcome: Change | Exception, must_catch_up: bool) -> None:
        """An urgent update is refused, or visible. It arrived later than this transaction, so it overrides it."""
        if isinstance(outcome, Exception):
            self._line.end_first(urgent)
            urgent.future.set_exception(outcome)
            return
        if must_catch_up or self._passed:  # in their order: a later one may undo what an earlier one has brought
            self._passed.append(urgent)
        for one in self.group:
            one.overtaken_by.append(urgent)
            one.times_overtaken += 1
        self._line.overtake(urgent)
        self._line.end_first(urgent)
        urgent.future.set_result(outcome)

    def give_way(self) -> None:
        """Between two stages: if this transaction has turned back for an urgent update, let it pass."""
        if self._gives_way:
            self._let_pass()
            self._gives_way = False

    @property
    def has_passed(self) -> bool:
        """Whether urgent updates have passed with which this transaction has to catch up."""
        return bool(self._passed)

    def overriding(self) -> list[Asked]:
        """What the urgent updates that have passed ask for; each is given once."""
        passed, self._passed, self._is_taking_in = self._passed, [], True
        return [one.asked for one in passed]

    def _waiting(self) -> Iterator[Submission]:
        """Those that could join, in order."""
        for one in tuple(self._line.waiting):
            if not _joins(one):
                return
            yield one

    def begin(self, progress: Progress) -> None:
        """Explicit facts are marked; updates may join."""
        self._has_begun = self._is_open = True
        self._progress, self._is_taking_in = progress, False

    def close(self) -> None:
        """No more can join."""
        self._is_open = False

    @property
    def has_come(self) -> bool:
        """Whether any update waits that might join."""
        return self._joins and bool(self._line.waiting)

    def beside(self, is_visited: Callable[[Iterable[str]], bool]) -> list[Asked]:
        """The first ones that change no relation of which `is_visited` is true."""
        return self._join(lambda one: _joins(one) and not is_visited(one.relations))

    def opposite(self) -> list[Asked]:
        """All that wait and can join: among them is what undoes most of this transaction."""
        if self._gives_way:
            self._is_taking_in = True
            return []
        self.turns, self.is_due = self.turns + 1, False
        return self._join(_joins)

    def _join(self, joins: Callable[[Submission], bool]) -> list[Asked]:
        self._is_taking_in = True  # until the transaction begins again
        joined = self._line.pop_while(joins)
        self.group.extend(joined)
        undone, self._undone = self._undone, 0
        self._size = max(1, self._size + sum(one.size for one in joined) - 2 * undone)
        return [one.asked for one in joined]


class Worker:
    """Works on the updates of one line."""

    def __init__(self, hall: Hall) -> None:
        self.line = Line()
        self._hall = hall
        self._thread: Thread | None = None

    @property
    def is_me(self) -> bool:
        """Whether this thread is the worker's."""
        return current_thread() is self._thread

    @property
    def is_busy(self) -> bool:
        """Whether another update has to wait for its place in line."""
        return bool(self.line.open) and not self.is_me

    def submit(self, submission: Submission, *, may_wait: bool = True) -> None:
        """Let an update stand in line, and see to it that somebody works."""
        with self.line.changed:
            self.line.wait_for_room(submission, may_wait=may_wait and not self.is_me)
            while not self._is_at_work:  # first, so that an interrupt leaves nobody in line for whom nobody works
                begin_thread(Thread(target=self._work, name="tidelog-submitted"))
                self.line.changed.wait_for(lambda: self._is_at_work, _LINGER)
                self.line.wait_for_room(submission, may_wait=may_wait and not self.is_me)
            self.line.add(submission)

    @property
    def _is_at_work(self) -> bool:
        """Whether there is a thread that works; in the child of a fork it is not alive."""
        return self._thread is not None and self._thread.is_alive()

    def _work(self) -> None:
        """The thread: group after group, until nothing comes for a while."""
        with self.line.changed:
            if self._is_at_work:  # who called this one was interrupted, and another was called
                return
            self._thread = current_thread()
            self.line.changed.notify_all()
        try:
            while True:
                group = self.line.next_group(merges=self._hall.merges())
                if group:
                    self.settle(group)
                    sleep(0)  # so that a thread that waits for its turn, to save or to verify, gets one
                    with suppress(StandAsideError, UsageError):  # an update waits, or the engine was closed
                        self._hall.tidy(self._ask_waiting)
                    continue
                with self.line.changed:
                    if not self.line.waiting and not self.line.changed.wait_for(lambda: self.line.waiting, _LINGER):
                        self._thread = None
                        return
        finally:
            if self.is_me:  # it was stopped from outside: the next submission finds somebody else to work
                self._thread = None

    def _ask_waiting(self) -> None:
        """Raise if an update waits."""
        if self.line.waiting:
            raise StandAsideError.of("E408", "an update waits")

    def settle(self, group: list[Submission]) -> None:
        """Make a group visible, or put it back, or tell what is wrong with it."""
        is_urgent = group[0].is_urgent
        joins = self._hall.merges() and not is_urgent and not any(one.is_alone for one in group)
        running = Running(self.line, self._hall, group, joins=joins)
        try:
            change = group[0].context.run(self._hall.transact, list(in_order(group)), running)
        except StandAsideError:
            self._stopped(group)
        except BaseException as error:
            self._failed(group, error)
        else:
            if is_urgent:
                self.line.overtake(group[0])
            shared = change if len(group) == 1 else replace(change, updates=len(group))
            self.line.end(group)
            for one in group:
                one.future.set_result(shared)

    def _stopped(self, group: list[Submission]) -> None:
        """They wait again, but for those that nobody waits for."""
        dropped = [one for one in group if one.is_dropped]
        self.line.end(dropped)
        for one in dropped:
            one.future.set_exception(CancelledError())
        for one in group:
            one.times_stopped += 1
        self.line.put_back(one for one in group if not one.is_dropped)

    def _failed(self, group: list[Submission], error: BaseException) -> None:
        if len(group) > 1:  # one of them is to blame: find it by trying each alone
            for one in group:
                one.is_alone = True
            self.line.put_back(group)
            return
        [one] = group
        if one.is_urgent and one.has_rules and isinstance(error, ProgramError | UsageError) and self.line.waiting:
            one.is_urgent = False  # its rules depend on updates before it: it waits for them
            self.line.put_back(group)
            return
        log(__name__).warning("a submitted update was refused: %s", error)
        self.line.end(group)
        one.future.set_exception(error)


def _joins(one: Submission) -> bool:
    """Whether an update may join a transaction that runs: facts only, and nobody has gone before it."""
    return not (one.is_alone or one.is_urgent or one.has_rules or one.overtaken_by)


def in_order(group: Iterable[Submission]) -> Iterator[tuple[Submission, bool]]:
    """The updates of a group and the urgent ones that overtook them, in order of arrival; True for the latter.

    What an urgent update did is done again after every update that it overtook, so that it has the last word.
    """
    members = {one.number: (one, False) for one in group}
    again = {one.number: (one, True) for member in group for one in member.overtaken_by}
    return (found for _, found in sorted((again | members).items()))

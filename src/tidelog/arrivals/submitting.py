"""How an engine takes updates that need not wait for each other.

What      : `Submitting` gives an engine `submit`, `submit_in_order`, `settle` and `follow`.
Idea      : `submit` checks an update and lets it stand in line (line.py); a thread works (worker.py). `apply` is the
            same for one update that wants a version of its own, and works itself when nobody waits.
Invariant : after `settle` the facts and rules are those of applying all submitted updates in order of arrival.
Never     : no fact is looked at.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from tidelog.analysis.program_check import check
from tidelog.arrivals.pending import PendingChange
from tidelog.arrivals.submission import Submission, submitted
from tidelog.arrivals.worker import Hall, Running, Tell, Worker
from tidelog.attempt import Asked
from tidelog.backends.backend import Backend
from tidelog.changes.change import Change
from tidelog.changes.names import asked_facts
from tidelog.changes.stream import Next, Source, look_ahead
from tidelog.changes.update import Update
from tidelog.errors import TidelogError, UsageError, expect
from tidelog.foresight import Foresight
from tidelog.language.read import asked_rules, read_rules
from tidelog.language.terms import NO_RULES, Program
from tidelog.limits import Limits
from tidelog.maintenance.joining import Progress
from tidelog.maintenance.missing_values import REFUSE
from tidelog.maintenance.rule_book import RuleBook
from tidelog.planning.views import Mark, View
from tidelog.turns import Turns

_DELETED = View(Mark.WAS_EXPLICIT, Mark.EXPLICIT | Mark.TURNED)
_INSERTED = View(Mark.EXPLICIT, Mark.WAS_EXPLICIT | Mark.TURNED)
"""What the running transaction does to explicit facts; what an urgent update did, which it does not see, is TURNED."""


class Submitting:
    """The part of an engine that takes updates while others run."""

    limits: Limits
    version: int
    _turns: Turns
    _book: RuleBook
    _backend: Backend[Any]
    _arithmetic: str
    _worker: Worker
    _foresight: Foresight

    def submit(
        self,
        update: Update | None = None,
        *,
        insert: Mapping[str, object] | None = None,
        delete: Mapping[str, object] | None = None,
        add_rules: str | Program | None = None,
        remove_rules: Sequence[str] = (),
        dialect: str = "tidelog",
        urgent: bool = False,
    ) -> PendingChange:
        """Hand over an update, an object or the arguments of `apply`, and go on; the future has the change.

        What arrives while another update runs is taken into account at once: opposite operations cancel, and updates
        may share a version (`change.updates`). An `urgent` one goes before all others that wait or run. The result is
        that of applying all in order of arrival. An update that cannot be right is refused here, at once.
        """
        wanted, gone = asked_facts(insert, "insert"), asked_facts(delete, "delete")
        added, removed = asked_rules(add_rules, remove_rules, dialect)
        if update is None:
            submission = submitted(wanted, gone, added, removed, self._expected(), urgent=urgent)
        elif wanted or gone or removed or added != NO_RULES:
            raise UsageError.of(
                "E816",
                "an update is submitted as an object and as arguments",
                remedy="give the arguments to Update.of, or submit twice",
            )
        else:
            submission = self._submission(update, urgent=urgent)
        self._hand_over(submission)
        return submission.future

    def submit_in_order(self, updates: Iterable[Update]) -> list[PendingChange]:
        """Hand over updates of which each is right only after those before it; they share a version if they can.

        The first that is refused is the last that counts: those after it never happen, and their futures raise a
        CancelledError. One that is refused at once has the last future.
        """
        futures = list[PendingChange]()
        with self._worker.line.changed:  # as long as there is room, nobody takes one of them before all are there
            try:
                for update in updates:
                    submission = self._submission(update)
                    submission.after = futures[-1] if futures else None
                    self._hand_over(submission)
                    futures.append(submission.future)
            except TidelogError as error:
                futures.append(PendingChange())
                futures[-1].set_exception(error)
        return futures

    def settle(self) -> int:
        """Wait until every update that was submitted so far is visible or refused; the version then."""
        self._refuse_to_wait()
        self._worker.line.wait()
        return self.version

    def follow(self, updates: Source, *, latest: bool = False) -> Iterator[Change]:
        """Apply a stream of updates, one change each, looking one update ahead without waiting for it.

        With `latest` the updates that are waiting already are submitted together: one change for all.
        """
        stream = look_ahead(updates)
        for update, upcoming in stream:
            if latest:
                yield from self._together(update, upcoming, stream)
                continue
            yield self.apply_update(update)
            following = upcoming()
            if following is not None:
                self.look_ahead(following)

    def _together(self, first: Update, upcoming: Next, stream: Iterator[tuple[Update, Next]]) -> Iterator[Change]:
        """Submit an update with all that wait behind it; the changes, each once. The first refusal ends it."""

        def waiting() -> Iterator[Update]:
            yield first
            while upcoming() is not None:
                yield next(stream)[0]

        last = -1
        for future in self.submit_in_order(waiting()):
            change = future.result()
            if change.version != last:
                yield change
            last = change.version

    def apply_update(self, update: Update) -> Change:
        """Apply an update object, as read from a file or a stream."""
        expect(update, Update, "an update", "an Update (Update.of)")
        return self.apply(update.insert, update.delete, update.add_rules, update.remove_rules)

    # -- for the engine --------------------------------------------------------------------------------------------

    def _hire(self) -> Worker:
        """A worker that knows this engine."""
        return Worker(
            Hall(
                self._version_of,
                self._interject,
                self._undone,
                lambda: self._arithmetic != REFUSE and self.limits.facts is None,
                lambda: self._backend.store.bulk is None,
                lambda: self._backend.is_in_a_step,
                self._tidy,
            )
        )

    def _refuse_to_wait(self) -> None:
        """Refuse to wait for submitted updates in the thread that works on them: it would be for ever."""
        if self._turns.is_mine or self._worker.is_me:
            raise UsageError.of(
                "E814",
                "the thread that works on submitted updates is asked to wait for them",
                remedy="a watcher or a callback may read and submit; let another thread wait",
            )

    def _hand_over(self, submission: Submission) -> None:
        submission.future.ask_to_wait = self._refuse_to_wait
        self._worker.submit(submission, may_wait=not self._turns.is_mine)

    def _end_line(self) -> None:
        """Take no more submissions, and finish those that there are."""
        if self._turns.is_mine or self._worker.line.open:
            self._refuse_to_wait()
        self._worker.line.close()

    def _in_line(
        self, insert: Mapping[str, object], delete: Mapping[str, object], added: Program, removed: Sequence[str]
    ) -> Change:
        """Apply an update in its place among those that were submitted, as a version of its own."""
        submission = submitted(insert, delete, added, removed, self._expected())
        submission.is_alone = True
        self._worker.submit(submission)
        try:
            return submission.future.result()
        except BaseException:
            if not submission.future.done():  # this thread was interrupted: nothing is to happen after it has said so
                self._worker.line.drop(submission)
            raise

    def _submission(self, update: Update, *, urgent: bool = False) -> Submission:
        expect(update, Update, "an update", "an Update (Update.of), or arguments by name")
        added, book = read_rules(update.add_rules, "tidelog"), self._expected()
        return submitted(update.insert, update.delete, added, update.remove_rules, book, urgent=urgent)

    def _expected(self) -> RuleBook:
        """The rules that will be in force after all that was submitted, as far as is known."""
        line = self._worker.line
        if line.open:
            with line.changed:
                for one in reversed(line.open.values()):
                    if one.book is not None:
                        return one.book
        return self._book

    def _version_of(self, several: Sequence[tuple[Submission, bool]], running: Running | None) -> Change:
        """Make one version of several updates, in order; those with True are done again."""

        def work() -> Change:
            book, program = self._book, self._book.program
            for one, is_again in several:
                if one.has_rules:
                    if program is not book.program:
                        book = book.turned(check(program, book.checked))
                    known = book.rule_names if is_again else None
                    program = book.changed(one.added, [name for name in one.removed if known is None or name in known])
            first, *later = (one.asked for one, _ in several)
            return self._transact(first.insert, first.delete, program, first.inline, later, running)

        return self._turns.take(work)

    def _interject(self, submission: Submission, progress: Progress, tell: Tell) -> bool:
        """Make a version of an urgent update of facts while a transaction is open, within its turn; False if it cannot.

        The transaction goes on as it was, and catches up between two stages: what the urgent update does is done again
        after what the transaction asks for, because it arrived later. It is told what became of the update, and whether
        there is anything to catch up with. What fails while the transaction is set aside or put back is raised: it is
        the transaction that has failed.
        """
        changed, read = self._book.schedule.reach(submission.relations)
        backend, used, kept = self._backend, changed | read, set[str]()
        is_apart = backend.is_apart(used) and not progress.has_visited(changed)
        if self._foresight.found is not None:
            return False
        if not is_apart:
            kept = changed & progress.uses()
            if not backend.can_make_way(used, kept):
                return False
        asked, program, outcome = submission.asked, self._book.program, list[Change | Exception]()
        try:
            with backend.beside(changed, read, kept):
                try:
                    done = self._turns.beside(lambda: self._transact(asked.insert, asked.delete, program, asked.inline))
                    outcome.append(done)
                except Exception as error:  # its own, or a warning that the user's filter made an error
                    outcome.append(error)
        finally:
            for one in outcome:
                tell(one, not is_apart)
        return True

    def _tidy(self, pause: Callable[[], None]) -> None:
        """Tidy what the last versions have left, unless look-ahead holds numbers of rows, which move."""

        def work() -> None:
            if self._foresight.found is None:
                self._backend.tidy(pause)

        if self._backend.is_untidy:
            self._turns.take(work)

    def _undone(self, submission: Submission) -> int:
        """How many of the running transaction's operations on explicit facts an update takes back."""
        asked, types, tally = submission.asked, self._book.types, self._backend.tally
        inserted = [*asked.insert.items(), *asked.inline.items()]
        return sum(tally(name, facts, types(name), _DELETED) for name, facts in inserted) + sum(
            tally(name, facts, types(name), _INSERTED) for name, facts in asked.delete.items()
        )

    @abstractmethod
    def apply(
        self,
        insert: Mapping[str, object] | None = None,
        delete: Mapping[str, object] | None = None,
        add_rules: str | Program | None = None,
        remove_rules: Sequence[str] = (),
        dialect: str = "tidelog",
    ) -> Change:
        """Apply one update."""

    @abstractmethod
    def look_ahead(self, upcoming: Update) -> None:
        """Find what the next update will delete."""

    @abstractmethod
    def _transact(
        self,
        insert: Mapping[str, object],
        delete: Mapping[str, object],
        program: Program,
        inline: Mapping[str, object] | None = None,
        later: Sequence[Asked] = (),
        running: Running | None = None,
    ) -> Change:
        """Everything or nothing."""

"""One submitted update, checked before it meets others.

What      : `Submission`, and `submitted`, which makes one from what the user gives.
Idea      : whatever can be known to be wrong is refused at once and alone: values that are no constants, a wrong number
            of columns, a value of another type than declared, rules that cannot be read or checked. Rules and columns
            are those that will be in force when the updates before it are done, as far as that is known.
Invariant : facts are held as columns that the caller cannot change any more. Only what depends on the facts of the
            version before can still go wrong later: a relation's columns without rules, budgets, arithmetic.
Never     : nothing is stored, and nothing waits here (line.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tidelog.analysis.program_check import check
from tidelog.arrivals.pending import PendingChange
from tidelog.attempt import Asked
from tidelog.changes.declared import as_declared
from tidelog.changes.fact_sources import to_table, wrong_arity
from tidelog.changes.names import check_names
from tidelog.changes.shared import SharedFacts
from tidelog.language.terms import Program
from tidelog.maintenance.rule_book import RuleBook, written_facts

MOST_STOPS = 3
"""How often an update is stopped, or turns back, before it is left alone. Each time costs at most what it has spent so
far, so that an update takes at most four times as long as undisturbed."""
MOST_OVERTAKEN = 100
"""How many urgent updates may overtake one that arrived earlier. It does again what they did, so at most 100 updates
more."""


@dataclass(eq=False, slots=True)
class Submission:
    """An update on its way."""

    asked: Asked
    added: Program = field(default_factory=Program)
    removed: tuple[str, ...] = ()
    is_urgent: bool = False
    is_alone: bool = False
    """Whether it has a version of its own."""
    future: PendingChange = field(default_factory=PendingChange)
    size: int = 0
    """How many facts it asks for; a Spark frame counts as none, because counting it is a job."""
    number: int = -1
    """The order of arrival; the line gives it."""
    is_dropped: bool = False
    """Whether nobody waits for it any more: it is stopped if it can be."""
    times_stopped: int = 0
    times_overtaken: int = 0
    """How many urgent updates went first while it waited."""
    context: Context = field(default_factory=copy_context)
    """The context of the thread that submitted it, in which it is worked on (`tidelog.profiling`)."""
    book: RuleBook | None = None
    """The rules in force after it, if it changes rules."""
    after: PendingChange | None = None
    """What has to be visible first: if that is refused, this one never happens."""
    overtaken_by: list[Submission] = field(default_factory=list)
    """Urgent updates that arrived later and are visible already."""

    @property
    def is_patient(self) -> bool:
        """Whether it may still be stopped or overtaken by others."""
        return self.times_stopped < MOST_STOPS and self.times_overtaken < MOST_OVERTAKEN

    @property
    def has_rules(self) -> bool:
        """Whether it changes rules or declarations."""
        return bool(self.added.rules or self.added.declarations or self.removed)

    @property
    def relations(self) -> set[str]:
        """The relations whose explicit facts it changes."""
        return {name for part in self.asked for name in part}

    def starts(self) -> bool:
        """Whether it is wanted still; it is not if it was cancelled while it waited."""
        return self.future.running() or self.future.set_running_or_notify_cancel()

    def is_void(self, void: Sequence[Submission]) -> bool:
        """Whether it never happens, because what has to be visible first is void or has failed."""
        return self.after is not None and (any(one.future is self.after for one in void) or _has_failed(self.after))


def submitted(
    insert: Mapping[str, object],
    delete: Mapping[str, object],
    added: Program,
    removed: Sequence[str],
    book: RuleBook,
    *,
    urgent: bool = False,
) -> Submission:
    """A submission, or the error that would have met it: `book` holds the rules in force before it."""
    inline: Mapping[str, object] = written_facts(added)
    submission = Submission(Asked({}, {}, {}), added, tuple(removed), urgent)
    program = book.changed(added, submission.removed)
    if program is not book.program:
        book = submission.book = book.turned(check(program, book.checked))
    check_names((*insert, *delete, *inline), book.inline)
    kept = {name: _held(source, name, book, urgent=urgent) for name, source in insert.items()}
    gone = {name: _held(source, name, book, urgent=urgent, asked=True) for name, source in delete.items()}
    written = {name: _held(source, name, book, urgent=urgent) for name, source in inline.items()}
    submission.asked = Asked(_some(kept), _some(gone), _some(written))
    facts: list[Any] = [some for part in submission.asked for some in part.values()]
    submission.size = sum(len(some) for some in facts if not _is_frame(some))
    submission.is_alone = any(map(_is_frame, facts))
    return submission


def _has_failed(future: PendingChange) -> bool:
    return future.done() and (future.cancelled() or future.exception() is not None)


def _some(facts: dict[str, Any]) -> dict[str, Any]:
    """The relations of which there are facts."""
    return {name: found for name, found in facts.items() if _is_frame(found) or len(found)}


def _held(source: Any, relation: str, book: RuleBook, *, urgent: bool, asked: bool = False) -> object:  # noqa: ANN401
    """Facts as columns, checked; `asked` facts are looked for, so that none is of a wrong type."""
    if isinstance(source, SharedFacts):
        return source
    if _is_frame(source):
        if not urgent:
            return source  # it is a description and cannot change
        source = source.toArrow()
    elif isinstance(source, np.ndarray) or type(source).__module__.partition(".")[0] == "pandas":
        source = source.copy()  # which the caller may go on to change
    arity = book.arity(relation)
    columns = to_table(source, relation)
    if len(columns) and arity is not None and columns.arity != arity:
        raise wrong_arity(relation, arity, columns.arity)
    return columns if asked else as_declared(columns, book.types(relation), relation)


def _is_frame(source: object) -> bool:
    """Whether facts are a Spark frame."""
    return type(source).__module__.startswith("pyspark.")

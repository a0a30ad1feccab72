"""One update, up to the moment at which it is decided.

What      : `Attempt` finds and stores the facts of an update, lets the strategy maintain every stage, and describes the
            outcome: the change, what a save has to know, what explanations have to know.
Idea      : everything that can fail or be interrupted is here; what the engine does afterwards cannot fail (turns.py).
Invariant : nothing of it is visible to readers, and the backend can roll all of it back.
Never     : nothing of the engine is assigned.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeAlias

from tidelog.backends.backend import Backend, Given
from tidelog.changes.change import Change, FactTable, FactTables
from tidelog.changes.declared import as_asked
from tidelog.changes.fact_sources import to_table
from tidelog.errors import BudgetError
from tidelog.limits import Budget
from tidelog.maintenance.bulk import TooLargeError
from tidelog.maintenance.counters import Counters, stats_of
from tidelog.maintenance.joining import Progress
from tidelog.maintenance.marking import Foreseen
from tidelog.maintenance.missing_values import REFUSE, Missing
from tidelog.maintenance.outcome import Outcome
from tidelog.maintenance.profiled_store import costs, profiled
from tidelog.maintenance.rule_book import RuleBook
from tidelog.maintenance.task import Strategy
from tidelog.maintenance.transaction import maintain
from tidelog.planning.lowered import is_hidden
from tidelog.planning.views import Mark, View
from tidelog.provenance.before import Before
from tidelog.state.journal import Entry

_CANDIDATE = View(Mark.CANDIDATE)
_MANY = 1 << 14
"""How many facts are copied before it is worth asking whether anything has arrived: 0.1 ms."""
Frozen: TypeAlias = dict[str, FactTable]
Sources = Mapping[str, object]
"""Facts from anywhere, by relation."""


class Asked(NamedTuple):
    """What one update asks of the facts; those written among its rules are `inline`."""

    insert: Sources
    delete: Sources
    inline: Sources


class Arriving(Protocol):
    """Updates that may join an attempt while it runs."""

    @property
    def has_come(self) -> bool:
        """Whether any waits."""

    def beside(self, is_visited: Callable[[Iterable[str]], bool]) -> Iterable[Asked]:
        """The first ones that change no relation of which `is_visited` is true."""

    def opposite(self) -> Iterable[Asked]:
        """Those for which the attempt was told to turn back."""

    def begin(self, progress: Progress) -> None:
        """The facts of the update are marked; others may join."""

    @property
    def is_due(self) -> bool:
        """Whether those that undo most of the attempt are to be taken in now."""

    def give_way(self) -> None:
        """The attempt is between two stages: if it was told to turn back for an urgent update, that goes now."""

    @property
    def has_passed(self) -> bool:
        """Whether urgent updates went first that the attempt has not seen yet."""

    def overriding(self) -> Iterable[Asked]:
        """These urgent updates: where they and the attempt disagree on a fact, they win."""

    def close(self) -> None:
        """No more can join."""


@dataclass(eq=False, slots=True)
class Prepared:
    """What an update does, before it is done."""

    change: Change
    before: Before
    missing: Missing
    """What lacks a value in the version that the update makes."""
    entry: Entry | None
    """What a save has to know, if there is a state to save to."""


@dataclass(slots=True)
class _Described:
    """What came and went, as tables that outlive the transaction."""

    keeps: bool
    """Whether there is a state to save to."""
    asked: tuple[Mapping[str, Any], Mapping[str, Any]] | None = None
    """What the one update inserts and deletes, if nothing else is part of the version."""
    inserted: FactTables = field(init=False)
    deleted: FactTables = field(init=False)
    withdrawn: FactTables = field(init=False)
    kept: tuple[Frozen, ...] | None = None
    """What a save has to know: what came, went, became explicit and ceased to be."""


class _Work(NamedTuple):
    """What is to be done, and within which budget."""

    insert: dict[str, Given]
    delete: dict[str, Given]
    inline: Sources
    later: Sequence[Asked]
    """Updates that come later in the same version."""
    budget: Budget
    journals: bool
    """Whether there is a state to save to."""


class _Done(NamedTuple):
    """What maintenance has done, before anything is committed."""

    store: Any
    described: _Described
    counters: Counters
    missing: Missing


_SPENT = frozenset({"E403", "E404", "E408"})
"""Seconds and bytes that a deletion in portions has used up are gone for one at once, too; and if another update goes
first, it does not wait for that."""


@dataclass(eq=False, slots=True)
class Attempt:
    """The parts of an engine that an update needs."""

    backend: Backend[Any]
    strategy: Strategy
    before: RuleBook
    after: RuleBook
    foreseen: Foreseen[Any] | None
    missing: Callable[[], Missing]
    """What lacks a value in the version before, which may come while this one is made: an urgent one."""
    arithmetic: str
    """Whether an update after which values are missing is refused."""
    arity: Callable[[str], int | None]
    """The number of columns that facts of a relation must have; None if they may have any."""
    version: Callable[[], int]
    """The version that the update makes; asked when no other can come before it."""

    def run(
        self,
        insert: Sources,
        delete: Sources,
        inline: Sources,
        budget: Budget,
        *,
        journals: bool,
        later: Sequence[Asked] = (),
        arriving: Arriving | None = None,
    ) -> Prepared:
        """Do the update in the backend, and those that come later in the same version."""
        started = time.perf_counter()
        backend = self.backend
        backend.begin(budget)
        work = _Work(self._given(insert), self._given(delete), inline, later, budget, journals)
        done = None
        if work.delete and not self.foreseen:  # what look-ahead has marked is known by numbers that portions forget
            done = self._in_portions(work)
            if done is not None and arriving is not None:
                arriving.close()  # it was asked who waits; none has joined
        if done is None:
            done = self._at_once(work, arriving)
        store, described, counters, missing = done
        counters.add("marks", self.foreseen.counters.values["marks"] if self.foreseen else 0)
        if self.arithmetic == REFUSE:
            missing.refuse(self.after.schedule)
        stats = stats_of(counters, budget.rounds, self.strategy.name)
        stats.costs, stats.without_value = costs(store), missing.told(self.after.schedule)
        stats.seconds = time.perf_counter() - started
        change = Change(described.inserted, described.deleted, stats, self.version())
        entry = Entry(self.version(), *described.kept) if described.kept else None
        before = Before(self.before.rules, described.withdrawn)
        backend.ask_to_commit()
        backend.prepare()
        stats.jobs = backend.jobs
        return Prepared(change, before, missing, entry)

    def _at_once(self, work: _Work, arriving: Arriving | None) -> _Done:
        """One schedule of calls for everything."""
        backend, budget = self.backend, work.budget
        gone = {name: backend.find(name, *given) for name, given in work.delete.items()}
        missed = backend.missed
        come = self._coming(work.insert, work.inline)
        store, described = profiled(backend.store), _Described(keeps=work.journals)
        if not work.later and arriving is None:
            described.asked = come, gone
        outcome = maintain(
            store,
            self.after.schedule,
            self.strategy,
            delete=gone,
            insert=come,
            previous=self.before.schedule,
            budget=budget,
            foreseen=self.foreseen,
            later=list(self.steps(work.later)),
            joining=_Joining(self, arriving) if arriving is not None else None,
            describe=lambda outcome: self._describe(outcome, described, budget),
        )
        if arriving is not None:
            arriving.close()
        outcome.counters.add("ignored deletions", missed)
        missing = self.missing().after(outcome, self.after.schedule, backend)
        return _Done(store, described, outcome.counters, missing)

    def _in_portions(self, work: _Work) -> _Done | None:
        """The deletion in the portions that the backend cuts, and the rest of the update on top of them.

        None if it cuts none, or if all is done better at once.
        """
        backend, before, after, budget = self.backend, self.before.schedule, self.after.schedule, work.budget
        portions = backend.portions(work.delete, work.insert, budget)
        if portions is None:
            return None
        store, described, counters = profiled(backend.store), _Described(keeps=work.journals), Counters()
        missing, rounds = self.missing(), budget.rounds
        most = rounds
        try:
            for gone in portions:
                budget.rounds = rounds  # a portion may take as many as the whole
                outcome = maintain(store, before, self.strategy, delete=gone, insert={}, budget=budget)
                missing = missing.after(outcome, before, backend)
                portions.take(outcome)
                counters.join(outcome.counters)
                most = max(most, budget.rounds)
            if work.insert or work.inline or work.later or after is not before:
                budget.rounds = rounds
                come, steps = self._coming(work.insert, work.inline), list(self.steps(work.later))
                outcome = maintain(
                    store, after, self.strategy, delete={}, insert=come, previous=before, budget=budget, later=steps
                )
                missing = missing.after(outcome, after, backend)
                portions.finish(outcome)
                counters.join(outcome.counters)
                most = max(most, budget.rounds)
        except (TooLargeError, BudgetError) as error:
            if error.code in _SPENT:
                raise
            budget.rounds = rounds  # what is between two portions may be larger than what was before and is after
            portions.give_up()
            return None
        budget.rounds = most
        counters.add("ignored deletions", backend.missed)
        done = portions.tables()
        described.inserted, described.deleted = _of_users(done.inserted), _of_users(done.deleted)
        described.withdrawn = _of_users(done.withdrawn)
        if work.journals:
            described.kept = done.inserted, done.deleted, done.asserted, done.ceased
        return _Done(store, described, counters, missing)

    def _describe(self, outcome: Outcome[Any], described: _Described, budget: Budget) -> None:
        """Copy what came and went, in steps: updates may still join. What a save has to know holds our own relations,
        too, and what became explicit and ceased to be.
        """
        described.withdrawn = FactTables(self._frozen(outcome.withdrawn, budget, ours=False))
        if not described.keeps:
            described.inserted = FactTables(self._frozen(outcome.inserted, budget, ours=False))
            described.deleted = FactTables(self._frozen(outcome.deleted, budget, ours=False))
            return
        inserted, deleted = self._frozen(outcome.inserted, budget), self._frozen(outcome.deleted, budget)
        described.inserted, described.deleted = _of_users(inserted), _of_users(deleted)
        come, gone = described.asked or (outcome.asserted, outcome.ceased)
        asserted, ceased = self._frozen(come, budget), self._frozen(gone, budget)
        described.kept = self._at_hand(inserted, deleted, asserted, ceased)

    def _at_hand(self, *kept: Frozen) -> tuple[Frozen, ...]:
        """Facts for a save, in this process if a backend that has them elsewhere can bring them.

        If there are more than the last version has, everything is written anew: they can stay where they are.
        """
        away = [table for facts in kept for table in facts.values() if table.is_far]
        together = sum(map(len, away))
        if not away or together > sum(map(self.backend.store.size, self.backend.relations())):
            return kept
        return tuple({name: table.at_hand(together) for name, table in facts.items()} for facts in kept)

    def _given(self, facts: Sources) -> dict[str, Given]:
        return {name: (source, self.after.types(name), self.arity(name)) for name, source in facts.items()}

    def _coming(self, insert: Mapping[str, Given], inline: Sources) -> dict[str, Any]:
        """What an update inserts, stored; facts that are written among its rules, too."""
        come = self.backend.intern_all(insert)
        for name, facts in self.backend.intern_all(self._given(inline)).items():
            come[name] = self.backend.store.union([come[name], facts]) if name in come else facts
        return come

    def _step(self, asked: Asked) -> tuple[dict[str, Any], dict[str, Any]]:
        """What a later update deletes and inserts. It may delete what an earlier one of the same version has inserted,
        so what it deletes is stored, unlike what the first one deletes, which is only looked for. Stages that were
        visited may have left CANDIDATE on facts, by which storing knows what it has seen: it is taken away first.
        """
        backend, types = self.backend, self.after.types
        left = backend.store.touched({name for part in asked for name in part}, _CANDIDATE)
        backend.store.mark(left, remove=Mark.CANDIDATE)
        gone = {}
        for name, source in asked.delete.items():
            columns = as_asked(to_table(source, name, self.arity(name)), types(name))
            gone[name] = backend.intern(name, columns, None, self.arity(name))
        return gone, self._coming(self._given(asked.insert), asked.inline)

    def steps(self, several: Iterable[Asked]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        """What several later updates delete and insert."""
        return map(self._step, several)

    def _frozen(self, facts: Mapping[str, Any], budget: Budget, *, ours: bool = True) -> Frozen:
        """Facts by relation as tables that stay as they are; those of hidden relations only with `ours`."""
        found = {}
        for name, some in facts.items():
            if some and (ours or not is_hidden(name)):
                found[name] = self.backend.freeze(name, some)
                if len(some) > _MANY:
                    budget.ask_time()
        return found


def _of_users(facts: Frozen) -> FactTables:
    """The facts of the user's relations."""
    return FactTables({name: table for name, table in facts.items() if not is_hidden(name)})


class _Joining:
    """Arriving updates as facts of a store."""

    def __init__(self, attempt: Attempt, arriving: Arriving) -> None:
        self._attempt, self._arriving = attempt, arriving

    def begin(self, progress: Progress) -> None:
        self._arriving.begin(progress)

    @property
    def is_due(self) -> bool:
        return self._arriving.is_due

    @property
    def has_come(self) -> bool:
        return self._arriving.has_come

    def beside(self, is_visited: Callable[[Iterable[str]], bool]) -> Iterable[tuple[dict[str, Any], dict[str, Any]]]:
        return list(self._attempt.steps(self._arriving.beside(is_visited)))

    def opposite(self) -> Iterable[tuple[dict[str, Any], dict[str, Any]]]:
        return list(self._attempt.steps(self._arriving.opposite()))

    def give_way(self) -> None:
        self._arriving.give_way()

    @property
    def has_passed(self) -> bool:
        return self._arriving.has_passed

    def rebase(self) -> None:
        self._attempt.backend.rebase()

    def straighten(self) -> None:
        self._attempt.backend.straighten()

    def overriding(self) -> Iterable[tuple[dict[str, Any], dict[str, Any]]]:
        return list(self._attempt.steps(self._arriving.overriding()))

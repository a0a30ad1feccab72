"""The engine: the hall where the rooms meet.

What      : keeps a program and its materialisation, takes updates of facts and rules, answers with changes.
Idea      : the text becomes a checked program, the program a schedule of stages, an update a transaction over the
            schedule; strategy and backend are chosen by name and know nothing of each other.
Invariant : the one law: after every update the materialisation equals recomputation from the current rules and explicit
            facts, and the change is exactly the difference to the version before. An update that fails changes nothing.
Never     : no join, no fact-by-fact work, no encoding.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from os import PathLike
from typing import TYPE_CHECKING, Any

from tidelog.analysis import arities
from tidelog.analysis.impact import impact
from tidelog.analysis.program_check import check
from tidelog.backends.choice import backend_named, has_outgrown, moved_to_spark
from tidelog.changes.change import Change, FactTable, FactTables
from tidelog.changes.names import check_names
from tidelog.changes.relation import Relation
from tidelog.changes.stream import Source, look_ahead
from tidelog.changes.update import Update, net
from tidelog.errors import LawError, Problem, UsageError
from tidelog.language.parser import parse, parse_atom
from tidelog.language.printer import print_fact, print_rule
from tidelog.language.terms import Program, Value
from tidelog.limits import Budget, Limits
from tidelog.maintenance import marking
from tidelog.maintenance.bulk import TooLargeError
from tidelog.maintenance.counters import stats_of
from tidelog.maintenance.preview import Preview, preview
from tidelog.maintenance.registry import strategy as strategy_named
from tidelog.maintenance.rule_book import RuleBook, written_facts
from tidelog.maintenance.transaction import Outcome, maintain
from tidelog.planning.lowered import is_hidden
from tidelog.provenance.before import Before
from tidelog.state.journal import Entry, Journals

if TYPE_CHECKING:
    from tidelog.provenance.cause import Cause
    from tidelog.provenance.proof import Proof
    from tidelog.state.snapshot import StoredState

_SHOWN = 200
NO_RULES = Program()


class Engine:
    """A program and its materialisation, kept true."""

    def __init__(
        self,
        rules: str | Program = "",
        *,
        strategy: str = "auto",
        backend: str = "local",
        spark: Any = None,  # noqa: ANN401 - a SparkSession; importing its type would import Spark
        limits: Limits | None = None,
    ) -> None:
        program = parse(rules) if isinstance(rules, str) else rules
        check(program)
        self._strategy = strategy_named(strategy)
        self._backend = backend_named(backend, spark)
        self._spark, self._may_move = spark, backend == "auto"
        self.limits = limits or Limits()
        self.watcher: Callable[[int], None] | None = None
        directives = program.declarations, program.inputs, program.outputs
        self._book = RuleBook(Program((), (), *directives))
        self._marks: marking.Marks[Any] | None = None
        self._journals = Journals()
        self._before = Before()
        self.version = 0
        self._transact(written_facts(program), {}, Program(program.rules, (), *directives))
        self.version = 0

    # -- updates ---------------------------------------------------------------------------------------------------

    def apply(
        self,
        insert: Mapping[str, object] | None = None,
        delete: Mapping[str, object] | None = None,
        add_rules: str | None = None,
        remove_rules: Sequence[str] = (),
    ) -> Change:
        """Apply one update as a transaction: deletions first, then insertions, of rules and of facts."""
        removed = (remove_rules,) if isinstance(remove_rules, str) else tuple(remove_rules)
        added = parse(add_rules) if add_rules else NO_RULES
        return self._transact(insert or {}, delete or {}, self._book.changed(added, removed), written_facts(added))

    def follow(self, updates: Source, *, latest: bool = False) -> Iterator[Change]:
        """Apply a stream of updates, one change each, looking one update ahead without waiting for it.

        With `latest` updates that are waiting already are merged before work is spent on them: one change for all.
        """
        stream = look_ahead(updates)
        for update, upcoming in stream:
            merged = [update]
            while latest and upcoming() is not None:
                merged.append(next(stream)[0])
            yield self.apply_update(update if len(merged) == 1 else net(merged, self._book.rule_names))
            following = upcoming()
            if following is not None:
                self.look_ahead(following)

    def apply_update(self, update: Update) -> Change:
        """Apply an update object, as read from a file or a stream."""
        return self.apply(update.insert, update.delete, update.add_rules, update.remove_rules)

    def look_ahead(self, upcoming: Update) -> None:
        """Mark what the next update will delete, if the strategy has a use for it; another may come all the same."""
        if not self._strategy.uses_marks or upcoming.add_rules or upcoming.remove_rules or not upcoming.delete:
            return
        self._forget_marks()
        passes_on = self._strategy.name == "dred-mark"
        try:
            found = {name: self._backend.find(name, facts, None) for name, facts in upcoming.delete.items()}
            self._marks = marking.look_ahead(self._backend.store, self._book.schedule, found, passes_on=passes_on)
        except TooLargeError:  # then nothing is foreseen, which costs time but no truth
            self._backend.rollback()
            return
        self._backend.commit()

    def preview(self, add_rules: str | None = None, remove_rules: Sequence[str] = ()) -> Preview:
        """Which relations a rule change would touch, and about at what cost, without doing it."""
        removed = (remove_rules,) if isinstance(remove_rules, str) else tuple(remove_rules)
        added = parse(add_rules or "")
        after = self._book.changed(added, removed)
        following = RuleBook.of(check(after))
        touched = impact(self.program, added.rules, removed)
        return preview(touched, self._book.schedule, following.schedule, self._backend.store)

    # -- reading ---------------------------------------------------------------------------------------------------

    def __getitem__(self, relation: str) -> Relation:
        arity = self._arity(relation)
        if arity is None:
            raise self._unknown(relation)
        return Relation(relation, arity, self._book.columns(relation, arity), lambda: self._table(relation))

    def __contains__(self, relation: object) -> bool:
        return isinstance(relation, str) and self._arity(relation) is not None

    @property
    def relations(self) -> tuple[str, ...]:
        """The relations of the program and of the facts, in order of name."""
        known = self._book.relations.union(self._backend.relations())
        return tuple(sorted(name for name in known if not is_hidden(name)))

    @property
    def rules(self) -> tuple[str, ...]:
        """The present rules, as text."""
        return tuple(print_rule(rule) for rule in self.program.rules)

    @property
    def program(self) -> Program:
        """The present program, without facts."""
        return self._book.program

    @property
    def strategy(self) -> str:
        """The name of the strategy; another one may be chosen between two updates."""
        return self._strategy.name

    @strategy.setter
    def strategy(self, name: str) -> None:
        chosen = strategy_named(name)
        self._forget_marks()
        self._strategy = chosen

    @property
    def backend(self) -> str:
        """The name of the backend."""
        return self._backend.name

    def explicit(self, relation: str) -> FactTable:
        """The explicit facts of a relation."""
        if self._arity(relation) is None:
            raise self._unknown(relation)
        return self._backend.explicit(relation) if self._backend.arity(relation) is not None else FactTables()[relation]

    def query(self, pattern: str) -> FactTable:
        """The facts that match a pattern such as `path("a", x)`; a variable that occurs twice means equal values."""
        atom = parse_atom(pattern)
        arity = self._arity(atom.relation)
        if arity is None:
            raise self._unknown(atom.relation)
        if arity != len(atom.terms):
            raise UsageError.of(
                "E804",
                f"{atom.relation} has {arity} columns, the pattern has {len(atom.terms)}",
                place=atom.place,
                remedy="write one term per column, _ for any value",
            )
        return self._backend.query(atom) if self._backend.arity(atom.relation) is not None else FactTables()[pattern]

    def verify(self) -> None:
        """Check the one law: raise a LawError if the materialisation differs from recomputation."""
        problems = []
        for relation, (missing, extra) in self._backend.differences(self._book.schedule).items():
            for word, table in (("lacks", missing), ("has too much", extra)):
                shown = (print_fact(relation, fact) for fact in islice(table, 3))
                problems += [Problem("E901", f"the materialisation {word}: {fact}") for fact in shown]
        if problems:
            raise LawError(problems)

    def explain(self, relation: str, fact: Sequence[Value]) -> Proof:
        """Why a fact is there: a shallowest proof, to be printed or walked; E808 if the fact is not there."""
        from tidelog.provenance.explain import explain
        from tidelog.provenance.stored_facts import StoredFacts

        asked, held = tuple(fact), StoredFacts(self._backend)
        found = explain(relation, asked, self.program.rules, held) if asked in self[relation] else None
        if found is None:
            sentence = f"{print_fact(relation, fact)} is not in the materialisation"
            raise UsageError.of("E808", sentence, remedy="only facts that are there have a proof; see engine.query")
        return found

    def explain_change(self, change: Change, relation: str, fact: Sequence[Value]) -> Cause:
        """Why a fact came or went with the last change: the proof that it got or lost, down to what the update did."""
        from tidelog.provenance.cause import cause
        from tidelog.provenance.stored_facts import StoredFacts

        if change.version != self.version:
            sentence = f"this is the change to version {change.version}, the engine is at {self.version}"
            raise UsageError.of("E809", sentence, remedy="ask about a change before the next update")
        return cause((relation, tuple(fact)), change, self._before, self.program.rules, StoredFacts(self._backend))

    # -- keeping ---------------------------------------------------------------------------------------------------

    def save(self, target: str | PathLike[str], *, batch: int | None = None, source: str = "updates") -> None:
        """Make the present version durable, in a directory or an open log: wholly or not at all.

        The first save writes every fact, a later one into the same state only what changed. `batch` is recorded with
        the version, as the last batch of its source that is part of the state.
        """
        from tidelog.state.log import opened
        from tidelog.state.snapshot import Snapshot

        with opened(target) as log:
            snapshot = Snapshot(self.version, self.program, self._strategy.name, self._backend, self._journals)
            log.save(snapshot, batch, source)

    @classmethod
    def open(
        cls,
        source: str | PathLike[str],
        *,
        version: int | None = None,
        strategy: str | None = None,
        backend: str = "local",
        spark: Any = None,  # noqa: ANN401 - a SparkSession, as above
        limits: Limits | None = None,
    ) -> Engine:
        """The engine that was saved, as it was, without recomputation: its last version unless another is asked for."""
        from tidelog.state.reading import read_state

        stored = read_state(source, version)
        engine = cls(strategy=strategy or stored.info.strategy, backend=backend, spark=spark, limits=limits)
        engine._restore(stored)
        return engine

    def _restore(self, stored: StoredState) -> None:
        """Take over a stored version."""
        self._book = RuleBook.of(check(stored.program))
        for facts in stored.relations:
            self._backend.restore(facts.relation, facts.facts, facts.explicit, facts.arity)
        self._backend.commit()
        self._backend.use(self._book.schedule)
        self.version = stored.info.version
        if stored.is_last:
            self._journals.begin(stored.info.state).saved(stored.info.commit, stored.info.id, stored.info.facts)

    # -- within ----------------------------------------------------------------------------------------------------

    def _transact(
        self,
        insert: Mapping[str, object],
        delete: Mapping[str, object],
        program: Program,
        inline: Mapping[str, object] | None = None,
    ) -> Change:
        """Everything or nothing."""
        started, budget = time.perf_counter(), Budget(self.limits, watcher=self.watcher)
        check_names((*insert, *delete, *(inline or ())))
        before = book = self._book
        if program is not before.program:
            checked = check(program, before.checked)
            arities.agree(program, self._stored_arity, checked.fresh)
            budget.check_time()
            book = before.turned(checked)
        self._backend.watch(budget)
        marks, self._marks = self._marks, None
        try:
            gone = {
                name: self._backend.find(name, facts, self._wanted_arity(name, book)) for name, facts in delete.items()
            }
            missed = self._backend.missed
            come = self._interned(insert, book)
            for name, facts in self._interned(inline or {}, book).items():
                come[name] = self._backend.store.union([come[name], facts]) if name in come else facts
            outcome = maintain(
                self._backend.store,
                book.schedule,
                self._strategy,
                delete=gone,
                insert=come,
                previous=before.schedule,
                budget=budget,
                marks=marks,
            )
            outcome.counters.add("ignored deletions", missed)
            outcome.counters.add("marks", marks.counters.values["marks"] if marks else 0)
            change = self._change(outcome, budget, started)
            entry = self._entry(outcome, come, gone) if self._journals else None
            withdrawn = self._frozen(outcome.withdrawn)
            self._backend.commit()
        except BaseException:
            self._backend.rollback()
            if marks is not None:
                marks.clear(self._backend.store)
            self._backend.commit()  # gives back what the failed attempt took
            raise
        self._book, self._before = book, Before(before.program.rules, withdrawn)
        if book.schedule is not before.schedule:
            self._backend.use(book.schedule)
        self.version += 1
        change.stats.jobs = self._backend.jobs
        if entry is not None:
            self._journals.note(entry)
        if self._may_move and has_outgrown(self._backend):
            self._backend, self._may_move = moved_to_spark(self._backend, book.schedule, self._spark), False
        return change

    def _interned(self, facts: Mapping[str, object], book: RuleBook) -> dict[str, Any]:
        return {
            name: self._backend.intern(name, source, book.types(name), self._wanted_arity(name, book))
            for name, source in facts.items()
        }

    def _change(self, outcome: Outcome[Any], budget: Budget, started: float) -> Change:
        inserted, deleted = self._frozen(outcome.inserted), self._frozen(outcome.deleted)
        stats = stats_of(outcome.counters, budget.rounds, self._strategy.name)
        stats.seconds = time.perf_counter() - started
        return Change(inserted, deleted, stats, self.version + 1)

    def _entry(self, outcome: Outcome[Any], come: Mapping[str, Any], gone: Mapping[str, Any]) -> Entry:
        """What a save has to know about a transaction, our own relations included."""
        parts = (outcome.inserted, outcome.deleted, come, gone)
        frozen = ({name: self._backend.freeze(name, facts) for name, facts in part.items() if facts} for part in parts)
        return Entry(self.version + 1, *frozen)

    def _frozen(self, facts: Mapping[str, Any]) -> FactTables:
        """Facts of the user's relations, for good."""
        freeze = self._backend.freeze
        return FactTables({name: freeze(name, some) for name, some in facts.items() if some and not is_hidden(name)})

    def _forget_marks(self) -> None:
        """Take look-ahead marks away, which belong to one strategy and one version."""
        marks, self._marks = self._marks, None
        if marks is not None:
            marks.clear(self._backend.store)
            self._backend.commit()

    def _table(self, relation: str) -> FactTable:
        return self._backend.table(relation) if self._backend.arity(relation) is not None else FactTables()[relation]

    def _arity(self, relation: str) -> int | None:
        if is_hidden(relation):
            return None
        wanted = self._wanted_arity(relation, self._book)
        return self._backend.arity(relation) if wanted is None else wanted

    def _wanted_arity(self, relation: str, book: RuleBook) -> int | None:
        """The number of columns that facts must have: a relation without rules, declaration and facts takes any."""
        wanted = book.arity(relation)
        return self._stored_arity(relation) if wanted is None else wanted

    def _stored_arity(self, relation: str) -> int | None:
        """The number of columns of a relation that has facts."""
        return self._backend.arity(relation) if self._backend.store.size(relation) else None

    def _unknown(self, relation: str) -> UsageError:
        known = ", ".join(name[:_SHOWN] for name in self.relations[:8]) or "none yet"
        shown = repr(relation[:_SHOWN]) + ("..." if len(relation) > _SHOWN else "")
        return UsageError.of("E802", f"there is no relation {shown}", remedy=f"known relations: {known}")

"""The engine: the hall where the rooms meet.

What      : keeps a program and its materialisation, takes updates of facts and rules, answers with changes.
Idea      : the text becomes a checked program, the program a schedule of stages, an update a transaction over the
            schedule; strategy and backend are chosen by name and know nothing of each other.
Invariant : the one law: after every update the materialisation equals recomputation from the current rules and explicit
            facts, and the change is exactly the difference to the version before. An update that fails changes nothing.
Never     : no join, no fact-by-fact work, no encoding.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import filterfalse
from os import PathLike
from typing import TYPE_CHECKING, Any, Self, TypeVar

from tidelog.analysis import arities
from tidelog.analysis.impact import came_and_went
from tidelog.analysis.program_check import check
from tidelog.analysis.spelling import unknown_relation
from tidelog.arrivals.submitting import Submitting
from tidelog.arrivals.worker import Running
from tidelog.asking.at_a_glance import AtAGlance
from tidelog.asking.foretelling import Foretelling
from tidelog.asking.notices import Notices
from tidelog.attempt import Asked, Attempt
from tidelog.backends.backend import Backend, asked_beside, facts_of, refuse_stored
from tidelog.backends.choice import backend_from_now_on, backend_named
from tidelog.changes.change import Change, FactTable
from tidelog.changes.names import asked_facts, check_names
from tidelog.changes.relation import Relation
from tidelog.changes.update import Update
from tidelog.errors import BudgetError, LawError, expect
from tidelog.foresight import Foresight
from tidelog.language.parser import parse
from tidelog.language.printer import print_rule
from tidelog.language.read import asked_rules
from tidelog.language.terms import Program, Value
from tidelog.limits import Budget, Limits
from tidelog.maintenance.bulk import TooLargeError
from tidelog.maintenance.law import violations
from tidelog.maintenance.missing_values import SKIP, Missing, check_choice
from tidelog.maintenance.registry import strategy as strategy_named
from tidelog.maintenance.rule_book import RuleBook, written_facts
from tidelog.planning.lowered import is_hidden
from tidelog.provenance.before import Before
from tidelog.state.journal import Journals
from tidelog.turns import NotCopied, Turns

if TYPE_CHECKING:
    from tidelog.asking.answer import Answer
    from tidelog.provenance.absence import Absence
    from tidelog.provenance.cause import Cause
    from tidelog.provenance.proof import Proof
    from tidelog.state.snapshot import StoredState

T = TypeVar("T")


class Engine(Submitting, AtAGlance, Foretelling, NotCopied):
    """A program and its materialisation, kept true."""

    def __init__(
        self,
        rules: str | Program = "",
        *,
        strategy: str = "auto",
        backend: str = "local",
        spark: Any = None,  # noqa: ANN401 - a SparkSession; importing its type would import Spark
        limits: Limits | None = None,
        arithmetic: str = SKIP,
        threads: int | None = None,
    ) -> None:
        """`threads`: how many of them large work may use in this process, by default as many as there are cores."""
        expect(rules, (str, Program), "the program", "a text, or a Program")
        program = parse(rules) if isinstance(rules, str) else rules
        checked = check(program)
        self._strategy = strategy_named(strategy)
        self._backend = backend_named(backend, spark, threads)
        self._spark, self._may_move = spark, backend == "auto"
        self.limits = Limits() if limits is None else limits
        self._arithmetic, self._missing = check_choice(arithmetic), Missing()
        self.watcher: Callable[[int], None] | None = None
        directives = program.declarations, program.inputs, program.outputs
        self._book = RuleBook(Program((), (), *directives), checked=checked)
        self._foresight, self._journals, self._notices = Foresight(), Journals(), Notices()
        self._before, self._worker, self.version = Before(), self._hire(), 0
        self._turns = Turns(lambda is_clean: self._foresight.undo(self._backend, is_clean=is_clean))
        self._transact(written_facts(program), {}, Program(program.rules, (), *directives))
        self.version = 0

    # -- updates ---------------------------------------------------------------------------------------------------

    def apply(
        self,
        insert: Mapping[str, object] | None = None,
        delete: Mapping[str, object] | None = None,
        add_rules: str | Program | None = None,
        remove_rules: Sequence[str] = (),
        dialect: str = "tidelog",
    ) -> Change:
        """Apply one update as a transaction: deletions first, then insertions, of rules and of facts.

        Rules to add may be in another dialect; a rule is removed by its name or by any text that means it. It is
        `submit(...).result()` with a version of its own; updates that were submitted before come first.
        """
        insert, delete = asked_facts(insert, "insert"), asked_facts(delete, "delete")
        added, removed = asked_rules(add_rules, remove_rules, dialect)
        if self._worker.is_busy and not self._turns.is_mine:
            return self._in_line(insert, delete, added, removed)

        def work() -> Change:
            program, inline = self._book.changed(added, removed), written_facts(added)
            return self._transact(insert, delete, program, inline)

        return self._turns.take(work)

    def look_ahead(self, upcoming: Update) -> None:
        """Find what the next update will delete, if the strategy has a use for it; another may come all the same."""
        if not self.looks_ahead or upcoming.add_rules or upcoming.remove_rules or not upcoming.delete:
            return
        with suppress(TooLargeError, BudgetError):  # then nothing is marked, which costs time and changes no result
            passes_on, look = self._strategy.passes_on, self._foresight.look
            self._take(lambda: look(upcoming, self._backend, self._book, Budget(self.limits), passes_on=passes_on))

    # -- reading ---------------------------------------------------------------------------------------------------

    def __getitem__(self, relation: str) -> Relation:
        arity = self._known_arity(relation)

        def columns() -> tuple[str, ...]:
            now = None if self._turns.is_closed else self._arity(relation)
            return self._book.columns(relation, arity if now is None else now)

        return Relation(relation, columns, lambda: self._table(relation))

    def __contains__(self, relation: object) -> bool:
        return isinstance(relation, str) and self._arity(relation) is not None

    @property
    def relations(self) -> tuple[str, ...]:
        """The relations of the program and of the facts, in order of name."""
        self._turns.settle()
        stored = self._book.relations.union(self._backend.relations()) - self._book.inline
        return tuple(sorted(filterfalse(is_hidden, stored)))

    @property
    def rules(self) -> tuple[str, ...]:
        """The present rules, as text."""
        return tuple(print_rule(rule) for rule in self.program.rules)

    @property
    def program(self) -> Program:
        """The present program, without facts."""
        self._turns.settle()
        return self._book.program

    @property
    def strategy(self) -> str:
        """The name of the strategy; another one may be chosen between two updates."""
        return self._strategy.name

    @strategy.setter
    def strategy(self, name: str) -> None:
        chosen = strategy_named(name)

        def change() -> Callable[[], None]:
            forget = self._foresight.forget(self._backend)

            def finish() -> None:
                forget()
                self._strategy = chosen

            return finish

        self._take(change)

    @property
    def looks_ahead(self) -> bool:
        """Whether the strategy makes use of `look_ahead`."""
        return self._strategy.looks_ahead

    @property
    def backend(self) -> str:
        """The name of the backend."""
        return self._backend.name

    def explicit(self, relation: str) -> FactTable:
        """The explicit facts of a relation."""
        self._known_arity(relation)
        return self._table(relation, is_explicit=True)

    def query(self, question: str, parameters: Mapping[str, object] | None = None) -> Answer:
        """What any rule body finds, such as `path($from, x), !blocked(x)` with `{"from": "a"}`; nothing is changed.

        Columns are the body's variables in order of first occurrence. A single atom gives whole facts, unless
        parameters are given, if only `{}`.
        """
        from tidelog.asking.answer import Asked

        asked = Asked(question, parameters, self._book, self._known_arity, lambda: self.version)
        if asked.pattern is not None:
            return self._read(lambda backend: asked.facts(self._book, backend))
        if self._turns.is_busy and (beside := self._read(lambda b: asked.beside(self._book, b, self.limits))):
            return beside()
        return self._take(lambda: asked.evaluated(self._book, self._backend, self.limits))

    def verify(self) -> None:
        """Check the one law: raise a LawError if the materialisation differs from recomputation."""
        problems = self._turns.take(lambda: violations(self._backend.differences, self._book.schedule))
        if problems:
            raise LawError(problems)

    def explain(self, relation: str, fact: Sequence[Value]) -> Proof:
        """Why a fact is there: a shallowest proof, to be printed or walked; E808 if the fact is not there."""
        from tidelog.asking.reasons import asked_values, proof_of

        asked = relation, self._known_arity(relation), asked_values(fact)
        return self._read(lambda backend: proof_of(*asked, self._book.rules, backend))

    def explain_absence(self, relation: str, fact: Sequence[Value]) -> Absence:
        """Why a fact is not there: for each rule that could derive it, the literal that fails first; E808 if it is."""
        from tidelog.asking.reasons import absence_of, asked_values

        asked = relation, self._known_arity(relation), asked_values(fact)
        return self._read(lambda backend: absence_of(*asked, self._book.rules, backend))

    def explain_change(self, change: Change, relation: str, fact: Sequence[Value]) -> Cause:
        """Why a fact came or went with the last change: the proof that it got or lost, down to what the update did."""
        from tidelog.asking.reasons import asked_values, cause_of

        self._turns.settle()
        expect(change, Change, "the change", "a Change")
        asked = relation, asked_values(fact)
        return self._read(lambda b: cause_of(asked, change, self.version, self._before, self._book.rules, b))

    def prepare(self) -> None:
        """Build now the indexes that the first small deletion after a load would wait for; they take memory."""
        self._turns.take(lambda: self._backend.ready(self._book.schedule))

    # -- keeping ---------------------------------------------------------------------------------------------------

    def save(self, target: str | PathLike[str], *, batch: int | range | None = None, source: str = "updates") -> None:
        """Make the present version durable, in a directory or an open log: wholly or not at all.

        The first save writes every fact, a later one into the same state only what changed. `batch` is recorded with
        the version, as the last batch of its source that is part of the state; a range says which ones came with it.
        """
        from tidelog.state.log import opened
        from tidelog.state.snapshot import Snapshot

        def work() -> None:
            with opened(target) as log:
                named = self.program, self._strategy.name, self._arithmetic
                log.save(Snapshot(self.version, *named, self._backend, self._journals), batch, source)

        self._turns.take(work)

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
        arithmetic: str | None = None,
        threads: int | None = None,
    ) -> Engine:
        """The engine that was saved, as it was, without recomputation: its last version unless another is asked for."""
        from tidelog.state.reading import read_state

        stored = read_state(source, version, is_far=backend == "spark")
        chosen, means = strategy or stored.info.strategy, arithmetic or stored.info.arithmetic or SKIP
        engine = cls(strategy=chosen, backend=backend, spark=spark, limits=limits, arithmetic=means, threads=threads)
        engine._restore(stored)
        return engine

    def close(self) -> None:
        """Finish what was submitted, then give back what the engine holds; it cannot be used any more."""
        self._end_line()
        self._turns.close(self._backend.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _restore(self, stored: StoredState) -> None:
        """Take over a stored version."""
        from tidelog.restoring import restore

        self._book = RuleBook.stored(stored.program)
        self._missing = restore(stored, self._backend, self._book.schedule, self._journals)
        self.version = stored.info.version

    # -- within ----------------------------------------------------------------------------------------------------

    def _transact(
        self,
        insert: Mapping[str, object],
        delete: Mapping[str, object],
        program: Program,
        inline: Mapping[str, object] | None = None,
        later: Sequence[Asked] = (),
        running: Running | None = None,
    ) -> Change:
        """Everything or nothing; within a turn. Updates that come `later` are part of the same version."""
        ask = None if running is None else running.ask
        budget = Budget(self.limits, watcher=self.watcher, ask_arrivals=ask)
        before = book = self._book
        if program is not before.program:
            checked = check(program, before.checked)
            arities.agree(program, self._stored_arity, checked.fresh)
            budget.ask_time()
            book = before.turned(checked)
            refuse_stored(book.inline - before.inline, self._backend)
        check_names((*insert, *delete, *(inline or ())), book.inline)
        fresh = came_and_went(before.program.rules, program.rules)[0] if book is not before else ()
        named = (*insert, *(name for one in later for name in one.insert)) if later else insert
        self._notices.look(named, fresh, book, self._backend.relations, self._backend.store.size)
        foreseen = self._foresight.found

        def arity(name: str) -> int | None:
            return self._wanted_arity(name, book)

        def attempt() -> Callable[[], Change]:
            known = self._backend, self._strategy, before, book, foreseen, lambda: self._missing
            update = Attempt(*known, self._arithmetic, arity, lambda: self.version + 1)
            facts, journals = (insert, delete, inline or {}), self._journals.are_complete
            done = update.run(*facts, budget, journals=journals, later=later, arriving=running)

            def finish() -> Change:
                self._backend.commit()
                version = done.change.version
                self.__dict__.update(_book=book, _before=done.before, _missing=done.missing, version=version)
                self._foresight.found = None
                if done.entry is not None:
                    self._journals.note(done.entry)
                if book.schedule is not before.schedule:
                    self._backend.use(book.schedule)
                return done.change

            return finish

        change = self._turns.transact(attempt)
        if not self._turns.is_beside:
            now = backend_from_now_on(self._backend, book.schedule, self._spark, may_move=self._may_move)
            self.__dict__.update(_backend=now, _may_move=self._may_move and now.name == "local")
        return change

    def _take(self, attempt: Callable[[], Callable[[], T]]) -> T:
        """A turn with one transaction in it."""
        return self._turns.take(lambda: self._turns.transact(attempt))

    def _read(self, ask: Callable[[Backend[Any]], T]) -> T:
        """The answer to a question, about one whole version."""
        is_dear = not self._backend.reads_beside
        beside = None if is_dear and self._backend.onlooker is None else lambda: asked_beside(self._backend, ask)
        return self._turns.read(lambda: ask(self._backend), beside=beside, is_dear=is_dear)

    def _table(self, relation: str, *, is_explicit: bool = False) -> FactTable:
        return self._read(lambda backend: facts_of(backend, relation, is_explicit=is_explicit))

    def _arity(self, relation: str) -> int | None:
        if is_hidden(relation) or relation in self._book.inline:
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

    def _known_arity(self, relation: str) -> int:
        """The number of columns of a relation that there is; E802 if there is none of that name."""
        expect(relation, str, "the name of a relation", "a text")
        if (arity := self._arity(relation)) is None:
            raise unknown_relation(relation, self.relations, self._book.inline)
        return arity

"""The local backend: facts in this process.

What      : encodes what comes in, decodes what goes out, and holds the compiled store in between.
Idea      : facts are checked and encoded before a transaction marks anything, so that refused input changes nothing.
Invariant : a fact that is stored has as many columns as its relation and the declared types.
Never     : no strategy (maintenance/) and no program (tidelog/engine.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from contextlib import AbstractContextManager, contextmanager
from itertools import compress, filterfalse
from typing import Any

import numpy as np
import pyarrow as pa

from tidelog.backends.backend import Flags, Given
from tidelog.backends.local import incoming, passing_transaction
from tidelog.backends.local.bits.rows_or_bits import Way, computing
from tidelog.backends.local.fact_tables import LiveTable, LocalTable
from tidelog.backends.local.joins import row_lookups
from tidelog.backends.local.joins.indexes_ahead import build_indexes
from tidelog.backends.local.joins.runner import with_columns
from tidelog.backends.local.kernels.compiled import Array
from tidelog.backends.local.relations.facts import LocalFacts
from tidelog.backends.local.relations.litter import Litter
from tidelog.backends.local.relations.steps import joined
from tidelog.backends.local.store import LocalStore
from tidelog.changes.change import FactTable
from tidelog.changes.columns import Columns
from tidelog.changes.declared import as_asked, as_declared
from tidelog.changes.fact_sources import Ask, plain_rows, to_parts, to_table, together, wrong_arity
from tidelog.changes.shared import SharedFacts
from tidelog.language.terms import Atom, Constant, Value, Variable
from tidelog.language.values import fact_identity
from tidelog.limits import Budget
from tidelog.maintenance.recompute import Recompute
from tidelog.maintenance.schedule import Schedule
from tidelog.maintenance.transaction import maintain
from tidelog.planning.lowered import is_of_rewrites
from tidelog.planning.views import DELETED, INSERTED, NO_MARKS, OLD, Mark, View
from tidelog.state.stored_facts import Encodable

_PART = 1 << 16
"""How many constants of a column are encoded between two questions whether to go on: 10 ms at 150 ns for a new text."""
_MOST_UNTIDY = 8
"""How many commits may leave dead rows for `tidy`, which gives up when an update arrives; the next takes the time."""
_RUNS, _RUN = 16, 1 << 10
"""Of many facts 16 runs of 1,024 are looked up, to estimate how many are in a view: 2 ms, not 0.1 s for a million."""
_EXPLICIT = View(Mark.WAS_EXPLICIT)


class LocalBackend:
    """Facts of one engine, in this process."""

    name = "local"
    reads_beside, is_aside, onlooker, far = True, False, None, None
    missed = jobs = 0
    """Every fact is in this process."""

    def __init__(self, store: LocalStore | None = None) -> None:
        self.store = store or LocalStore()
        self._constants: tuple[Array, int] | None = None
        self._budget, self._is_beside, self._times_untidy, self._litter = Budget(), False, 0, Litter()
        self.ask: Ask = lambda _: None
        self.ask_arriving: Callable[[], None] = lambda: None
        """Asked before facts that come in take memory (see fact_sources.py)."""

    def successor(self) -> LocalBackend | None:
        """An empty backend, if most constants are in no fact any more."""
        is_littered = self._litter.is_high(len(self.store.dictionary), self.store.published.values())
        return LocalBackend(LocalStore(workers=self.store.workers)) if is_littered else None

    # -- what comes in ---------------------------------------------------------------------------------------------

    def arity(self, relation: str) -> int | None:
        """The number of columns of a stored relation."""
        found = self.store.published.get(relation)
        return found.arity if found is not None else None

    def relations(self) -> Iterable[str]:
        """The stored relations; rewrites are no facts."""
        return tuple(name for name in self.store.published if not is_of_rewrites(name))

    def intern(self, relation: str, source: object, types: tuple[str, ...] | None, arity: int | None) -> LocalFacts:
        """Facts from any source, checked, encoded and stored."""
        if isinstance(source, SharedFacts) and all(kind == "any" for kind in types or ()):
            return self.store.intern(relation, self._translated(source, relation, arity))
        few = self._few(source, types, arity, adding=True)
        return self.store.intern(relation, self._tables(relation, source, types, arity) if few is None else few[1])

    def _few(self, source: object, types: object, arity: int | None, *, adding: bool) -> tuple[list[Any], Array] | None:
        """A handful of plain facts, and their ids; None if there are more, or if anything is to be said of them."""
        plain = plain_rows(source, arity, self.ask) if types is None else None
        table = self.store.dictionary.few(plain[1], arity or 0, adding=adding) if plain else None
        return (plain[0], table) if plain and table is not None else None

    def _tables(
        self, relation: str, source: object, types: tuple[str, ...] | None, arity: int | None
    ) -> Iterator[Array]:
        """Facts from any source, checked and encoded; the budget is asked after each table is stored."""
        row = 1
        for part in to_parts(source, relation, arity, self.ask):
            incoming.expect(relation, self.store.catalogue, part.arity, len(part))
            for few in as_declared(part, types, relation, row).parts(_PART):
                yield self.encoded(few)
                self.ask_arriving()  # the table is stored now
            row += len(part)

    def intern_all(self, sources: Mapping[str, Given]) -> dict[str, LocalFacts]:
        """As `intern`, one relation after the other."""
        return {relation: self.intern(relation, *given) for relation, given in sources.items()}

    def find(self, relation: str, source: object, types: tuple[str, ...] | None, arity: int | None) -> LocalFacts:
        """Those of the facts that are in the materialisation."""
        few = self._few(source, types, arity, adding=False)
        if few is not None:
            return self._found(relation, *few)
        columns = as_asked(self.given(source, relation, arity), types)
        return self._found(relation, columns, self._known(columns))

    def _found(self, relation: str, facts: Iterable[tuple[Value, ...]], table: Array) -> LocalFacts:
        found = self.store.find(relation, table)  # of a constant that is nowhere the number is -1, and is not found
        if len(found) < len(table):
            are_strange = np.any(table < 0, axis=1)
            strange = set(map(fact_identity, compress(facts, are_strange)))
            self.missed += len(strange) + len(row_lookups.distinct_rows(table[~are_strange])) - len(found)
        return found

    def portions(self, delete: dict[str, Given], budget: Budget) -> None:
        """Never: what is here is followed, however much it is."""

    def tally(self, relation: str, source: object, types: tuple[str, ...] | None, view: View) -> int:
        """How many of the facts are stored and in the view."""
        found, columns = self.store.relations.get(relation), as_asked(to_table(source, relation), types)
        if found is None or found.arity != columns.arity:
            return 0
        hits, looked_at = 0, 0
        for part in _sample(columns):
            known = (table := self._known(part))[np.all(table >= 0, axis=1)]
            hits += len(found.find_beside(with_columns(np.ascontiguousarray(known)), view))
            looked_at += len(part)
        return hits * len(columns) // max(looked_at, 1)

    def _known(self, columns: Columns) -> Array:
        """Columns of constants as rows of ids, -1 for a constant that is nowhere; found in steps."""
        table, row = np.empty((len(columns), columns.arity), np.int32), 0
        for part in columns.parts(_PART):
            for at, column in enumerate(part.columns):
                table[row : row + len(part), at] = self.store.dictionary.lookup(column)
            row += len(part)
            self.ask_arriving()
        return table

    def given(self, source: object, relation: str, arity: int | None) -> Columns:
        """Facts from any source, checked."""
        return together(list(to_parts(source, relation, arity, self.ask)))

    def _translated(self, source: SharedFacts, relation: str, arity: int | None) -> Array:
        """Facts over a shared table of constants, each of which gets its number once."""
        if arity is not None and source.rows.shape[1] != arity:
            raise wrong_arity(relation, arity, source.rows.shape[1])
        dictionary = self.store.dictionary
        numbers = source.constants.translated((dictionary, dictionary.epoch), dictionary.encode_arrow)
        self.store.ask_budget()
        return np.ascontiguousarray(numbers[source.rows])

    def encoded(self, columns: Columns) -> Array:
        """Columns of constants as rows of ids; new constants are added to the dictionary."""
        table = np.empty((len(columns), columns.arity), np.int32)
        for at, column in enumerate(columns.columns):
            table[:, at] = self.store.dictionary.encode(column)
            self.ask_arriving()
        return table

    # -- versions --------------------------------------------------------------------------------------------------

    def use(self, schedule: Schedule) -> None:
        """From now on these rules are maintained."""
        self.store.keep(stage for scheduled in schedule.stages for stage in scheduled.forms)

    def begin(self, budget: Budget) -> None:
        """An update begins: from now on this budget is asked whether to go on."""
        limits = budget.limits

        def ask_budget() -> None:
            budget.ask_time()
            if limits.facts is not None or budget.watcher is not None:
                budget.ask_facts(sum(relation.size for relation in self.store.relations.values()))
            if limits.bytes is not None:
                ask_bytes(0, limits.bytes)

        def ask_bytes(more: int, allowed: int) -> None:
            if self.store.nbytes + more > allowed:
                self.store.groups.forget()  # they can be made again
            budget.ask_bytes(self.store.nbytes + more)

        def ask(weight: Callable[[], int]) -> None:
            budget.ask_time()
            if limits.bytes is not None:
                ask_bytes(weight(), limits.bytes)

        asked = ask_budget if limits.facts or limits.bytes else budget.ask_time
        if budget.watcher is not None or budget.looks_at_arrivals:
            asked = self.store.catalogue.pause.once(ask_budget)
        self.store.ask_budget = self.ask_arriving = asked
        self.ask, self._budget, self.missed = ask, budget, 0
        self._constants = self.store.dictionary.counters.copy(), self.store.dictionary.moved

    def is_apart(self, relations: Set[str]) -> bool:
        """Whether a transaction over these relations could be done beside the open one."""
        return passing_transaction.is_apart(self.store, relations)

    @property
    def is_in_a_step(self) -> bool:
        """Whether the open transaction is in the middle of a step in which nobody can pass."""
        return passing_transaction.is_in_a_step(self.store)

    def can_make_way(self, relations: Set[str], kept: Set[str]) -> bool:
        """Whether the open transaction can be set aside in these relations."""
        return passing_transaction.can_make_way(self.store, relations, kept)

    def rebase(self) -> None:
        """From here on what is NOW counts as OLD, for an update on top."""
        self.store.stop_counting(self.store.catalogue.rebase())

    def straighten(self) -> None:
        """OLD is the last version again."""
        self.store.stop_counting(self.store.catalogue.straighten())

    @contextmanager
    def beside(self, changed: Set[str], read: Set[str], kept: Set[str]) -> Iterator[None]:
        """Let another transaction be done while one is open."""
        mine, self._is_beside = (self.ask, self.ask_arriving, self._budget, self.missed), True
        try:
            with self.store.catalogue.pause.released(), passing_transaction.beside(self.store, changed, read, kept):
                yield
        finally:
            self._is_beside = False
            self.ask, self.ask_arriving, self._budget, self.missed = mine
            self._constants = None  # they stay, whatever becomes of the open one

    def prepare(self) -> None:
        """Nothing of a commit in this process can fail."""

    def ask_to_commit(self) -> None:
        """Ask the budget whether to commit. Facts that were stored before, and are facts again, count only here."""
        (store := self.store).ask_budget()
        if self._budget.limits.facts is not None:
            growth = len(store.touched(store.relations, INSERTED)) - len(store.touched(store.relations, DELETED))
            self._budget.ask_facts(sum(relation.alive for relation in store.relations.values()) + growth)

    def commit(self) -> None:
        """Make the version NOW the one that readers see. Where others may arrive, room is given back later."""
        self._constants = None  # they stay
        is_time = not self._budget.looks_at_arrivals or self._times_untidy >= _MOST_UNTIDY
        self.store.commit(tidies=is_time and not self._is_beside)  # beside, rows of the open transaction look dead
        self._times_untidy = self._times_untidy + 1 if self.is_untidy else 0

    @property
    def is_untidy(self) -> bool:
        """Whether relations have many dead rows."""
        return bool(self.store.catalogue.untidy)

    def tidy(self, pause: Callable[[], None]) -> None:
        """Forget dead rows."""
        self.store.catalogue.tidy(pause)

    def distrust(self) -> None:
        """After an interrupt: forget what is made in many steps and can be made again."""
        self.store.distrust()

    def close(self) -> None:
        """Forget every fact and constant; tables that were handed out stay readable."""
        self.store = LocalStore(workers=self.store.workers)

    def rollback(self) -> None:
        """Undo everything since the last commit; constants, too, if they took memory."""
        self.store.rollback()
        if self._constants is not None and self.store.dictionary.moved != self._constants[1]:
            self.store.dictionary.rewind(self._constants[0])
            self.store.keep(())

    def restore(self, relation: str, arity: int, parts: Iterable[Encodable]) -> None:
        """Store facts of a saved version, none of them twice; they take effect with the next commit."""
        found = self.store.relation(relation, arity)
        first, flags = found.count, [np.zeros(0, np.bool_)]
        for part in parts:
            rows = with_columns(part.encoded(self.store.dictionary.encode))
            found.room(len(rows))[: len(rows)] = rows
            found.waiting += len(rows)
            flags.append(part.explicit)
        found.append_waiting(Mark.NOW)
        found.mark(first + np.flatnonzero(np.concatenate(flags)).astype(np.int32), Mark.EXPLICIT, NO_MARKS)

    def nbytes(self) -> int:
        """The memory that facts, indexes and constants take."""
        return self.store.nbytes

    # -- what goes out ---------------------------------------------------------------------------------------------

    def table(self, relation: str) -> FactTable:
        """A relation as of the last commit."""
        return LiveTable(self.store.readable(relation), self.store.dictionary)

    def explicit(self, relation: str) -> FactTable:
        """The explicit facts of a relation."""
        found = self.store.readable(relation)
        with found.latch:
            return LocalTable(found.rows[found.select(_EXPLICIT)], found.arity, self.store.dictionary)

    def is_explicit(self, relation: str, values: tuple[Value, ...]) -> bool:
        """Whether a fact is explicit."""
        return values in LiveTable(self.store.readable(relation), self.store.dictionary, _EXPLICIT)

    def ready(self, schedule: Schedule) -> None:
        """Build the tables and indexes by which updates of facts look facts up."""
        build_indexes((scheduled.stage for scheduled in schedule.stages), self.store)

    def snapshot(self, relation: str) -> tuple[pa.Table, Flags]:
        """All facts of a relation, and which of them are explicit."""
        found = self.store.readable(relation)
        with found.latch:
            chosen = found.select_last(OLD)
            explicit = (found.marks[chosen] & int(Mark.WAS_EXPLICIT)) != 0
            table = LocalTable(found.rows[chosen], found.arity, self.store.dictionary)
        return table.to_arrow(), explicit

    def freeze(self, relation: str, facts: LocalFacts) -> FactTable:
        """Facts of one relation, in a table that later versions do not change."""
        found = self.store.relations[relation]
        rows = facts.parts.get(relation, np.empty(0, np.int32))
        return LocalTable(found.frozen(rows), found.arity, self.store.dictionary)

    def query(self, pattern: Atom) -> FactTable:
        """The facts that match a pattern."""
        relation = self.store.readable(pattern.relation)
        columns = tuple(at for at, term in enumerate(pattern.terms) if isinstance(term, Constant))
        values = [term.value for term in pattern.terms if isinstance(term, Constant)]
        ids = self.store.dictionary.lookup(values) if values else np.empty(0, np.int32)
        if np.any(ids < 0):
            return LocalTable(relation.rows[:0], relation.arity, self.store.dictionary)
        with relation.latch:
            found = [row_lookups.matching(relation, columns, np.asarray(ids), one) for one in relation.last(OLD)]
            rows = relation.rows[joined(found)]
        first: dict[Variable, int] = {}
        for at, term in enumerate(pattern.terms):
            if isinstance(term, Variable) and first.setdefault(term, at) != at:
                rows = rows[rows[:, first[term]] == rows[:, at]]
        return LocalTable(rows, relation.arity, self.store.dictionary)

    def visit(self, budget: Budget) -> AbstractContextManager[LocalBackend]:
        """A guest with relations of its own, for questions."""
        from tidelog.backends.local.guest import visit

        return visit(self, budget)

    def differences(self, schedule: Schedule) -> dict[str, tuple[FactTable, FactTable]]:
        """Recompute everything from the explicit facts, and compare; what is kept about large groups, too."""
        fresh = LocalBackend(LocalStore(self.store.dictionary, workers=self.store.workers))
        insert = {}
        for name, relation in self.store.relations.items():
            rows = relation.rows[relation.select(_EXPLICIT)][:, : relation.arity]
            if len(rows):
                insert[name] = fresh.store.intern(name, np.ascontiguousarray(rows))
        with computing(Way.ROWS):  # whatever way the facts were derived, this is another one
            maintain(fresh.store, schedule, Recompute(), delete={}, insert=insert, previous=Schedule(()))
        fresh.commit()
        found = {}
        for name in filterfalse(is_of_rewrites, self.store.relations.keys() | fresh.store.relations.keys()):
            missing, extra = self._compare(fresh, name)
            if len(missing) or len(extra):
                found[name] = missing, extra
        for name, rows in self.store.groups.claims():
            unknown = row_lookups.rows_not_in(rows, self.store.relations[name], OLD)
            if len(unknown) and name not in found:
                tables = (LocalTable(some, rows.shape[1], self.store.dictionary) for some in (rows[:0], unknown))
                found[name] = next(tables), next(tables)
        return found

    def _compare(self, other: LocalBackend, name: str) -> tuple[FactTable, FactTable]:
        mine, theirs = (backend.store.relations.get(name) for backend in (self, other))
        arity = next(relation.arity for relation in (mine, theirs) if relation is not None)
        nothing = np.empty((0, max(arity, 1)), np.int32)
        here, there = (nothing if one is None else one.rows[one.select(OLD)] for one in (mine, theirs))
        missing, extra = row_lookups.rows_not_in(there, mine, OLD), row_lookups.rows_not_in(here, theirs, OLD)
        return LocalTable(missing, arity, self.store.dictionary), LocalTable(extra, arity, self.store.dictionary)


def _sample(columns: Columns) -> Iterator[Columns]:
    """All facts if they are few, else some runs of them."""
    step = max(len(columns) // _RUNS, 1)
    if len(columns) <= _RUNS * _RUN:
        yield columns
        return
    for start in range(0, len(columns) - _RUN, step):
        yield Columns(tuple(column[start : start + _RUN] for column in columns.columns), _RUN)

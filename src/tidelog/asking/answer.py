"""Answers: what a question finds in the last version.

What      : `answer` evaluates a question over the committed facts; an `Answer` is the table that comes out.
Idea      : the question's rules are lowered and scheduled by themselves and evaluated once, bottom up, by the same
            calls that maintain the program. The relations that they derive exist only for the visit. An aggregate that
            the program has, too, is not computed again.
Invariant : neither facts nor rules of the engine change, whatever the question and however it ends. Rows are distinct.
Never     : no join and no encoding here (backends).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tidelog.asking.question import QUERY, checked_rules, read_question
from tidelog.backends.backend import Backend
from tidelog.backends.choice import backend_named
from tidelog.changes.change import FactTable, ListedFacts
from tidelog.errors import UsageError, expect
from tidelog.language.terms import Atom, Rule, Value, Variable
from tidelog.limits import Budget, Limits
from tidelog.maintenance.recompute import Recompute
from tidelog.maintenance.rule_book import RuleBook
from tidelog.maintenance.schedule import Schedule
from tidelog.maintenance.transaction import maintain
from tidelog.planning.lowered import Stage
from tidelog.planning.lowering import lower
from tidelog.state.stored_facts import TablePart

if TYPE_CHECKING:
    import pandas as pd

_SHOWN = 10
_COPIED = 200_000
"""How many facts are copied for a question beside a writer, which takes some tenths of a second."""


class Answer:
    """The rows that a question found: a table with named columns that will not change any more."""

    def __init__(self, columns: tuple[str, ...], table: FactTable, version: int) -> None:
        self.columns = columns
        self._table = table
        self.version = version
        """The version of the facts that were asked."""

    def __len__(self) -> int:
        return len(self._table)

    def __bool__(self) -> bool:
        """Whether there is any row: the answer to a question without variables."""
        return len(self._table) > 0

    def __iter__(self) -> Iterator[tuple[Value, ...]]:
        return iter(self._table)

    def __contains__(self, row: object) -> bool:
        return row in self._table

    def __repr__(self) -> str:
        from tidelog.changes.tables import text_table

        return text_table(self.columns, self, len(self), _SHOWN)

    def _repr_html_(self) -> str:
        from tidelog.changes.tables import html_table

        return html_table(self.columns, self, len(self))

    def to_arrow(self) -> pa.Table:
        """The rows as an Arrow table with the columns' names."""
        table = self._table.to_arrow()
        if table.num_columns != len(self.columns):  # an empty answer has forgotten its shape
            return pa.table([pa.nulls(0)] * len(self.columns), names=list(self.columns))
        return table.rename_columns(list(self.columns))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows for whatever speaks Arrow: `pl.DataFrame(answer)`, `duckdb.sql("from answer")`."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def to_pandas(self) -> pd.DataFrame:
        """The rows as a pandas DataFrame."""
        return self.to_arrow().to_pandas()


class Asked:
    """A question in words, read and compared with the relations that there are."""

    def __init__(
        self,
        text: str,
        parameters: Mapping[str, object] | None,
        book: RuleBook,
        arity: Callable[[str], int],
        version: Callable[[], int],
    ) -> None:
        """`arity` gives the columns of a stored relation, and refuses others; `version` is the one that is read."""
        expect(text, str, "a question", "a text")
        self._question, self._version = read_question(text, parameters), version
        self._copied: int | None = None
        for atom in self._question.atoms():
            known = book.arity(atom.relation) if atom.relation in book.inline else None
            _check_columns(atom, arity(atom.relation) if known is None else known)
        self.pattern = self._question.pattern if parameters is None else None
        """The atom, if whole stored facts are asked for."""
        if self.pattern is not None and self.pattern.relation in book.inline:
            names, terms = _names(self.pattern, book), self.pattern.terms
            self._question, self.pattern = replace(self._question, columns=names, whole=terms), None

    def facts(self, book: RuleBook, backend: Backend[Any]) -> Answer:
        """The whole facts that match; a column is named by its variable, else as the relation names it."""
        pattern = self.pattern
        assert pattern is not None
        names = _names(pattern, book)
        stored = backend.arity(pattern.relation) is not None
        return Answer(names, backend.query(pattern) if stored else ListedFacts(), self._version())

    def beside(self, book: RuleBook, backend: Backend[Any], limits: Limits) -> Callable[[], Answer] | None:
        """What gives the answer beside a writer, from a version for readers or from a copy of the facts that are read.

        None if there would be more than `_COPIED` of them: then waiting costs less.
        """
        if backend.is_aside:
            return self.evaluated(book, backend, limits)
        copy = self._copied_from(book, backend) if backend.reads_beside else None
        if copy is None:
            return None

        def later() -> Answer:
            return self.evaluated(book, copy, limits)()

        return later

    def _copied_from(self, book: RuleBook, backend: Backend[Any]) -> Backend[Any] | None:
        rules = checked_rules(self._question, book.program)
        stages = Schedule(_own_stages(rules, book.schedule)).stages
        names = {name for scheduled in stages for name in scheduled.reads if backend.arity(name) is not None}
        if sum(len(backend.table(name)) for name in names) > _COPIED:
            return None
        copy = backend_named("local", None)
        for name in sorted(names):
            copy.restore(name, backend.arity(name) or 0, [TablePart(*backend.snapshot(name))])
        copy.commit()
        self._copied = self._version()
        return copy

    def evaluated(self, book: RuleBook, backend: Backend[Any], limits: Limits) -> Callable[[], Answer]:
        """Evaluate the question; what comes back gives the answer. For a transaction that has nothing to commit."""
        rules = checked_rules(self._question, book.program)
        version = self._version() if self._copied is None else self._copied
        found = answer(self._question.columns, rules, book.schedule, backend, limits, version)
        return lambda: found


def answer(
    columns: tuple[str, ...],
    rules: tuple[Rule, ...],
    schedule: Schedule,
    backend: Backend[Any],
    limits: Limits,
    version: int,
) -> Answer:
    """Evaluate a question that is known to be right, about the facts of a version."""
    stages, budget = _own_stages(rules, schedule), Budget(limits)
    with backend.visit(budget) as guest:
        outcome = maintain(
            guest.store, Schedule(stages), Recompute(), delete={}, insert={}, previous=Schedule(()), budget=budget
        )
        found = outcome.inserted.get(QUERY)
        return Answer(columns, ListedFacts() if found is None else guest.freeze(QUERY, found), version)


def _own_stages(rules: tuple[Rule, ...], schedule: Schedule) -> list[Stage]:
    """The stages of a question that the program has not."""
    known = schedule.place.keys()
    return [stage for stage in lower(rules).stages if known.isdisjoint(stage.relations)]


def _names(pattern: Atom, book: RuleBook) -> tuple[str, ...]:
    """The columns of whole facts: a column is named by its variable, else as the relation names it."""
    own = book.columns(pattern.relation, len(pattern.terms))
    named = [term.name if isinstance(term, Variable) and not term.is_anonymous else None for term in pattern.terms]
    return tuple(
        name if given is None or given in named[:at] else given for at, (given, name) in enumerate(zip(named, own))
    )


def _check_columns(atom: Atom, arity: int) -> None:
    if arity != len(atom.terms):
        raise UsageError.of(
            "E804",
            f"{atom.relation} has {arity} columns, the pattern has {len(atom.terms)}",
            place=atom.place,
            remedy="write one term per column, _ for any value",
        )

"""Encoded rows become facts of a store.

What      : `interned` stores rows that are new, `found` looks for rows of the materialisation; both in steps.
Idea      : a row that has been seen carries CANDIDATE until all rows have come, so that each is there once, however
            many tables it comes in, and nothing has to be sorted.
Invariant : afterwards no row carries CANDIDATE, unless a pause has raised: then the transaction is rolled back.
Never     : no values; they are encoded before (backend.py).
"""

from __future__ import annotations

from collections.abc import Iterable

from tidelog.backends.local.joins.runner import with_columns
from tidelog.backends.local.kernels.compiled import Array
from tidelog.backends.local.relations.catalogue import Catalogue
from tidelog.backends.local.relations.facts import LocalFacts
from tidelog.backends.local.relations.growth import MEDIUM
from tidelog.backends.local.relations.relation import Relation
from tidelog.backends.local.relations.steps import STEP, joined
from tidelog.planning.views import ANY, NO_MARKS, OLD, Mark, View

_NO_CANDIDATE, _OLD_NO_CANDIDATE = View(outside=Mark.CANDIDATE), View(Mark.OLD, Mark.CANDIDATE)


def interned(name: str, catalogue: Catalogue, tables: Iterable[Array]) -> LocalFacts:
    """The rows of all tables as a set of facts; those that are new are stored without marks."""
    if isinstance(tables, tuple) and len(tables[0]) == 1:  # a usual update, in which nothing can occur twice
        only = catalogue.relation(name, tables[0].shape[1])
        return LocalFacts({name: only.store(with_columns(tables[0]), ANY, NO_MARKS)})
    home, some = None, list[Array]()
    for table in tables:
        home = catalogue.relation(name, table.shape[1])
        some += _candidates(home, table, _NO_CANDIDATE, catalogue)
    return LocalFacts({} if home is None else {name: _uncovered(home, some, catalogue)})


def expect(name: str, catalogue: Catalogue, arity: int, rows: int) -> None:
    """Make room for rows that come in several tables, if they are the first ones: others may be there already."""
    if rows > STEP:
        home = catalogue.relation(name, arity)
        if not home.count:
            home.expect(min(rows, MEDIUM))


def found(relation: Relation, table: Array, catalogue: Catalogue) -> LocalFacts:
    """Those of the rows that are facts of the last version."""
    if len(table) == 1:  # and nothing can occur twice
        return LocalFacts({relation.name: relation.find(with_columns(table), OLD)})
    return LocalFacts(
        {relation.name: _uncovered(relation, _candidates(relation, table, _OLD_NO_CANDIDATE, catalogue), catalogue)}
    )


def _candidates(relation: Relation, table: Array, view: View, catalogue: Catalogue) -> list[Array]:
    return [relation.store(some, view, Mark.CANDIDATE) for some in catalogue.pieces(with_columns(table), shared=True)]


def _uncovered(relation: Relation, found: list[Array], catalogue: Catalogue) -> Array:
    """The rows found, which are candidates no longer."""
    rows = joined(found, catalogue.pause)
    for some in catalogue.pieces(rows):
        relation.mark(some, NO_MARKS, Mark.CANDIDATE)
    return rows

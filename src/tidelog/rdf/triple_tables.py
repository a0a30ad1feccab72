"""Facts of classes and properties, seen as triples.

What      : `TripleTable`: the facts of several relations as one table of subject, predicate and object.
Idea      : the predicate, and of a class also the object, is the same in all facts of a relation: it is added when
            somebody looks.
Invariant : the triples are those of `layouts.triple_of`, fact by fact; literals as subjects are among them.
Never     : no triple is kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from tidelog.changes.change import Change, FactTable, FactTables
from tidelog.changes.columns import mixed_to_arrow
from tidelog.changes.relation import Relation
from tidelog.changes.term_arrays import as_terms
from tidelog.language.rdf_terms import RdfTerm
from tidelog.language.terms import Value
from tidelog.rdf.layouts import Layout, fact_of, is_statement, name_of, relation_terms, triples_of
from tidelog.rdf.rule_table import TRIPLE

COLUMNS = ("s", "p", "o")


class TripleTable(FactTable):
    """Facts of classes and properties, by relation, as one table."""

    def __init__(self, parts: Mapping[str, FactTable | Relation]) -> None:
        self._parts = parts

    @property
    def is_far(self) -> bool:
        """Whether facts of one of the relations are not in this process."""
        tables = (part.table if isinstance(part, Relation) else part for part in self._parts.values())
        return any(table.is_far for table in tables)

    def __len__(self) -> int:
        return sum(map(len, self._parts.values()))

    def __iter__(self) -> Iterator[tuple[Value, ...]]:
        for name, table in self._parts.items():
            yield from triples_of(name, table)

    def __contains__(self, triple: object) -> bool:
        if not isinstance(triple, tuple | list) or len(triple) != 3:
            return False
        subject, predicate, target = triple
        if name_of(predicate) is None:
            return False
        relation, fact = fact_of((subject, predicate, target), Layout.RULES)
        return relation in self._parts and fact in self._parts[relation]

    def to_arrow(self) -> pa.Table:
        """The triples as an Arrow table."""
        tables = [_with_predicate(name, table.to_arrow()) for name, table in self._parts.items() if len(table)]
        if not tables:
            return pa.table({name: pa.nulls(0) for name in COLUMNS})
        return pa.table([_stacked([table.column(at) for table in tables]) for at in range(3)], names=list(COLUMNS))


def seen_as_triples(tables: FactTables) -> FactTables:
    """Tables of facts by relation, with those of classes and properties as one."""
    if not any(is_statement(name) and name != TRIPLE for name in tables):
        return tables
    own = {name: table for name, table in tables.items() if not is_statement(name)}
    return FactTables({**own, TRIPLE: TripleTable({name: tables[name] for name in tables if is_statement(name)})})


def change_of_triples(change: Change) -> Change:
    """A change with those of classes and properties as one of `triple`."""
    come, gone = seen_as_triples(change.inserted), seen_as_triples(change.deleted)
    return Change(come, gone, change.stats, change.version, change.updates)


def _with_predicate(relation: str, facts: pa.Table) -> pa.Table:
    predicate, kind = relation_terms(relation, facts.num_columns)

    def repeated(term: RdfTerm) -> pa.Array:
        return as_terms(pa.repeat(pa.scalar(term.text, pa.large_string()), facts.num_rows))

    last = facts.column(1) if kind is None else repeated(kind)
    return pa.table([facts.column(0), repeated(predicate), last], names=list(COLUMNS))


def _stacked(columns: Sequence[pa.ChunkedArray]) -> pa.ChunkedArray:
    """Columns under each other; those whose types differ become a union, never a cast."""
    if len({column.type for column in columns}) == 1:
        return pa.chunked_array([chunk for column in columns for chunk in column.chunks], columns[0].type)
    return pa.chunked_array([mixed_to_arrow([value for column in columns for value in column.to_pylist()])])

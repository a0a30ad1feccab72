"""Which facts a pile of rows amounts to.

What      : `fold` reads rows of many versions and says, per relation, which facts are there and which are explicit.
Idea      : the last row of a fact that says whether it is there decides that, and its last row at all decides whether
            it is explicit. Facts get dense numbers by hashing column after column, so the whole is linear in the rows.
Invariant : rows count in the order of their versions, and in the order in which they stand within one version; the
            order of the files that they come from is of no importance. Every fact comes out once. The number of columns
            belongs to a version: a relation that was emptied may come back with another, so rows of one relation can
            differ in it, and all facts that are there have the same.
Never     : no file and no engine.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidelog.state.far import DERIVED, EXPLICIT, GONE
from tidelog.state.rows import PRESENT, PROGRAM, WITHDRAWN, Flags, Numbers, fields, to_columns


@dataclass(frozen=True, slots=True, eq=False)
class StoredFacts:
    """The facts of one relation: a table with one column per argument, and which of them are explicit."""

    relation: str
    arity: int
    facts: pa.Table
    explicit: Flags

    def __len__(self) -> int:
        return len(self.explicit)


def fold(rows: pa.Table, base: int = 0) -> Iterator[StoredFacts]:
    """The facts that the rows leave, by relation; programs are left out.

    The first `base` rows are those of the base: there every fact has one row only, which says that it is there.
    """
    if not rows.num_rows:
        return
    names = rows["relation"].combine_chunks().dictionary_encode()
    numbers = names.indices.to_numpy()
    order = np.lexsort((rows["version"].to_numpy(), numbers))
    bounds = np.searchsorted(numbers[order], np.arange(len(names.dictionary) + 1))
    rest = rows.drop_columns(["relation", "version"])
    for relation, start, end in zip(names.dictionary.to_pylist(), bounds, bounds[1:]):
        places = order[start:end]
        if relation == PROGRAM:
            continue
        if places.max() < base:
            yield _unchanged(relation, _taken(rest, places))
        else:
            yield _last_shape(relation, rest.take(pa.array(places)))


def states(rows: pa.Table) -> Iterator[tuple[str, pa.Table, Numbers]]:
    """What rows since a version say, by relation: facts, and whether each is gone, derived or explicit (far.py).

    A fact of which the rows only say that it is no longer explicit was there before, and stays.
    """
    for relation in rows["relation"].unique().to_pylist():
        own = rows.filter(pc.equal(rows["relation"], relation)).sort_by("version")
        widths = own["values"].combine_chunks().value_lengths()
        arity = widths[-1].as_py()  # facts of another number of columns are all gone
        own = own.filter(pc.equal(widths, arity))
        values, signs = own["values"].combine_chunks(), own["sign"].to_numpy()
        facts, places = _numbers(values, arity), np.arange(own.num_rows)
        decisive, final = _last(facts, places, signs != WITHDRAWN), _last(facts, places, np.True_)
        known = final >= 0
        is_there = ((decisive < 0) | (signs[decisive] == PRESENT))[known]
        last = final[known]
        found = np.where(own["explicit"].to_numpy()[last], EXPLICIT, DERIVED)
        stored = _stored(relation, values.take(pa.array(last)), arity, np.ones(len(last), np.bool_))
        yield relation, stored.facts, np.where(is_there, found, GONE)


def programs(rows: pa.Table) -> dict[str, str]:
    """The last text of every role."""
    found = rows.filter(pc.equal(rows["relation"], PROGRAM)).sort_by("version").select(["values"])
    return {role["text"]: text["text"] for role, text in found["values"].to_pylist()}


def _taken(rows: pa.Table, places: Numbers) -> pa.Table:
    """The rows at rising places: without copying where they stand together."""
    first, count = int(places[0]), len(places)
    return rows.slice(first, count) if places[-1] - first == count - 1 else rows.take(pa.array(places))


def _unchanged(relation: str, rows: pa.Table) -> StoredFacts:
    """The facts of a relation of which all rows are in the base."""
    values = rows["values"].combine_chunks()
    return _stored(relation, values, len(values[0]), rows["explicit"].to_numpy())


def _last_shape(relation: str, rows: pa.Table) -> StoredFacts:
    """The facts of one relation, given its rows in order; those of other numbers of columns must all be gone."""
    widths = rows["values"].combine_chunks().value_lengths().to_numpy()
    if (widths == widths[-1]).all():
        return _relation(relation, rows, int(widths[-1]))
    arities = (int(arity) for arity in np.unique(widths))
    found = {arity: _relation(relation, rows.filter(pa.array(widths == arity)), arity) for arity in arities}
    filled = [facts for facts in found.values() if len(facts)]
    if len(filled) > 1:
        raise ValueError(f"{relation} has facts with {filled[0].arity} and with {filled[1].arity} columns")
    return filled[0] if filled else found[int(widths[-1])]


def _stored(relation: str, values: pa.Array, arity: int, explicit: Flags) -> StoredFacts:
    columns = to_columns(values, arity) if len(values) else [pa.nulls(0)] * arity
    table = pa.table(columns, names=[f"c{number}" for number in range(arity)])
    return StoredFacts(relation, arity, table, explicit.astype(np.bool_))


def _relation(relation: str, rows: pa.Table, arity: int) -> StoredFacts:
    """The facts of one relation, given its rows in order."""
    values = rows["values"].combine_chunks()
    signs, places = rows["sign"].to_numpy(), np.arange(rows.num_rows)
    facts = _numbers(values, arity)
    says = signs != WITHDRAWN
    decisive, final = _last(facts, places, says), _last(facts, places, np.True_)
    there = (decisive >= 0) & (signs[decisive] == PRESENT)
    order = np.argsort(decisive[there])
    kept, last = decisive[there][order], final[there][order]
    return _stored(relation, values.take(pa.array(kept)), arity, rows["explicit"].to_numpy()[last])


def _last(facts: Numbers, places: Numbers, counts: Flags | np.bool_) -> Numbers:
    """For every fact the last place that counts, -1 if there is none."""
    last = np.full(int(facts.max()) + 1, -1)
    np.maximum.at(last, facts, np.where(counts, places, -1))
    return last


def _numbers(values: pa.Array, arity: int) -> Numbers:
    """Facts as numbers 0, 1, ..., equal for equal facts."""
    numbers: Numbers = np.zeros(len(values), np.int64)
    cells = values.flatten()
    for at in range(arity):
        column, size = _column_numbers(cells.take(pa.array(np.arange(at, len(cells), arity))))
        dense = pa.array(numbers * size + column).dictionary_encode()
        numbers = dense.indices.to_numpy().astype(np.int64)
    return numbers


def _column_numbers(cells: pa.Array) -> tuple[Numbers, int]:
    """Cells as numbers, equal for the same constant only, and a bound of the numbers."""
    numbers: Numbers = np.zeros(len(cells), np.int64)
    size = 0
    for part in fields(cells):
        if part.null_count == len(part):
            continue
        encoded = part.dictionary_encode()
        filled = part.is_valid().to_numpy(zero_copy_only=False)
        numbers[filled] = encoded.indices.drop_null().to_numpy() + size
        size += len(encoded.dictionary)
    return numbers, size

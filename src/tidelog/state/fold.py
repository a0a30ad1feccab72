"""Which facts a pile of rows amounts to.

What      : `fold` takes a base and the rows of changes since, and says, per relation, which facts are there and which
            are explicit.
Idea      : the last row of a fact that says whether it is there decides that, and its last row at all decides whether
            it is explicit. Changed facts get dense numbers by hashing column after column. Of the base only those facts
            are looked at closely of which every value occurs in a changed fact; all others stay as they were read.
Invariant : rows count in the order of their versions, and in the order in which they stand within one version; the
            order of the files that they come from is of no importance. Every fact comes out once. The number of columns
            belongs to a version: a relation that was emptied may come back with another, so rows of one relation can
            differ in it, and all facts that are there have the same.
Cost      : one look at every value of a base relation that has changed; numbering and moving cost what has changed.
Never     : no file and no engine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidelog.state.far import DERIVED, EXPLICIT, GONE
from tidelog.state.rows import PRESENT, PROGRAM, WITHDRAWN, Cells, Numbers, to_cells
from tidelog.state.stored_facts import Part, StoredFacts, together

Base: TypeAlias = Mapping[str, Sequence[pa.RecordBatch]]
"""The rows of a base by relation: every fact has one row, and no row says that a fact is gone."""

_FEW_ROWS = 50_000
"""Smaller pieces of a base are put together: each costs about as much to handle as a thousand rows."""


def split(tables: Iterable[pa.Table]) -> Base:
    """The rows of a base, by relation: flags and values, in the pieces in which they stand."""
    found: dict[str, list[pa.RecordBatch]] = {}
    for table in tables:
        has_small_pieces = table["values"].num_chunks * _FEW_ROWS > table.num_rows
        for batch in (table.combine_chunks() if has_small_pieces else table).to_batches():
            names = batch["relation"]
            names = names if pa.types.is_dictionary(names.type) else names.dictionary_encode()
            numbers, rest = names.indices.to_numpy(), batch.select(["explicit", "values"])
            if np.count_nonzero(np.diff(numbers)) >= len(names.dictionary):  # rows of a relation stand apart
                order = np.argsort(numbers, kind="stable")
                numbers, rest = numbers[order], rest.take(pa.array(order))
            cuts = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(numbers)]
            for start, end in pairwise(cuts):
                if end > start:
                    name = names.dictionary[int(numbers[start])].as_py()
                    found.setdefault(name, []).append(rest.slice(start, end - start))
    return found


def fold(changes: pa.Table, base: Base | None = None) -> Iterator[StoredFacts]:
    """The facts that a base and later changes leave, by relation; programs are left out."""
    base, later = base or {}, _in_order(changes)
    for relation in {**base, **later}:
        if relation == PROGRAM:
            continue
        parts = _parts(base.get(relation, ()))
        if relation in later:
            yield _changed(relation, parts, changes.take(pa.array(later[relation])))
        else:
            yield _one_shape(relation, [StoredFacts(relation, arity, own) for arity, own in parts.items()])


def states(rows: pa.Table) -> Iterator[tuple[str, pa.Table, Numbers]]:
    """What rows since a version say, by relation: facts, and whether each is gone, derived or explicit (far.py).

    A fact of which the rows only say that it is no longer explicit was there before, and stays.
    """
    for relation in rows["relation"].unique().to_pylist():
        own = rows.filter(pc.equal(rows["relation"], relation)).sort_by("version")
        widths = own["values"].combine_chunks().value_lengths()
        arity = widths[-1].as_py()  # facts of another number of columns are all gone
        said = _Said(own.filter(pc.equal(widths, arity)), arity)
        is_there = (said.decisive < 0) | (said.signs[said.decisive] == PRESENT)
        facts = said.rows.taken(said.final)
        yield relation, facts.table(), np.where(is_there, np.where(facts.explicit, EXPLICIT, DERIVED), GONE)


def programs(changes: pa.Table, base: Base | None = None) -> dict[str, str]:
    """The last text of every role."""
    later = changes.filter(pc.equal(changes["relation"], PROGRAM)).sort_by("version")["values"].to_pylist()
    first = [values for batch in (base or {}).get(PROGRAM, ()) for values in batch["values"].to_pylist()]
    return {role["text"]: text["text"] for role, text in (*first, *later)}


def _in_order(rows: pa.Table) -> dict[str, Numbers]:
    """The places of the rows of every relation, in the order of versions."""
    if not rows.num_rows:
        return {}
    names = rows["relation"].combine_chunks().dictionary_encode()
    numbers = names.indices.to_numpy()
    order = np.lexsort((rows["version"].to_numpy(), numbers))
    bounds = np.searchsorted(numbers[order], np.arange(len(names.dictionary) + 1))
    return dict(zip(names.dictionary.to_pylist(), np.split(order, bounds[1:-1])))


class _Said:
    """What the rows of one relation say, given in order: for every fact, by number, where its last rows are."""

    def __init__(self, rows: pa.Table, arity: int) -> None:
        cells = to_cells(rows["values"].combine_chunks(), arity)
        self.rows = Part(cells, arity, rows["explicit"].to_numpy().astype(np.bool_))
        self.signs = rows["sign"].to_numpy()
        facts = _numbers(self.rows)
        places: Numbers = np.arange(len(self.rows))
        self.decisive = _last(facts, np.where(self.signs != WITHDRAWN, places, -1))
        self.final = _last(facts, places)


def _parts(batches: Iterable[pa.RecordBatch]) -> dict[int, list[Part]]:
    """Rows of a base, by their number of columns."""
    found: dict[int, list[Part]] = {}
    for batch in batches:
        values, widths = batch["values"], batch["values"].value_lengths().to_numpy()
        explicit = batch["explicit"].to_numpy(zero_copy_only=False).astype(np.bool_)
        if widths.min() == widths.max():
            arity = int(widths[0])
            found.setdefault(arity, []).append(Part(to_cells(values, arity), arity, explicit))
            continue
        for arity in np.unique(widths).tolist():
            own = values.filter(pa.array(widths == arity))
            found.setdefault(arity, []).append(Part(to_cells(own, arity), arity, explicit[widths == arity]))
    return found


def _changed(relation: str, base: Mapping[int, Sequence[Part]], rows: pa.Table) -> StoredFacts:
    """The facts of a relation, given those of the base and later rows in order."""
    widths = rows["values"].combine_chunks().value_lengths().to_numpy()
    found = []
    for arity in dict.fromkeys(widths[::-1].tolist()):  # the last one first: it counts if no facts are left
        own = rows if (widths == arity).all() else rows.filter(pa.array(widths == arity))
        found.append(StoredFacts(relation, arity, _corrected(base.get(arity, ()), _Said(own, arity))))
    same = {facts.arity for facts in found}
    found += [StoredFacts(relation, arity, parts) for arity, parts in base.items() if arity not in same]
    return _one_shape(relation, found)


def _one_shape(relation: str, found: Sequence[StoredFacts]) -> StoredFacts:
    """The facts of the one number of columns that has any."""
    filled = [facts for facts in found if len(facts)]
    if len(filled) > 1:
        one, other, *_ = sorted(facts.arity for facts in filled)
        raise ValueError(f"{relation} has facts with {one} and with {other} columns")
    return filled[0] if filled else found[0]


def _corrected(base: Sequence[Part], said: _Said) -> list[Part]:
    """The facts of the base that stay, and behind them those that came later."""
    there = (said.decisive >= 0) & (said.signs[said.decisive] == PRESENT)
    order = np.argsort(said.decisive[there])
    kept, last = said.decisive[there][order], said.final[there][order]
    come = Part(said.rows.taken(kept).cells, said.rows.arity, said.rows.explicit[last])
    stay = _without_said(base, said) if base else []
    return [part for part in (*stay, come) if len(part)]


def _without_said(base: Sequence[Part], said: _Said) -> list[Part]:
    """The base without the facts that later rows decide about; of the others, which are still explicit."""
    facts = said.rows.taken(said.final)
    candidates = [_candidates(part, facts) for part in base]
    pile = together([facts, *(part.taken(places) for part, places in zip(base, candidates))], facts.arity)
    numbers = _numbers(pile)
    fact_of = np.full(int(numbers.max()) + 1, -1)
    fact_of[numbers[: len(facts)]] = np.arange(len(facts))
    matched, start, found = fact_of[numbers], len(facts), []
    for part, places in zip(base, candidates):
        numbered = matched[start : start + len(places)]
        start += len(places)
        is_decided = (numbered >= 0) & (said.decisive[numbered] >= 0)
        is_withdrawn = (numbered >= 0) & ~is_decided
        explicit = part.explicit
        if is_withdrawn.any():
            explicit = explicit.copy()
            explicit[places[is_withdrawn]] = facts.explicit[numbered[is_withdrawn]]
        found.append(_left(Part(part.cells, part.arity, explicit), places[is_decided]))
    return found


def _left(part: Part, gone: Numbers) -> Part:
    """A part without the facts at some places."""
    if not len(gone):
        return part
    kept = np.ones(len(part), np.bool_)
    kept[gone] = False
    return part.taken(np.flatnonzero(kept))


def _candidates(part: Part, facts: Part) -> Numbers:
    """The places of a part at which every value is one that some of the facts has, in whatever column."""
    fits = np.zeros(len(part) * part.arity, np.bool_)
    for name in part.cells.keys() & facts.cells.keys():
        wanted = facts.cells[name].drop_null()
        fits |= pc.is_in(part.cells[name], wanted, skip_nulls=True).to_numpy(zero_copy_only=False)
    return np.flatnonzero(fits.reshape(len(part), part.arity).all(axis=1))


def _last(facts: Numbers, places: Numbers) -> Numbers:
    """For every fact the last of its places."""
    last = np.full(int(facts.max(initial=-1)) + 1, -1)
    np.maximum.at(last, facts, places)
    return last


def _numbers(part: Part) -> Numbers:
    """Facts as numbers 0, 1, ..., equal for equal facts."""
    numbers: Numbers = np.zeros(len(part), np.int64)
    for column in part.columns():
        own, size = _cell_numbers(column, len(part))
        dense = pa.array(numbers * size + own).dictionary_encode()
        numbers = dense.indices.to_numpy().astype(np.int64)
    return numbers


def _cell_numbers(cells: Cells, count: int) -> tuple[Numbers, int]:
    """Cells as numbers, equal for the same constant only, and a bound of the numbers."""
    numbers: Numbers = np.zeros(count, np.int64)
    size = 0
    for part in cells.values():
        encoded = part.dictionary_encode()
        filled = part.is_valid().to_numpy(zero_copy_only=False)
        numbers[filled] = encoded.indices.drop_null().to_numpy() + size
        size += len(encoded.dictionary)
    return numbers, size

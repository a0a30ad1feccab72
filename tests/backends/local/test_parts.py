"""What several threads store is what one thread stores: rows, order, marks, journal, rings and tables.

Few rows go through the parts here, in tables so small that searches leave their range of slots all the time; the last
test has enough rows for several pieces.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.sharing import sharing
from tidelog.backends.local.kernels.workers import Workers
from tidelog.backends.local.relations import new_rows, parts, row_table
from tidelog.backends.local.relations.growth import empty_table
from tidelog.backends.local.relations.relation import Relation
from tidelog.planning.views import NOW, Mark, View

FRESH, UNSEEN = View(outside=Mark.NOW | Mark.NEXT), View(outside=Mark.CANDIDATE)
FOUND = View(Mark.NEXT, Mark.DELTA)


def filled(threads: int, arity: int, tables: list[tuple[np.ndarray, View, Mark]]) -> dict[str, object]:
    """Everything that can be seen of a relation that takes the tables."""
    relation = Relation("p", arity, workers=Workers(threads))
    indexes = [relation.index((0,)), *([relation.index((0, 1))] if arity > 2 else [])]
    found = [relation.store(*given) for given in tables]
    indexes = [relation.index(one.columns) for one in indexes]
    count = relation.count
    return {
        "rows": relation.rows[:count],
        "marks": relation.marks[:count],
        "journal": relation.journal,
        "found": np.concatenate(found),
        "links": np.concatenate([one.links[:count] for one in indexes]),
        "keys": [one.keys for one in indexes],
        "slots": np.concatenate([np.sort(one.slots) for one in indexes]),
        "table": np.sort(relation.slots),
    }


def are_same(one: dict[str, object], other: dict[str, object]) -> None:
    for name in one:
        assert np.array_equal(one[name], other[name]), name


@pytest.mark.parametrize("arity", [1, 2, 3])
@pytest.mark.parametrize("seed", range(8))
def test_few_rows_are_stored_as_by_one_thread(arity, seed):
    """New rows and rows that come again, in the same table or in a later one, with marks that are asked for or not."""
    source, values = np.random.default_rng(seed), (60, 9, 5)[arity - 1]
    tables = []
    for size in source.integers(0, 50, 9).tolist():
        table = source.integers(0, values, (size, arity)).astype(np.int32)
        tables.append((table, *((FRESH, Mark.NEXT), (UNSEEN, Mark.CANDIDATE), (FOUND, Mark.DELTA))[len(tables) // 3]))
    alone = filled(1, arity, tables)
    with sharing(least=1):
        for threads in (2, 3, 5):
            are_same(filled(threads, arity, tables), alone)


def test_a_full_table_is_filled_in_parts():
    """Three quarters of the slots, cut into five ranges: some searches leave theirs."""
    for seed in range(10):
        rows = np.random.default_rng(seed).permutation(500)[:48].astype(np.int32).reshape(-1, 1)
        one, other = empty_table(48), empty_table(48)
        row_table.enter_all(rows, 0, 48, one, np.empty(row_table.BLOCK, np.uint64))
        parts.enter_rows(Workers(5), rows, 0, 48, other)
        assert np.array_equal(np.sort(one), np.sort(other))
        relation = Relation("p", 1)
        relation.__dict__.update(rows=rows, marks=np.ones(48, np.uint16), _slots=other)
        relation._counters[0] = 48
        assert sorted(relation.find(rows, View()).tolist()) == list(range(48))


def test_many_rows_are_stored_as_by_one_thread():
    """Several pieces, growing tables, and an index that is built over rows that are there."""
    source = np.random.default_rng(1)
    tables = [(source.integers(0, 300, (90_000, 2)).astype(np.int32), FRESH, Mark.NOW) for _ in range(3)]
    alone = filled(1, 2, tables)
    for threads in (2, 3, 5):
        are_same(filled(threads, 2, tables), alone)
    built = [Relation("p", 2, workers=Workers(threads)) for threads in (1, 3)]
    for relation in built:
        relation.store(*tables[0])
    one, other = (relation.index((1,)) for relation in built)
    assert np.array_equal(one.links[: built[0].count], other.links[: built[1].count])


@pytest.mark.parametrize(
    ("module", "step"),
    [(parts, "store_rows"), (new_rows, "store_new_rows"), (parts, "link_rows"), (parts, "count_rows")],
)
def test_an_interrupt_while_parts_are_stored_is_undone(module, step, monkeypatch):
    """Marks may have changed that no journal names, and the table may hold rows that are none."""
    source = np.random.default_rng(2)
    old, new = (source.integers(0, 12, (40, 2)).astype(np.int32) for _ in range(2))
    with sharing(least=1):
        relation = Relation("p", 2, workers=Workers(3))
        relation.index((0,))
        relation.store(old, FRESH, Mark.NOW)
        relation.commit()
        before = sorted(map(tuple, relation.rows[relation.select(NOW)].tolist()))
        work = getattr(module, step)

        def interrupted(*arguments: object) -> None:
            work(*arguments)
            raise KeyboardInterrupt

        monkeypatch.setattr(module, step, interrupted)
        how = (FRESH, Mark.NOW) if module is new_rows else (UNSEEN, Mark.CANDIDATE | Mark.NEXT)
        with pytest.raises(KeyboardInterrupt):
            relation.store(np.concatenate([old, new]), *how)
        monkeypatch.setattr(module, step, work)
        relation.rollback()
        assert sorted(map(tuple, relation.rows[relation.select(NOW)].tolist())) == before
        assert not np.any(relation.marks[: relation.count] & int(Mark.CANDIDATE | Mark.NEXT))
        assert len(relation.find(old, NOW)) == len(old)
        again = relation.store(np.concatenate([old, new]), FRESH, Mark.NOW)
        assert len(again) == len({*map(tuple, new.tolist())} - set(before))
        relation.commit()
        assert relation.alive == len({*map(tuple, new.tolist())} | set(before))

"""A long-running engine does not grow for ever.

Deleted rows stay where they are until many have gone; without compaction an engine through which distinct facts pass
would hold all of them at the end.
"""

from __future__ import annotations

import numpy as np
import pytest

from tidelog.backends.local.joins.row_lookups import matching
from tidelog.backends.local.relations import arrays, index
from tidelog.backends.local.relations.relation import Relation
from tidelog.engine import Engine
from tidelog.planning.views import NOW, Mark, View

FRESH = View(outside=Mark.NOW)


def test_distinct_facts_passing_through_leave_no_trace():
    """One hundred thousand distinct facts come and go, a thousand at a time; memory stays that of thousands."""
    engine = Engine("p(x, z) :- e(x, y), f(y, z).\n")
    engine.apply(insert={"f": [(1, 2), (1, 3)]})
    sizes = []
    previous = None
    for start in range(0, 100_000, 1_000):
        facts = np.column_stack([np.arange(start, start + 1_000), np.ones(1_000, np.int64)])
        engine.apply(insert={"e": facts}, delete={"e": previous} if previous is not None else {})
        previous = facts
        relations = engine._backend.store.relations
        sizes.append(sum(relation.nbytes for relation in relations.values()))
    assert len(engine["p"]) == 2_000
    assert max(sizes[20:]) <= 2 * max(sizes[:20])
    assert all(relation.count < 20_000 for relation in relations.values())
    engine.verify()


def test_facts_that_come_again_take_no_more_room():
    """The same facts inserted and deleted over and over reuse their rows."""
    engine = Engine("p(x) :- e(x, _).\n")
    facts = [(number, number) for number in range(100)]
    for _ in range(50):
        engine.apply(insert={"e": facts})
        engine.apply(delete={"e": facts})
    assert engine._backend.store.relations["e"].count <= 200
    assert len(engine["p"]) == 0


def test_a_change_keeps_its_facts_after_rows_have_moved():
    """A change belongs to its version: compaction must not alter what was handed out."""
    engine = Engine("p(x) :- e(x).\n")
    change = engine.apply(insert={"e": [(number,) for number in range(5_000)]})
    engine.apply(delete={"e": [(number,) for number in range(4_500)]})
    engine.apply(insert={"e": [(number,) for number in range(9_000, 9_500)]})
    assert sorted(change.inserted["p"]) == [(number,) for number in range(5_000)]


class Counted(list):
    """A list that counts how often one of its items is looked at."""

    looks = 0

    def __iter__(self):
        for item in super().__iter__():
            self.looks += 1
            yield item


def test_stages_of_a_chain_do_not_look_at_all_relations_that_were_touched():
    """Four times as many rules cost four times as many looks, not sixteen times."""
    looks = []
    for rules in (50, 200):
        engine = Engine("\n".join(f"r{number + 1}(x) :- r{number}(x)." for number in range(rules)), strategy="dred")
        catalogue = engine._backend.store.catalogue
        catalogue._opened = opened = Counted()
        for relation in catalogue.relations.values():
            relation._opened = opened
        engine.apply(insert={"r0": [(1,), (2,)]})
        change = engine.apply(delete={"r0": [(1,)]})
        assert len(change.deleted) == rules + 1
        assert list(engine[f"r{rules}"]) == [(2,)]
        looks.append(opened.looks)
    assert 0 < looks[1] <= 5 * looks[0]


@pytest.mark.parametrize("begins_with", ["few keys", "many keys"])
def test_an_index_has_room_for_keys_however_late_they_come(begins_with):
    """Slots are made for as many keys as the first rows let expect; the rest may be all alike, or all different."""
    same, distinct = np.full(30_000, 7, np.int32), np.arange(100, 60_100, 2, dtype=np.int32)
    keys = np.concatenate([same, distinct] if begins_with == "few keys" else [distinct, same])
    relation = Relation("r", 2)
    relation.store(np.column_stack([keys, np.arange(len(keys), dtype=np.int32)]), FRESH, Mark.NOW)
    assert relation.index((0,)).keys == 30_001
    assert len(matching(relation, (0,), np.array([7]), NOW)) == 30_000
    assert all(len(matching(relation, (0,), np.array([key]), NOW)) == 1 for key in distinct[::997].tolist())


def test_few_keys_take_few_slots_while_an_index_is_built(monkeypatch):
    """A slot for every row would be cleared and touched for nothing, which takes longer than to link the rows."""
    made, full = [], index.full
    monkeypatch.setattr(index, "full", lambda size, *rest: made.append(size) or full(size, *rest))
    rows = np.column_stack([np.arange(100_000) % 5, np.arange(100_000)]).astype(np.int32)
    assert index.Index((0,), rows, len(rows), len(rows)).keys == 5
    assert max(made) < len(rows)


def test_a_first_load_in_parts_fills_its_table_once(monkeypatch):
    """How many rows come is known before the first part is stored; a table that grows is filled again."""
    counts, filled = [], arrays.filled
    monkeypatch.setattr(arrays, "filled", lambda rows, count, *rest: counts.append(count) or filled(rows, count, *rest))
    engine = Engine()
    engine.apply(insert={"e": np.column_stack([np.arange(140_000), np.arange(140_000)])})
    assert len(engine["e"]) == 140_000
    assert set(counts) == {0}


def test_the_journal_has_no_room_for_rows_that_are_in_it():
    """A row is listed once in a transaction, however often its marks change."""
    relation = Relation("r", 1)
    rows = relation.store(np.arange(1_000, dtype=np.int32)[:, None], FRESH, Mark.NOW)
    room = len(relation._journal)
    for _ in range(5):
        relation.mark(rows, Mark.DELTA, Mark.DELTA)
        relation.restrict(rows, NOW, Mark.DELTA)
        relation.store(relation.rows[: relation.count], NOW, Mark.CANDIDATE)
    assert len(relation._journal) == room
    assert relation.journalled == 1_000

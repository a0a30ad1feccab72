"""A relation on this machine behaves as a set of rows with marks, whatever happens to its arrays.

The model is a Python dictionary from rows to marks, with the same transactions. Arrays start with room for few rows,
so growth, rehashing and compaction happen in nearly every case.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.backends.local.joins.row_lookups import matching
from tidelog.backends.local.relations import relation as relation_module
from tidelog.backends.local.relations.relation import Relation
from tidelog.planning.views import ANY, NO_MARKS, NOW, OLD, Mark, View

FRESH = View(outside=Mark.NOW | Mark.NEXT)
COPIES = {Mark.OLD: Mark.NOW, Mark.WAS_EXPLICIT: Mark.EXPLICIT}


class Model:
    """Rows and their marks, in transactions."""

    def __init__(self) -> None:
        self.marks: dict[tuple[int, ...], Mark] = {}

    def store(self, rows, view, add):
        """The distinct rows in the view, in order; they get the marks."""
        found = []
        for row in rows:
            if not view.inside:
                self.marks.setdefault(row, NO_MARKS)
            if row in self.marks and view.contains(int(self.marks[row])):
                self.marks[row] |= add
                found.append(row)
        return found

    def mark(self, rows, add, remove):
        """Give and take marks."""
        for row in rows:
            self.marks[row] = (self.marks[row] & ~remove) | add

    def settle(self, *, forwards):
        """Commit or roll back: one version is copied onto the other, other marks go."""
        for row, marks in self.marks.items():
            kept = NO_MARKS
            for old, new in COPIES.items():
                if marks & (new if forwards else old):
                    kept |= old | new
            self.marks[row] = kept

    def select(self, view):
        """The rows in the view."""
        return {row for row, marks in self.marks.items() if view.contains(int(marks))}


def rows_of(relation, chosen):
    return [tuple(row) for row in relation.rows[chosen].tolist()]


def table(rows, arity):
    return np.array(rows, np.int32).reshape(len(rows), arity)


def actions(arity):
    rows = st.lists(st.tuples(*[st.integers(0, 5)] * arity), max_size=40)
    return st.lists(
        st.one_of(
            st.tuples(st.just("derive"), rows),
            st.tuples(st.just("delete"), rows),
            st.tuples(st.just("commit"), st.just([])),
            st.tuples(st.just("rollback"), st.just([])),
            st.tuples(st.just("index"), st.just([])),
        ),
        max_size=14,
    )


@pytest.mark.parametrize("arity", [1, 2, 3, 4])
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_relation_equals_its_model(arity, data):
    """Deriving, deleting, committing and rolling back, with indexes made at any time; compaction from the first row."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(relation_module, "_LEAST_DEAD", 2)
        relation, model = Relation("p", arity), Model()
        for word, rows in data.draw(actions(arity)):
            if word == "derive":
                found = relation.store(table(rows, arity), FRESH, Mark.NEXT)
                assert rows_of(relation, found) == model.store(rows, FRESH, Mark.NEXT)
                relation.mark(found, Mark.NOW, Mark.NEXT)
                model.mark(rows_of(relation, found), Mark.NOW, Mark.NEXT)
            elif word == "delete":
                chosen = relation.store(table(rows, arity), View(Mark.NOW, Mark.CANDIDATE), Mark.CANDIDATE)
                assert rows_of(relation, chosen) == model.store(rows, View(Mark.NOW, Mark.CANDIDATE), Mark.CANDIDATE)
                relation.mark(chosen, NO_MARKS, Mark.NOW | Mark.CANDIDATE)
                model.mark(rows_of(relation, chosen), NO_MARKS, Mark.NOW | Mark.CANDIDATE)
            elif word == "index":
                relation.index((arity - 1,))
            else:
                relation.commit() if word == "commit" else relation.rollback()
                model.settle(forwards=word == "commit")
                assert relation.alive == len(model.select(OLD))
            check(relation, model, arity)


def check(relation, model, arity):
    """Scans, look-ups of whole rows, and look-ups by index all see the model."""
    for view in (OLD, NOW):
        expected = model.select(view)
        found = rows_of(relation, relation.select(view))
        assert len(found) == len(expected)
        assert set(found) == expected
    everything = sorted(model.marks)
    assert set(rows_of(relation, relation.find(table(everything, arity), NOW))) == model.select(NOW)
    if arity > 1 and relation.has_index((arity - 1,)):
        for value in range(6):
            hits = rows_of(relation, matching(relation, (arity - 1,), np.array([value], np.int32), NOW))
            assert len(hits) == len(set(hits))
            assert set(hits) == {row for row in model.select(NOW) if row[-1] == value}


def test_equal_keys_form_a_ring_in_order_of_arrival():
    """Joins walk rows with the same key in the order in which they were stored, also after the table has grown."""
    relation = Relation("p", 2)
    relation.index((0,))
    rows = [(key, number) for number in range(200) for key in (1, 2)]
    for start in range(0, len(rows), 7):
        relation.store(table(rows[start : start + 7], 2), ANY, Mark.NOW)
    for key in (1, 2):
        assert rows_of(relation, matching(relation, (0,), np.array([key], np.int32), NOW)) == [
            row for row in rows if row[0] == key
        ]


def test_a_row_that_occurs_twice_is_collected_once():
    """Marks make a head count once, however many instances derive it in one chunk."""
    relation = Relation("p", 2)
    found = relation.store(table([(1, 2), (1, 2), (3, 4), (1, 2)], 2), FRESH, Mark.NEXT)
    assert rows_of(relation, found) == [(1, 2), (3, 4)]


def test_a_relation_without_columns_holds_one_fact():
    """It is stored with a column that is always 0."""
    relation = Relation("p", 0)
    assert len(relation.store(np.zeros((3, 1), np.int32), FRESH, Mark.NEXT)) == 1
    assert relation.count == 1


def test_compaction_tells_whoever_keeps_row_numbers():
    """`on_move` gives the new place of every row, -1 for those that are gone."""
    relation = Relation("p", 1)
    rows = relation.store(table([(number,) for number in range(4000)], 1), FRESH, Mark.NOW)
    relation.commit()
    moves = []
    relation.on_move = moves.append
    relation.mark(rows[:3000], NO_MARKS, Mark.NOW)
    relation.commit()
    (move,) = moves
    assert move[:3000].tolist() == [-1] * 3000
    assert move[3000:].tolist() == list(range(1000))
    assert relation.count == relation.alive == 1000


@pytest.mark.parametrize("arity", [1, 2, 3])
def test_the_bulk_of_a_result_is_a_set(arity):
    """Many rows at once, most of them twice and across several blocks and growths, are stored once each."""
    source = np.random.default_rng(arity)
    relation, seen = Relation("r", arity), set()
    for size in (1, 63, 64, 65, 5_000, 200_000):
        table = source.integers(0, (40_000, 300, 50)[arity - 1], (size, arity)).astype(np.int32)
        new = set(map(tuple, table.tolist())) - seen
        found = relation.store(table, FRESH, Mark.NEXT)
        assert len(found) == len(new)
        assert set(map(tuple, relation.rows[found].tolist())) == new
        seen |= new
    assert relation.count == len(seen) == len(relation.journal)
    assert len(relation.find(np.array(sorted(seen), np.int32), View(Mark.NEXT))) == len(seen)


def test_pairs_may_begin_at_any_place():
    """Rows of two columns are read as words, also from a table that begins in the middle of one, or has gaps."""
    numbers = np.arange(1, 2002, dtype=np.int32)
    relation = Relation("r", 2)
    assert len(relation.store(numbers[1:].reshape(-1, 2), FRESH, Mark.NEXT)) == 1000
    wide = np.column_stack([numbers[1::2], numbers[2::2], numbers[2::2]])
    assert len(relation.store(wide[:, :2], FRESH, Mark.NEXT)) == 0
    assert relation.rows[0].tolist() == [2, 3]


def test_most_of_a_relation_is_kept_without_copying_and_outlives_compaction():
    """A frozen table shows what it showed, also after dead rows have made place for others."""
    relation = Relation("r", 2)
    rows = relation.store(np.arange(20_000, dtype=np.int32).reshape(-1, 2), FRESH, Mark.NEXT)
    kept = relation.frozen(rows)
    assert kept.base is relation.rows
    before = kept.copy()
    relation.mark(rows[1::2], Mark.NOW, Mark.NEXT)
    relation.mark(rows[:1000], Mark.NOW, Mark.NEXT)
    relation.commit()
    relation.mark(relation.select(NOW)[::2], NO_MARKS, Mark.NOW)
    relation.commit()
    assert relation.count < len(kept)
    assert np.array_equal(kept, before)

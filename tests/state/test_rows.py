"""Facts survive the way into rows and back with their types, whatever their relation is called.

`1`, `1.0`, `True` and `"1"` are four constants; a format with one type per column would merge or refuse them.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.changes.columns import Columns
from tidelog.changes.fact_sources import to_table
from tidelog.language.values import INT_MAX, INT_MIN, fact_identity
from tidelog.state.fold import fold
from tidelog.state.rows import ABSENT, PRESENT, SCHEMA, WITHDRAWN, program_row, to_rows

VALUES = st.one_of(
    st.integers(INT_MIN, INT_MAX),
    st.floats(allow_nan=False, allow_infinity=False).map(lambda value: value + 0.0),
    st.booleans(),
    st.text(st.characters(exclude_categories=["Cs"])),
    st.sampled_from([0, 0.0, False, "", "0", 1, 1.0, True, "1", "\x00"]),
)
FACTS = st.integers(0, 3).flatmap(lambda arity: st.lists(st.tuples(*[VALUES] * arity), min_size=1, max_size=12))
NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(lambda name: not name.startswith("@"))


def identities(facts):
    """Facts by typed identity."""
    return [fact_identity(values) for values in facts]


def folded(rows):
    """The facts that rows leave: relation -> {identity: explicit}."""
    return {
        one.relation: dict(zip(identities(Columns(tuple(one.facts.columns), len(one))), one.explicit.tolist()))
        for one in fold(rows)
    }


@given(NAMES, FACTS, st.data())
def test_facts_come_back_as_they_were(name, facts, data):
    """Any name, any arity, any mix of types, explicit or derived."""
    distinct = list({fact_identity(values): values for values in facts}.values())
    explicit = np.array([data.draw(st.booleans()) for _ in distinct])
    table = to_table(distinct, name)
    rows = to_rows(name, table.to_arrow(), 7, PRESENT, explicit, len(distinct))
    assert folded(rows) == {name: dict(zip(identities(distinct), explicit.tolist()))}


def test_rows_survive_parquet(tmp_path):
    """The file holds what the row holds; nothing of Arrow's own is needed to read it."""
    facts = [(1, "a"), (1.0, True), (True, 2**62), ("1", -0.5)]
    rows = pa.concat_tables(
        [program_row("rules", "p(x) :- q(x).", 1), to_rows("p", to_table(facts, "p").to_arrow(), 1, PRESENT, True, 4)]
    )
    pq.write_table(rows, tmp_path / "x.parquet", store_schema=False)
    again = pq.read_table(tmp_path / "x.parquet").cast(SCHEMA)
    assert folded(again) == {"p": dict.fromkeys(identities(facts), True)}


OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(["p", "q"]),
        st.sampled_from([(PRESENT, True), (PRESENT, False), (WITHDRAWN, False), (ABSENT, False)]),
        st.lists(st.sampled_from([1, 1.0, True, "1"]), min_size=1, max_size=3, unique_by=repr),
    ),
    max_size=25,
)


def naive(operations):
    """The twin: one dictionary per relation, one operation after the other."""
    found: dict[str, dict] = {}
    for relation, (sign, explicit), values in operations:
        facts = found.setdefault(relation, {})
        for value in values:
            identity = fact_identity((value,))
            if sign == PRESENT:
                facts[identity] = explicit
            elif sign == ABSENT:
                facts.pop(identity, None)
            elif identity in facts:
                facts[identity] = False
    return found


@given(OPERATIONS, st.randoms(use_true_random=False))
def test_fold_is_the_last_word_on_every_fact(operations, shuffle):
    """The same as a dictionary that is changed step by step, in whatever order the files are read."""
    pieces = [
        to_rows(relation, to_table([(value,) for value in values], relation).to_arrow(), version, *how, len(values))
        for version, (relation, how, values) in enumerate(operations)
    ]
    shuffle.shuffle(pieces)
    assert folded(pa.concat_tables([SCHEMA.empty_table(), *pieces])) == naive(operations)


def test_order_within_a_version_counts():
    """A fact that is derived and asserted by one update is explicit; one that is withdrawn and kept is not."""
    facts = to_table([(1,)], "p").to_arrow()
    derived, asserted = to_rows("p", facts, 1, PRESENT, False, 1), to_rows("p", facts, 1, PRESENT, True, 1)
    assert folded(pa.concat_tables([derived, asserted])) == {"p": {fact_identity((1,)): True}}
    withdrawn = to_rows("p", facts, 1, WITHDRAWN, False, 1)
    assert folded(pa.concat_tables([derived, asserted, withdrawn])) == {"p": {fact_identity((1,)): False}}


@pytest.mark.parametrize("count", [0, 1])
def test_a_relation_without_columns_holds_or_not(count):
    """The empty fact is a fact."""
    rows = to_rows("rain", pa.table({}), 1, PRESENT, True, count)
    assert folded(rows) == ({"rain": {(): True}} if count else {})

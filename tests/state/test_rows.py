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
from tidelog.state.base_rows import filled_rows
from tidelog.state.fold import fold, split
from tidelog.state.rows import ABSENT, PRESENT, SCHEMA, WITHDRAWN, program_row, to_cells, to_rows

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


def folded(rows, base=None):
    """The facts that a base and later rows leave: relation -> {identity: explicit}."""
    found = {}
    for one in fold(rows, base):
        facts = identities(Columns(tuple(one.facts.columns), len(one)))
        assert len(set(facts)) == len(facts)
        found[one.relation] = dict(zip(facts, one.explicit.tolist()))
    return found


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


HOW = st.sampled_from([(PRESENT, True), (PRESENT, False), (WITHDRAWN, False), (ABSENT, False)])
PAIRS = st.sampled_from([(left, right) for left in (1, 1.0, True, "1", "a") for right in (1, "a", 2.5)])


def as_base(facts):
    """Facts of `p` as rows in three pieces, so that the pieces differ in the types of their columns."""
    names = list(facts)
    pieces = [
        to_rows("p", to_table(some, "p").to_arrow(), 1, PRESENT, np.array([facts[one] for one in some]), len(some))
        for some in (names[0::3], names[1::3], names[2::3])
        if some
    ]
    return split(pieces)


@given(st.dictionaries(PAIRS, st.booleans()), st.lists(st.tuples(PAIRS, HOW)))
def test_changes_since_a_base_are_the_last_word(base, changes):
    """The same as a dictionary: facts of the base that no row names stay, others go, come again or lose their flag."""
    distinct = {fact_identity(values): (values, flag) for values, flag in base.items()}
    rows = [
        to_rows("p", to_table([values], "p").to_arrow(), version, *how, 1)
        for version, (values, how) in enumerate(changes, 2)
    ]
    expected = {identity: flag for identity, (_, flag) in distinct.items()}
    for values, (sign, explicit) in changes:
        identity = fact_identity(values)
        if sign == PRESENT:
            expected[identity] = explicit
        elif sign == ABSENT:
            expected.pop(identity, None)
        elif identity in expected:
            expected[identity] = False
    found = folded(pa.concat_tables([SCHEMA.empty_table(), *rows]), as_base(dict(distinct.values())))
    assert found.get("p", {}) == expected


def test_a_base_is_read_without_the_fields_that_are_empty(tmp_path):
    """Every row comes out once, whatever the types; a row group of integers has no other field to read."""
    pairs = {"n": [(n, n + 1) for n in range(50)], "s": [(str(n), n / 2) for n in range(50)]}
    tables = {**pairs, "t": [(True,), (1,)], "z": [()]}
    rows = [
        to_rows(name, to_table(facts, name).to_arrow(), 1, PRESENT, np.arange(len(facts)) % 2 == 0, len(facts))
        for name, facts in tables.items()
    ]
    with pq.ParquetWriter(tmp_path / "x.parquet", SCHEMA) as writer:
        for group in rows:
            writer.write_table(group)
    pieces = list(filled_rows(tmp_path / "x.parquet"))
    assert [field.name for field in pieces[0]["values"].type.value_type] == ["int"]
    found = folded(SCHEMA.empty_table(), split(pieces))
    expected = {
        name: {fact_identity(values): at % 2 == 0 for at, values in enumerate(facts)} for name, facts in tables.items()
    }
    assert found == expected


def test_a_cell_without_a_value_is_refused():
    """Whoever takes a field for empty that is not must not lose the value in silence."""
    cells = pa.array([[{"int": 1, "text": None}, {"int": None, "text": None}]])
    with pytest.raises(ValueError, match="too few"):
        to_cells(cells, 2)


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

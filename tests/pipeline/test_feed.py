"""The change feed spells facts so that nothing is lost, and the outbox hands each stored version over."""

import json

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

import tidelog as tl
from tidelog.pipeline.out.feed import feed_of, spelled
from tidelog.pipeline.out.outbox import Outbox

VALUES = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.booleans(),
    st.text(st.characters(codec="utf-8")),
    st.floats(allow_nan=False, allow_infinity=False),
)


@given(st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=8))
def test_values_come_back_as_they_were(rows):
    """`1`, `1.0`, `true` and `"1"` stay four constants, whatever strings contain."""
    from tidelog.changes.change import ListedFacts

    facts = ListedFacts(rows)
    texts = spelled(facts.to_arrow(), len(facts)).to_pylist()
    read = [json.loads(text) for text in texts]
    assert [[(type(v), v) for v in row] for row in read] == [[(type(v), v) for v in row] for row in facts]


def test_a_change_becomes_signed_rows():
    """Deletions come before insertions, and every row knows its version and batch."""
    engine = tl.Engine("p(x) :- q(x), !r(x).")
    engine.apply(insert={"q": [(1,), (2,)]})
    change = engine.apply(insert={"r": [(1,)]}, delete={"q": [(2,)]})
    rows = feed_of(change, 7, 3).to_pylist()
    assert [row["op"] for row in rows] == ["delete", "delete", "delete", "insert"]
    assert sorted((r["op"], r["relation"], r["values"]) for r in rows) == [
        ("delete", "p", "[1]"),
        ("delete", "p", "[2]"),
        ("delete", "q", "[2]"),
        ("insert", "r", "[1]"),
    ]
    assert {(r["version"], r["batch"]) for r in rows} == {(7, 3)}


def test_facts_without_columns_are_counted():
    """A relation without columns has one fact at most, and the feed shows it."""
    assert spelled(pa.table({}), 1).to_pylist() == ["[]"]


def test_the_outbox_forgets_versions_that_never_happened(tmp_path):
    """After a crash between outbox and state the change is dropped: its batch comes again."""
    outbox = Outbox(tmp_path)
    rows = feed_of(tl.Engine("p(1).").apply(insert={"q": [(1,)]}), 1, None)
    for version in (1, 2, 10):
        outbox.put(version, rows)
    (tmp_path / "11.partial").write_text("half")
    assert [version for version, _ in outbox.waiting(2)] == [1, 2]
    assert sorted(file.name for file in tmp_path.iterdir()) == ["1.feed", "2.feed"]
    outbox.done(1)
    assert [(version, table.equals(rows)) for version, table in outbox.waiting(2)] == [(2, True)]
    outbox.done(2)
    outbox.put_whole(1)
    assert list(outbox.waiting(0)) == []
    outbox.put_whole(1)
    assert list(outbox.waiting(1)) == [(1, None)]
    outbox.done(1)
    assert list(tmp_path.iterdir()) == []

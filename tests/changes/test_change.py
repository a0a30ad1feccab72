"""Changes: what goes out, as Python facts, Arrow tables or a text for people."""

import pyarrow as pa

from tidelog import Engine
from tidelog.changes.change import Change, FactTable, FactTables, ListedFacts, Stats
from tidelog.language.values import fact_identity


class CountingFacts(ListedFacts):
    """Facts that count how often they are decoded."""

    def __init__(self, facts):
        super().__init__(facts)
        self.decoded = 0

    def __iter__(self):
        self.decoded += 1
        return super().__iter__()


def example():
    inserted = {"p": ListedFacts([(1, "a"), (2, "b")]), "q": ListedFacts([(True,), (1,)]), "empty": ListedFacts()}
    return Change(FactTables(inserted), FactTables({"p": ListedFacts([("x", "c")])}), version=3)


def test_missing_relations_are_empty():
    """Asking for a relation that did not change is no error, and does not list it."""
    change = example()
    assert list(change.inserted) == ["p", "q"]
    assert "empty" not in change.inserted
    assert len(change.deleted["q"]) == 0
    assert list(change.deleted["nobody"]) == []
    assert list(change.deleted) == ["p"]
    assert not change.is_empty
    assert Change().is_empty


def test_membership_is_typed():
    """`(1,) in facts` is not answered by `(1.0,)` or `(True,)`."""
    facts = ListedFacts([(1,)])
    assert (1,) in facts
    assert [1] in facts
    assert (1.0,) not in facts
    assert (True,) not in facts
    assert 1 not in facts
    assert ListedFacts([(1,)]) == facts
    assert ListedFacts([(1.0,)]) != facts


def test_nobody_looks_nothing_is_decoded():
    """Lengths, totals and the representation must not decode facts."""
    facts = CountingFacts([(1,), (2,)])
    change = Change(FactTables({"p": facts}))
    assert isinstance(facts, FactTable)
    assert (len(change.inserted["p"]), change.inserted.total) == (2, 2)
    assert repr(change) == "Change(version 0: 2 inserted, 0 deleted)"
    assert repr(change.inserted) == "{'p': 2 facts}"
    assert facts.decoded == 0
    assert list(change.inserted["p"]) == [(1,), (2,)]
    assert facts.decoded == 1


def test_arrow_tables_carry_signs():
    """One table per relation, insertions +1, deletions -1; types that differ make a union, never a cast."""
    tables = example().to_arrow()
    assert tables["p"].column("sign").to_pylist() == [1, 1, -1]
    assert fact_identity(tables["p"].column(0).to_pylist()) == (1, 2, "x")
    assert tables["p"].column(1).type == pa.large_string()
    assert fact_identity(tables["q"].column(0).to_pylist()) == fact_identity([True, 1])
    assert Change(FactTables({"holds": ListedFacts([()])})).to_arrow()["holds"].to_pydict() == {"sign": [1]}


def test_the_summary_shows_the_first_facts():
    """People see counts, signs and a few facts per relation."""
    change = Change(FactTables({"p": ListedFacts([(number,) for number in range(7)])}), example().deleted, version=2)
    assert change.summary(2).splitlines() == [
        "Change(version 2: 7 inserted, 1 deleted)",
        "  +7 p",
        "      + p(0)",
        "      + p(1)",
        "      ... and 5 more",
        "  -1 p",
        '      - p("x", "c")',
    ]


def test_derivations_add_up():
    """Derivations are counted per rule and phase."""
    stats = Stats()
    stats.count("r1", "overdelete", 2)
    stats.count("r1", "overdelete", 3)
    stats.count("r1", "insert", 1)
    assert stats.derivations == {("r1", "overdelete"): 5, ("r1", "insert"): 1}
    assert stats.total_derivations == 6


def test_what_a_table_does_not_say_of_itself():
    """A save asked every table whether it is far and can be cut, and guessed where it had no answer."""
    facts = ListedFacts([(1,), (2,), (3,)])
    assert not facts.is_far
    assert [piece.num_rows for piece in facts.pieces(2)] == [3]
    local = Engine("p(1). p(2). p(3).").explicit("p")
    assert not local.is_far
    assert [piece.num_rows for piece in local.pieces(2)] == [2, 1]

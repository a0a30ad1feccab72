"""Constants of any type as texts: nothing is changed on the way, and equal texts are equal constants."""

import pyarrow as pa

from tidelog.changes.columns import from_values
from tidelog.changes.typed_texts import shared_facts, typed_texts
from tidelog.language.rdf_terms import IRI

VALUES = [1, -7, 2**62, "1", "", "s1", IRI("http://e/a"), True, False, 1.0, 0.1, "<http://e/a>", "é\n"]


def _array(values):
    from tidelog.rdf.quads import _shared

    return _shared(values).values


def test_every_constant_comes_back_as_itself():
    """Six kinds in one column: read again, each has its type and value."""
    texts = typed_texts(_array(VALUES))
    found = shared_facts([pa.chunked_array([texts]), pa.chunked_array([texts.slice(0, 5), texts.slice(5)])])
    for column in found.columns():
        assert [(type(value), value) for value in column.to_pylist()] == [(type(value), value) for value in VALUES]
    assert len(found.constants.values) == len(VALUES)


def test_the_letter_says_the_type():
    """`1`, `1.0`, `"1"`, `true` and an IRI have five texts."""
    assert typed_texts(from_values([1])).to_pylist() == ["i1"]
    assert typed_texts(_array([1, "1", True, IRI("u:1")])).to_pylist() == ["i1", "s1", "btrue", "t<u:1>"]
    assert typed_texts(pa.array([1.0])).to_pylist() == ["f3ff0000000000000"]


def test_nothing_is_no_fact():
    """Columns without a row are facts without a constant."""
    found = shared_facts([pa.chunked_array([], pa.string())] * 3)
    assert found.rows.shape == (0, 3)

"""Anything that holds facts becomes columns of constants, or is refused with relation, column and row."""

import enum

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.changes.columns import Columns, from_values, normalise_column
from tidelog.changes.fact_sources import to_table
from tidelog.errors import UpdateError
from tidelog.language.values import INT_MAX, INT_MIN, fact_identity

values = (
    st.integers(INT_MIN, INT_MAX)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.booleans()
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
)
FACTS = [("a", 1, 0.5), ("b", 2, 1.0)]
TABLE = pa.table({"x": ["a", "b"], "y": [1, 2], "z": [0.5, 1.0]})


class ArrowSpeaker:
    """An object of an unknown library that speaks Arrow's stream interface, as polars frames do."""

    def __arrow_c_stream__(self, requested_schema=None):
        return TABLE.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize(
    "source",
    [
        FACTS,
        [list(fact) for fact in FACTS],
        (fact for fact in FACTS),
        dict.fromkeys(FACTS).keys(),
        TABLE,
        TABLE.to_batches()[0],
        TABLE.to_reader(),
        TABLE.to_pandas(),
        pd.DataFrame(FACTS, columns=["p", "q", "r"], index=[7, 7]),
        pd.DataFrame({"x": pd.Categorical(["a", "b"]), "y": pd.array([1, 2], "Int64"), "z": [0.5, 1.0]}),
        ArrowSpeaker(),
    ],
    ids=lambda source: type(source).__name__,
)
def test_every_source_gives_the_same_facts(source):
    """Whoever holds the facts, they are the same constants in the same columns."""
    table = to_table(source, "p", 3)
    assert (len(table), table.arity) == (2, 3)
    assert [fact_identity(fact) for fact in table] == [fact_identity(fact) for fact in FACTS]


def test_duckdb_relations():
    """The result of a query is handed over as it is."""
    with duckdb.connect() as connection:
        relation = connection.sql("select * from (values ('a', 1, 0.5::double), ('b', 2, 1.0::double)) order by 1")
        assert [fact_identity(fact) for fact in to_table(relation, "p", 3)] == [fact_identity(fact) for fact in FACTS]


def test_numpy_matrices():
    """A matrix is a relation with one column per column."""
    assert list(to_table(np.arange(6).reshape(3, 2), "p", 2)) == [(0, 1), (2, 3), (4, 5)]


def test_numpy_scalars_in_rows():
    """Rows made of NumPy scalars hold plain constants."""
    table = to_table([(np.int32(1), np.float64(2.0), np.bool_(True), np.str_("x"))], "p")
    assert [list(map(type, fact)) for fact in table] == [[int, float, bool, str]]


def test_object_columns_of_pandas_may_mix_types():
    """1 and "1" in one column stay apart."""
    table = to_table(pd.DataFrame({"x": [1, "1", 1.0, True]}), "p", 1)
    assert [fact_identity(fact) for fact in table] == [fact_identity((value,)) for value in (1, "1", 1.0, True)]


@given(st.lists(st.tuples(values, values), max_size=20))
def test_rows_keep_their_types(rows):
    """Rows of any mixture come back typed; only -0.0 becomes 0.0."""
    table = to_table(rows, "p", 2)
    assert [fact_identity(fact) for fact in table] == [fact_identity(fact) for fact in rows]
    back = to_table(table.to_arrow(), "p", 2)
    assert [fact_identity(fact) for fact in back] == [fact_identity(fact) for fact in rows]


def test_columns_of_one_type_are_arrow():
    """No Python object per value is kept for them, unless they are a handful; Arrow they become all the same."""
    assert all(isinstance(column, pa.Array) for column in to_table(FACTS * 10, "p").columns)
    assert to_table(FACTS, "p").to_arrow().schema == to_table(FACTS * 10, "p").to_arrow().schema


@pytest.mark.parametrize(
    ("source", "code", "words"),
    [
        ([(1, 2), (3,)], "E301", ["p has 2 columns", "row 2"]),
        (pa.table({"x": [1]}), "E301", ["p has 2 columns, not 1"]),
        ([(1, 2), (3, None)], "E302", ["column 2 of p", "row 2"]),
        (pa.table({"x": [1, 2], "y": ["a", None]}), "E302", ["column 2 of p", "row 2"]),
        (pd.DataFrame({"x": [1.0, float("nan")], "y": [1, 2]}), "E302", ["column 1 of p", "row 2"]),
        (pd.DataFrame({"x": [1, None, "a"], "y": [1, 2, 3]}), "E302", ["column 1 of p", "row 2"]),
        ([(1, b"x")], "E303", ["column 2 of p", "bytes"]),
        (pa.table({"x": [[1]], "y": [2]}), "E303", ["column 1 of p", "list"]),
        (pd.DataFrame({"x": pd.to_datetime(["2020-01-01"]), "y": [1]}), "E303", ["column 1 of p", "timestamp"]),
        ([(1, float("inf"))], "E304", ["column 2 of p", "row 1", "inf"]),
        ([(1, 2), (2**64, 1)], "E304", ["column 1 of p", "row 2"]),
        (["ab", "cd"], "E303", ["fact of p", "tuple"]),
        ([1, 2], "E303", ["fact of p", "row 1"]),
        ("ab", "E303", ["facts of p", "str"]),
        ({"x": 1}, "E303", ["facts of p", "dict"]),
        (7, "E303", ["facts of p", "int"]),
        (np.array(7), "E303", ["facts of p", "ndarray"]),
        (np.array([[1, 1j]]), "E303", ["column 1 of p", "complex", "row 1"]),
        (np.array([["2020", "2021"]], "datetime64[h]"), "E303", ["column 1 of p", "datetime64"]),
        (np.array([[1, 1j]], object), "E303", ["column 2 of p", "complex", "row 1"]),
        ([(1, np.datetime64("2020", "ns"))], "E303", ["column 2 of p", "datetime64"]),
        ([(1, np.timedelta64(5, "ns"))], "E303", ["column 2 of p", "timedelta64"]),
        (pd.DataFrame({"x": [1j], "y": [1]}), "E303", ["column 1 of p", "complex"]),
        (pd.DataFrame({"x": [1, pd.NA], "y": [1, 2]}), "E302", ["column 1 of p", "row 2"]),
        (pd.DataFrame({"x": pd.Series([1, pd.NaT], dtype=object), "y": [1, 2]}), "E302", ["column 1 of p", "row 2"]),
        (pd.Series([1, 2]), "E303", ["fact of p", "row 1"]),
        (pa.chunked_array([[1, 2]]), "E303", ["ChunkedArray", "p"]),
    ],
)
def test_refusals_name_relation_column_and_row(source, code, words):
    """A person can find the value and knows what to do."""
    with pytest.raises(UpdateError) as caught:
        to_table(source, "p", 2)
    assert caught.value.code == code
    assert all(word in str(caught.value) for word in words), str(caught.value)
    assert caught.value.problems[0].remedy


def test_a_pandas_column_of_objects_keeps_every_type():
    """Arrow made floats of 1 and 2.5, and one fact of 1 and 1.0."""
    for values_ in ([1, 2.5], [1, 1.0], [1, 1.0, True]):
        table = to_table(pd.DataFrame({"x": pd.Series(values_, dtype=object)}), "p", 1)
        assert [fact_identity(fact) for fact in table] == [fact_identity((value,)) for value in values_]


@pytest.mark.parametrize("kind", [">i4", ">i8", ">f8", ">U2", "f2", "u8", "?"])
def test_numpy_of_every_layout(kind):
    """Whatever the byte order and the width, the values arrive; Arrow takes only some of the layouts."""
    array = np.array([["1", "0"], ["0", "1"]]).astype("i8").astype(kind)
    assert [fact_identity(fact) for fact in to_table(array, "p", 2)] == [
        fact_identity(tuple(value.item() for value in row)) for row in array
    ]
    frame = pd.DataFrame(dict(enumerate(array.T)))
    assert [fact_identity(fact) for fact in to_table(frame, "p", 2)] == [
        fact_identity(tuple(value.item() for value in row)) for row in array
    ]


def test_numpy_objects_keep_every_type():
    """A matrix of objects is a relation whose columns may mix types."""
    table = to_table(np.array([[1, 2.5], ["1", True]], object), "p", 2)
    assert [fact_identity(fact) for fact in table] == [fact_identity(fact) for fact in ((1, 2.5), ("1", True))]


def test_a_string_enumeration_is_its_string():
    """It prints as its name, which is not what it is."""
    red = enum.Enum("Colour", {"RED": "red"}, type=str).RED
    assert list(to_table([(red,)], "p", 1)) == [("red",)]


DAMAGED = pa.Array.from_buffers(
    pa.string(), 3, [None, pa.py_buffer(np.array([0, 1, 3, 4], np.int32)), pa.py_buffer(b"a\xff\xfec")]
)


@pytest.mark.parametrize(
    "array",
    [
        DAMAGED,
        pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), DAMAGED),
        pa.DictionaryArray.from_arrays(pa.array([0, 9, 0]), pa.array(["a"]), safe=False),
        pa.chunked_array([DAMAGED]),
    ],
    ids=["bytes", "dictionary of them", "indices", "chunks"],
)
def test_arrow_that_is_not_what_it_says(array):
    """Bytes that are no UTF-8 were stored and raised raw errors when they were read; bad bounds crash kernels."""
    with pytest.raises(UpdateError, match="E304") as caught:
        to_table(pa.table({"x": array}), "p", 1)
    assert "column 1 of p, row" in str(caught.value)


def test_no_facts():
    """No facts fit every arity; a relation without columns has at most one fact."""
    assert (len(to_table([], "p", 3)), to_table([], "p", 3).arity) == (0, 3)
    assert len(to_table([], "p")) == 0
    assert list(to_table([(), ()], "p", 0)) == [()]
    assert to_table(Columns((), 1), "p", 0).rows == 1


def test_chunks_get_one_type():
    """Dictionary chunks with and without nulls in their dictionaries still make one column."""
    dictionaries = [pa.array(["a", "b"]), pa.array(["a", None])]
    indices = [pa.array([0, 1, 0], pa.int32()), pa.array([0, 0], pa.int32())]
    chunks = [pa.DictionaryArray.from_arrays(*pair) for pair in zip(indices, dictionaries)]
    assert normalise_column(pa.chunked_array(chunks)).to_pylist() == ["a", "b", "a", "a", "a"]


def test_lone_surrogates_are_refused():
    """Strings that no encoding can hold would break every file later."""
    with pytest.raises(UpdateError, match="row 2"):
        from_values(["a", "\ud800"])

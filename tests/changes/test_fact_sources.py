"""Anything that holds facts becomes columns of constants, or is refused with relation, column and row."""

import enum
from datetime import datetime

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidelog as tl
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


def text_with_bounds(*bounds: int) -> pa.Array:
    """An array of texts that may begin and end anywhere; pyarrow looks at the bounds only when it is made."""
    held = np.zeros(len(bounds), np.int32)
    made = pa.Array.from_buffers(pa.string(), len(bounds) - 1, [None, pa.py_buffer(held), pa.py_buffer(b"abcd")])
    held[:] = bounds
    return made


def union_of_numbers(codes: list[int], offsets: list[int]) -> pa.Array:
    """A dense union with any codes and offsets."""
    held = np.zeros(len(codes), np.int8), np.zeros(len(codes), np.int32)
    made = pa.UnionArray.from_dense(
        *(
            pa.Array.from_buffers(kind, len(codes), [None, pa.py_buffer(one)])
            for kind, one in zip((pa.int8(), pa.int32()), held)
        ),
        [pa.array([1, 2])],
    )
    held[0][:], held[1][:] = codes, offsets
    return made


WRONG = {
    "bytes": DAMAGED,
    "dictionary of them": pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), DAMAGED),
    "indices": pa.DictionaryArray.from_arrays(pa.array([0, 9, 0]), pa.array(["a"]), safe=False),
    "indices before the first": pa.DictionaryArray.from_arrays(pa.array([0, -3, 0]), pa.array([7]), safe=False),
    "chunks": pa.chunked_array([DAMAGED]),
    "a text that ends beyond the array": text_with_bounds(0, 2_000_000_000, 4),
    "a text that ends before it begins": text_with_bounds(0, 4, 0),
    "codes of a union": union_of_numbers([0, 5], [0, 1]),
    "offsets of a union": union_of_numbers([0, 0], [0, 99]),
}


@pytest.mark.parametrize("array", WRONG.values(), ids=WRONG.keys())
def test_arrow_that_is_not_what_it_says(array):
    """Bytes that are no UTF-8 were stored and raised raw errors when they were read; bad bounds crash kernels."""
    with pytest.raises(UpdateError, match="E304") as caught:
        to_table(pa.table({"x": array}), "p", 1)
    assert "column 1 of p, row" in str(caught.value)


@pytest.mark.parametrize("array", WRONG.values(), ids=WRONG.keys())
@pytest.mark.parametrize("way", ["insert", "delete"])
def test_a_small_update_in_arrow_is_looked_at_as_closely(array, way):
    """A handful of facts goes past the columns; what is damaged is told before a value is made of it."""
    engine = tl.Engine("q(x) :- p(x).")
    engine.apply(insert={"p": [("zz",)]})
    with pytest.raises(UpdateError, match="E304"):
        engine.apply(**{way: {"p": pa.table({"x": array})}})
    assert (list(engine["q"]), engine.version) == ([("zz",)], 1)


@pytest.mark.parametrize("rows", [1, 3, 20])
@pytest.mark.parametrize(
    "array",
    [
        pa.array([[1, 2]] * 20),
        pa.array([{"a": 1}] * 20),
        pa.array([datetime(2026, 1, 2)] * 20),
        pa.array([b"bytes"] * 20),
        pa.array([None, *[1] * 19]),
        pa.array([float("nan")] * 20),
        pa.array([2**63] * 20, pa.uint64()),
        pa.UnionArray.from_sparse(pa.array([0] * 20, pa.int8()), [pa.array(list(range(20)))]),
    ],
    ids=["lists", "structs", "times", "bytes", "a missing value", "no number", "beyond 64 bits", "sparse union"],
)
def test_what_is_no_constant_is_refused_in_tables_of_every_size(array, rows):
    """Small tables are read value by value, and refuse what large ones refuse, with the same words."""
    engine, table = tl.Engine("q(x) :- p(x)."), pa.table({"x": array[:rows]})
    engine.apply(insert={"p": [("zz",)]})
    with pytest.raises(UpdateError) as wanted:
        to_table(table, "p", 1)
    for way in ("insert", "delete"):
        with pytest.raises(UpdateError) as caught:
            engine.apply(**{way: {"p": table}})
        assert str(caught.value) == str(wanted.value)


def test_a_small_table_of_every_type_is_the_facts_of_a_large_one():
    """Numbers of every width, bools and texts arrive as themselves, whatever way they go."""
    kinds = [pa.int8(), pa.uint16(), pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.bool_(), pa.string()]
    columns = [pa.array([0, 1, 2, 1]).cast(kind) for kind in kinds]
    table = pa.table({str(number): column for number, column in enumerate(columns)})
    small, large = (tl.Engine("q(x) :- p(x, _, _, _, _, _, _, _).") for _ in range(2))
    for engine, times in ((small, 1), (large, 20)):
        engine.apply(insert={"p": [(9,) * 8]})
        engine.apply(insert={"p": pa.concat_tables([table] * times)})
    assert set(map(fact_identity, small["p"])) == set(map(fact_identity, large["p"]))
    small.apply(delete={"p": table})
    assert list(small["p"]) == [(9,) * 8]


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


@pytest.mark.parametrize("kind", ["U", ">U3", "T"])
def test_numpy_texts_are_whole(kind):
    """Arrow's conversion of NumPy's texts ended each at its first NUL: "a\0b" and "a\0c" became one fact, "a"."""
    dtype = np.dtypes.StringDType() if kind == "T" else kind
    texts = np.array([["a\0b"], ["a\0c"], ["\0b"], [""]], dtype)
    assert list(to_table(texts, "p", 1)) == [("a\0b",), ("a\0c",), ("\0b",), ("",)]
    engine = tl.Engine("q(x) :- p(x).")
    engine.apply(insert={"p": texts})
    assert set(engine.apply(delete={"p": texts[:2]}).deleted["q"]) == {("a\0b",), ("a\0c",)}


@pytest.mark.parametrize("rows", [1, 5000])
def test_numpy_texts_that_are_no_unicode_are_refused(rows):
    """A lone surrogate in a matrix was a raw UnicodeDecodeError."""
    array = np.array([["a"]] * (rows - 1) + [["\ud800"]])
    with pytest.raises(UpdateError, match=f"column 1 of p, row {rows}: the string is not valid Unicode") as caught:
        to_table(array, "p", 1)
    assert caught.value.code == "E304"


def test_masked_texts_of_numpy_are_missing():
    """A masked value is no text, whatever lies under the mask."""
    with pytest.raises(UpdateError, match="E302"):
        to_table(np.ma.array([["a"], ["b"]], mask=[[0], [1]]), "p", 1)


def test_a_declaration_asks_of_what_is_inserted_there():
    """What the page on the language says: a relation without a declaration takes every type, and passes it on."""
    open_ = tl.Engine(".decl p(x: number)\np(x) :- q(x).")
    open_.apply(insert={"q": [("a",)]})
    assert list(open_["p"]) == [("a",)]
    with pytest.raises(tl.ProgramError, match="E203"):
        tl.Engine('.decl p(x: number)\np(x) :- q(x). q("a").')
    held = tl.Engine(".decl p(x: number)\n.decl q(x: number)\np(x) :- q(x).")
    with pytest.raises(UpdateError, match="E306"):
        held.apply(insert={"q": [("a",)]})

"""Constants and their ids: typed, dense, append-only, the same whichever way they come in."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.backends.local.constants.dictionary import Dictionary
from tidelog.backends.local.constants.dictionary_kernels import KIND_INT, NO_ROOM, UNKNOWN, scalar_id, scalar_insert
from tidelog.backends.local.kernels.compiled import read_only
from tidelog.errors import UpdateError
from tidelog.language.values import INT_MAX, INT_MIN, fact_identity, identity

constants = (
    st.integers(INT_MIN, INT_MAX)
    | st.integers(-3, 3)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([0.0, 1.0, 2.0])
    | st.booleans()
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
)


def test_four_ones():
    """`1`, `1.0`, `True` and `"1"` are four constants, though Python calls three of them equal."""
    dictionary = Dictionary()
    ones = [1, 1.0, True, "1"]
    ids = dictionary.encode(ones)
    assert sorted(ids.tolist()) == [0, 1, 2, 3]
    assert fact_identity(dictionary.decode(ids)) == fact_identity(ones)
    assert dictionary.encode([True, 1.0]).tolist() == [ids[2], ids[1]]


@settings(deadline=None)
@given(batches=st.lists(st.lists(constants, max_size=30), max_size=5))
def test_ids_are_dense_and_stable(batches):
    """Equal constants share an id for ever, ids count up from 0, and decoding gives back the same typed constants."""
    dictionary, seen = Dictionary(), {}
    for batch in batches:
        unknown = [identity(value + 0.0 if isinstance(value, float) else value) not in seen for value in batch]
        assert (dictionary.lookup(batch) == UNKNOWN).tolist() == unknown
        ids = dictionary.encode(batch)
        for value, found in zip(batch, ids.tolist()):
            assert seen.setdefault(identity(value), found) == found
        assert dictionary.lookup(batch).tolist() == ids.tolist()
        assert fact_identity(dictionary.decode(ids)) == fact_identity(batch)
        assert dictionary.encode_arrow(dictionary.decode_arrow(ids)).tolist() == ids.tolist()
    assert sorted(seen.values()) == list(range(len(dictionary)))


@pytest.mark.parametrize(
    "array",
    [
        pa.array([1, 0, 1], pa.int8()),
        pa.array([1, 0, 1], pa.uint64()),
        pa.array([0.5, 1.0, 0.5], pa.float32()),
        pa.array([0.5, 1.0], pa.float16()),
        pa.array([True, False, True]),
        pa.array(["a", "", "é", "a"]),
        pa.array(["a", "", "é", "a"], pa.large_string()),
        pa.array(["a", "a string that is not inlined", "a"], pa.string_view()),
        pa.array(["x", "y", "x"]).dictionary_encode(),
        pa.array(["x", "y", "x"]).dictionary_encode()[2:],
        pa.array([5, 6, 7, 8])[1:3],
        pa.array(["one", "two", "three"])[1:],
        pa.array([True, False, True])[1:],
        pa.chunked_array([["a", "b"], [], ["b", "c"]]),
        pa.chunked_array([], pa.int32()),
        pa.array([], pa.null()),
    ],
    ids=lambda array: f"{array.type}",
)
def test_arrow_and_python_agree(array):
    """Whatever the width, chunking, slicing or encoding of an Arrow column, its constants are those of its values."""
    dictionary = Dictionary()
    ids = dictionary.encode_arrow(array)
    assert ids.dtype == np.int32
    assert fact_identity(dictionary.decode(ids)) == fact_identity(array.to_pylist())
    assert dictionary.encode(array.to_pylist()).tolist() == ids.tolist()


@pytest.mark.parametrize(
    ("values", "kind"),
    [([3, 4], pa.int64()), ([0.5], pa.float64()), ([True], pa.bool_()), (["a", "b"], pa.string())],
)
def test_columns_of_one_kind_decode_to_plain_arrow(values, kind):
    """Other tools get int64, double, bool and string columns, not unions."""
    dictionary = Dictionary()
    column = dictionary.decode_arrow(dictionary.encode(values))
    assert column.type == kind
    assert column.to_pylist() == values


def test_mixed_columns_decode_to_a_union():
    """A column of several kinds keeps them apart in Arrow too."""
    dictionary = Dictionary()
    values = [1, "1", 1.0, True, 2]
    column = dictionary.decode_arrow(dictionary.encode(values))
    assert pa.types.is_union(column.type)
    assert fact_identity(column.to_pylist()) == fact_identity(values)
    assert dictionary.encode_arrow(column[1:4]).tolist() == dictionary.encode(values[1:4]).tolist()


@pytest.mark.parametrize(
    ("values", "code", "row"),
    [
        (pa.array([1, None, 2]), "E302", "row 2"),
        (pa.chunked_array([["a"], ["b", None]]), "E302", "row 3"),
        (pa.array(["a", None]).dictionary_encode(), "E302", "row 2"),
        (pa.array([1.0, float("nan")]), "E304", "row 2"),
        (pa.array([float("inf")]), "E304", "row 1"),
        (pa.array([0, 2**63], pa.uint64()), "E304", "row 2"),
        (pa.array([1]).cast(pa.decimal128(20)), "E303", "decimal128"),
        (pa.array([b"a"]), "E303", "binary"),
        (pa.array([[1]]), "E303", "list"),
        ([1, 2**63], "E304", "row 2"),
        (["a", "\ud800"], "E304", "row 2"),
        ([1.0, float("nan")], "E304", "row 2"),
        ([1, None], "E302", "row 2"),
        ([1, "a", b"b"], "E303", "row 3"),
    ],
)
def test_what_is_no_constant_is_refused(values, code, row):
    """Refusals carry a code and the row, and leave the dictionary as it was."""
    dictionary = Dictionary()
    with pytest.raises(UpdateError, match=row) as caught:
        dictionary.encode(values)
    assert caught.value.code == code
    assert caught.value.problems[0].remedy


def test_there_is_one_zero():
    """-0.0 and 0.0 are one constant, by Arrow, by Python and through the cache."""
    dictionary = Dictionary()
    ids = np.concatenate(
        [dictionary.encode_arrow(pa.array([0.0, -0.0])), dictionary.encode([-0.0]), dictionary.encode([-0.0])]
    )
    assert set(ids.tolist()) == {0}
    assert str(dictionary.decode(ids[:1])) == "[0.0]"


def test_growth_keeps_everything():
    """Tables, heap and arrays double many times while values arrive; early ids stay and nothing is lost."""
    dictionary, rng = Dictionary(), np.random.default_rng(3)
    early = dictionary.encode(["first", 1, 2.5, False])
    numbers = pa.array(rng.integers(INT_MIN, INT_MAX, 30_000))
    narrow = pa.array(rng.integers(0, 5_000, 30_000))
    words = pa.array([f"word {'x' * (number % 50)} {number}" for number in range(30_000)])
    for column in (numbers, words, narrow):
        ids = dictionary.encode_arrow(column)
        assert dictionary.decode_arrow(ids).equals(column)
        assert dictionary.encode_arrow(column).tolist() == ids.tolist()
    assert dictionary.encode(["first", 1, 2.5, False]).tolist() == early.tolist()
    assert dictionary.nbytes > 1_000_000


def test_long_lists_of_python_values():
    """Lists too long for the cache go through Arrow, mixed ones kind by kind; the ids are the same as one by one."""
    dictionary = Dictionary()
    values = [1, "a", 1.0, True, "b"] * 2000
    ids = dictionary.encode(values)
    assert ids.tolist() == dictionary.encode(values[:5]).tolist() * 2000
    assert dictionary.encode(list(range(9000))).tolist() == dictionary.lookup(list(range(9000))).tolist()


def test_the_cache_forgets_without_harm():
    """More constants than the cache holds, new and old in one list: ids stay right when the cache is emptied."""
    dictionary = Dictionary()
    first = dictionary.encode(["old", 0, 0.5, True])
    for start in range(0, 80_000, 1000):
        ids = dictionary.encode(["old", *range(start, start + 1000), "old"])
        assert ids[0] == ids[-1] == first[0]
        assert dictionary.decode(ids[1:3]) == [start, start + 1]
    assert dictionary.encode(["old", 0, 0.5, True]).tolist() == first.tolist()
    assert dictionary.lookup(["old"] * 100_000).tolist() == [first[0]] * 100_000


def test_kernels_insert_until_room_ends():
    """A kernel gets -2 and changes nothing when the arrays are full; after `reserve` it goes on."""
    dictionary = Dictionary()

    def insert(value):
        held = (dictionary.kinds, dictionary.payloads, dictionary.scalar_table)
        return scalar_insert(KIND_INT, value, *held, dictionary.counters)

    inserted = 0
    while insert(inserted) != NO_ROOM:
        inserted += 1
    assert len(dictionary) == inserted
    held = (dictionary.kinds, dictionary.payloads, dictionary.scalar_table)
    assert scalar_id(KIND_INT, inserted, *held) == UNKNOWN
    assert scalar_id(KIND_INT, 0, *held) == 0
    dictionary.reserve(5000)
    assert [insert(inserted + number) for number in range(5000)] == list(range(inserted, inserted + 5000))


@settings(deadline=None, max_examples=30)
@given(values=st.lists(constants, max_size=40))
def test_a_restored_dictionary_continues(values):
    """What is kept gives back the same ids, and new constants continue the numbering."""
    dictionary = Dictionary()
    ids = dictionary.encode(values)
    again = Dictionary.restore({name: array.copy() for name, array in dictionary.arrays().items()})
    assert again.encode(values).tolist() == ids.tolist()
    assert again.encode(["a new constant that no example holds"]).tolist() == [len(dictionary)]


def test_read_only_views_share_the_data():
    """Arrow's buffers are read-only; marking our own arrays alike must not copy them."""
    array = np.arange(4)
    view = read_only(array)
    assert not view.flags.writeable
    assert np.shares_memory(view, array)

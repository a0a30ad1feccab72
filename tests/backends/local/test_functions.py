"""Functions on ids against their one definition, language/values.py."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tidelog.backends.local.constants import function_kernels as kernels
from tidelog.backends.local.constants import functions
from tidelog.backends.local.constants.dictionary import Dictionary
from tidelog.errors import EvaluationError
from tidelog.language import partial
from tidelog.language import values as definition
from tidelog.language.values import INT_MAX, INT_MIN, fact_identity, identity

EDGES = [0, 1, -1, 2, 3, 63, 64, 2**53, 2**53 + 1, -(2**53) - 1, 3037000500, INT_MAX, INT_MAX - 1, INT_MIN, INT_MIN + 1]
FLOAT_EDGES = [0.0, 1.0, -1.0, 0.5, 2.0**53, 2.0**53 + 2, 2.0**63, -(2.0**63), 1.5e308, -1.5e308, 5e-324, 9.3e18]
integers = st.sampled_from(EDGES) | st.integers(-20, 20) | st.integers(INT_MIN, INT_MAX)
floats = (
    st.sampled_from(FLOAT_EDGES)
    | st.integers(-20, 20).map(float)
    | st.floats(allow_nan=False, allow_infinity=False).map(lambda number: number + 0.0)
)
numbers = integers | floats
strings = st.sampled_from(["", "a", "ab", "b", "é", "z", "\U0001f40c", "\uffff", "1", "a+", "("]) | st.text(
    st.characters(exclude_categories=["Cs"]), max_size=12
)
constants = numbers | strings | st.booleans()
one_kind = st.sampled_from([integers, floats, numbers, strings, st.booleans(), constants])


def outcome(compute):
    """The identity of what is computed; None if there is no value."""
    try:
        result = compute()
    except EvaluationError:
        return None
    return None if result is None else identity(result)


def rows_of(width: int):
    """Lists of rows whose columns are drawn from one kind of value."""
    return one_kind.flatmap(lambda kind: st.lists(st.tuples(*[kind] * width), min_size=1, max_size=8))


def check_rows(rows, expected, computed):
    """Each row gives what the definition gives, alone and beside others; where that raises, there is no value."""
    wanted = [outcome(lambda row=row: expected(row)) for row in rows]
    assert [outcome(lambda row=row: computed([row])[0]) for row in rows] == wanted
    assert [outcome(lambda found=found: found) for found in computed(rows)] == wanted


def values_of(dictionary, ids):
    return [None if found == functions.NO_VALUE else dictionary.decode(np.array([found]))[0] for found in ids.tolist()]


def applied(function, rows):
    dictionary = Dictionary()
    columns = [dictionary.encode(list(column)) for column in zip(*rows)]
    return values_of(dictionary, functions.apply(dictionary, function, columns))


@pytest.mark.parametrize("function", ["+", "-", "*", "/", "%", "^", "min", "max", "cat"])
@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_functions_of_two_values(function, data):
    """Overflow, division by zero, mixed kinds: same constants, same errors as the definition."""
    rows = data.draw(rows_of(2))
    check_rows(rows, lambda row: definition.apply(function, row), lambda rows: applied(function, rows))


@pytest.mark.parametrize("function", ["neg", "abs", "strlen"])
@settings(max_examples=60, deadline=None)
@given(rows=rows_of(1))
def test_functions_of_one_value(function, rows):
    """The least integer has no negative, and -0.0 never appears."""
    check_rows(rows, lambda row: definition.apply(function, row), lambda rows: applied(function, rows))


@settings(max_examples=60, deadline=None)
@given(rows=st.lists(st.tuples(strings, integers | floats, st.integers(-1, 5)), min_size=1, max_size=5))
def test_substr(rows):
    """Starts and lengths that are negative or not whole are refused."""
    check_rows(rows, lambda row: definition.apply("substr", row), lambda rows: applied("substr", rows))


@settings(max_examples=60, deadline=None)
@given(rows=rows_of(3))
def test_extremes_of_three_values(rows):
    """Of an int and an equal float the int wins, whichever comes first."""
    check_rows(rows, lambda row: definition.apply("max", row), lambda rows: applied("max", rows))


def compared(op, rows):
    """Truths as values; what neither holds nor fails holds in no way, as the comparison itself says."""
    dictionary = Dictionary()
    left, right = (dictionary.encode(list(column)) for column in zip(*rows))
    truths = values_of(dictionary, functions.apply(dictionary, partial.as_function(op), [left, right]))
    assert functions.compare(dictionary, op, left, right).tolist() == [truth is True for truth in truths]
    return truths


def test_what_is_computed_from_nothing_is_nothing():
    """A missing value makes its results missing and its comparisons hold in no way, in whichever column it is."""
    dictionary = Dictionary()
    ids, none = dictionary.encode([1, 2, True]), functions.NO_VALUE
    left, right = np.array([ids[0], none, none], np.int32), np.array([none, ids[1], none], np.int32)
    for function in ("+", "max", "cat", "@<", "@all"):
        assert functions.apply(dictionary, function, [left, right]).tolist() == [none] * 3
    for op in ("=", "!=", "<", ">=", "match", "!match"):
        assert functions.compare(dictionary, op, left, right).tolist() == [False] * 3
    truths = np.array([none, ids[2], ids[0]], np.int32)
    assert functions.compare(dictionary, "@undefined", truths, truths).tolist() == [True, False, False]
    assert functions.compare(dictionary, "@maybe", truths, truths).tolist() == [True, True, False]


@pytest.mark.parametrize("op", ["=", "!=", "<", "<=", ">", ">=", "match", "contains", "!match", "!contains"])
@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_comparisons(op, data):
    """Identity tells 1 from 1.0; order compares them exactly, beyond 2^53 too; strings order by code points."""
    rows = data.draw(rows_of(2))
    check_rows(rows, lambda row: definition.compare(op, *row), lambda rows: compared(op, rows))


def test_every_pair_of_edges():
    """Beyond 2^53 a float does not tell neighbouring integers apart: order must not round, arithmetic must refuse."""
    edges = [*EDGES, *FLOAT_EDGES, "", "a", "é", "\uffff", "\U0001f40c", True, False]
    pairs = [(left, right) for left in edges for right in edges]
    for op in ("<", "<=", ">", ">="):
        wanted = [outcome(lambda op=op, pair=pair: definition.compare(op, *pair)) for pair in pairs]
        assert [outcome(lambda op=op, pair=pair: compared(op, [pair])[0]) for pair in pairs] == wanted
    for function in ("+", "-", "*", "/", "%", "max"):
        wanted = [outcome(lambda function=function, pair=pair: definition.apply(function, pair)) for pair in pairs]
        found = [outcome(lambda function=function, pair=pair: applied(function, [pair])[0]) for pair in pairs]
        assert found == wanted


def aggregated(function, groups):
    dictionary = Dictionary()
    values = dictionary.encode([value for group in groups for value in group])
    starts = np.cumsum([0] + [len(group) for group in groups])[:-1]
    ids = functions.aggregate(dictionary, function, values, starts)
    return values_of(dictionary, ids)


@pytest.mark.parametrize("function", definition.AGGREGATES)
@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_aggregates(function, data):
    """Sums that overflow only on the way are right; floats are summed exactly; empty groups follow the definition."""
    kind = data.draw(one_kind)
    groups = data.draw(st.lists(st.lists(kind, max_size=6), min_size=1, max_size=5))
    check_rows(groups, lambda group: definition.aggregate(function, group), lambda groups: aggregated(function, groups))


@given(group=st.lists(floats, min_size=1, max_size=8), seed=st.randoms())
@example(group=[1.5e308, 1.5e308, -1.5e308], seed=None)
def test_sums_of_floats_do_not_depend_on_order(group, seed):
    """`fsum` gives up when a partial sum overflows, and whether one does depends on the order."""
    shuffled = sorted(group) if seed is None else seed.sample(group, len(group))
    assert outcome(lambda: definition.aggregate("sum", group)) == outcome(lambda: definition.aggregate("sum", shuffled))
    assert outcome(lambda: aggregated("sum", [group])[0]) == outcome(lambda: definition.aggregate("sum", group))


@given(rows=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3)), min_size=1))
def test_distinct_rows(rows):
    """Every row is equal to the representative of its number, and representatives differ."""
    columns = [np.array(column, np.int32) for column in zip(*rows)]
    first, inverse = functions.distinct_rows(columns)
    assert [rows[first[number]] for number in inverse.tolist()] == rows
    assert len({rows[position] for position in first.tolist()}) == len(first)


def test_many_rows_are_computed_by_kernels():
    """Columns of thousands of numbers, ints and floats mixed, agree with Python row by row."""
    rng = np.random.default_rng(7)
    left = [int(number) for number in rng.integers(-1000, 1000, 5000)]
    right = [float(number) if number % 3 else int(number) for number in rng.integers(1, 1000, 5000).tolist()]
    rows = list(zip(left, right))
    for function in ("+", "-", "*", "/", "%"):
        expected = [definition.apply(function, row) for row in rows]
        assert fact_identity(applied(function, rows)) == fact_identity(expected)
    assert aggregated("mean", [left]) == [sum(left) / len(left)]


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, 64, 1001])
@pytest.mark.parametrize("shape", ["rising", "falling", "equal", "pipe", "mixed"])
def test_selection_finds_what_sorting_finds(count, shape):
    """In the orders that are bad for a careless choice of pivots; and floats keep their order as integers."""
    rising = np.arange(count, dtype=np.int64) - count // 2
    numbers = {
        "rising": rising,
        "falling": rising[::-1],
        "equal": np.full(count, 7),
        "pipe": np.concatenate([rising[::2], rising[1::2][::-1]]),
        "mixed": (rising * 7919) % 31,
    }[shape]
    for place in {0, count // 2, count - 1}:
        assert kernels.select(np.array(numbers, np.int64), place) == np.sort(numbers)[place]
    floats = np.sort(np.array([*(numbers / 3), -1e300, 1e300, 5e-324, -5e-324]) + 0.0)
    ordered = [kernels.as_ordered(int(bits)) for bits in floats.view(np.int64)]
    assert ordered == sorted(ordered)
    assert [kernels.as_ordered(one) for one in ordered] == floats.view(np.int64).tolist()

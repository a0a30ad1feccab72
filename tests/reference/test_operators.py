"""Streams and operators: the paper's examples, and each fast form against its definition."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.errors import UsageError
from tidelog.reference.operators import (
    delay,
    differentiate,
    eliminate,
    incremental2,
    incremental_join,
    integrate,
    introduce,
    lift,
    lift2,
    nested_distinct,
    nested_join,
)
from tidelog.reference.streams import Feed, Knot, Stream
from tidelog.reference.zset import ZSet, join, todiff, toset

AB, BC, CD = ("P", ("a", "b")), ("P", ("b", "c")), ("P", ("c", "d"))
NOTHING = ZSet()


def stream(*values):
    return Stream.of([ZSet(value) for value in values], NOTHING)


def prefix(of, length=3):
    return of.prefix(length)


def nested_prefix(of, arrivals=4, rounds=4):
    return [of[t].prefix(rounds) for t in range(arrivals)]


def test_example_4_1_delay_toset_todiff():
    weighted = stream({AB: 1}, {BC: 2}, {CD: 1})
    assert prefix(lift(toset)(weighted)) == [ZSet({AB: 1}), ZSet({BC: 1}), ZSet({CD: 1})]
    signed = stream({AB: -1}, {BC: 2}, {CD: -1})
    assert prefix(lift(todiff)(signed)) == [ZSet({AB: -1}), ZSet({BC: 1}), ZSet({CD: -1})]
    assert prefix(delay(stream({AB: 1}, {BC: 2}))) == [NOTHING, ZSet({AB: 1}), ZSet({BC: 2})]


def test_example_4_2_integration():
    """The sum so far. The paper prints weight 2 for P(b, c), which its own input gives weight 1."""
    sums = prefix(integrate(stream({AB: 1}, {BC: 1}, {CD: 1})))
    assert sums == [ZSet.of([AB]), ZSet.of([AB, BC]), ZSet.of([AB, BC, CD])]


def test_example_4_5_introduction_and_elimination():
    changes = stream({AB: 1}, {BC: 1})
    assert prefix(introduce(changes[0])) == [ZSet({AB: 1}), NOTHING, NOTHING]
    nested = lift(introduce)(changes)
    assert nested_prefix(nested, 2, 2) == [[ZSet({AB: 1}), NOTHING], [ZSet({BC: 1}), NOTHING]]
    assert eliminate(changes, 2) == ZSet({AB: 1, BC: 1})
    assert [eliminate(nested[t], 1) for t in range(2)] == [ZSet({AB: 1}), ZSet({BC: 1})]
    assert eliminate(nested, 2).prefix(2) == [ZSet({AB: 1, BC: 1}), NOTHING]


def test_example_4_6_lifted_integration_sums_rounds_and_plain_integration_arrivals():
    nested = Stream.of([stream({AB: 1}, {BC: 1}), stream({CD: 1}, {AB: 2})], stream())
    assert lift(integrate)(nested)[1][1] == ZSet({CD: 1, AB: 2})
    assert integrate(nested)[1][1] == ZSet({BC: 1, AB: 2})


def test_the_first_zero_is_too_early_to_stop():
    """A change of rounds 0 and 2 only: summing up to the first zero, as the paper says, would lose the second."""
    change = stream({AB: -1}, {}, {AB: 1})
    assert eliminate(change, 1) == ZSet({AB: -1})
    assert eliminate(change, 3) == NOTHING


zsets = st.dictionaries(st.tuples(st.integers(0, 2), st.integers(0, 2)), st.integers(-2, 2), max_size=3).map(ZSet)
streams = st.lists(zsets, max_size=4).map(lambda values: Stream.of(values, NOTHING))
nested_streams = st.lists(streams, max_size=3).map(lambda values: Stream.of(values, stream()))
PATH = (lambda a: a[1]), (lambda b: b[0]), (lambda a, b: [(a[0], b[1])])


def path_join(left, right):
    return join(left, right, *PATH)


@given(streams)
def test_differentiation_and_integration_are_inverse(one):
    assert prefix(differentiate(integrate(one)), 5) == prefix(one, 5)
    assert prefix(integrate(differentiate(one)), 5) == prefix(one, 5)


@given(streams, streams)
def test_incremental_join_equals_its_definition(left, right):
    """D . join . I, without ever joining old with old."""
    expected = incremental2(lift2(path_join))(left, right)
    assert prefix(incremental_join(left, right, *PATH), 5) == prefix(expected, 5)


@given(nested_streams, nested_streams)
def test_nested_join_equals_its_definition(left, right):
    """Four terms, by which side brings the later arrival and the later round; one of them missing goes unseen on
    streams of one dimension."""
    expected = incremental2(lift2(incremental2(lift2(path_join))))(left, right)
    assert nested_prefix(nested_join(left, right, *PATH)) == nested_prefix(expected)


@given(nested_streams)
def test_nested_distinct_accumulates_to_a_set(one):
    """At every arrival and round, what has come so far is the set of elements of positive accumulated weight."""
    found, total = nested_distinct(one), integrate(lift(integrate)(one))
    for t in range(3):
        for i in range(4):
            assert integrate(lift(integrate)(found))[t][i] == toset(total[t][i])


def test_a_feed_and_a_knot_refuse_to_be_read_too_early():
    with pytest.raises(UsageError) as found:
        Feed(NOTHING)[0]
    assert found.value.code == "E850"
    with pytest.raises(UsageError):
        Knot(NOTHING)[0][0]

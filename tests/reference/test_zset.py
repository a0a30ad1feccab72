"""Z-sets are an Abelian group whose weights never wrap."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.errors import EvaluationError
from tidelog.language.values import INT_MAX, INT_MIN
from tidelog.reference.zset import ZSet, join, todiff, toset

zsets = st.dictionaries(st.sampled_from("abcd"), st.integers(-5, 5)).map(ZSet)


@given(zsets, zsets, zsets)
def test_addition_is_an_abelian_group(a, b, c):
    """Order and grouping of changes do not matter, and every change can be undone."""
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)
    assert a + ZSet() == a
    assert a + (-a) == ZSet()
    assert a - b == a + (-b)


@given(zsets, zsets)
def test_no_element_keeps_weight_zero(a, b):
    """An element of weight 0 would count as present in a test of membership."""
    assert all(weight != 0 for _, weight in (a + b).items())


@given(zsets, zsets, zsets)
def test_join_is_bilinear_and_projection_linear(a, b, c):
    """The two facts that let changes pass through a circuit as changes."""

    def joined(left, right):
        return join(left, right, lambda x: x < "c", lambda x: x < "c", lambda x, y: [x + y])

    def doubled(zset):
        return zset.project(lambda x: [x, x.upper()])

    assert joined(a + b, c) == joined(a, c) + joined(b, c)
    assert joined(c, a + b) == joined(c, a) + joined(c, b)
    assert doubled(a + b) == doubled(a) + doubled(b)


def test_toset_reads_only_positive_weights_as_presence():
    """An unseen deletion leaves weight -1; taking every weight but 0 for presence would make the fact appear."""
    zset = ZSet({"a": 2, "b": -1})
    assert toset(zset) == ZSet({"a": 1})
    assert todiff(zset) == ZSet({"a": 1, "b": -1})
    assert toset(zset).is_set
    assert not zset.is_set


@pytest.mark.parametrize("limit", [INT_MAX, INT_MIN])
def test_weights_beyond_64_bits_raise(limit):
    """Elsewhere multiplicities overflowed and the result became empty."""
    at_limit, one_more = ZSet({"a": limit}), ZSet({"a": 1 if limit > 0 else -1})
    with pytest.raises(EvaluationError) as found:
        at_limit + one_more
    assert found.value.code == "E502"
    with pytest.raises(EvaluationError):
        join(at_limit, ZSet({"b": 2}), lambda _: 0, lambda _: 0, lambda x, y: [x + y])


def test_the_least_weight_has_no_inverse():
    with pytest.raises(EvaluationError):
        -ZSet({"a": INT_MIN})

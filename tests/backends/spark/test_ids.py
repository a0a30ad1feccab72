"""Ids of constants: the same from Python and from Spark, different for different constants."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from tidelog.backends.spark.values import ids
from tidelog.language.terms import Value
from tidelog.language.values import identity

CONSTANTS = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.booleans(),
    st.text(max_size=5),
    st.floats(allow_nan=False, allow_infinity=False).map(lambda number: number + 0.0),
)


@given(st.lists(CONSTANTS, max_size=6))
def test_different_constants_have_different_ids(values: list[Value]) -> None:
    """`1`, `1.0`, `True` and `"1"` are four constants; whatever Python thinks of their equality."""
    for one, other in itertools.combinations([*values, 1, 1.0, True, "1"], 2):
        assert (ids.of_value(one) == ids.of_value(other)) == (identity(one) == identity(other))


@given(CONSTANTS)
def test_texts_of_hashed_constants_lead_back_to_them(value: Value) -> None:
    """Whatever does not stand for itself is recovered from its typed text, bit by bit."""
    if ids.of_value(value) & ids.TAG in (ids.STRING, ids.OTHER):
        assert identity(ids.from_text(ids.typed_text(value))) == identity(value)


@pytest.mark.parametrize(
    ("values", "kind", "column"),
    [
        (["", "a", "é\n'\\", "1"], "string", ids.of_string_column),
        ([0, -1, 2**61 - 1, 2**61, -(2**61), -(2**61) - 1, 2**63 - 1, -(2**63)], "long", ids.of_integer_column),
        ([True, False], "boolean", ids.of_bool_column),
    ],
)
def test_spark_computes_the_same_ids(spark: SparkSession, values: list[Value], kind: str, column: object) -> None:
    """A task and the driver must agree, or facts from a DataFrame would not meet facts from Python."""
    frame = spark.createDataFrame([(value,) for value in values], f"v {kind}")
    found = [row[0] for row in frame.select(column(F.col("v"))).collect()]  # type: ignore[operator]
    assert found == [ids.of_value(value) for value in values]

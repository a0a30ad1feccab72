"""Ids that tasks give to columns of values: those of ids.py, and what is no constant is told."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.backends.spark.test_ids import CONSTANTS
from tidelog.backends.spark.values import ids, numbered
from tidelog.backends.spark.values.ids import Naming
from tidelog.backends.spark.values.refusals import MISSING, NEGATIVE, NO_NUMBER, NO_TEXT
from tidelog.language.terms import Value

MOVED = Naming(2, {"s7": ids.of_text("s7", Naming().with_moved("s7"))})
COLUMNS: list[tuple[str, pa.DataType, list[Value]]] = [
    (numbered.STRING, pa.string(), ["", "a", "é\n'\\", "1", "a", "7"]),
    (numbered.WHOLE, pa.int64(), [0, -1, 2**61 - 1, 2**61, -(2**61) - 1, 2**61]),
    (numbered.WHOLE, pa.int32(), [0, -1, 7, 7, 8, 9]),
    (numbered.UNSIGNED, pa.int64(), [0, 1, 2**61, 3, 4, 5]),
    (numbered.BOOL, pa.bool_(), [True, False, True, True, False, False]),
    (numbered.FLOAT, pa.float64(), [0.0, -0.0, 1.5, -1e300, 1.5, 5e-324]),
]


@pytest.mark.parametrize("copies", [1, 300])
@pytest.mark.parametrize("naming", [Naming(), MOVED])
def test_every_kind_of_column_has_the_ids_of_its_constants(copies: int, naming: Naming) -> None:
    """Few and many values, long hashes and short ones with a text that was moved."""
    columns = [
        [f"{value}{number or ''}" if kind == numbered.STRING else value for number in range(copies) for value in values]
        for kind, _, values in COLUMNS
    ]
    table = pa.table(
        [pa.chunked_array([column[:2], column[2:]], kind) for column, (_, kind, _) in zip(columns, COLUMNS)],
        names=list("abcdef"),
    )
    found, texts = numbered.numbered(table, [kind for kind, _, _ in COLUMNS], naming)
    expected = [
        [ids.of_value(value + 0.0 if isinstance(value, float) else value, naming) for value in column]
        for column in columns
    ]
    assert [numbers.tolist() for numbers in found] == expected
    hashed = {number for column in expected for number in column if number & ids.TAG in (ids.STRING, ids.OTHER)}
    pairs = list(zip(texts.column("k0").to_pylist(), texts.column("text").to_pylist()))
    assert {number for number, _ in pairs} == hashed
    assert all(ids.of_text(text, naming) == number for number, text in pairs)
    assert len({text for _, text in pairs if text[0] == "s"}) == sum(text[0] == "s" for _, text in pairs)


@pytest.mark.parametrize("naming", [Naming(), MOVED])
@pytest.mark.parametrize("distinct", [40, 3000])
def test_strings_that_hardly_repeat_have_the_same_ids(distinct: int, naming: Naming) -> None:
    """They are hashed one by one, others once for each distinct one. With two digits many texts have one hash."""
    columns = [[f"{number * step % distinct}" for number in range(4000)] for step in (1, 7)]
    found, texts = numbered.numbered(
        pa.table([pa.chunked_array([column[:9], column[9:]], pa.string()) for column in columns], names=["a", "b"]),
        [numbered.STRING, numbered.STRING],
        naming,
    )
    assert [numbers.tolist() for numbers in found] == [[ids.of_value(one, naming) for one in each] for each in columns]
    assert sorted(texts.column("text").to_pylist()) == sorted({f"s{one}" for each in columns for one in each})
    assert texts.column("k0").to_pylist() == [ids.of_text(one, naming) for one in texts.column("text").to_pylist()]


@given(st.lists(CONSTANTS, max_size=20))
def test_typed_texts_have_the_ids_of_their_constants(values: list[Value]) -> None:
    """Also those of integers and bools that stand for themselves."""
    texts = [f"b{str(value).lower()}" if isinstance(value, bool) else ids.typed_text(value) for value in values]
    (found,), stored = numbered.numbered(pa.table({"v": pa.array(texts, pa.string())}), [numbered.TYPED], Naming())
    assert found.tolist() == [ids.of_value(value) for value in values]
    assert set(stored.column("text").to_pylist()) == {
        text for text, number in zip(texts, found.tolist()) if number & ids.TAG in (ids.STRING, ids.OTHER)
    }


def test_what_is_no_constant_is_told() -> None:
    """Missing values, floats that are no numbers, negative numbers among unsigned ones, bytes that are no text."""
    for kind, type_, values in COLUMNS:
        (found,), _ = numbered.numbered(pa.table({"v": pa.array([None, *values], type_)}), [kind], Naming())
        assert found[0] == MISSING
        assert ids.of_value(values[0]) == found[1]
        (found,), _ = numbered.numbered(pa.table({"v": pa.array([None], type_)}), [kind], Naming())
        assert found.tolist() == [MISSING]
    for kind, column, number in [
        (numbered.FLOAT, pa.array([math.nan, 1.5]), NO_NUMBER),
        (numbered.FLOAT, pa.array([math.inf]), NO_NUMBER),
        (numbered.UNSIGNED, pa.array([-1, 5]), NEGATIVE),
        (numbered.STRING, pa.array([b"a\xff", b"a"]).view(pa.string()), NO_TEXT),
    ]:
        (found,), texts = numbered.numbered(pa.table({"v": column}), [kind], Naming())
        assert found[0] == number
        assert texts.num_rows <= 1

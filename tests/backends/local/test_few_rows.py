"""A handful of tuples is encoded at once; it means what the same tuples mean one column at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog import Engine, TidelogError

VALUES = st.one_of(
    st.integers(-3, 3),
    st.integers(2**63 - 2, 2**63 + 1),
    st.sampled_from([0.0, -0.0, 1.0, 2.5, float("nan"), float("inf"), True, False, "", "1", "\ud800", None, b"x"]),
    st.sampled_from([np.int64(1), np.int8(2), np.float64(1.0), np.bool_(True), np.str_("1")]),
)
ROWS = st.lists(st.lists(VALUES, min_size=2, max_size=2).map(tuple), min_size=1, max_size=4)


def told(engine: Engine, way: str, rows: Any) -> object:
    """What an update says: what changed and how often nothing did, or why it is refused."""
    try:
        change = engine.apply(**{way: {"e": rows}})
    except TidelogError as error:
        return [(problem.code, problem.sentence) for problem in error.problems]
    shown = [sorted(map(repr, part["e"])) for part in (change.inserted, change.deleted)]
    return shown, change.stats.no_ops


@given(st.lists(st.tuples(st.sampled_from(["insert", "delete"]), ROWS), min_size=1, max_size=6))
def test_few_tuples_mean_what_an_iterator_over_them_means(updates: list[tuple[str, list[tuple[Any, ...]]]]) -> None:
    few, others = Engine("p(x) :- e(x, _)."), Engine("p(x) :- e(x, _).")
    for way, rows in updates:
        assert told(few, way, rows) == told(others, way, iter(rows))
    assert sorted(map(repr, few["e"])) == sorted(map(repr, others["e"]))


def test_a_fact_of_the_wrong_length_among_few_is_refused_with_its_row() -> None:
    engine = Engine("p(x) :- e(x, _).")
    with pytest.raises(TidelogError, match="row 2") as caught:
        engine.apply(insert={"e": [(1, 2), (1, 2, 3)]})
    assert caught.value.problems[0].code == "E301"
    assert len(engine["e"]) == 0

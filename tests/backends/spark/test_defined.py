"""Which stages of missing values are known to be empty: integers compare, everything else is looked at."""

from collections.abc import Sequence

import pytest

from tidelog.backends.spark.bulk.defined import is_empty
from tidelog.backends.spark.values.ids import BOOL, INTEGER, OTHER, STRING
from tidelog.language.parser import parse_rules
from tidelog.planning.lowering import lower


@pytest.mark.parametrize(
    ("rule", "tags", "expected"),
    [
        ("dear(x) :- price(x, p), p > 900.", [1 << STRING, 1 << INTEGER], True),
        ("dear(x) :- price(x, p), p > 900, x < p.", [1 << INTEGER, 1 << INTEGER], True),
        ("dear(x) :- price(x, p), p > 900, x < p.", [1 << STRING, 1 << INTEGER], False),
        ("dear(x) :- price(x, p), p > 900.", [1 << STRING, 1 << INTEGER | 1 << STRING], False),
        ("dear(x) :- price(x, p), p > 900.", [1 << STRING, 1 << OTHER], False),
        ("dear(x) :- price(x, p), p > 900.", [1 << STRING, 1 << BOOL], False),
        ('dear(x) :- price(x, p), p > "a".', [1 << STRING, 1 << INTEGER], False),
        ("dear(p / 2) :- price(x, p).", [1 << STRING, 1 << INTEGER], False),
        ("dear(x) :- price(x, p), p + 1 > 900.", [1 << STRING, 1 << INTEGER], False),
        ("dear(x) :- price(x, p), p > 900.", None, False),
    ],
)
def test_only_what_cannot_lack_a_value_is_passed_over(rule: str, tags: Sequence[int] | None, expected: bool) -> None:
    """A wrong True would hide missing values; a wrong False costs a look at the facts."""
    (stage,) = (stage for stage in lower(parse_rules(rule)).stages if stage.finds_undefined)
    assert is_empty(stage, {"price": tags}.get) is expected

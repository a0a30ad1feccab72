"""Choices are values; what people read is made from them at the end."""

from __future__ import annotations

import pytest

import tidelog as tl
from tidelog.changes.change import Stats
from tidelog.changes.strategy_choice import Amount, Reason, StrategyChoice, _short


def test_numbers_are_said_as_people_say_them() -> None:
    """12, 340, 56 k, 1.2 M."""
    assert [_short(number) for number in (12, 9_999, 56_000, 1_200_000, 3_000_000_000)] == [
        "12", "9999", "56 k", "1.2 M", "3.0 G",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("choice", "text"),
    [
        (
            StrategyChoice("a, b", "bf", Reason.CHEAPEST, 12_000, 1, Amount.DELETIONS, 10.0),
            "component a, b: bf, 1 deletion against 12 k facts, the cheapest so far",
        ),
        (
            StrategyChoice("a", "recompute", Reason.CUT_OFF, 5, 2, Amount.DELETIONS, None, ("bf", "dred")),
            "component a: recompute, 2 deletions against 5 facts, after bf and dred took too long",
        ),
        (
            StrategyChoice("a", "recompute", Reason.BULK, 1_234_567),
            "component a: recompute, 1,234,567 facts derived in bulk",
        ),
    ],
)
def test_a_choice_reads_as_a_sentence(choice: StrategyChoice, text: str) -> None:
    """Component, strategy, sizes, reason."""
    assert str(choice) == text


def test_components_of_one_name_are_all_told() -> None:
    """Two aggregates of one relation have the same name; a dictionary by name alone told of the last one only."""
    choices = (StrategyChoice("an aggregate in h", "insertion", Reason.NOTHING_LOST, 0),) * 3
    names = list(Stats(strategy="auto", choices=choices).strategies)
    assert names == ["an aggregate in h", "an aggregate in h (2)", "an aggregate in h (3)"]


def test_without_choices_the_strategy_is_the_users() -> None:
    """A fixed strategy decides nothing, and an update that reaches no component needs no decision."""
    assert Stats(strategy="dred").strategies == {"all": ("dred", "chosen by the user")}
    assert tl.Engine("p(x) :- q(x).").apply(insert={"other": [(1,)]}).stats.strategies_used == ("auto",)


PROGRAM = """
h(x, n, m) :- q(x), n = count : { p(x, y), y > 0 }, m = max y : { p(x, y) }.
top(n) :- n = count : { h(x, _, m), x < m }.
"""


def test_hidden_relations_are_never_told() -> None:
    """Aggregates live in relations of ours; their names were keys of `stats.strategies`, and stood in its sentences."""
    engine = tl.Engine(PROGRAM)
    updates: list[dict[str, dict[str, list[tuple[int, ...]]]]] = [
        {"insert": {"q": [(1,), (2,)], "p": [(1, 5), (1, 6), (2, 7)]}},
        {"delete": {"p": [(1, 5)]}},
        {"delete": {"p": [(1, 6), (2, 7)]}, "insert": {"p": [(2, 9)]}},
    ]
    for update in updates:
        stats = engine.apply(**update).stats
        assert "@" not in str(stats.strategies)
        assert {"h", "an aggregate in h"} <= stats.strategies.keys()
        assert "@" not in str(stats.derivations)

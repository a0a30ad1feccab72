"""What changed since files were written: the same as a dictionary of facts, whatever the levels hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.backends.spark.large import overlay
from tidelog.backends.spark.large.overlay import EXPLICIT, GONE, NOTHING, SILENT, Level, Overlay

FACT = st.tuples(st.integers(-2, 2), st.integers(-2, 2), st.integers(-2, 2))
CHANGES = st.lists(st.dictionaries(FACT, st.sampled_from([0, 1, 2]), min_size=1, max_size=12), max_size=8)


@given(CHANGES, st.integers(0, 20), st.sets(FACT, max_size=6), st.sampled_from([(0,), (1,), (2, 0), (0, 1, 2)]))
def test_an_overlay_is_a_dictionary(
    changes: list[dict[tuple[int, int, int], int]], young: int, asked: set[tuple[int, ...]], columns: tuple[int, ...]
) -> None:
    """What it says of facts, what is there in all and by key; the last change counts, and former overlays stay."""
    expected: dict[tuple[int, ...], int] = {}
    found = Overlay(3)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(overlay, "_YOUNG", young)
        for change in changes:
            before, known = found, dict(expected)
            found = found.changed(np.array(list(change), np.int64), np.array(list(change.values())))
            expected |= change
            assert before.say(np.array(list(change), np.int64)).tolist() == [known.get(one, SILENT) for one in change]
    if asked:
        facts = np.array(sorted(asked), np.int64)
        assert found.say(facts).tolist() == [expected.get(tuple(fact), SILENT) for fact in facts.tolist()]
        keys = {tuple(fact[column] for column in columns) for fact in asked}
        rows, explicit = found.present(columns, np.array(sorted(keys), np.int64))
        assert sorted(zip(map(tuple, rows.tolist()), explicit.tolist())) == sorted(
            (fact, state == EXPLICIT)
            for fact, state in expected.items()
            if state != GONE and tuple(fact[column] for column in columns) in keys
        )
    rows, explicit = found.present()
    present = {fact: state == EXPLICIT for fact, state in expected.items() if state != GONE}
    assert dict(zip(map(tuple, rows.tolist()), explicit.tolist())) == present
    assert len(found) >= len(expected)
    assert bool(found) == bool(expected)


@pytest.mark.parametrize("few", [0, 200, 4000])
def test_orders_stay_orders_when_facts_come(few: int) -> None:
    """Facts that go into a large level, one by one or sorted with it, are found by every column as before."""
    chosen = np.random.default_rng(few)
    large = Level.of(chosen.integers(-90, 90, (8000, 2)), chosen.integers(0, 3, 8000))
    asked = np.arange(-95, 95).reshape(-1, 1)
    for column in (0, 1):
        large.with_keys((column,), asked)
    later = Level.of(chosen.integers(-95, 95, (few, 2)), chosen.integers(0, 3, few))
    found, alone = large.updated(later), dict(zip(map(tuple, large.rows.tolist()), large.states.tolist()))
    expected = alone | dict(zip(map(tuple, later.rows.tolist()), later.states.tolist()))
    assert list(zip(map(tuple, found.rows.tolist()), found.states.tolist())) == sorted(expected.items())
    for column in (0, 1):
        places = found.with_keys((column,), asked[::3])
        wanted = sorted(fact for fact in expected if fact[column] % 3 == asked[0, 0] % 3)
        assert sorted(map(tuple, found.rows[places].tolist())) == wanted
    assert large.say(large.rows).tolist() == large.states.tolist()


def test_nothing_says_nothing() -> None:
    """Of any number of facts."""
    assert NOTHING.say(np.array([[1], [2]])).tolist() == [SILENT, SILENT]
    assert [len(part) for part in NOTHING.present()] == [0, 0]


@pytest.mark.parametrize("keys", [1, 40, 1000])
def test_a_few_keys_are_found_without_putting_all_facts_in_order(keys: int) -> None:
    """By any column, and by two of them; with keys that nothing has, and with one that a tenth of the facts have."""
    chosen = np.random.default_rng(keys)
    rows = chosen.integers(0, 3000, (20_000, 2))
    rows[::10, 1] = 7
    level = Level.of(rows, np.zeros(20_000))
    for columns in ((0,), (1,), (1, 0)):
        asked = np.unique(chosen.integers(-9, 3009, (keys, len(columns))), axis=0)
        asked[0, 0] = 7
        found = level.with_keys(columns, np.unique(asked, axis=0))
        wanted = {tuple(key) for key in asked.tolist()}
        expected = [at for at, row in enumerate(level.rows.tolist()) if tuple(row[one] for one in columns) in wanted]
        assert sorted(found.tolist()) == expected


def test_a_reader_may_ask_for_an_order_while_facts_come(monkeypatch: pytest.MonkeyPatch) -> None:
    """A version that readers see gets its orders when somebody asks, perhaps while the next one is made of it."""
    level, insert = Level.of(np.arange(900).reshape(-1, 3), np.zeros(300)), np.insert
    level.with_keys((1,), np.array([[4]]))
    asked = []

    def asked_meanwhile(array: object, *given: object, **named: object) -> object:
        if len(asked) == 2:  # facts and states are put together, and orders come next
            level._by(2)
        asked.append(array)
        return insert(array, *given, **named)  # type: ignore[call-overload]

    monkeypatch.setattr(overlay.np, "insert", asked_meanwhile)
    assert len(level.updated(Level.of(np.array([[-1, -1, -1]]), np.zeros(1)))) == 301
    assert len(asked) == 3

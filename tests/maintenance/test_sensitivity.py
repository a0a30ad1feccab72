"""The table of what each constant of `auto` decides can be made again, and has a row for every constant.

Taught by a benchmark that called a method by its old signature for three days, and by constants that were added
without a row: their docstrings said nothing of what happens when they are halved.
"""

from __future__ import annotations

import pytest

from benchmarks.maintenance import sensitivity
from tidelog.maintenance import choose, costs

CHAIN = [(at, at + 1) for at in range(12)]
CASE = (sensitivity.CLOSURE, {"edge": CHAIN}, [{"edge": CHAIN[5:6]}, {"edge": CHAIN[-2:]}])


@pytest.mark.parametrize("module", [choose, costs], ids=lambda module: module.__name__)
def test_every_constant_has_a_row(module):
    """Public numbers in capitals, except the one that stands for no limit."""
    own = {name for name, value in vars(module).items() if name.isupper() and isinstance(value, int | float)}
    elsewhere = set(vars(costs)) if module is choose else set()
    assert own - elsewhere - {"INFINITE"} == set(sensitivity.CONSTANTS[module])


def test_a_case_is_the_same_whenever_it_is_followed():
    """Every deletion is done and undone, and each has a choice."""
    first, second = sensitivity.follow(CASE), sensitivity.follow(CASE)
    assert first == second
    assert len(first.choices) == 1 + 2 * len(CASE[2])
    assert first.work > 0


def test_a_setting_is_put_back():
    """Inside, the constant has another value; afterwards its own."""
    settings = dict(sensitivity.settings())
    before, found = choose.TRIFLE, []
    with settings["choose.TRIFLE"](2.0):
        found.append(choose.TRIFLE)
    found.append(choose.TRIFLE)
    assert found == [2 * before, before]

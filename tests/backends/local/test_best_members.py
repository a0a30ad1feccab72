"""Best values of groups, found by one kernel, are those that aggregates are defined by.

The general way of aggregates.py is the twin: the kernel declines, or says the same.
"""

from __future__ import annotations

import random

import pytest

import tidelog as tl
from tidelog.backends.local.joins import aggregates

RULES = """
best({group}, m) :- place({group}), m = {function} c : {{ way({group}, c) }}.
way({group}, c) :- given({group}, c).
way({group}, c) :- best({group}, c), again({group}).
"""
GROUPS = {
    "one column": ("x", lambda rng: (rng.randrange(6),)),
    "two columns": ("x, y", lambda rng: (rng.randrange(3), "abc"[rng.randrange(3)])),
}
VALUES = {
    "whole": (-3, 0, 2, 7, 2**60),
    "mixed": (1, 1.0, 2.5, -0.0, 2),
    "texts": ("a", "b", "ba", "", "ü"),
    "large": (2**53 + 1, float(2**53), 2**53, 2**62),
}


def history(group, function, values, seed):
    """All changes of some updates, and whether the law holds after each."""
    rng, (columns, drawn) = random.Random(seed), GROUPS[group]
    engine = tl.Engine(RULES.format(group=columns, function=function))
    facts, seen = set(), []
    engine.apply(insert={"place": sorted({drawn(rng) for _ in range(40)}), "again": [drawn(rng)]})
    for _ in range(12):
        come = {(*drawn(rng), rng.choice(VALUES[values])) for _ in range(rng.choice((1, 2, 9)))}
        gone = set(rng.sample(sorted(facts, key=repr), min(len(facts), rng.choice((0, 1, 4)))))
        change = engine.apply(insert={"given": sorted(come, key=repr)}, delete={"given": sorted(gone, key=repr)})
        facts = (facts - gone) | come
        seen.append([sorted(part.get("best", ()), key=repr) for part in (change.inserted, change.deleted)])
        engine.verify()
    return seen


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("function", ["min", "max"])
@pytest.mark.parametrize("group", GROUPS)
def test_a_kernel_finds_what_aggregates_mean(group, function, values, monkeypatch):
    """Members that come and go, of an int and an equal float the int, and numbers whose order no kernel knows."""
    asked = []
    best_of = aggregates.best_of

    def noted(*given):
        asked.append(best_of(*given))
        return asked[-1]

    monkeypatch.setattr(aggregates, "best_of", noted)
    found = [history(group, function, values, seed) for seed in range(2)]
    assert any(one is not None for one in asked)
    monkeypatch.setattr(aggregates, "best_of", lambda *_: None)
    assert found == [history(group, function, values, seed) for seed in range(2)]

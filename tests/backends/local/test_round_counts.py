"""Ranks and counts that come from bits are those of counting round by round, and updates go on from them."""

from __future__ import annotations

import random

import numpy as np
import pytest

import tidelog as tl
from tests.backends.local.test_bits import CLOSURES, engine, graph
from tidelog.backends.local.bits import round_counts
from tidelog.backends.local.bits.rows_or_bits import Way, computing
from tidelog.backends.local.relations.derivation_counts import NEVER
from tidelog.errors import BudgetError
from tidelog.limits import Limits
from tidelog.planning.views import NOW

WAYS = {name: {"at once"} for name in CLOSURES} | {"conditions": {"count"}, "once": {"at once", "count"}}
"""How stages are counted: those whose instances are known by their ends and their middle at once."""


def counts(one):
    """By relation and fact: its rank, and its counts by round."""
    store, found = one._backend.store, {}
    for name, counted in store.counted:
        relation = store.relations[name]
        rows = relation.select(NOW)
        ranks = dict(zip(rows.tolist(), counted.ranks(rows).tolist()))
        by_round = {row: {} for row in ranks}
        near = counted._near[: 2 * relation.count].reshape(-1, 2)
        for row, (number, count) in enumerate(near.tolist()):
            if count:
                by_round[row][number] = count
        cells = counted._cells
        for (row, number), count in zip(cells.rows[: cells.count].tolist(), counted._counts.tolist()):
            if count:
                by_round[row][number] = by_round[row].get(number, 0) + count
        assert NEVER not in ranks.values()
        facts = [one._backend.store.dictionary.decode(np.ascontiguousarray(relation.rows[rows, at])) for at in (0, 1)]
        found[name] = {fact: (ranks[row], by_round[row]) for fact, row in zip(zip(*facts), rows.tolist())}
    return found


@pytest.mark.parametrize("strategy", ["counting", "circuit"])
@pytest.mark.parametrize("name", CLOSURES)
def test_counts_from_bits_are_counts_by_rows(name, strategy):
    """At first, and after every update that goes on from them; explicit facts of the stage have rank 0."""
    draw, facts = random.Random(name), graph(7, 40, 100) | {"p": [(1, 2), (50, 51)]}
    both = [engine(way, CLOSURES[name], facts, strategy) for way in (Way.BITS, Way.ROWS)]
    assert counts(both[0]) == counts(both[1])
    for _ in range(6):
        gone, come = draw.sample(facts["e"], 2), [(draw.randrange(45), draw.randrange(45)) for _ in range(2)]
        for one in both:
            one.apply(delete={"e": gone, "p": [(1, 2)]}, insert={"e": come})
        assert counts(both[0]) == counts(both[1])
        both[0].verify()


@pytest.mark.parametrize("name", CLOSURES)
def test_only_exact_rules_are_counted_at_once(name):
    """A value that only has to exist may exist many times, and each time is an instance."""
    with computing(Way.BITS):
        one = engine(Way.BITS, "", graph(7, 40, 100), "counting")
        phases = {phase for _, phase in one.apply(add_rules=CLOSURES[name]).stats.derivations}
    assert phases == WAYS[name]


def test_a_rollback_forgets_counts_and_a_stage_of_many_rounds_is_counted_by_rows(monkeypatch):
    facts = graph(7, 40, 100)
    with computing(Way.BITS):
        one = tl.Engine(CLOSURES["left"], strategy="counting", limits=Limits(facts=3000))
        one.apply(insert={"e": facts["e"]})
        before = counts(one)
        with pytest.raises(BudgetError):
            one.apply(
                add_rules="p(x, z) :- f(x, y), q(y, _, z). q(x, y, z) :- p(x, y), p(y, z).", insert={"f": facts["f"]}
            )
        assert counts(one) == before
        one.apply(delete={"e": facts["e"][:3]})
        one.verify()
        monkeypatch.setattr(round_counts, "MOST_ROUNDS", 3)
        chain = {"e": [(number, number + 1) for number in range(30)]}
        long = engine(Way.BITS, CLOSURES["left"], chain, "counting")
    assert counts(long)["p"][0, 30] == (30, {30: 1})
    assert counts(long) == counts(engine(Way.ROWS, CLOSURES["left"], chain, "counting"))

"""Bulk work gives what naive evaluation gives, whatever the number of shards and however facts are spread."""

import random
from types import SimpleNamespace

import pytest

from tests.backends.spark.bulk_program import by_bulk, by_reference, non_empty
from tidelog.backends.spark.bulk.fixpoint import BulkOptions, _most_in_a_shard
from tidelog.backends.spark.bulk.placement import Delivery

CLOSURE = {
    "right": "p(x, y) :- e(x, y). p(x, z) :- e(x, y), p(y, z).",
    "left": "p(x, y) :- e(x, y). p(x, z) :- p(x, y), e(y, z).",
    "both": "p(x, y) :- e(x, y). p(x, z) :- p(x, y), p(y, z).",
    "turned": "p(x, y) :- e(x, y). p(y, x) :- p(x, y). p(x, z) :- p(x, y), e(y, z).",
}
RDFS = """
    t(a, 0, c) :- t(a, 0, b), t(b, 0, c).
    t(a, 1, c) :- t(a, 1, b), t(b, 1, c).
    t(x, 4, d) :- t(x, 4, c), t(c, 0, d).
    t(x, q, y) :- t(x, p, y), t(p, 1, q).
    t(x, 4, c) :- t(x, p, y), t(p, 2, c).
    t(y, 4, c) :- t(x, p, y), t(p, 3, c).
"""
PROGRAMS = {
    **CLOSURE,
    "same generation": "s(x, y) :- e(z, x), e(z, y). s(x, y) :- e(a, x), s(a, b), e(b, y).",
    "mutual": "odd(x, y) :- e(x, y). even(x, z) :- odd(x, y), e(y, z). odd(x, z) :- even(x, y), e(y, z).",
    "negation": "p(x, y) :- e(x, y), !blocked(y). p(x, z) :- p(x, y), e(y, z), !blocked(z). f(x) :- e(x, _), !p(x, x).",
    "strings": 'p(x, y) :- e(x, y). p(x, "end") :- p(x, 3). p(x, z) :- p(x, y), e(y, z), x != z.',
    "counter": "d(x, 0) :- e(x, _). d(y, n + 1) :- d(x, n), e(x, y), n < 4.",
    "no columns": "some() :- e(x, y), x = y. p(x, y) :- e(x, y), some().",
    "constants": "p(1, 2) :- e(x, x). p(x, 7) :- x = 5. p(x, y) :- p(y, x).",
    "triangle": "q(x) :- e(x, y), e(y, z), e(z, x), !blocked(y). q(y) :- q(x), e(x, y), e(y, z), !blocked(z).",
}


def edges(nodes, count, seed=0):
    chosen = random.Random(seed)
    return {(chosen.randrange(nodes), chosen.randrange(nodes)) for _ in range(count)}


FACTS = {"e": edges(12, 22), "blocked": {(3,), (7,)}}


WHOLE = [
    pytest.param(
        name, 1000, id=f"whole-{name}", marks=() if name in ("right", "negation", "triangle") else pytest.mark.long
    )
    for name in PROGRAMS
]


@pytest.mark.parametrize(("name", "small"), [*WHOLE, *(pytest.param(name, 0, id=name) for name in PROGRAMS)])
def test_bulk_work_gives_what_naive_evaluation_gives(spark, name, small):
    """With small relations at every shard, and with none: the second makes facts meet by their join keys."""
    found, _ = by_bulk(spark, PROGRAMS[name], FACTS, small=small, few=0)
    assert non_empty(found) == non_empty(by_reference(PROGRAMS[name], FACTS))


@pytest.mark.parametrize("small", [0, 1000])
def test_rules_that_do_not_recur_are_derived_without_a_store(spark, small):
    """Heads that several shards derive are written once, together with explicit facts of the same relation."""
    rules = """
        q(x, z) :- e(x, y), e(y, z).
        q(x, x) :- e(x, y), x > y.
        r(x, y, z) :- q(x, y), e(y, z), blocked(z).
        r(x, 1, x) :- q(x, _), e(x, x).
    """
    facts = {**FACTS, "q": {(1, 1), (90, 91)}, "r": {(1, 2, 3)}}
    found, stats = by_bulk(spark, rules, facts, in_files=True, small=small)
    assert non_empty(found) == non_empty(by_reference(rules, facts))
    assert (stats[0].mode, stats[0].exchanged) == ("local", 0)
    if small:  # else three atoms are joined in steps, which exchange
        assert (stats[1].mode, stats[1].exchanged) == ("local", 0)


@pytest.mark.parametrize("partitions", [3, *(pytest.param(many, marks=pytest.mark.long) for many in (1, 2, 8))])
def test_the_number_of_shards_does_not_matter(spark, partitions):
    """Rules that exchange, with patterns of the stage's own at every shard (few) and without."""
    chosen = random.Random(1)
    facts = {"t": {(chosen.randrange(5, 30), chosen.randrange(0, 9), chosen.randrange(0, 30)) for _ in range(120)}}
    facts["t"] |= {(5, 2, 9), (6, 3, 10), (7, 1, 5), (8, 1, 6), (9, 0, 10), (5, 1, 6)}
    expected = by_reference(RDFS, facts)
    for few in (0, 1000):
        found, (stats,) = by_bulk(spark, RDFS, facts, partitions=partitions, few=few)
        assert found == expected
        assert sum(stats.facts) >= len(expected["t"])
        assert (stats.exchanged > 0) == (partitions > 1)


def test_a_preserved_argument_needs_no_exchange(spark):
    """The recursion keeps one argument, so partitioning by it puts every derived fact where it is needed."""
    for name, column in (("right", 2), ("left", 1)):
        _, (stats,) = by_bulk(spark, CLOSURE[name], FACTS)
        assert (stats.mode, stats.rounds, stats.exchanged) == ("local", 1, 0)
        assert stats.reason.startswith(f"p by column {column}")


def test_every_rule_instance_is_derived_once(spark):
    """Semi-naive evaluation survives sharding: the instances over all shards are those of one machine."""
    for small in (1000, 0):
        found, (stats,) = by_bulk(spark, CLOSURE["right"], FACTS, small=small)
        joined = sum(1 for x, y in FACTS["e"] for a, _ in found["p"] if a == y << 2)
        assert sum(stats.derivations.values()) == len(FACTS["e"]) + joined


def test_a_hub_does_not_keep_one_shard_busy(spark):
    """A node that owns half of all facts is split: its facts are spread, and no shard does most of the work."""
    hub = {(0, node) for node in range(1, 250)} | {(node, 0) for node in range(400, 650)}
    facts = {"e": hub | edges(800, 400)}
    rules = "p(x, y) :- e(x, y). q(x, z) :- p(x, y), p(y, z)."
    shares, expected = {}, by_reference(rules, facts)
    for name, least in (("split", 100), ("not split", 10**9)):
        found, stats = by_bulk(spark, rules, facts, partitions=4, small=0, few=0, skew_from=least)
        assert found == expected
        shares[name] = max(stats[-1].work) / sum(stats[-1].work)
    assert shares["split"] < 0.4 < 0.9 < shares["not split"]


def test_strings_and_aggregates_are_left_to_another_path(spark):
    """What ids do not carry is refused as a whole, never derived wrongly."""
    for rules in (
        'p(cat(x, "!")) :- e(x, _).',
        "p(x, n) :- e(x, _), n = count : { e(x, _) }.",
        "p(x) :- e(x, _), x < 1.5.",
    ):
        with pytest.raises(AssertionError, match="does not cover"):
            by_bulk(spark, rules, {"e": {("a", "b")}})


def test_arithmetic_on_other_values_than_small_integers_is_left_to_another_path(spark):
    """A string in a column that is compared, and a sum that grows beyond 62 bits, are noticed inside the tasks."""
    for rules, facts in (
        ("p(x) :- e(x, y), y < 3.", {"e": {(1, 2), (2, "b")}}),
        ("p(x + x) :- e(x, _).", {"e": {(2**60, 0)}}),
    ):
        with pytest.raises(AssertionError, match="does not cover"):
            by_bulk(spark, rules, facts)
    found, _ = by_bulk(spark, "p(x, y + 1) :- e(x, y).", {"e": {("a", 2)}})
    assert len(found["p"]) == 1


def test_a_smaller_size_for_small_relations_is_not_enlarged():
    """Who lowers `small` saves memory; few shards read relations up to eight times as large, and so they did then."""
    found = [BulkOptions().small_stored(shards) for shards in (1, 2, 8, 20)]
    assert found == [40_000_000, 20_000_000, 5_000_000, 5_000_000]
    assert BulkOptions(small=1000).small_stored(2) == 1000
    assert BulkOptions(small=6_000_000).small_stored(2) == 24_000_000


def test_a_shard_has_room_for_its_own_facts():
    """Each of a hundred shards reserved a table for the constants of all."""
    once, twice = Delivery("p", "p", 0), (Delivery("q", "q", 0), Delivery("q", "q", 1))
    deliveries = [once, *twice, Delivery("r", "r", is_everywhere=True)]
    planned = SimpleNamespace(whole={"w"}, deliveries=deliveries)
    found = {name: _most_in_a_shard(planned, name, 1000, 10) for name in "pqrw"}
    assert found == {"p": 100, "q": 200, "r": 1000, "w": 1000}

"""Bulk work gives what naive evaluation gives, whatever the number of shards and however facts are spread."""

import random

import pytest

from tests.backends.spark.bulk_program import by_bulk, by_reference, non_empty

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
    "negation": "p(x, y) :- e(x, y), !blocked(y). p(x, z) :- p(x, y), e(y, z), !blocked(z). far(x) :- e(x, _), !p(x, x).",
    "strings": 'p(x, y) :- e(x, y). p(x, "end") :- p(x, 3). p(x, z) :- p(x, y), e(y, z), x != z.',
    "counter": "d(x, 0) :- e(x, _). d(y, n + 1) :- d(x, n), e(x, y), n < 4.",
    "no columns": "some() :- e(x, y), x = y. p(x, y) :- e(x, y), some().",
    "constants": "p(1, 2) :- e(x, x). p(x, 7) :- x = 5. p(x, y) :- p(y, x).",
    "triangle": "p(x, y) :- e(x, y). q(x) :- p(x, y), p(y, z), p(z, x).",
}


def edges(nodes, count, seed=0):
    chosen = random.Random(seed)
    return {(chosen.randrange(nodes), chosen.randrange(nodes)) for _ in range(count)}


FACTS = {"e": edges(12, 22), "blocked": {(3,), (7,)}}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("small", [1000, 0], ids=["whole", "partitioned"])
def test_bulk_work_gives_what_naive_evaluation_gives(spark, name, small):
    """With small relations at every shard, and with none: the second makes facts meet by their join keys."""
    if name == "triangle" and not small:
        return
    found, _ = by_bulk(spark, PROGRAMS[name], FACTS, small=small, few=0)
    assert non_empty(found) == non_empty(by_reference(PROGRAMS[name], FACTS))

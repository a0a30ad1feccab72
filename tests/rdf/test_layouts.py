"""Both layouts give the same graph, and every change leaves what reasoning anew gives.

The general rules are the W3C's table, literally; the compiled ones are ours. Random small graphs with axioms of every
kind, some about the vocabulary itself, hold the second to the first. Then triples and axioms come and go.
"""

import random

import pytest

from tests.rdf.worlds import world
from tidelog.rdf import Graph
from tidelog.rdf.layouts import Layout


def contents(kg):
    return set(kg), set(kg.inconsistencies)


def agree(seed, **options):
    given = world(seed, **options)
    both = [Graph(given, reasoning="owl-rl", layout=layout) for layout in ("auto", "triples")]
    assert contents(both[0]) == contents(both[1]), seed
    return both[0]


def check_many(seeds):
    kept = derived = 0
    axiomatic = len(Graph(reasoning="owl-rl"))
    for seed in seeds:
        kg = agree(seed, oddity=0.1)
        kept += kg.layout is Layout.RULES
        derived += len(kg) > len(set(kg.explicit())) + axiomatic + 5
    assert kept >= 0.6 * len(seeds), f"only {kept} graphs were reasoned about with rules"
    assert derived >= 0.5 * len(seeds), f"only {derived} graphs had much to derive"


def test_the_layouts_agree():
    check_many(range(10))


@pytest.mark.long
def test_the_layouts_agree_on_many():
    check_many(range(1000, 3000))


def follow(seed, steps, layout):
    chance = random.Random(seed)
    kg = Graph(world(seed), reasoning="owl-rl", layout=layout)
    present = set(kg.explicit())
    for step in range(steps):
        pool = world(1000 * seed + step, axioms=3, data=4, oddity=0.05)
        insert = pool if chance.random() < 0.6 else []
        delete = chance.sample(sorted(present, key=str), min(len(present), chance.randint(0, 4)))
        before = set(kg)
        change = kg.apply(insert=insert, delete=delete)
        present = (present - set(delete)) | set(insert)
        anew = Graph(list(present), reasoning="owl-rl", layout="triples")
        assert contents(kg) == contents(anew), (seed, step)
        assert set(change.inserted) == set(kg) - before
        assert set(change.deleted) == before - set(kg)
        kg.verify()


@pytest.mark.parametrize("layout", ["auto", "triples"])
def test_every_change_is_reasoning_anew(layout):
    for seed in range(3):
        follow(seed, 3, layout)


@pytest.mark.long
@pytest.mark.parametrize("layout", ["auto", "triples"])
def test_every_change_is_reasoning_anew_at_length(layout):
    for seed in range(100, 250):
        follow(seed, 8, layout)

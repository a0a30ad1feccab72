"""Counting and recursive counting: counts are what counting from nothing gives, after every update."""

import random

import pytest

from tidelog.errors import ProgramError
from tidelog.language.parser import parse
from tidelog.reference.counting import Counting
from tidelog.reference.facts import to_fact
from tidelog.reference.recompute import materialise
from tidelog.reference.recursive_counting import RecursiveCounting

FLAT = """
    two(x, z) :- edge(x, y), edge(y, z).
    near(x, y) :- edge(x, y).
    near(x, y) :- two(x, y), edge(y, x).
    far(x, y) :- two(x, y), !near(x, y).
    degree(x, n) :- edge(x, _), n = count : { edge(x, y) }.
"""
DEEP = """
    path(x, y) :- edge(x, y).
    path(x, z) :- path(x, y), path(y, z).
    apart(x, y) :- edge(x, _), edge(y, _), !path(x, y).
    group(x, y) :- path(x, y), path(y, x).
"""


def random_updates(seed):
    chance = random.Random(seed)
    edges = [to_fact("edge", (x, y)) for x in range(4) for y in range(4)]
    derived = [to_fact("near", (0, 3)), to_fact("path", (0, 3)), to_fact("path", (3, 3))]
    for _ in range(10):
        yield chance.sample(edges + derived, 4), chance.sample(edges + derived, 4)


def test_recursion_is_refused_by_name():
    """A fact in a cycle would keep its own count above 0."""
    with pytest.raises(ProgramError, match="counting cannot maintain the recursive relations path"):
        Counting(parse(DEEP, "deep.dl"))


def test_a_refused_rule_leaves_everything_as_it_was():
    algorithm = Counting(parse("p(x) :- q(x). q(1).", "p.dl"))
    before = algorithm.facts, algorithm.rules, dict(algorithm.counts)
    with pytest.raises(ProgramError):
        algorithm.apply(insert=[to_fact("q", (2,))], add_rules=parse("q(x) :- p(x).", "q.dl").rules)
    assert (algorithm.facts, algorithm.rules, dict(algorithm.counts)) == before


@pytest.mark.parametrize("seed", range(10))
def test_counts_equal_counting_from_nothing(seed):
    """Stronger than equal facts: a wrong count shows only when the last derivation goes."""
    algorithm = Counting(parse(FLAT, "flat.dl"))
    for insert, delete in random_updates(seed):
        algorithm.apply(insert, delete)
        fresh = Counting(parse(FLAT, "flat.dl"))
        fresh.apply(algorithm.explicit)
        assert algorithm.counts == fresh.counts
        assert algorithm.facts == materialise(algorithm.rules, algorithm.explicit)
    assert algorithm.counters["repeated"] == 0


@pytest.mark.parametrize("seed", range(10))
def test_traces_equal_traces_from_nothing(seed):
    """Every round's counts, not only the facts, are those of a fresh evaluation."""
    algorithm = RecursiveCounting(parse(DEEP, "deep.dl"))
    for insert, delete in random_updates(seed):
        algorithm.apply(insert, delete)
        fresh = RecursiveCounting(parse("", "empty.dl"))
        fresh.apply(algorithm.explicit, (), algorithm.rules)
        assert algorithm.traces == fresh.traces
        assert algorithm.facts == materialise(algorithm.rules, algorithm.explicit)
    assert algorithm.counters["repeated"] == 0


def test_a_dead_cycle_falls():
    """The bug of plain counting: a cycle that supports itself has positive counts in later rounds only."""
    algorithm = RecursiveCounting(parse("a(x) :- s(x). b(x) :- a(x). a(x) :- b(x). s(1).", "cycle.dl"))
    (trace,) = algorithm.traces.values()
    a = to_fact("a", (1,))
    assert {number: counts[a] for number, counts in trace.items() if counts[a]} == {1: 1, 3: 1}
    algorithm.apply(delete=[to_fact("s", (1,))])
    assert algorithm.facts == frozenset()


def test_counts_of_a_relation_without_rules_are_forgotten():
    """A relation loses its last rule and gains one again: what was counted before must not count now."""
    program = parse("r1: p(x) :- q(x). q(1).", "p.dl")
    for kind in (Counting, RecursiveCounting):
        algorithm = kind(program)
        algorithm.apply(remove_rules=["r1"])
        algorithm.apply(add_rules=parse("r2: p(x) :- s(x).", "p.dl").rules, insert=[to_fact("s", (1,))])
        algorithm.apply(delete=[to_fact("s", (1,))])
        assert algorithm.facts == {to_fact("q", (1,))}

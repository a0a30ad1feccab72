"""All algorithms over negation, aggregates and changing rules: after every update the facts equal recomputation."""

import random

import pytest

from tidelog.errors import ProgramError
from tidelog.language.parser import parse
from tidelog.reference import ALGORITHMS
from tidelog.reference.algorithm import Update
from tidelog.reference.facts import to_fact
from tidelog.reference.naive import materialise as naive
from tidelog.reference.seminaive import materialise as seminaive

OWN = ("recompute", "dred", "dred-repeating", "dred-mark", "bf", "bf-mark", "bf-mark-shared", "recursive-counting")
ARITIES = {"e": 2, "s": 1, "t": 2, "p": 2, "q": 1}
RULES = parse(
    """
    p(x, y) :- e(x, y).
    p(x, z) :- p(x, y), p(y, z).
    p(x, z) :- e(x, y), p(y, z).
    q(x) :- e(x, y), !p(y, x).
    q(x) :- s(x), x != 2.
    r(x, n) :- s(x), n = count : { p(x, y), !q(y) }.
    e(y, x) :- f(x, y).
    f(x, y) :- t(x, y), e(y, y).
    u(x + 1) :- q(x), x < 3.
    v(x) :- s(x), !r(x, _).
    w(x, m) :- e(x, _), m = max y : { e(x, y), !q(y) }.
    w(x, x) :- q(x), !v(x).
    z(1) :- !q(1).
    z(n) :- n = count : { e(_, _) }.
    two(x, z) :- e(x, y), s(y), e(y, z).
    """,
    "rules.dl",
)


def random_update(chance):
    def facts(limit):
        relations = [chance.choice("eeestpq") for _ in range(chance.randrange(limit))]
        return tuple(to_fact(name, [chance.randrange(4) for _ in range(ARITIES[name])]) for name in relations)

    rules = tuple(chance.sample(RULES.rules, 1)) if chance.random() < 0.2 else ()
    gone = tuple(chance.sample(RULES.rules, 1)) if chance.random() < 0.2 else ()
    return Update(facts(5), facts(6), rules, gone)


@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("seed", range(6))
def test_every_algorithm_keeps_the_law(name, seed):
    """Facts equal naive materialisation, and the returned change is the difference, with rules coming and going."""
    chance = random.Random(seed)
    updates = [random_update(chance) for _ in range(8)]
    start = parse("", "empty.dl")
    algorithm = ALGORITHMS[name](start)
    algorithm.apply(add_rules=chance.sample(RULES.rules, 9))
    for update, announced in zip(updates, [*updates[1:], None]):
        before = algorithm.facts
        ahead = {"look_ahead": announced} if algorithm.looks_ahead else {}
        change = algorithm.apply(update.insert, update.delete, update.add_rules, update.remove_rules, **ahead)
        assert algorithm.facts == naive(algorithm.rules, algorithm.explicit)
        assert change == (algorithm.facts - before, before - algorithm.facts)
    if name in ("dred", "bf", "recursive-counting"):
        assert algorithm.counters["repeated"] == 0


@pytest.mark.parametrize("seed", range(10))
def test_naive_and_seminaive_agree_and_seminaive_derives_each_instance_once(seed):
    chance = random.Random(seed)
    facts = [fact for _ in range(8) for fact in random_update(chance).insert]
    assert naive(RULES.rules, facts) == seminaive(RULES.rules, facts)


@pytest.mark.parametrize("name", OWN)
def test_what_has_no_value_makes_no_instance(name):
    """The second stratum divides by zero after the first has changed: there is no such instance, and all else is."""
    program = parse("p(x) :- q(x). r(10 / x) :- p(x), !s(x). q(1).", "divide.dl")
    algorithm = ALGORITHMS[name](program)
    inserted, deleted = algorithm.apply(insert=[to_fact("q", (0,))], delete=[to_fact("q", (1,))])
    assert inserted == {to_fact("q", (0,)), to_fact("p", (0,))}
    assert deleted == {to_fact("q", (1,)), to_fact("p", (1,)), to_fact("r", (10,))}
    assert algorithm.apply(insert=[to_fact("q", (5,))])[0] == {
        to_fact("q", (5,)),
        to_fact("p", (5,)),
        to_fact("r", (2,)),
    }


@pytest.mark.parametrize("name", OWN)
def test_a_rule_that_makes_negation_recursive_is_refused(name):
    algorithm = ALGORITHMS[name](parse("p(x) :- s(x), !q(x). s(1).", "p.dl"))
    with pytest.raises(ProgramError, match="depends on its own negation"):
        algorithm.apply(add_rules=parse("q(x) :- p(x).", "q.dl").rules)
    assert algorithm.facts == {to_fact("s", (1,)), to_fact("p", (1,))}


def test_deleting_an_unknown_fact_and_inserting_a_known_one_change_nothing():
    """Taught by another engine: an unseen deletion left weight -1 and the fact appeared."""
    for name in OWN:
        algorithm = ALGORITHMS[name](parse("p(x) :- q(x). q(1).", "p.dl"))
        assert algorithm.apply([to_fact("q", (1,))], [to_fact("q", (2,)), to_fact("p", (1,))]) == (
            frozenset(),
            frozenset(),
        )


def test_a_fact_deleted_and_inserted_in_one_update_stays():
    """Deletions come first: E' = (E \\ E-) u E+."""
    for name in OWN:
        algorithm = ALGORITHMS[name](parse("p(x) :- q(x). q(1).", "p.dl"))
        assert algorithm.apply([to_fact("q", (1,))], [to_fact("q", (1,))]) == (frozenset(), frozenset())
        assert to_fact("p", (1,)) in algorithm.facts

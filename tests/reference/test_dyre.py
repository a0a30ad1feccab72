"""The DYRE circuits: Examples 3.1-4.7, and three circuits that say the same."""

import random

import pytest

from tidelog.errors import ProgramError
from tidelog.language.parser import parse
from tidelog.language.terms import Atom, Rule, Variable
from tidelog.reference.dyre import IncrementalCircuit, IndexedCircuit, NaiveCircuit, single_clock
from tidelog.reference.dyre_rules import (
    canonical,
    consequences,
    directions,
    extend,
    join_orders,
    rewrite_product,
    signal,
)
from tidelog.reference.dyre_strata import Dyre, DyreIndexed, DyreNaive
from tidelog.reference.facts import to_fact
from tidelog.reference.operators import integrate
from tidelog.reference.recompute import Recompute
from tidelog.reference.streams import Stream
from tidelog.reference.zset import ZSet

CIRCUITS = [NaiveCircuit, IncrementalCircuit, IndexedCircuit]
X, Y, Z = (Variable(name) for name in "xyz")
V0, V1, V2 = (Variable(f"v{number}") for number in range(3))
NO_FACTS, NO_RULES = ZSet(), ZSet()


def rule(text):
    return parse(text).rules[0]


def facts(relation, *pairs):
    return [to_fact(relation, pair) for pair in pairs]


def p(*pairs):
    return ZSet.of(facts("P", *pairs))


def r(*pairs):
    return ZSet.of(facts("R", *pairs))


BASE, STEP = rule("R(x, y) :- P(x, y)."), rule("R(x, z) :- R(x, y), P(y, z).")
AB, BC, CD = ("a", "b"), ("b", "c"), ("c", "d")


def test_example_3_1_a_rewrite_grounds_an_atom():
    assert list(extend((("x", "a"),), Atom("P", (X, Y)), to_fact("P", ("a", "b")))) == [(("x", "a"), ("y", "b"))]
    assert list(extend((("x", "c"),), Atom("P", (X, Y)), to_fact("P", ("a", "b")))) == []


def test_example_3_2_rewrite_product():
    found = rewrite_product([(("x", "a"),), (("x", "b"),)], Atom("P", (X, Y)), facts("P", AB, BC, CD))
    assert found == {(("x", "a"), ("y", "b")), (("x", "b"), ("y", "c"))}


@pytest.mark.parametrize("circuit", CIRCUITS)
def test_example_4_2_rules_and_facts_come_and_go(circuit):
    """The third update takes the base rule away: everything that R holds falls, P(c, d) comes."""
    dyre = circuit()
    first = dyre.step(p(AB), ZSet.of([BASE]))
    second = dyre.step(p(BC), ZSet.of([STEP]))
    third = dyre.step(p(CD), -ZSet.of([BASE]))
    assert first == p(AB) + r(AB)
    assert second == p(BC) + r(BC, ("a", "c"))
    assert third == p(CD) - r(AB, BC, ("a", "c"))


def test_example_4_3_the_immediate_consequence_is_not_bilinear():
    """Treating it as if it were misses R(a, c): a rule of two atoms is quadratic in the facts."""
    d_facts, d_rules = Stream.of([p(AB), p(BC)], NO_FACTS), Stream.of([ZSet.of([BASE]), ZSet.of([STEP])], NO_RULES)
    new_with_new = consequences(d_rules[1], d_facts[1])
    old_with_new = consequences(integrate(d_rules)[0], d_facts[1])
    new_with_old = consequences(d_rules[1], integrate(d_facts)[0])
    assert new_with_new + old_with_new + new_with_old == r(BC)
    known = integrate(d_facts)[1] + r(AB)
    assert consequences(integrate(d_rules)[1], known) == r(AB, BC, ("a", "c"))


def test_example_4_4_grounding_kit():
    """Two rules share the prefix P(x, y), so its direction has weight 2."""
    other = rule("R(x, z) :- P(x, y), R(y, z).")
    program = ZSet.of([BASE, other])
    first, both = (Atom("P", (V0, V1)),), (Atom("P", (V0, V1)), Atom("R", (V1, V2)))
    assert program.project(directions) == ZSet({((), first): 2, (first, both): 1})
    assert program.project(signal) == ZSet(
        {(first, Rule(Atom("R", (V0, V1)), ())): 1, (both, Rule(Atom("R", (V0, V2)), ())): 1}
    )


def test_example_4_7_join_orders():
    """E needs no index, T one on its first term. The head is T(x, z); the paper prints T(x, y)."""
    assert list(join_orders(rule("T(x, z) :- E(x, y), T(y, z)."))) == [("E", ()), ("T", (0,))]
    assert list(join_orders(rule("T(z) :- E(x, x), T(x, 1, z), U(z, x)."))) == [("E", ()), ("T", (0, 1)), ("U", (0, 1))]


def test_prefixes_are_themselves_not_sums():
    """A sum of hashes gives P, Q and Q, P one identity; the circuit would then ground the wrong head."""
    one, two = rule("H(x) :- P(x), Q(x)."), rule("G(x) :- Q(x), P(x).")
    assert canonical(one)[0] != canonical(two)[0]
    assert canonical(one)[0] == canonical(rule("K(u) :- P(u), Q(u)."))[0]


@pytest.mark.parametrize("circuit", CIRCUITS)
def test_a_dead_cycle_does_not_keep_itself_alive(circuit):
    """R(a, b) and R(b, a) derive each other once P is gone."""
    dyre = circuit()
    mutual = rule("R(x, y) :- R(y, x).")
    assert dyre.step(p(AB), ZSet.of([BASE, mutual])) == p(AB) + r(AB, ("b", "a"))
    assert dyre.step(-p(AB), NO_RULES) == -(p(AB) + r(AB, ("b", "a")))


def test_figure_1_as_printed_keeps_a_dead_cycle_alive():
    """One clock for updates and rounds remembers too much; this is why the naive circuit has rounds of its own."""
    mutual = rule("R(x, y) :- R(y, x).")
    changes = Stream.of([p(AB), NO_FACTS, NO_FACTS, -p(AB)], NO_FACTS)
    known = single_clock(changes, Stream.of([ZSet.of([BASE, mutual])], NO_RULES), 12)
    assert known[2] == p(AB) + r(AB, ("b", "a"))
    assert known[11] == r(AB, ("b", "a"))


@pytest.mark.parametrize("circuit", CIRCUITS)
def test_a_body_without_atoms(circuit):
    dyre = circuit()
    one = rule("H(x) :- x = 1.")
    assert dyre.step(NO_FACTS, ZSet.of([one])) == ZSet.of(facts("H", (1,)))
    assert dyre.step(NO_FACTS, -ZSet.of([one])) == -ZSet.of(facts("H", (1,)))


@pytest.mark.parametrize("circuit", CIRCUITS)
def test_a_change_that_shows_in_a_late_round_only(circuit):
    """The short way to n goes, the long one stays: n falls in an early round and returns in a late one, with rounds
    of no change between them. Stopping at the first zero would answer that n is gone."""
    chain = [(number, number + 1) for number in range(6)]
    reach, dyre = rule("R(0, y) :- P(0, y)."), circuit()
    dyre.step(p(*chain, (0, 6)), ZSet.of([reach, STEP]))
    assert dyre.step(-p((0, 6)), NO_RULES) == -p((0, 6))


PROGRAM = """
    t(x, y) :- e(x, y).
    t(x, z) :- t(x, y), t(y, z).
    loop(x) :- t(x, x).
    source(x) :- e(x, _), !loop(x), x < 4.
    sources(n) :- n = count : { source(x) }.
    next(x + 1) :- source(x).
"""


@pytest.mark.parametrize("algorithm", [DyreNaive, Dyre, DyreIndexed])
@pytest.mark.parametrize("seed", range(3))
def test_random_streams_of_facts_and_rules_equal_recomputation(algorithm, seed):
    rng = random.Random(seed)
    program = parse(PROGRAM)
    dyre, oracle = algorithm(program), Recompute(program)
    for _ in range(8):
        update = [
            [to_fact("e", (rng.randrange(5), rng.randrange(5))) for _ in range(rng.randrange(4))] for _ in range(2)
        ] + [rng.sample(program.rules, rng.randrange(3)) for _ in range(2)]
        assert dyre.apply(*update) == oracle.apply(*update)
        assert dyre.facts == oracle.facts


def test_a_long_stream_needs_no_deep_recursion():
    """After many idle updates one with rounds comes; it reads these rounds of all earlier updates, which nobody has
    computed yet."""
    dyre = IncrementalCircuit()
    for _ in range(500):
        assert dyre.step(NO_FACTS, NO_RULES) == NO_FACTS
    assert dyre.step(p(AB, BC), ZSet.of([BASE, STEP])) == p(AB, BC) + r(AB, BC, ("a", "c"))


def test_rules_that_move_between_strata():
    """A new rule puts p above q; p's rules leave the first circuit and enter the second."""
    program = parse("p(x) :- e(x). q(x) :- e(x), x > 1. e(1). e(2).")
    new = parse("p(x) :- f(x), !q(x). f(2). f(3).")
    dyre, oracle = Dyre(program), Recompute(program)
    inserts = facts("f", (2,), (3,))
    for change in ((inserts, (), new.rules), ((), facts("e", (2,))), ((), (), (), new.rules)):
        assert dyre.apply(*change) == oracle.apply(*change)
        assert dyre.facts == oracle.facts
    assert len(dyre.stages) == 2


@pytest.mark.parametrize("algorithm", [DyreNaive, Dyre, DyreIndexed])
def test_a_refused_update_changes_nothing(algorithm):
    """Also when the circuit has already swallowed half of it."""
    dyre = algorithm(parse("p(x) :- e(x). q(10 / x) :- p(x). e(1)."))
    before = dyre.facts
    with pytest.raises(ProgramError):
        dyre.apply(add_rules=parse("p(x) :- e(x), !p(x).").rules)
    assert dyre.facts == before
    assert dyre.apply(insert=facts("e", (2,)))[0] == {to_fact("e", (2,)), to_fact("p", (2,)), to_fact("q", (5,))}

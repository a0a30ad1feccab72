"""B/F with marking: Examples 1-3 step by step, late updates, and that marks never change a result."""

import random

import pytest

from tests.reference.test_dred import CLOSURE
from tidelog.language.parser import parse
from tidelog.reference.algorithm import Update
from tidelog.reference.backward_forward_depth_first import BackwardForwardDepthFirst, BackwardForwardDepthFirstShared
from tidelog.reference.backward_forward_marking import BackwardForwardMarking, BackwardForwardSharedMarks
from tidelog.reference.dred_marking import DRedMarking
from tidelog.reference.facts import to_fact
from tidelog.reference.recompute import materialise

EXAMPLE_3 = """
    q(x) :- p1(x), p2(x).
    q(x) :- p3(x).
    r(x) :- q(x).
    s(x) :- q(x), p4(x).
    p1("c"). p2("c"). p3("c").
"""


def fact(relation):
    return to_fact(relation, ("c",))


U_A = Update(insert=(fact("p4"),), delete=(fact("p1"),))
U_B = Update(delete=(fact("p4"),))


def process(algorithm, update, look_ahead=None):
    return algorithm.apply(update.insert, update.delete, look_ahead=look_ahead)


def test_example_1_a_mark_replaces_the_rule_application():
    """q(c), derived while p1(c) is marked, is under check from the start of the next update."""
    algorithm = BackwardForwardMarking(parse('q(x) :- p1(x), p2(x). p1("c").', "example1.dl"))
    next_update = Update(delete=(fact("p1"),))
    process(algorithm, Update(insert=(fact("p2"),)), next_update)
    assert list(algorithm.waiting) == [fact("q")]
    process(algorithm, next_update)
    assert algorithm.facts == {fact("p2")}
    assert algorithm.counters["deletions"] == 0


def test_example_3_step_by_step():
    """The blocks in the order of the text, with the facts they act on."""
    algorithm = BackwardForwardMarking(parse(EXAMPLE_3, "example3.dl"))
    assert process(algorithm, U_A, U_B) == ({fact("p4"), fact("s")}, {fact("p1")})
    assert algorithm.trace == [
        ("c", fact("q")),  # p1(c), p2(c) -> q(c) with p1(c) in D
        ("b", fact("q")),  # p3(c) -> q(c): p3(c) waits
        ("b", fact("p3")),  # explicit, so proven
        ("a", fact("q")),  # proven by p3(c)
        ("a", fact("r")),  # delayed
        ("e", None),
        ("f", fact("s")),  # marked, because p4(c) is
        ("g", None),
    ]
    assert list(algorithm.waiting) == [fact("s")]
    process(algorithm, U_B)
    assert algorithm.trace == [("b", fact("s")), ("d", fact("s")), ("e", None), ("g", None)]
    assert algorithm.facts == {fact(relation) for relation in ("p2", "p3", "q", "r")}
    assert algorithm.counters["deletions"] == 1
    assert algorithm.counters["marks explicit"] == algorithm.counters["marks implicit"] == 1


def test_without_look_ahead_the_second_update_needs_block_c():
    algorithm = BackwardForwardMarking(parse(EXAMPLE_3, "example3.dl"))
    process(algorithm, U_A)
    process(algorithm, U_B)
    assert algorithm.counters["deletions"] == 2


@pytest.mark.parametrize("delay", range(12))
def test_example_3_when_the_next_update_arrives_late(delay):
    """Asked before every step, the stream answers after `delay` questions: s(c) is marked only if that is in time."""
    algorithm = BackwardForwardMarking(parse(EXAMPLE_3, "example3.dl"))
    questions = iter(range(1000))
    process(algorithm, U_A, lambda: U_B if next(questions) >= delay else None)
    assert (list(algorithm.waiting) == [fact("s")]) == (delay <= 5)
    process(algorithm, U_B)
    assert algorithm.facts == {fact(relation) for relation in ("p2", "p3", "q", "r")}


def test_shared_marks_reach_facts_derived_long_ago():
    """The authors' variant: a fact derived two updates earlier is marked through the fact it was last derived from."""
    program = parse("path(x, y) :- edge(x, y).", "one.dl")
    next_update = Update(delete=(to_fact("edge", (1, 2)),))
    waiting = {}
    for kind in (BackwardForwardMarking, BackwardForwardSharedMarks):
        algorithm = kind(program)
        process(algorithm, Update(insert=(to_fact("edge", (1, 2)),)))
        process(algorithm, Update(insert=(to_fact("edge", (5, 6)),)), next_update)
        waiting[kind] = list(algorithm.waiting)
    assert waiting == {BackwardForwardMarking: [], BackwardForwardSharedMarks: [to_fact("path", (1, 2))]}


@pytest.mark.parametrize(
    "kind",
    [
        BackwardForwardMarking,
        BackwardForwardSharedMarks,
        BackwardForwardDepthFirst,
        BackwardForwardDepthFirstShared,
        DRedMarking,
    ],
)
@pytest.mark.parametrize("seed", range(8))
def test_marks_never_change_a_result(kind, seed):
    """Whether the next update is announced at once, late, never or wrongly, every version equals recomputation."""
    chance = random.Random(seed)
    edges = [to_fact("edge", (x, y)) for x in range(5) for y in range(5)]
    updates = [Update(insert=tuple(chance.sample(edges, 4)), delete=tuple(chance.sample(edges, 4))) for _ in range(12)]
    algorithm = kind(parse(CLOSURE + "lone(x) :- edge(x, _), !path(x, x).", "closure.dl"))
    for update, announced in zip(updates, [*updates[1:], None]):
        delay = chance.choice([0, 0, 3, 20, 10**6])
        questions = iter(range(10**7))
        promise = chance.choice([announced, announced, updates[0]])
        process(algorithm, update, lambda: promise if next(questions) >= delay else None)  # noqa: B023 - used at once
        assert algorithm.facts == materialise(algorithm.rules, algorithm.explicit)

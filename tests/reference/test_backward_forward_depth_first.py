"""B/F in the order of the authors' program: each departure from Algorithm 1 as printed, on the smallest program."""

import pytest

from tests.differential.engines import ReferenceEngine
from tests.differential.harness import agree
from tests.differential.updates import draw_case
from tests.reference.test_backward_forward_marking import EXAMPLE_3, U_A, U_B, fact, process
from tidelog.language.parser import parse
from tidelog.reference.algorithm import Update
from tidelog.reference.backward_forward_depth_first import BackwardForwardDepthFirst, BackwardForwardDepthFirstShared
from tidelog.reference.backward_forward_marking import BackwardForwardMarking
from tidelog.reference.facts import to_fact


def counters(kind, program, *updates, marking=False):
    """What an algorithm counts over the updates, without the zeros."""
    algorithm = kind(parse(program, "small.dl"))
    for number, update in enumerate(updates):
        is_last = number + 1 == len(updates)
        process(algorithm, update, updates[number + 1] if marking and not is_last else None)
    return {name: count for name, count in algorithm.counters.items() if count}


def deleting(*facts):
    return Update(delete=tuple(to_fact(relation, values) for relation, *values in facts))


def test_example_3_counts_the_same_in_both_orders():
    """Where there is only one thing to do next, the order of work changes nothing."""
    printed = counters(BackwardForwardMarking, EXAMPLE_3, U_A, U_B, marking=True)
    assert counters(BackwardForwardDepthFirst, EXAMPLE_3, U_A, U_B, marking=True) == printed
    assert printed["marks implicit"] == 1


def test_a_body_fact_that_is_under_check_holds_an_instance_back():
    """Departure 2, which decides the counters of the map program: p(1) is checked, and q(1) as its support.

    As printed, line 20 applies q <- p, r, because r(1) is new; here p(1) would have to be proved first, and never is.
    """
    program = "p(x) :- e(x). p(x) :- q(x). q(x) :- p(x), r(x). e(1). r(1)."
    update = deleting(("e", 1))
    assert counters(BackwardForwardMarking, program, update)["backward"] == 2
    assert counters(BackwardForwardDepthFirst, program, update)["backward"] == 1


def test_a_delayed_head_is_not_checked():
    """Departure 3: the proof of p(1) through f(1) delays s(1), which the deleted e(1) also affects."""
    program = "p(x) :- e(x). p(x) :- f(x). s(x) :- f(x). s(x) :- e(x). e(1). f(1)."
    update = deleting(("e", 1))
    assert counters(BackwardForwardMarking, program, update)["deletions"] == 2
    assert counters(BackwardForwardDepthFirst, program, update)["deletions"] == 1


def test_a_marked_fact_that_an_earlier_check_settles_is_not_counted():
    """Departure 4: p(1) and s(1) are marked through e(1); the newer, s(1), brings p(1) under check with it."""
    program = "p(x) :- e(x). s(x) :- e(x), p(x). s(x) :- p(x), g(x). g(1)."
    updates = (Update(insert=(to_fact("e", (1,)),)), deleting(("e", 1)))
    printed = counters(BackwardForwardMarking, program, *updates, marking=True)
    ours = counters(BackwardForwardDepthFirst, program, *updates, marking=True)
    assert (printed["marks explicit"], printed["marks implicit"]) == (1, 2)
    assert (ours["marks explicit"], ours["marks implicit"]) == (1, 1)


def test_depth_is_no_limit():
    """The end of a path is checked back to its beginning, deeper than Python's stack allows."""
    length = 3000
    edges = [("edge", n, n + 1) for n in range(length)]
    insert = tuple(to_fact(name, values) for name, *values in [("edge", 0, length), *edges])
    program = "from(0). from(y) :- from(x), edge(x, y)."
    found = counters(BackwardForwardDepthFirst, program, Update(insert=insert), deleting(("edge", 0, length)))
    assert found == {"insertions": length, "deletions": 1, "backward": length, "forward": length}


def test_a_fact_that_is_explicit_and_derived_stays_while_one_reason_does():
    algorithm = BackwardForwardDepthFirst(parse('q(x) :- p(x). p("c"). q("c").', "both.dl"))
    process(algorithm, Update(delete=(fact("p"),)))
    assert algorithm.facts == {fact("q")}
    process(algorithm, Update(delete=(fact("q"),)))
    assert algorithm.facts == frozenset()


@pytest.mark.parametrize("kind", [BackwardForwardDepthFirst, BackwardForwardDepthFirstShared])
@pytest.mark.parametrize("first", range(0, 60, 20))
def test_it_agrees_with_recomputation_on_the_random_world(kind, first):
    """Rules that come and go, negation, aggregates, explicit facts of derived relations: order never shows in facts."""
    for seed in range(first, first + 20):
        agree(draw_case(seed), {kind.__name__: lambda program: ReferenceEngine(kind, program)})

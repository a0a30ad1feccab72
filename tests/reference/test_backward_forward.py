"""B/F: the examples of its paper, and Theorem 1's second half."""

from tests.reference.test_dred import CLOSURE, TABLE_1
from tidelog.language.parser import parse
from tidelog.reference.backward_forward import BackwardForward
from tidelog.reference.facts import to_fact
from tidelog.reference.recompute import materialise


def test_table_1_checks_what_the_text_says():
    """E1 is disproved, so its consequences I3-I5 are checked and proved; I1 and I2 are never reached by deletion.

    The text: once I3-I5 have a proof no further overdeletion is needed. I4 is proved from E3 by R3 and I3 from E2 by
    R4, so both E2 and E3 are checked.
    """
    algorithm = BackwardForward(parse(TABLE_1, "table1.dl"))
    e1, e2, e3 = (to_fact("Tutor", values) for values in (("john", "math"), ("peter", "math"), ("john", "phys")))
    i1, i2 = to_fact("Person", ("peter",)), to_fact("TA", ("peter",))
    i3, i4, i5 = to_fact("Course", ("math",)), to_fact("Person", ("john",)), to_fact("TA", ("john",))
    assert algorithm.apply(delete=[e1]) == (frozenset(), {e1})
    checked = set(algorithm.checked)
    assert {e1, e2, e3, i3, i4, i5} <= checked
    assert not {i1, i2} & checked
    assert algorithm.counters["deletion"] == 3  # I4 by R3, I3 by R4, I5 by R1; DRed needs five


def test_introduction_proves_the_first_fact_and_looks_no_further():
    """C1(a) is derived from A(a) and B(a): after deleting A(a) none of C2, ..., Cn is considered."""
    chain = "\n".join(f"C{i}(x) :- C{i - 1}(x)." for i in range(2, 9))
    algorithm = BackwardForward(parse(f"C1(x) :- A(x). C1(x) :- B(x). {chain} A(1). B(1).", "intro.dl"))
    assert algorithm.apply(delete=[to_fact("A", (1,))]) == (frozenset(), {to_fact("A", (1,))})
    assert set(algorithm.checked) == {to_fact("A", (1,)), to_fact("C1", (1,)), to_fact("B", (1,))}


def test_no_rule_instance_is_considered_twice():
    """Theorem 1: each (rule, substitution) at most once in lines 9 and 27 together, also on a dense cycle."""
    edges = [to_fact("edge", (x, (x + step) % 7)) for x in range(7) for step in (1, 2)]
    algorithm = BackwardForward(parse(CLOSURE, "closure.dl"))
    algorithm.apply(insert=edges)
    for edge in edges:
        algorithm.apply(delete=[edge])
        assert algorithm.facts == materialise(algorithm.rules, algorithm.explicit)
    assert algorithm.counters["repeated"] == 0
    assert algorithm.counters["deletion"] > 0
    assert algorithm.counters["forward"] > 0


def test_a_dead_cycle_does_not_keep_itself_alive():
    """Facts that only prove each other fall when the fact that started them goes."""
    algorithm = BackwardForward(parse("a(x) :- s(x). b(x) :- a(x). a(x) :- b(x). s(1).", "cycle.dl"))
    algorithm.apply(delete=[to_fact("s", (1,))])
    assert algorithm.facts == frozenset()


def test_depth_is_no_limit():
    """A chain of 3000 facts is checked backward without Python's recursion."""
    chain = [to_fact("edge", (i, i + 1)) for i in range(3000)]
    algorithm = BackwardForward(parse("reach(0) :- start(). reach(y) :- reach(x), edge(x, y).", "chain.dl"))
    algorithm.apply(insert=[*chain, to_fact("start", ()), to_fact("edge", (3000, 0))])
    algorithm.apply(delete=[to_fact("start", ())])
    assert not any(relation == "reach" for relation, _ in algorithm.facts)

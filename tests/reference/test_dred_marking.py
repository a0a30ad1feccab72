"""DRed with marking: negative marks spare overdeletions, positive marks spare insertions."""

from tidelog.language.parser import parse
from tidelog.reference.algorithm import Update
from tidelog.reference.dred_marking import DRedMarking
from tidelog.reference.facts import to_fact

CHAIN = "edge1(x) :- edge(x). edge2(x) :- edge1(x). edge3(x) :- edge2(x)."
EDGE = to_fact("edge", (1,))
CHAINED = {to_fact(relation, (1,)) for relation in ("edge", "edge1", "edge2", "edge3")}


def stream(*updates):
    algorithm = DRedMarking(parse(CHAIN, "chain.dl"))
    for update, announced in zip(updates, [*updates[1:], None]):
        algorithm.apply(update.insert, update.delete, look_ahead=announced)
    return algorithm


def test_negative_marks_pass_along_implicit_facts():
    """Inserted now, deleted next: all three derived facts are marked and no rule is applied to delete them."""
    algorithm = stream(Update(insert=(EDGE,)), Update(delete=(EDGE,)))
    assert algorithm.facts == frozenset()
    assert (algorithm.counters["marks implicit"], algorithm.counters["overdeleted"]) == (3, 0)


def test_positive_marks_bring_facts_back_without_rules():
    """Deleted now, inserted again next: the derived facts come back by their marks."""
    algorithm = stream(Update(insert=(EDGE,)), Update(delete=(EDGE,)), Update(insert=(EDGE,)))
    assert algorithm.facts == CHAINED
    assert algorithm.counters["marks positive explicit"] == 1
    assert algorithm.counters["marks positive implicit"] == 0  # nothing was overdeleted by a rule: marks had done it
    algorithm = DRedMarking(parse(CHAIN, "chain.dl"))
    algorithm.apply([EDGE])
    algorithm.apply((), [EDGE], look_ahead=Update(insert=(EDGE,)))
    assert algorithm.facts == frozenset()
    inserted_by_rules = algorithm.counters["inserted"]
    algorithm.apply([EDGE])
    assert algorithm.facts == CHAINED
    assert algorithm.counters["marks positive implicit"] == 3
    assert algorithm.counters["inserted"] == inserted_by_rules


def test_a_positive_mark_is_dropped_when_the_announced_insertion_does_not_come():
    algorithm = DRedMarking(parse(CHAIN, "chain.dl"))
    algorithm.apply([EDGE])
    algorithm.apply((), [EDGE], look_ahead=Update(insert=(EDGE,)))
    algorithm.apply([to_fact("edge", (2,))])
    assert {fact for fact in algorithm.facts if fact[1] == (1,)} == set()


def test_a_marked_fact_with_another_derivation_comes_back():
    """A negative mark is a suspicion: rederivation gives back what has another proof."""
    algorithm = DRedMarking(parse("q(x) :- a(x). q(x) :- b(x). b(1).", "two.dl"))
    gone = Update(delete=(to_fact("a", (1,)), to_fact("a", (2,))))
    algorithm.apply([to_fact("a", (1,)), to_fact("a", (2,))], look_ahead=gone)
    assert algorithm.apply(gone.insert, gone.delete)[1] == {*gone.delete, to_fact("q", (2,))}
    assert to_fact("q", (1,)) in algorithm.facts

"""ZodiacEdge over facts: the plan visits what a change reaches, and no more."""

import random

import pytest

from tidelog.errors import ProgramError
from tidelog.language.parser import parse
from tidelog.reference.facts import to_fact
from tidelog.reference.recompute import Recompute
from tidelog.reference.zodiacedge import ZodiacEdge

RUNNING = """
    r1: p1(x, y) :- p0(x, y).
    r2: p2(x, z) :- p1(x, y), p3(y, z).
    r3: p3(x, y) :- p4(x, y).
    r4: p4(x, y) :- p2(x, y).
    r5: p5(x, y) :- p6(y, z), p0(x, _), !p2(x, z).
    r6: p6(x, y) :- p5(x, y).
    r7: p7(x, z) :- p3(x, y), p5(y, z).
    p0(1, 2). p0(2, 3). p4(2, 3). p4(3, 1). p6(1, 2).
"""  # Figure 1; r5 with one more atom, because as printed its x is bound by nothing
R8 = parse("r8: p2(x, z) :- p3(x, y), p2(y, z).").rules

RS1 = """
    r1: near(x, y) :- near(y, x).
    r2: near(x, y) :- near(x, z), near(z, y), x != y.
    r3: measured(x, n) :- near(x, _), n = count : { near(x, y), temperature(y, t) }.
    r4: middle(x, m) :- near(x, _), m = median t : { near(x, y), temperature(y, t) }.
    r5: many(x) :- measured(x, n), n >= 3.
    r6: anomaly(x) :- middle(x, m), many(x), temperature(x, t), d = abs(t - m), d > 5.0.
"""
RS2 = """
    r1: p11(x, y) :- p1(x, y).
    r2: p11(x, y) :- p11(y, x).
    r3: p11(x, y) :- p11(x, z), p11(z, y), x != y.
    r4: p12(x, y) :- p2(x, y).
    r5: p12(x, y) :- p12(x, z), p12(z, y), x != y.
    r6: p13(x, y) :- p3(x, y).
    r7: p14(x, y) :- p13(x, y).
    r8: p13(x, y) :- p14(y, x).
    r9: p20(x, y) :- p11(x, y).
    r10: p20(x, y) :- p12(x, y).
    r11: p20(x, y) :- p13(x, y).
    r12: p21(x, y) :- p20(x, y).
    r13: p22(x, y) :- p21(x, y).
    r14: p20(x, y) :- p22(x, y).
    r15: p25(x, z) :- p11(x, y), p12(y, z), !p5(y, z).
    r16: p26(x, z) :- p12(x, y), p13(z, y), !p5(z, y).
    r17: p30(x, z) :- p22(x, y), p21(y, z).
    r18: p31(x, y) :- p25(x, y), p26(y, z).
"""
RS3 = RS2.replace("r10: p20(x, y) :- p12(x, y).", "r10: p20(x, y) :- p12(x, y), !p13(y, z).")


def planned(engine):
    return [tuple(rule.name for rule in node.rules) for node in engine.plan]


def both(text):
    program = parse(text)
    return ZodiacEdge(program), Recompute(program)


def test_inserting_a_rule_reasons_in_its_hyper_node_and_what_follows():
    """r8 joins hn2 (Figure 3 b); hn1 does not depend on it."""
    engine, oracle = both(RUNNING)
    assert engine.apply(add_rules=R8) == oracle.apply(add_rules=R8)
    assert planned(engine) == [("r2", "r3", "r4", "r8"), ("r5", "r6"), ("r7",)]


def test_deleting_a_rule_splits_its_hyper_node():
    """Without r4, hn2 falls apart into r2 and r3 (Figure 3 c); both and their successors are redone."""
    engine, oracle = both(RUNNING)
    assert engine.apply(remove_rules=["r4"]) == oracle.apply(remove_rules=["r4"])
    assert sorted(planned(engine)) == [("r2",), ("r3",), ("r5", "r6"), ("r7",)]
    assert engine.facts == oracle.facts


def test_hyper_nodes_that_go_as_a_whole_need_no_reasoning():
    """The paper's example: r5, r6 and r7 are deleted, their IDBs are dropped."""
    engine, oracle = both(RUNNING)
    engine.counters.clear()
    gone = ["r5", "r6", "r7"]
    assert engine.apply(remove_rules=gone) == oracle.apply(remove_rules=gone)
    assert engine.plan == ()
    assert engine.counters["reasoned"] == 0


def test_a_chain_reaction_stops_where_nothing_changes():
    """r9 derives what r1 derives: it is a new hyper-node, hn2 reads it and stays as it is, hn3 and hn4 are skipped."""
    engine, oracle = both(RUNNING)
    engine.counters.clear()
    rule = parse("r9: p1(x, y) :- p0(x, y), x < y.").rules
    assert engine.apply(add_rules=rule) == oracle.apply(add_rules=rule) == (frozenset(), frozenset())
    assert planned(engine) == [("r9",), ("r2", "r3", "r4"), ("r5", "r6"), ("r7",)]
    assert (engine.counters["reasoned"], engine.counters["skipped"]) == (2, 2)


def test_a_leaf_rule_costs_its_own_derivations_only():
    """r18, the paper's most favourable insertion: nothing else is derived again."""
    program = parse(RS2)
    engine = ZodiacEdge(program)
    pairs = [(1, 2), (2, 3), (3, 4)]
    engine.apply([to_fact(relation, pair) for relation in ("p1", "p2", "p3") for pair in pairs])
    engine.apply(remove_rules=["r18"])
    engine.counters.clear()
    inserted, _ = engine.apply(add_rules=[rule for rule in program.rules if rule.name == "r18"])
    assert {fact[0] for fact in inserted} == {"p31"}
    assert engine.counters["reasoned"] == 1


@pytest.mark.parametrize(("text", "nodes"), [(RS1, 5), (RS2, 14), (RS3, 14)])
def test_hyper_nodes_of_the_rule_sets(text, nodes):
    """Table 1 of the paper."""
    assert len(ZodiacEdge(parse(text)).graph.nodes) == nodes


@pytest.mark.parametrize("text", [RUNNING, RS1, RS2, RS3], ids=["running", "RS1", "RS2", "RS3"])
@pytest.mark.parametrize("seed", range(3))
def test_rules_and_facts_that_come_and_go_equal_recomputation(text, seed):
    rng = random.Random(seed)
    program = parse(text)
    engine, oracle = both(text)
    binary = [f"p{number}" for number in (0, 1, 2, 3, 4, 5, 6)] + ["near"]

    def drawn():
        pairs = [to_fact(rng.choice(binary), (rng.randrange(4), rng.randrange(4))) for _ in range(rng.randrange(6))]
        return [*pairs, to_fact("temperature", (rng.randrange(4), rng.choice([10.0, 20.0, 30.0])))]

    for _ in range(8):
        rules = [rng.sample(program.rules, rng.randrange(3)) for _ in range(2)]
        change = drawn(), drawn(), *rules
        assert engine.apply(*change) == oracle.apply(*change)
        assert engine.facts == oracle.facts


def test_a_refused_change_leaves_graph_and_facts_as_they_were():
    """A negative edge inside a hyper-node."""
    engine = ZodiacEdge(parse(RUNNING))
    before = engine.facts, engine.graph, engine.idbs
    with pytest.raises(ProgramError):
        engine.apply(add_rules=parse("p0(x, y) :- p1(x, y), !p5(x, y).").rules)
    assert (engine.facts, engine.graph, engine.idbs) == before


def test_rule_r5_as_printed_is_rejected():
    """Its x occurs only in the head and under `not`."""
    with pytest.raises(ProgramError):
        ZodiacEdge(parse("p5(x, y) :- p6(y, z), !p2(x, z). p6(1, 2)."))

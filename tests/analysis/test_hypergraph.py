"""The HRDG reproduces the ZodiacEdge paper: Figures 2 and 3, and the hyper-nodes of Table 1."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.analysis.hypergraph import Hypergraph, hypergraph, levels, rule_graph
from tidelog.analysis.rule_changes import RuleChange, delete_rules, execution_plan, insert_rules
from tidelog.language.parser import parse
from tidelog.language.terms import Atom, Rule, Variable

FIGURE_1 = """
    r1: p1(X, Y) :- p0(X, Y).
    r2: p2(X, Z) :- p1(X, Y), p3(Y, Z).
    r3: p3(X, Y) :- p4(X, Y).
    r4: p4(X, Y) :- p2(X, Y).
    r5: p5(X, Y) :- p6(Y, Z), !p2(X, Z).
    r6: p6(X, Y) :- p5(X, Y).
    r7: p7(X, Z) :- p3(X, Y), p5(Y, Z).
"""
R8 = parse("r8: p2(X, Z) :- p3(X, Y), p2(Y, Z).").rules[0]


def label(graph: Hypergraph, node: int) -> str:
    """A hyper-node by the names of its rules: `r2 r3 r4`."""
    return " ".join(sorted(rule.name or "" for rule in graph.nodes[node].rules))


def labels(graph: Hypergraph) -> set[str]:
    return {label(graph, node) for node in range(len(graph.nodes))}


def edges(graph: Hypergraph, pairs: frozenset[tuple[int, int]]) -> set[tuple[str, str]]:
    return {(label(graph, a), label(graph, b)) for a, b in pairs}


def impacted(change: RuleChange) -> set[str]:
    return {label(change.graph, node) for node in change.impacted}


def figure_3a() -> Hypergraph:
    return hypergraph(parse(FIGURE_1).rules)


def test_figure_2_rule_dependency_graph():
    """Seven rules, eight positive edges and one negative."""
    graph = rule_graph(parse(FIGURE_1).rules)
    named = lambda pairs: {(graph.rules[a].name, graph.rules[b].name) for a, b in pairs}  # noqa: E731
    assert named(graph.negative) == {("r2", "r5")}
    assert named(graph.positive) == {
        ("r1", "r2"),
        ("r3", "r2"),
        ("r4", "r3"),
        ("r2", "r4"),
        ("r6", "r5"),
        ("r5", "r6"),
        ("r3", "r7"),
        ("r5", "r7"),
    }


def test_figure_3a_hyper_rules_dependency_graph():
    """HV, HEp and HEn as section 4.2 lists them."""
    graph = figure_3a()
    assert labels(graph) == {"r1", "r2 r3 r4", "r5 r6", "r7"}
    assert edges(graph, graph.positive) == {("r1", "r2 r3 r4"), ("r2 r3 r4", "r7"), ("r5 r6", "r7")}
    assert edges(graph, graph.negative) == {("r2 r3 r4", "r5 r6")}
    assert {label(graph, i) for i, node in enumerate(graph.nodes) if node.is_recursive} == {"r2 r3 r4", "r5 r6"}


def test_figure_3b_inserting_r8_impacts_the_hyper_node_it_joins():
    """Algorithm 2: r8 merges into hn2; the plan goes on to what reads it."""
    change = insert_rules(figure_3a(), [R8])
    assert labels(change.graph) == {"r1", "r2 r3 r4 r8", "r5 r6", "r7"}
    assert impacted(change) == {"r2 r3 r4 r8"}
    assert [label(change.graph, node) for node in execution_plan(change)] == ["r2 r3 r4 r8", "r5 r6", "r7"]


def test_figure_3c_deleting_r4_splits_its_hyper_node():
    """Algorithm 3: three parts and two successors are impacted; r1 is not.

    With line 8 as printed (`for hn in DIHN`) the loop runs over an empty set and nothing is impacted at all.
    """
    graph = insert_rules(figure_3a(), [R8]).graph
    r4 = next(rule for node in graph.nodes for rule in node.rules if rule.name == "r4")
    change = delete_rules(graph, [r4])
    assert labels(change.graph) == {"r1", "r2", "r3", "r8", "r5 r6", "r7"}
    assert impacted(change) == {"r2", "r3", "r8", "r5 r6", "r7"}
    assert len(execution_plan(change)) == 5
    assert edges(change.graph, change.graph.negative) == {("r2", "r5 r6"), ("r8", "r5 r6")}


def test_deleting_whole_hyper_nodes_leaves_nothing_to_maintain():
    """Section 4.4.3: without r5, r6 and r7 the hyper-nodes hn3 and hn4 are gone."""
    rules = parse(FIGURE_1).rules
    change = delete_rules(hypergraph(rules), rules[4:])
    assert impacted(change) == set()
    assert execution_plan(change) == ()


def test_a_new_rule_can_merge_old_hyper_nodes():
    """Edges into the new rule matter as much as edges out of it."""
    change = insert_rules(figure_3a(), parse("r9: p0(X, Y) :- p7(X, Y).").rules)
    assert labels(change.graph) == {"r1 r2 r3 r4 r5 r6 r7 r9"}
    assert impacted(change) == labels(change.graph)
    assert edges(change.graph, change.graph.negative) == {(label(change.graph, 0),) * 2}


def test_inserting_a_rule_that_is_there_impacts_nothing():
    """No new rule, no change."""
    assert impacted(insert_rules(figure_3a(), parse(FIGURE_1).rules[:1])) == set()


@pytest.mark.parametrize(("rule_set", "rules", "nodes"), [("rs1", 6, 5), ("rs2", 18, 14), ("rs3", 18, 14)])
def test_table_1_hyper_nodes(rule_set, rules, nodes):
    """Table 1 of the paper, column #hn."""
    path = Path(__file__).parents[1] / "programs" / "zodiacedge" / rule_set / "program.dl"
    program = parse(path.read_text(), path.name)
    assert len(program.rules) == rules
    graph = hypergraph(program.rules)
    assert len(graph.nodes) == nodes
    assert max(levels(graph)) == {"rs1": 1, "rs2": 0, "rs3": 1}[rule_set]


SPEC = st.lists(st.tuples(st.integers(0, 5), st.lists(st.integers(0, 5), max_size=3)), max_size=10, unique_by=str)


def made(spec) -> list[Rule]:
    x = (Variable("x"),)
    return [
        Rule(Atom(f"p{head}", x), tuple(Atom(f"p{read}", x) for read in body), f"r{head}{body}") for head, body in spec
    ]


@given(SPEC, SPEC)
def test_insertion_and_deletion_agree_with_the_graph_built_afresh(old, new):
    """Inserting and deleting again gives the same graph; hyper-nodes outside the plan are the same before and after."""
    rules = made(old)
    added = [rule for rule in made(new) if rule not in rules]
    before = hypergraph(rules)
    change = insert_rules(before, added)
    assert {frozenset(node.rules) for node in change.graph.nodes} == {
        frozenset(node.rules) for node in hypergraph([*rules, *added]).nodes
    }
    untouched = set(range(len(change.graph.nodes))) - set(execution_plan(change))
    assert {frozenset(change.graph.nodes[i].rules) for i in untouched} <= {
        frozenset(node.rules) for node in before.nodes
    }
    back = delete_rules(change.graph, added)
    assert {frozenset(node.rules) for node in back.graph.nodes} == {frozenset(node.rules) for node in before.nodes}


@given(SPEC)
def test_hyper_nodes_come_in_topological_order(spec):
    """Every edge leads forwards."""
    graph = hypergraph(made(spec))
    assert all(a < b for a, b in graph.positive)


def test_ten_thousand_rules_in_a_chain():
    """Neither the stack nor the time may grow with more than the text."""
    graph = hypergraph(made([]) + [_step(i) for i in range(10_000)])
    assert len(graph.nodes) == 10_000
    assert len(execution_plan(RuleChange(graph, frozenset({0})))) == 10_000


def _step(i: int) -> Rule:
    x = (Variable("x"),)
    return Rule(Atom(f"p{i + 1}", x), (Atom(f"p{i}", x),))

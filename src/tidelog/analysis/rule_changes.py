"""Which hyper-nodes does a change of rules touch, and in which order are they maintained?

What      : the directly impacted hyper-nodes of an insertion and of a deletion of rules, and the execution plan.
Idea      : a new rule impacts the hyper-node that holds it, a deleted one what is left of its hyper-node, and the
            successors. The plan visits every hyper-node that these reach.
Source    : Xu, Cure 2023 (ZodiacEdge), Algorithms 2, 3 and 4; with facts: reference/zodiacedge.py.
Invariant : hyper-nodes outside the plan derive the same facts before and after the change.
Departures: Algorithm 2 enriches the graph with edges that leave the new rules (lines 3-7); edges that enter them are
            needed as well. Algorithm 3, line 8 must run over the dirty hyper-nodes (DHN), not over DIHN. Both graphs
            are built afresh, in linear time; merging and splitting then need no bookkeeping: a hyper-node is new
            exactly if it holds a new rule, or is a part of one that lost a rule.
Never     : no facts, no evaluation; the engine maintains relations, this answers what a change would reach.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tidelog.analysis.hypergraph import Hypergraph, hypergraph
from tidelog.language.terms import Rule


@dataclass(frozen=True, slots=True)
class RuleChange:
    """The graph after a change of rules, and the positions of its directly impacted hyper-nodes."""

    graph: Hypergraph
    impacted: frozenset[int]


def insert_rules(graph: Hypergraph, new: Iterable[Rule]) -> RuleChange:
    """Algorithm 2: hyper-nodes that hold a new rule, merged with old ones (lines 11-12) or alone (lines 15-16)."""
    present = _rules(graph)
    added = [rule for rule in dict.fromkeys(new) if rule not in present]
    after = hypergraph([*present, *added])
    fresh = set(added)
    return RuleChange(after, frozenset(i for i, node in enumerate(after.nodes) if not fresh.isdisjoint(node.rules)))


def delete_rules(graph: Hypergraph, deleted: Iterable[Rule]) -> RuleChange:
    """Algorithm 3: what is left of hyper-nodes that lose a rule (line 18), and the successors of those (line 9)."""
    gone = set(deleted)
    dirty = [i for i, node in enumerate(graph.nodes) if not gone.isdisjoint(node.rules)]
    touched = {*dirty, *(successor for node in dirty for successor in graph.successors(node))}
    rules = {rule for i in touched for rule in graph.nodes[i].rules}
    after = hypergraph(rule for rule in _rules(graph) if rule not in gone)
    return RuleChange(after, frozenset(i for i, node in enumerate(after.nodes) if not rules.isdisjoint(node.rules)))


def execution_plan(change: RuleChange) -> tuple[int, ...]:
    """Algorithm 4: the hyper-nodes that the impacted ones reach, themselves included, in topological order.

    The graph's own order is topological, so that keeping the reached ones replaces the reversed depth-first search.
    """
    reached = set(change.impacted)
    frontier = list(change.impacted)
    while frontier:
        for successor in change.graph.successors(frontier.pop()):
            if successor not in reached:
                reached.add(successor)
                frontier.append(successor)
    return tuple(sorted(reached))


def _rules(graph: Hypergraph) -> dict[Rule, None]:
    return dict.fromkeys(rule for node in graph.nodes for rule in node.rules)

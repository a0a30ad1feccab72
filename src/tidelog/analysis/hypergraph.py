"""Which rules feed which: the rule dependency graph and the hyper rules dependency graph (HRDG).

What      : a hyper-node is a strongly connected set of rules; edges lead from the rules that derive a relation to the
            rules that read it, positively or under negation and aggregation.
Idea      : strongly connected sets are found on the graph rule -> relation -> rule, which is linear in the text where
            rule -> rule may be quadratic.
Source    : Xu, Cure 2023 (ZodiacEdge), sections 2.1 and 4.2, Algorithm 1 lines 1-4.
Invariant : every rule is in one hyper-node; an edge leads from an earlier hyper-node to a later one.
Departures: aggregation counts as negation: like a negated atom, an aggregate can lose its result when facts are added.
Never     : no facts; rule_changes.py follows a change of rules through the graph.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tidelog.analysis.components import relations_read
from tidelog.analysis.strongly_connected import strongly_connected
from tidelog.language.terms import Aggregate, Rule, atoms

Edge = tuple[int, int]


@dataclass(frozen=True, slots=True)
class RuleGraph:
    """The rule dependency graph: rules and the edges between their positions."""

    rules: tuple[Rule, ...]
    positive: frozenset[Edge]
    negative: frozenset[Edge]


@dataclass(frozen=True, slots=True)
class HyperNode:
    """Rules that depend on each other, in program order."""

    rules: tuple[Rule, ...]
    is_recursive: bool


@dataclass(frozen=True, slots=True)
class Hypergraph:
    """Hyper-nodes in topological order and the edges between their positions.

    `negative` holds the edges under negation or inside aggregates, `aggregated` those of them that come from an
    aggregate. A negative edge from a hyper-node to itself means that the program cannot be stratified.
    """

    nodes: tuple[HyperNode, ...]
    positive: frozenset[Edge]
    negative: frozenset[Edge]
    aggregated: frozenset[Edge] = frozenset()
    _successors: dict[int, tuple[int, ...]] = field(default_factory=dict, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        found: dict[int, set[int]] = {}
        for source, target in self.positive | self.negative:
            if source != target:
                found.setdefault(source, set()).add(target)
        self._successors.update((source, tuple(sorted(targets))) for source, targets in found.items())

    def successors(self, node: int) -> tuple[int, ...]:
        """The positions of the hyper-nodes that read what a hyper-node derives."""
        return self._successors.get(node, ())


def rule_graph(rules: Iterable[Rule]) -> RuleGraph:
    """The rule dependency graph of the paper's section 2.1."""
    ordered = tuple(rules)
    edges = _edges(ordered, range(len(ordered)))
    return RuleGraph(
        ordered,
        frozenset((a, b) for a, b, kind in edges if kind == "positive"),
        frozenset((a, b) for a, b, kind in edges if kind != "positive"),
    )


def hypergraph(rules: Iterable[Rule]) -> Hypergraph:
    """The HRDG of a set of rules."""
    ordered = tuple(rules)
    members = _strongly_connected_rules(ordered)
    node_of = [0] * len(ordered)
    for index, group in enumerate(members):
        for rule in group:
            node_of[rule] = index
    nodes = tuple(HyperNode(tuple(ordered[rule] for rule in group), _recurs(ordered, group)) for group in members)
    edges = _edges(ordered, node_of)
    return Hypergraph(
        nodes,
        frozenset((a, b) for a, b, kind in edges if kind == "positive" and a != b),
        frozenset((a, b) for a, b, kind in edges if kind != "positive"),
        frozenset((a, b) for a, b, kind in edges if kind == "aggregated"),
    )


def levels(graph: Hypergraph) -> tuple[int, ...]:
    """How many negative edges lie below each hyper-node: its stratum, from 0."""
    found = [0] * len(graph.nodes)
    for source in range(len(graph.nodes)):
        for target in graph.successors(source):
            found[target] = max(found[target], found[source] + ((source, target) in graph.negative))
    return tuple(found)


def _strongly_connected_rules(rules: tuple[Rule, ...]) -> list[list[int]]:
    deriving: dict[str, list[int | str]] = {}
    for index, rule in enumerate(rules):
        deriving.setdefault(rule.head.relation, []).append(index)

    def below(node: int | str) -> Iterable[int | str]:
        return deriving.get(node, ()) if isinstance(node, str) else relations_read(rules[node])

    every: list[int | str] = [*range(len(rules))]
    found = strongly_connected(every, below)
    groups = ([node for node in group if isinstance(node, int)] for group in found)
    return [sorted(group) for group in groups if group]


def _recurs(rules: tuple[Rule, ...], group: list[int]) -> bool:
    return len(group) > 1 or rules[group[0]].head.relation in relations_read(rules[group[0]])


def _edges(rules: tuple[Rule, ...], node_of: range | list[int]) -> set[tuple[int, int, str]]:
    """Edges with their kind between the nodes that the rules belong to."""
    deriving: dict[str, set[int]] = {}
    for index, rule in enumerate(rules):
        deriving.setdefault(rule.head.relation, set()).add(node_of[index])
    return {
        (source, node_of[index], kind)
        for index, rule in enumerate(rules)
        for relation, kind in dict.fromkeys(_readings(rule))
        for source in deriving.get(relation, ())
    }


def _readings(rule: Rule) -> Iterator[tuple[str, str]]:
    for literal in rule.body:
        for atom, is_monotone in atoms(literal):
            kind = "positive" if is_monotone else "aggregated" if isinstance(literal, Aggregate) else "negative"
            yield atom.relation, kind

"""What a picture of a hypergraph shows, before anybody decides where.

What      : boxes with their rules' text, arrows of three kinds, strata.
Idea      : the three writers (svg, dot, mermaid) draw the same diagram, so that they agree on words and wrapping.
Invariant : boxes are numbered as the hyper-nodes are; an arrow leads from a lower number to a higher one.
Never     : no coordinates (layout.py) and no output format.
"""

from __future__ import annotations

from dataclasses import dataclass

from tidelog.analysis.hypergraph import Hypergraph, HyperNode, levels
from tidelog.language.printer import print_literal, print_rule
from tidelog.language.terms import Rule
from tidelog.visible import visible

RULES_PER_BOX = 12
"""A hyper-node with more rules is shown by its first ones and a count of the rest."""

LINE_LENGTH = 38
"""A rule's body is broken between its literals beyond this many characters."""

POSITIVE, NEGATIVE, AGGREGATED = "positive", "negative", "aggregated"


@dataclass(frozen=True, slots=True)
class Box:
    """A hyper-node: the relations it derives, and lines of text with the rule's name where a rule starts."""

    title: str
    lines: tuple[tuple[str, str], ...]
    is_recursive: bool
    is_contradictory: bool
    stratum: int


@dataclass(frozen=True, slots=True)
class Arrow:
    """From the box that derives facts to the box that reads them."""

    source: int
    target: int
    kind: str


@dataclass(frozen=True, slots=True)
class Diagram:
    """All there is to draw."""

    title: str
    subtitle: str
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]


def diagram(graph: Hypergraph, title: str) -> Diagram:
    """The diagram of a hypergraph."""
    strata = levels(graph)
    boxes = tuple(_box(node, strata[index], (index, index) in graph.negative) for index, node in enumerate(graph.nodes))
    negative = graph.negative - graph.aggregated
    kinds = ((POSITIVE, graph.positive), (NEGATIVE, negative), (AGGREGATED, graph.aggregated))
    arrows = tuple(Arrow(a, b, kind) for kind, edges in kinds for a, b in sorted(edges) if a != b)
    rules = sum(len(node.rules) for node in graph.nodes)
    counts = ((len(boxes), "hyper-node"), (rules, "rule"), (len(set(strata)), "stratum"))
    return Diagram(title, " · ".join(_counted(*count) for count in counts), boxes, arrows)


def _counted(number: int, word: str) -> str:
    plural = {"stratum": "strata"}.get(word, f"{word}s")
    return f"{number} {word if number == 1 else plural}"


def _box(node: HyperNode, stratum: int, is_contradictory: bool) -> Box:
    title = visible(", ".join(dict.fromkeys(rule.head.relation for rule in node.rules)))
    if len(title) > 2 * LINE_LENGTH:
        title = title[: 2 * LINE_LENGTH - 3] + "..."
    lines = [line for rule in node.rules[:RULES_PER_BOX] for line in _rule_lines(rule)]
    if len(node.rules) > RULES_PER_BOX:
        lines.append(("", f"... and {len(node.rules) - RULES_PER_BOX} more rules"))
    return Box(title, tuple(lines), node.is_recursive, is_contradictory, stratum)


def _rule_lines(rule: Rule) -> list[tuple[str, str]]:
    """A rule on one line if it fits, else its head and then its literals, as many as fit on a line."""
    text = print_rule(Rule(rule.head, rule.body))
    if len(text) <= LINE_LENGTH or not rule.body:
        return [(visible(rule.name or ""), text)]
    lines = [print_literal(rule.head) + " :-"]
    current = ""
    for index, literal in enumerate(rule.body):
        shown = print_literal(literal) + ("." if index == len(rule.body) - 1 else ",")
        if current and len(current) + 1 + len(shown) > LINE_LENGTH - 4:
            lines.append("    " + current)
            current = shown
        else:
            current = f"{current} {shown}".strip()
    lines.append("    " + current)
    return [(visible(rule.name or "") if index == 0 else "", line) for index, line in enumerate(lines)]

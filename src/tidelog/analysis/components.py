"""Which derived relations depend on each other, and in which order they are computed.

What      : a component is a set of relations that depend on each other recursively, with all the rules that derive
            them; components are the units of evaluation and maintenance (ARCHITECTURE.md).
Idea      : the strongly connected components of the graph that leads from a relation to the relations in the bodies
            of its rules, under negation and inside aggregates included.
Invariant : every rule is in exactly one component; a component comes after all those that its rules read.
Never     : it does not judge: negation inside a component is the business of stratification.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tidelog.analysis.strongly_connected import strongly_connected
from tidelog.language.terms import Rule, atoms


@dataclass(frozen=True, slots=True)
class Component:
    """Relations that depend on each other, and the rules that derive them in program order."""

    relations: frozenset[str]
    rules: tuple[Rule, ...]
    is_recursive: bool


def components(rules: Iterable[Rule]) -> tuple[Component, ...]:
    """The components of the derived relations in topological order: a component reads only itself and earlier ones."""
    by_head: dict[str, list[int]] = {}
    ordered = tuple(rules)
    for index, rule in enumerate(ordered):
        by_head.setdefault(rule.head.relation, []).append(index)
    reads = {
        relation: {read: None for index in indices for read in relations_read(ordered[index]) if read in by_head}
        for relation, indices in by_head.items()
    }
    found = []
    for relations in strongly_connected(by_head, reads.__getitem__):
        indices = sorted(index for relation in relations for index in by_head[relation])
        is_recursive = len(relations) > 1 or relations[0] in reads[relations[0]]
        found.append(Component(frozenset(relations), tuple(ordered[index] for index in indices), is_recursive))
    return tuple(found)


def relations_read(rule: Rule) -> tuple[str, ...]:
    """The relations in a rule's body, negated and aggregated ones included, each once in order of appearance."""
    return tuple(dict.fromkeys(atom.relation for literal in rule.body for atom, _ in atoms(literal)))


def strata(rules: Iterable[Rule]) -> dict[str, int]:
    """The stratum of each derived relation, from 0: as low as negation and aggregation below it allow."""
    level: dict[str, int] = {}
    for component in components(rules):
        lowest = 0
        for rule in component.rules:
            for literal in rule.body:
                for atom, is_monotone in atoms(literal):
                    if atom.relation in level:
                        lowest = max(lowest, level[atom.relation] + (not is_monotone))
        level.update(dict.fromkeys(component.relations, lowest))
    return level

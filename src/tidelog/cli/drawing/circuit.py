"""The rows of the Datalog circuit, as rules that can be drawn.

What      : `rows_of` gives a program as the strategy `circuit` sees it: directions, signals, and aggregates between
            them.
Idea      : a direction derives the rewrites of a prefix and a signal reads them, so the picture of which row feeds
            which is that of a rule graph (analysis/hypergraph.py).
Invariant : prefixes are numbered in the order of maintenance; a direction that rules share is one row.
Never     : no coordinates, no facts.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidelog.analysis.components import relations_read
from tidelog.analysis.inlining import evaluated_rules
from tidelog.language.printer import canonical_text
from tidelog.language.terms import Atom, Literal, Negation, Program, Rule
from tidelog.planning.lowered import LoweredRule, Stage, is_hidden, is_of_rewrites
from tidelog.planning.lowering import lower
from tidelog.planning.rewrites import wired


def rows_of(program: Program) -> tuple[Rule, ...]:
    """The rows of a checked program."""
    rules = evaluated_rules(program)
    stages = [stage for stage in lower(rules).stages if not stage.finds_undefined]
    rows = [row for stage in stages for row in _rows(stage)]
    names: dict[str, str] = {}
    taken = {relation for rule in rules for relation in (rule.head.relation, *relations_read(rule))}
    for relation in (row.head.relation for row in rows if is_hidden(row.head.relation)):
        names.setdefault(relation, _fresh(_word(relation), taken))
    return tuple(_renamed(row, names) for row in rows)


def _word(relation: str) -> str:
    """What a hidden relation holds: rewrites at a prefix, what an aggregate is taken of, or its results."""
    if is_of_rewrites(relation):
        return "prefix"
    return "members" if relation.startswith("@of ") else relation[1:].partition("/")[0]


def _fresh(word: str, taken: set[str]) -> str:
    number = 1
    while f"{word}{number}" in taken:
        number += 1
    taken.add(f"{word}{number}")
    return f"{word}{number}"


def _rows(stage: Stage) -> Iterator[Rule]:
    for group in stage.groups:
        yield Rule(Atom(group.relation, ()), (Atom(group.body_relation, ()),), group.function)
    for row in wired(stage).rules if not stage.groups else ():
        yield Rule(row.head, row.body, _name(row))


def _name(row: LoweredRule) -> str | None:
    """What a row is: a direction, or the signal of a rule by the rule's name if it has one."""
    if is_of_rewrites(row.head.relation):
        return "direction"
    is_named = row.key != canonical_text(row.source.as_written)
    return row.key if is_named else None


def _renamed(row: Rule, names: dict[str, str]) -> Rule:
    def short(atom: Atom) -> Atom:
        return Atom(names.get(atom.relation, atom.relation), atom.terms)

    def told(literal: Literal) -> Literal:
        match literal:
            case Atom():
                return short(literal)
            case Negation(atom=atom):
                return Negation(short(atom))
            case _:
                return literal

    return Rule(short(row.head), tuple(map(told, row.body)), row.name)

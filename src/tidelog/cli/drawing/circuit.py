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
from tidelog.language.terms import Atom, Program, Rule
from tidelog.planning.lowered import LoweredRule, Stage, is_of_rewrites
from tidelog.planning.lowering import lower
from tidelog.planning.rewrites import wired
from tidelog.planning.short_names import renamed, short_names


def rows_of(program: Program) -> tuple[Rule, ...]:
    """The rows of a checked program."""
    rules = evaluated_rules(program)
    stages = [stage for stage in lower(rules).stages if not stage.finds_undefined]
    rows = [row for stage in stages for row in _rows(stage)]
    taken = {relation for rule in rules for relation in (rule.head.relation, *relations_read(rule))}
    names = short_names((row.head.relation for row in rows), taken)
    return tuple(_renamed(row, names) for row in rows)


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
    head = Atom(names.get(row.head.relation, row.head.relation), row.head.terms)
    return Rule(head, tuple(renamed(literal, names) for literal in row.body), row.name)

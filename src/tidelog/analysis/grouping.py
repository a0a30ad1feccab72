"""By which variables is an aggregate grouped?

What      : the one definition of an aggregate's group variables, for safety, planning and evaluation alike.
Idea      : those that occur in the aggregated value or body and also elsewhere in the rule; never the result.
Invariant : a rule that passes safety.py has every group variable bound outside the aggregate.
Never     : no values and no facts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tidelog.language.terms import Aggregate, Rule, Variable, variables


def group_variables(rule: Rule, aggregate: Aggregate) -> tuple[str, ...]:
    """The names of an aggregate's group variables, in order of appearance inside it."""
    return shared_variables(aggregate, occurrences(rule))


def occurrences(rule: Rule) -> Counter[str]:
    """How often each variable occurs in a rule, head and aggregates included."""
    counts = Counter(variable.name for variable in variables(rule.head))
    for literal in rule.body:
        counts.update(variable.name for variable in variables(literal))
    return counts


def shared_variables(aggregate: Aggregate, in_rule: Counter[str]) -> tuple[str, ...]:
    """The group variables, given the occurrences in the whole rule."""
    inside = Counter(variable.name for variable in inner_variables(aggregate))
    results = Counter(variable.name for variable in variables(aggregate.result))
    return tuple(name for name in inside if not results[name] and in_rule[name] > inside[name])


def inner_variables(aggregate: Aggregate) -> Iterator[Variable]:
    """Every occurrence of a variable in an aggregate's value and body."""
    if aggregate.value is not None:
        yield from variables(aggregate.value)
    for literal in aggregate.body:
        yield from variables(literal)

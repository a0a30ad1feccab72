"""Which literals around an aggregate bind the groups that it does not bind itself?

What      : an aggregate such as `count : { p(y), y < x }` has a meaning per value of `x`, which comes from outside.
Idea      : the literals of the rule that bind such variables are added to the aggregate's body. That leaves out only
            groups that the rule would not ask for.
Invariant : only relations below the rule's own component are used, because the aggregate has to be known before the
            component can be derived.
Never     : no judgement on stratification (stratification.py) and no rewriting (planning/lowering.py).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from tidelog.analysis.binding import bound_variables
from tidelog.analysis.components import components
from tidelog.analysis.grouping import group_variables, inner_variables, occurrences
from tidelog.errors import Problem
from tidelog.language.terms import Aggregate, Atom, Comparison, Literal, Program, Rule, variables


def problems(program: Program) -> Iterator[Problem]:
    """Aggregates in recursive rules that need a variable which only the recursion binds (E208)."""
    for component in components(program.rules):
        if not component.is_recursive:
            continue
        for rule in component.rules:
            for literal in rule.body:
                if isinstance(literal, Aggregate):
                    yield from _problems(rule, literal, component.relations)


def unbound_groups(rule: Rule, aggregate: Aggregate) -> tuple[str, ...]:
    """The group variables that the aggregate's own body does not bind."""
    bound = bound_variables(aggregate.body, (), occurrences(rule))
    return tuple(name for name in group_variables(rule, aggregate) if name not in bound)


def closing_literals(rule: Rule, aggregate: Aggregate, own: Collection[str]) -> tuple[Literal, ...]:
    """The outer literals that bind the unbound groups, as far as relations outside `own` can."""
    if not unbound_groups(rule, aggregate):
        return ()
    local = {variable.name for variable in inner_variables(aggregate)} - set(group_variables(rule, aggregate))
    outer = [
        literal
        for literal in rule.body
        if (isinstance(literal, Comparison) or (isinstance(literal, Atom) and literal.relation not in own))
        and local.isdisjoint(variable.name for variable in variables(literal))
    ]
    bound = bound_variables(outer, (), occurrences(rule))
    return tuple(literal for literal in outer if bound.issuperset(variable.name for variable in variables(literal)))


def _problems(rule: Rule, aggregate: Aggregate, own: Collection[str]) -> Iterator[Problem]:
    outside = closing_literals(rule, aggregate, own)
    bound = bound_variables(outside, (), occurrences(rule))
    for name in unbound_groups(rule, aggregate):
        if name not in bound:
            yield Problem(
                "E208",
                f"the aggregate needs {name}, which only the recursion of {rule.head.relation} binds",
                aggregate.place or rule.place,
                f"let a positive atom inside the aggregate bind {name}",
            )

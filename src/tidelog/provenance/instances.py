"""Rule instances that derive a given fact.

What      : `instances` finds the ways in which one rule derives one fact from the facts that are there.
Idea      : bind the head's variables, then take the body apart: whatever can be decided now is decided, otherwise the
            atom with the most bound columns is matched. Facts are looked up by pattern, so an index serves them.
Invariant : negated atoms and aggregates are judged over the same facts, which is right because they lie in lower
            strata. What has no value makes no instance (language/partial.py).
Never     : nothing is derived and no proof is built.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from tidelog.analysis.grouping import inner_variables
from tidelog.language.partial import aggregate, apply, holds
from tidelog.language.terms import (
    Aggregate,
    Atom,
    Call,
    Comparison,
    Constant,
    Literal,
    Negation,
    Rule,
    Term,
    Value,
    Variable,
    variables,
)
from tidelog.language.values import identity

Bound = dict[str, Value]
Fact = tuple[str, tuple[Value, ...]]


class Facts(Protocol):
    """The materialisation, as far as proofs need it."""

    def matching(self, pattern: Atom) -> Iterable[tuple[Value, ...]]:
        """The facts that match constants and repeated variables."""

    def is_explicit(self, relation: str, values: tuple[Value, ...]) -> bool:
        """Whether a fact needs no rule."""


@dataclass(frozen=True, slots=True)
class Instance:
    """A rule applied: the facts of its positive atoms in their order, and the values of its variables."""

    rule: Rule
    premises: tuple[Fact, ...]
    bound: Bound


def instances(rule: Rule, fact: Fact, facts: Facts) -> Iterator[Instance]:
    """Every instance of the rule whose head is the fact."""
    relation, values = fact
    if rule.head.relation != relation or len(rule.head.terms) != len(values):
        return
    head = [Comparison("=", term, Constant(value)) for term, value in zip(rule.head.terms, values)]
    scope = scope_of(rule.body) | {variable.name for variable in variables(rule.head)}
    for bound in solve([*head, *rule.body], {}, scope, facts):
        atoms = [literal for literal in rule.body if isinstance(literal, Atom)]
        premises = tuple((atom.relation, tuple(given(term, bound) for term in atom.terms)) for atom in atoms)
        yield Instance(rule, premises, bound)


def solve(goals: Sequence[Literal], bound: Bound, scope: set[str], facts: Facts) -> Iterator[Bound]:
    """Every way to make all goals true."""
    if not goals:
        yield bound
        return
    goal = next_goal(goals, bound, scope)
    rest = [other for other in goals if other is not goal]
    for extended in extensions(goal, bound, scope, facts):
        yield from solve(rest, extended, scope, facts)


def next_goal(goals: Sequence[Literal], bound: Bound, scope: set[str]) -> Literal:
    """What to decide next: whatever can be decided now, else the atom with the most bound columns."""
    goal = next((goal for goal in goals if _is_ready(goal, bound, scope)), None)
    return goal or max((one for one in goals if isinstance(one, Atom)), key=lambda atom: _known(atom, bound))


def extensions(goal: Literal, bound: Bound, scope: set[str], facts: Facts) -> Iterator[Bound]:
    """The extensions of a substitution that make one goal true."""
    match goal:
        case Atom():
            yield from _matched(goal, bound, facts)
        case Negation(atom=atom):
            if not _lacks(atom, bound) and not any(True for _ in _matched(atom, bound, facts)):
                yield bound
        case Comparison(op=op, left=left, right=right):
            yield from _compared(op, left, right, bound)
        case Aggregate(result=result):
            value = aggregated(goal, bound, scope, facts)
            if value is not None:
                yield from _compared("=", result, Constant(value), bound)


def _lacks(atom: Atom, bound: Bound) -> bool:
    """Whether a computed value of an atom is missing."""
    return any(is_bound(term, bound) and value_of(term, bound) is None for term in atom.terms)


def _matched(atom: Atom, bound: Bound, facts: Facts) -> Iterator[Bound]:
    if _lacks(atom, bound):
        return
    known = [Constant(given(term, bound)) if is_bound(term, bound) else term for term in atom.terms]
    pattern = Atom(atom.relation, tuple(term if not isinstance(term, Call) else Variable("_:call") for term in known))
    for values in facts.matching(pattern):
        extended = dict(bound)
        later = []
        for term, value in zip(known, values):
            if isinstance(term, Variable):
                extended[term.name] = value
            elif isinstance(term, Call):
                later.append((term, value))
        if all(holds("=", value_of(term, extended), value) for term, value in later):
            yield extended


def _compared(op: str, left: Term, right: Term, bound: Bound) -> Iterator[Bound]:
    for one, other in ((left, right), (right, left)):
        if op == "=" and isinstance(one, Variable) and one.name not in bound:
            value = value_of(other, bound)
            if value is not None:
                yield {**bound, one.name: value}
            return
    if holds(op, value_of(left, bound), value_of(right, bound)):
        yield bound


def aggregated(goal: Aggregate, bound: Bound, scope: set[str], facts: Facts) -> Value | None:
    """The aggregate's value for the group that the substitution names."""
    found = members(goal, bound, scope, facts)
    return aggregate(goal.function, [0 if goal.value is None else given(goal.value, each) for each in found])


def members(goal: Aggregate, bound: Bound, scope: set[str], facts: Facts) -> list[Bound]:
    """The substitutions that an aggregate is taken over, for the group that a substitution names, each once."""
    inner = {variable.name for variable in inner_variables(goal)}
    group = {name: value for name, value in bound.items() if name in inner and name in scope}
    found: dict[object, Bound] = {}
    for each in solve(goal.body, group, scope_of(goal.body) | set(group), facts):
        if goal.value is None or value_of(goal.value, each) is not None:
            found.setdefault(repr(tuple(sorted((name, identity(value)) for name, value in each.items()))), each)
    return list(found.values())


def _is_ready(goal: Literal, bound: Bound, scope: set[str]) -> bool:
    """Whether a goal can be decided without matching an atom."""
    match goal:
        case Comparison(op=op, left=left, right=right):
            open_ = [side for side in (left, right) if not is_bound(side, bound)]
            return not open_ or (op == "=" and len(open_) == 1 and isinstance(open_[0], Variable))
        case Negation():
            return all(variable.name in bound or variable.name not in scope for variable in variables(goal))
        case Aggregate(result=result):
            inner = {variable.name for variable in inner_variables(goal)} & scope
            return inner <= bound.keys() and (isinstance(result, Variable) or is_bound(result, bound))
    return False


def scope_of(body: Iterable[Literal]) -> set[str]:
    """The variables that a body binds outside negations and aggregates."""
    found: set[str] = set()
    for literal in body:
        if isinstance(literal, Aggregate):
            found |= {variable.name for variable in variables(literal.result)}
        elif not isinstance(literal, Negation):
            found |= {variable.name for variable in variables(literal)}
    return found


def _known(atom: Atom, bound: Bound) -> int:
    return sum(is_bound(term, bound) for term in atom.terms)


def is_bound(term: Term, bound: Bound) -> bool:
    """Whether every variable of a term has a value."""
    if isinstance(term, Variable):
        return term.name in bound
    return isinstance(term, Constant) or all(variable.name in bound for variable in variables(term))


def value_of(term: Term, bound: Bound) -> Value | None:
    """The value of a term, None if it has none."""
    match term:
        case Variable(name=name):
            return bound[name]
        case Constant(value=value):
            return value
        case Call(function=function, arguments=arguments):
            return apply(function, [value_of(argument, bound) for argument in arguments])


def given(term: Term, bound: Bound) -> Value:
    """The value of a term that has one."""
    value = value_of(term, bound)
    assert value is not None
    return value
